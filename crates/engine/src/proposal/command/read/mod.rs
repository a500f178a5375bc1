//! Reads a command line as a shell would, and reports where it cannot know what the shell will do.
//!
//! One reading answers two questions. A line that runs automatically needs the exact words of every part: the first
//! thing that the shell would still change is recorded as the `trouble`, and a line with trouble never runs
//! automatically. A refusal needs the opposite, a look into every corner: so the reader never stops early, flattens
//! subshells, loops, functions, and substitutions into one list of parts, and guesses the words that it cannot know.
//!
//! It is our own reader and not `brush-parser`, which is the second opinion in the tests: a line of sixty opening
//! brackets makes that parser run forever, and two thousand nested braces crash the process. This reader passes over
//! the line once, and its depth is bounded.

mod expand;
mod loops;
mod substitute;

use trimtab_vocab::wording::CommandReason;

use std::collections::BTreeMap;

use super::word::{Word, WordFill, among};
use loops::Loop;

/// How a part hangs on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// It begins, or follows `;`, `&&`, `||`, a line end, or an opening bracket.
    Next,
    /// It reads what the part before it writes.
    Pipe,
}

/// A redirection that is more than `2>&1` or a throw into `/dev/null`.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    pub(super) target: Word,
    pub(super) writes: bool,
}

/// One simple command, wherever it stood.
#[derive(Clone, Debug)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Whether any redirection stood here, also a harmless one: then only a shell can run the part.
    pub(super) redirected: bool,
    /// What a here-document or here-string feeds to it.
    pub(super) fed: Vec<String>,
    pub(super) join: Join,
    /// How many subshells are around it: a change of folder ends with its subshell.
    pub(super) depth: u16,
}

/// The line as read.
#[derive(Debug, Default)]
pub(super) struct CommandLine {
    pub(super) parts: Vec<SimpleCommand>,
    /// The first thing that keeps the line from being a plain chain of known words.
    pub(super) trouble: Option<CommandReason>,
    /// The first word that is not known but bounded: what only looks may have such words.
    pub(super) open: Option<CommandReason>,
    /// Whether only a shell can run it, though it may have a single part.
    pub(super) in_shell: bool,
    /// The line as it has to run so that it means the same in all shells, and no glob becomes an option.
    pub(super) rewritten: Option<String>,
}

/// Deeper than any line that the user can follow.
const DEEPEST: u16 = 24;
const RESERVED: &str =
    "if then else elif fi while until do done for case esac in function select time coproc { } ! [[ ]]";

/// Those that decide only whether and how often a command runs; each command is judged.
const JUDGED_BY_PARTS: &str = "if then else elif fi do done for time !";

/// Variables that change what programs show, and neither what they run nor where they look.
const HARMLESS: &str = "CI NODE_ENV RUST_BACKTRACE RUST_LOG NO_COLOR FORCE_COLOR CLICOLOR CARGO_TERM_COLOR CARGO_INCREMENTAL \
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE LC_ALL LANG TZ COLUMNS CGO_ENABLED DEBUG LOG_LEVEL";

/// Whether a command may be given this variable without a question.
fn is_harmless(name: &str, value: &str) -> bool {
    among(HARMLESS, name)
        && value.len() < 100
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b',' | b'=' | b':'))
}

/// Reads `line`; `home` and `folder` are the values of the variables that a shell would know.
pub(super) fn read(line: &str, home: &str, folder: &str) -> CommandLine {
    let mut vars = BTreeMap::new();
    vars.insert("HOME".to_owned(), home.to_owned());
    vars.insert("PWD".to_owned(), folder.to_owned());
    read_with(line, vars, 0)
}

fn read_with(line: &str, vars: BTreeMap<String, String>, depth: u16) -> CommandLine {
    let mut reader =
        ShellReader { chars: line.chars().collect(), at: 0, vars, depth, nesting: depth, ..ShellReader::default() };
    reader.list(false);
    let rewritten = reader.rewritten();
    let ShellReader { parts, trouble, open, in_shell, .. } = reader;
    CommandLine { parts, trouble, open, in_shell, rewritten }
}

