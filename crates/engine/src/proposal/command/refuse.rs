//! What is refused outright: the few things that no request needs.
//!
//! A refusal cannot be overridden, so each must be beyond doubt; what is merely dangerous asks. The check covers
//! wrappers, subshells, substitutions, and scripts for other shells. It guesses variables that the line itself sets.
//! It is not complete: a line that hides well enough still asks.

use trimtab_vocab::wording::CommandReason;

use super::paths::resolve;
use super::read::{Join, SimpleCommand, read};
use super::word::{Word, shown};
use super::wrap::{WrappedCommand, base_name, inner, is_shell};
use super::{Policy, own, rules, wipe};

/// Why a line is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandRefusal {
    pub(super) rule: String,
    pub(super) reason: CommandReason,
}

impl CommandRefusal {
    pub(super) fn new(rule: &str, reason: CommandReason) -> Self {
        Self { rule: rule.to_owned(), reason }
    }
}

/// Where a part would run, if known.
#[derive(Clone)]
pub(super) struct RunPlace<'a> {
    pub(super) policy: &'a Policy,
    /// The current folder; `None` after a `cd` to somewhere unknown.
    pub(super) cwd: Option<String>,
}

impl RunPlace<'_> {
    /// The absolute path that a word names, if known.
    pub(super) fn path(&self, text: &str) -> Option<String> {
        if text.is_empty() || text.starts_with(super::word::UNKNOWN) {
            return None;
        }
        if text.starts_with('/') {
            return Some(resolve(text, "/"));
        }
        self.cwd.as_ref().map(|cwd| resolve(text, cwd))
    }
}

/// Layers of commands in commands; each needs its own words, so a line cannot hold many more.
const DEEPEST: usize = 6;
/// Commands looked at for one line, so that a text that unfolds into ever more cannot keep us.
const MOST: usize = 4000;

/// The first refusal that the parts of a line call for.
pub(super) fn refusal(line: &str, parts: &[SimpleCommand], policy: &Policy) -> Option<CommandRefusal> {
    if bomb(line) {
        return Some(CommandRefusal::new("wipe", CommandReason::ForkBomb));
    }
    let mut left = MOST;
    check_parts(parts, policy, Some(resolve(&policy.folder, "/")), 0, &mut left)
}

fn check_parts(
    parts: &[SimpleCommand],
    policy: &Policy,
    cwd: Option<String>,
    layer: usize,
    left: &mut usize,
) -> Option<CommandRefusal> {
    // A folder changed in a subshell is forgotten when that ends.
    let mut cwds = vec![(0, cwd)];
    let mut before: Option<&SimpleCommand> = None;
    for part in parts {
        while cwds.len() > 1 && cwds.last().is_some_and(|(depth, _)| *depth > part.depth) {
            cwds.pop();
        }
        let (depth, cwd) = cwds.last().cloned().unwrap_or_default();
        if part.depth > depth {
            cwds.push((part.depth, cwd.clone()));
        }
        let place = RunPlace { policy, cwd };
        for redirect in &part.redirects {
            if let Some(refusal) = own::redirected(&redirect.target, redirect.writes, &place) {
                return Some(refusal);
            }
        }
        let mut words = part.words.clone();
        let piped = before.filter(|_| part.join == Join::Pipe).and_then(printed);
        if let Some(said) = &piped
            && words.first().is_some_and(|word| matches!(base_name(&word.text).as_str(), "xargs" | "parallel"))
        {
            words.extend(said.split_whitespace().map(Word::plain));
        }
        if let Some(refusal) = command(&words, &place, layer, left) {
            return Some(refusal);
        }
        let reads_script = words.iter().any(|word| is_shell(&base_name(&word.text)));
        for script in part.fed.iter().chain(&piped).filter(|_| reads_script && layer < DEEPEST) {
            if let Some(refusal) = script_of(script, &place, layer, left) {
                return Some(refusal);
            }
        }
        let is_code = words.first().is_some_and(|word| super::wrap::code_flags(&base_name(&word.text)).is_some());
        for code in part.fed.iter().chain(&piped).filter(|_| is_code && layer < DEEPEST) {
            if let Some(refusal) = code_of(code, &place, layer, left) {
                return Some(refusal);
            }
        }
        if let [first, target @ ..] = words.as_slice()
            && matches!(first.text.as_str(), "cd" | "pushd")
            && let Some(top) = cwds.last_mut()
        {
            let target = target.iter().find(|word| !word.text.starts_with('-'));
            top.1 = match target {
                // A longer path than any system takes is nowhere.
                Some(word) if !word.pattern => place.path(&word.text).filter(|path| path.len() < 4096),
                Some(_) => None,
                None => Some(resolve(&policy.home, "/")),
            };
        }
        before = Some(part);
    }
    None
}