#[derive(Default)]
struct ShellReader {
    chars: Vec<char>,
    at: usize,
    vars: BTreeMap<String, String>,
    parts: Vec<SimpleCommand>,
    trouble: Option<CommandReason>,
    /// Subshells around the present part.
    depth: u16,
    /// Calls of `list` around this one, which is what costs stack.
    nesting: u16,
    /// Here-documents whose text begins after the line end: part, delimiter, is it literal, are tabs cut.
    awaited: Vec<(usize, String, bool, bool)>,
    open: Option<CommandReason>,
    in_shell: bool,
    loops: Vec<Loop>,
    /// Changes to the line: where, how many characters, and their replacement.
    edits: Vec<(usize, usize, &'static str)>,
}

/// The part under construction.
struct CommandDraft {
    words: Vec<Word>,
    redirects: Vec<Redirect>,
    redirected: bool,
    fed: Vec<String>,
    awaited: Vec<(String, bool, bool)>,
    join: Join,
    assigned: bool,
    looping: bool,
    /// A control word has stood here that ends something, so that an operator may follow.
    closed: bool,
}

impl CommandDraft {
    fn new(join: Join) -> Self {
        Self {
            words: Vec::new(),
            redirects: Vec::new(),
            redirected: false,
            fed: Vec::new(),
            awaited: Vec::new(),
            join,
            assigned: false,
            looping: false,
            closed: false,
        }
    }

    fn empty(&self) -> bool {
        self.words.is_empty() && !self.redirected && !self.assigned && !self.closed
    }
}

impl ShellReader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn trouble(&mut self, what: CommandReason) {
        if self.trouble.is_none() {
            self.trouble = Some(what);
        }
    }

    /// Notes a word that is not known but bounded.
    fn open(&mut self, what: CommandReason) {
        if self.open.is_none() {
            self.open = Some(what);
        }
    }

    /// The line with all changes, if there are any.
    fn rewritten(&mut self) -> Option<String> {
        let mut edits = std::mem::take(&mut self.edits);
        edits.sort_unstable();
        let mut line = String::new();
        let mut from = 0;
        for (at, length, text) in &edits {
            line.extend(self.chars.get(from..*at)?);
            line.push_str(text);
            from = at + length;
        }
        line.extend(self.chars.get(from..)?);
        (!edits.is_empty()).then_some(line)
    }

    /// Keeps what a variable was set to, within bounds: a guess need not follow a line that doubles it again and again.
    fn remember(&mut self, name: String, value: String) {
        if value.len() <= 256 && (self.vars.len() < 64 || self.vars.contains_key(&name)) {
            self.vars.insert(name, value);
        }
    }

    /// A list of parts up to the end, or up to the `)` of a substitution.
    fn list(&mut self, nested: bool) {
        let outer = self.depth;
        self.nesting += 1;
        let mut draft = CommandDraft::new(Join::Next);
        // Set after an operator that must be followed by a command.
        let mut owed = false;
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\n' => {
                    self.at += 1;
                    if !draft.empty() {
                        owed = false;
                    }
                    // After operators such as `&&`, a line end means nothing, and the operator still applies.
                    let join = if draft.empty() { draft.join } else { Join::Next };
                    self.finish(draft, false);
                    draft = CommandDraft::new(join);
                    self.documents();
                }
                '&' if self.looking_at("&>") && self.quiets(&mut draft) => {}
                ';' | '&' | '|' => {
                    if draft.empty() {
                        self.trouble(CommandReason::OperatorBeforeCommand(c.into()));
                    }
                    let (join, more) = self.operator();
                    self.finish(draft, false);
                    draft = CommandDraft::new(join);
                    owed = more;
                }
                '(' if self.peek(1) == Some('(') && draft.empty() => {
                    self.trouble(CommandReason::Arithmetic);
                    self.at += 2;
                    self.arithmetic();
                }
                '(' => {
                    self.trouble(CommandReason::Subshell);
                    self.at += 1;
                    self.finish(draft, false);
                    draft = CommandDraft::new(Join::Next);
                    self.depth = self.depth.saturating_add(1);
                    owed = false;
                }
                ')' => {
                    self.at += 1;
                    if self.depth == outer && nested {
                        break;
                    }
                    self.trouble(CommandReason::SubshellEnd);
                    self.finish(draft, false);
                    self.depth = self.depth.saturating_sub(1).max(outer);
                    draft = CommandDraft::new(Join::Next);
                    owed = false;
                }
                '<' | '>' if self.peek(1) == Some('(') => self.words(&mut draft),
                '<' | '>' => self.redirect(&mut draft, None),
                _ => self.words(&mut draft),
            }
        }
        self.finish(draft, owed);
        if !nested {
            self.documents();
        }
        self.depth = outer;
        self.nesting -= 1;
    }

    /// Passes over `;`, `&`, `|` and their kin: how the next part hangs on, and whether one is owed.
    fn operator(&mut self) -> (Join, bool) {
        if self.looking_at("&&") || self.looking_at("||") {
            self.at += 2;
            return (Join::Next, true);
        }
        if self.looking_at("&>") {
            self.trouble(CommandReason::RedirectsAll);
            self.at += 1;
            return (Join::Next, false);
        }
        if self.looking_at("|&") {
            self.trouble(CommandReason::PipesAll);
            self.at += 2;
            return (Join::Pipe, true);
        }
        if self.looking_at(";;") {
            self.trouble(CommandReason::CaseEnd);
            self.at += 2;
            return (Join::Next, false);
        }
        let c = self.peek(0);
        self.at += 1;
        if c == Some('&') {
            self.trouble(CommandReason::Background);
        }
        if c == Some('|') { (Join::Pipe, true) } else { (Join::Next, false) }
    }

    /// `&>/dev/null`, which not all shells know: it runs as `>/dev/null 2>&1`.
    fn quiets(&mut self, draft: &mut CommandDraft) -> bool {
        const NULL: &str = "/dev/null";
        let from = self.at;
        let blanks = (2..).take_while(|ahead| matches!(self.peek(*ahead), Some(' ' | '\t'))).count();
        let end = 2 + blanks + NULL.len();
        self.at += 2 + blanks;
        let is_null = self.looking_at(NULL);
        self.at = from;
        let ends = self.peek(end).is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '|'));
        if !is_null || !ends || draft.words.is_empty() {
            return false;
        }
        draft.redirected = true;
        self.edits.push((from, end, " >/dev/null 2>&1"));
        self.at = from + end;
        true
    }

    /// Puts the draft among the parts: once for each value of the loops around it that it uses.
    fn finish(&mut self, draft: CommandDraft, owed: bool) {
        if draft.empty() {
            if owed {
                self.trouble(CommandReason::EndsEarly);
            }
            return;
        }
        if draft.words.is_empty() && draft.closed && !draft.redirected && !draft.assigned {
            return;
        }
        if draft.looping && self.begin_loop(&draft) {
            return;
        }
        if draft.looping && draft.words.get(1).is_some_and(|word| word.text == "in") && draft.words.len() > 2 {
            self.remember(draft.words[0].text.clone(), draft.words[2].text.clone());
        }
        if draft.words.is_empty() {
            self.trouble(CommandReason::EmptyPart);
        }
        let index = self.parts.len();
        self.awaited.extend(draft.awaited.into_iter().map(|(end, literal, tabs)| (index, end, literal, tabs)));
        for words in self.unrolled(draft.words) {
            self.parts.push(SimpleCommand {
                words,
                redirects: draft.redirects.clone(),
                redirected: draft.redirected,
                fed: draft.fed.clone(),
                join: draft.join,
                depth: self.depth,
            });
        }
    }

    /// One word of the shell, which may become several (or none) by expansion.
    fn words(&mut self, draft: &mut CommandDraft) {
        let from = self.at;
        let words = self.word();
        if self.at == from {
            // Nothing was consumed, which would loop forever: skip the character.
            self.trouble(CommandReason::UnreadCharacter);
            self.at += 1;
            return;
        }
        let [word] = words.as_slice() else {
            draft.words.extend(words);
            return;
        };
        if draft.closed {
            self.trouble(CommandReason::OperatorExpected(word.shown()));
        }
        if word.text.starts_with('{') && matches!(self.peek(0), Some('<' | '>')) {
            self.trouble(CommandReason::VariableRedirection);
        }
        // A number that touches a redirection belongs to it.
        if word.bare && word.text.bytes().all(|b| b.is_ascii_digit()) && matches!(self.peek(0), Some('<' | '>')) {
            return self.redirect(draft, Some(word.text.clone()));
        }
        if draft.words.is_empty() {
            if let Some((name, value)) = word.assignment() {
                if word.bare && word.known && is_harmless(&name, &value) {
                    // Only a shell sets it.
                    draft.redirected = true;
                } else {
                    self.trouble(CommandReason::SetsVariable(name.clone()));
                }
                self.remember(name, value);
                draft.assigned = true;
                return;
            }
            if word.bare && among(RESERVED, &word.text) {
                if among(JUDGED_BY_PARTS, &word.text) {
                    self.in_shell = true;
                } else {
                    self.trouble(CommandReason::Keyword(word.text.clone()));
                }
                draft.looping = matches!(word.text.as_str(), "for" | "select");
                draft.closed |= matches!(word.text.as_str(), "done" | "fi");
                return;
            }
            if word.fill != WordFill::None {
                self.trouble(CommandReason::ProgramFromVariable(word.shown()));
            }
        } else if matches!(draft.words[0].text.as_str(), "export" | "local" | "declare" | "readonly" | "typeset")
            && let Some((name, value)) = word.assignment()
        {
            self.remember(name, value);
        }
        draft.words.extend(words);
    }

    fn redirect(&mut self, draft: &mut CommandDraft, number: Option<String>) {
        draft.redirected = true;
        let operator = ["<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"]
            .into_iter()
            .find(|operator| self.looking_at(operator))
            .unwrap_or(">");
        self.at += operator.chars().count();
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let raw_from = self.at;
        let mut words = if matches!(self.peek(0), Some('\n') | None) { Vec::new() } else { self.word() };
        if words.len() != 1 {
            self.trouble(CommandReason::RedirectionTarget(operator.into()));
        }
        let Some(target) = words.pop() else { return };
        if target.text.contains(loops::is_place) {
            self.trouble(CommandReason::RedirectionInLoop);
        }
        if matches!(self.peek(0), Some('<' | '>')) {
            self.trouble(CommandReason::JoinedRedirections);
        }
        let fd = number.as_deref().unwrap_or(if operator.starts_with('<') { "0" } else { "1" });
        match operator {
            "<<" | "<<-" => {
                self.trouble(CommandReason::HereDocument);
                let literal = self.chars[raw_from..self.at].iter().any(|c| matches!(c, '\'' | '"' | '\\'));
                draft.awaited.push((target.text, literal, operator == "<<-"));
            }
            "<<<" => {
                self.trouble(CommandReason::HereString);
                draft.fed.push(target.text);
            }
            ">&" if matches!(fd, "1" | "2") && target.known && matches!(target.text.as_str(), "1" | "2") => {}
            ">" | ">>" if matches!(fd, "1" | "2") && target.known && target.text == "/dev/null" => {}
            "<" if fd == "0" && target.known && target.text == "/dev/null" => {}
            // As if the program had been given the file's name: whether it may read it is asked later.
            "<" if fd == "0" && target.known => draft.redirects.push(Redirect { target, writes: false }),
            _ => {
                let writes = operator.contains('>');
                let redirects = if writes { CommandReason::RedirectsTo } else { CommandReason::RedirectsFrom };
                self.trouble(redirects(operator.into(), target.shown()));
                draft.redirects.push(Redirect { target, writes });
            }
        }
    }

    /// Takes the text of the here-documents that were announced on the line that has just ended.
    fn documents(&mut self) {
        for (part, end, literal, tabs) in std::mem::take(&mut self.awaited) {
            let mut body = String::new();
            while self.at < self.chars.len() {
                let length =
                    self.chars[self.at..].iter().position(|c| *c == '\n').unwrap_or(self.chars.len() - self.at);
                let line: String = self.chars[self.at..self.at + length].iter().collect();
                self.at = (self.at + length + 1).min(self.chars.len());
                let line = if tabs { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !literal && self.nesting < DEEPEST {
                // The shell still runs what is substituted in such a text.
                let mut inner = ShellReader {
                    chars: body.chars().collect(),
                    vars: self.vars.clone(),
                    depth: self.depth + 1,
                    nesting: self.nesting + 1,
                    ..ShellReader::default()
                };
                let mut word = Word::default();
                inner.quoted(&mut word, None);
                self.parts.append(&mut inner.parts);
            }
            if let Some(part) = self.parts.get_mut(part) {
                part.fed.push(body);
            }
        }
    }
}