/// What a part prints for certain, if it only prints.
fn printed(part: &SimpleCommand) -> Option<String> {
    let (first, rest) = part.words.split_first()?;
    matches!(first.text.as_str(), "echo" | "printf")
        .then(|| rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}

fn script_of(script: &str, place: &RunPlace, layer: usize, left: &mut usize) -> Option<CommandRefusal> {
    let reading = read(script, &place.policy.home, place.cwd.as_deref().unwrap_or(&place.policy.folder));
    if bomb(script) {
        return Some(CommandRefusal::new("wipe", CommandReason::ForkBomb));
    }
    check_parts(&reading.parts, place.policy, place.cwd.clone(), layer + 1, left)
}

/// One command and everything it would run in turn.
fn command(words: &[Word], place: &RunPlace, layer: usize, left: &mut usize) -> Option<CommandRefusal> {
    let first = words.first()?;
    *left = left.checked_sub(1)?;
    let name = base_name(&first.text);
    let argv: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    if let Some(rule) = rules::matching(&place.policy.deny, &argv) {
        return Some(CommandRefusal { reason: CommandReason::RuleDenies(shown(rule)), rule: rule.to_owned() });
    }
    let found = wipe::wiped(&name, words, place)
        .or_else(|| own::changed(&name, words, place))
        .or_else(|| own::addressed(&name, words, place.policy))
        .or_else(|| own::ourselves(&name, words));
    if found.is_some() || layer >= DEEPEST {
        return found;
    }
    let base = place.cwd.as_deref().unwrap_or(&place.policy.folder);
    inner(words, base).into_iter().find_map(|inner| match inner {
        WrappedCommand::Argv(words) => command(&words, place, layer + 1, left),
        WrappedCommand::Script(script) => script_of(&script, place, layer, left),
        WrappedCommand::Code(code) => code_of(&code, place, layer, left),
    })
}

/// A program text: its string literals may be commands, paths or addresses.
fn code_of(code: &str, place: &RunPlace, layer: usize, left: &mut usize) -> Option<CommandRefusal> {
    let literals = literals(code);
    wipe::code(code, &literals, place).or_else(|| own::code(code, &literals, place)).or_else(|| {
        literals
            .iter()
            .filter(|literal| literal.contains(' '))
            .find_map(|literal| script_of(literal, place, layer, left))
    })
}

/// The string literals of a program in any language.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(char, String)> = None;
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match &mut open {
            None if matches!(c, '\'' | '"' | '`') => open = Some((c, String::new())),
            None => {}
            Some((quote, text)) if c == *quote => {
                found.push(std::mem::take(text));
                open = None;
            }
            Some((_, text)) if c == '\\' => text.extend(chars.next()),
            Some((_, text)) => text.push(c),
        }
    }
    found
}

/// `name(){ name|name& };name`, in any spacing: a function that calls itself twice.
fn bomb(line: &str) -> bool {
    line.match_indices('(').take(1000).any(|(at, _)| {
        let Some(rest) = line[at + 1..].trim_start().strip_prefix(')') else { return false };
        let Some(body) = rest.trim_start().strip_prefix('{') else { return false };
        let cut = |c: char| c.is_whitespace() || ";&|{}()'\"".contains(c);
        let name = line[..at].trim_end().rsplit(cut).next().unwrap_or_default();
        let dense: String = body.chars().take_while(|c| *c != '}').filter(|c| !c.is_whitespace()).take(1000).collect();
        let twice = |join: &str| dense.contains(&format!("{name}{join}{name}"));
        !name.is_empty() && name.len() < 100 && (twice("|") || twice("&"))
    })
}
