//! `sed` and `awk`: their languages can write files and start programs. A small subset, which can be parsed with
//! certainty, only prints.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags};
use super::super::paths::readable;
use super::super::word::among;

const SED: Flags = Flags { style: FlagStyle::Gnu, short: "nErsuze:", long: "quiet silent regexp-extended expression=" };
const AWK: Flags = Flags { style: FlagStyle::Gnu, short: "F:v:", long: "" };

/// Whether these words only print.
pub(super) fn only_prints(name: &str, args: &[String], folder: &str) -> bool {
    prints(name, args, folder).is_some_and(|files| files.is_ok())
}

/// For words that would only print: whether they may read the files that they name, or why not.
pub(super) fn prints(name: &str, args: &[String], folder: &str) -> Option<Result<(), CommandReason>> {
    let (flags, is_sed) = match name {
        "sed" | "gsed" => (SED, true),
        "awk" | "gawk" | "mawk" => (AWK, false),
        _ => return None,
    };
    let used = flags.sort(name, args).ok()?;
    let mut programs: Vec<&str> =
        used.flags.iter().filter(|(flag, ..)| matches!(*flag, "e" | "expression")).filter_map(|flag| flag.2).collect();
    let mut files = used.operands.as_slice();
    if programs.is_empty() {
        let (program, rest) = files.split_first()?;
        programs.push(program);
        files = rest;
    }
    let set = |text: &str| {
        text.split_once('=').is_some_and(|(name, _)| {
            among("FS OFS RS ORS", name) || (!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase()))
        })
    };
    let fits = |flag: &(&str, _, Option<&str>)| flag.0 != "v" || flag.2.is_some_and(set);
    // To awk `name=value` among the files is an assignment.
    let is_file = |file: &&str| is_sed || !file.contains('=');
    let pure = if is_sed { sed } else { awk };
    let is_pure =
        programs.iter().all(|program| pure(program)) && files.iter().all(is_file) && used.flags.iter().all(fits);
    is_pure.then(|| files.iter().try_for_each(|file| readable(file, folder)))
}

/// The text up to the first unescaped `end`, and the rest. None if brackets contain the end, a backslash, or another
/// bracket, because programs differ on that.
fn delimited(text: &str, end: char) -> Option<(&str, &str)> {
    let (mut escaped, mut in_brackets) = (false, false);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            '\n' | '\r' => return None,
            _ if escaped => escaped = false,
            '\\' if in_brackets && !rest.starts_with(|next: char| next.is_ascii_alphanumeric()) => return None,
            '\\' => escaped = !in_brackets,
            c if c == end => return (!in_brackets).then(|| (&text[..at], rest)),
            '[' if in_brackets => {
                // Only `[:alpha:]` and its kin.
                let class = rest.strip_prefix(':')?;
                let length = class.find(":]")?;
                if !class[..length].bytes().all(|b| b.is_ascii_lowercase()) {
                    return None;
                }
                at += length + 3;
            }
            '[' if rest.starts_with(']') || rest.starts_with("^]") => return None,
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// Whether a sed script only prints, deletes from the output, and substitutes.
fn sed(program: &str) -> bool {
    let mut rest = program.trim();
    if rest.is_empty() {
        return false;
    }
    let mut open = 0_u32;
    loop {
        let Some(after) = sed_address(rest) else { return false };
        let after = after.trim_start_matches([' ', '!']);
        let Some(command) = after.chars().next() else { return false };
        let after = &after[command.len_utf8()..];
        rest = match command {
            // No command may follow a brace that closes without an operator between them.
            '{' => {
                open += 1;
                rest = after.trim_start_matches([' ', ';', '\n']);
                continue;
            }
            'p' | 'd' | '=' => after,
            'q' => after.trim_start_matches(|c: char| c.is_ascii_digit()),
            's' => match replacing(after) {
                Some(after) => after,
                None => return false,
            },
            _ => return false,
        };
        loop {
            let next = rest.trim_start_matches([' ', ';', '\n']);
            // A closing brace may follow a command at once.
            match next.strip_prefix('}') {
                Some(after) if open > 0 => (rest, open) = (after, open - 1),
                _ => break,
            }
        }
        rest = rest.trim_start_matches(' ');
        if rest.is_empty() {
            return open == 0;
        }
        let Some(next) = rest.strip_prefix([';', '\n']) else { return false };
        rest = next.trim_start_matches([' ', ';', '\n']);
        if rest.is_empty() {
            return open == 0;
        }
    }
}

/// Passes over `s/…/…/flags` after the `s`.
fn replacing(text: &str) -> Option<&str> {
    let end = text.chars().next().filter(|c| matches!(c, '/' | '|' | '#' | ',' | '@' | ':' | '!' | '%'))?;
    let (_, after) = delimited(&text[1..], end)?;
    let (_, after) = delimited(after, end)?;
    // Not `e`, which runs what it has made, and not `w`.
    Some(after.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I')))
}

/// Passes over the lines that a command of sed is for.
fn sed_address(text: &str) -> Option<&str> {
    let one = |text: &'_ str| -> Option<Option<usize>> {
        let first = text.chars().next()?;
        match first {
            '$' => Some(Some(1)),
            '0'..='9' | '+' | '~' => {
                let more = text[1..].find(|c: char| !(c.is_ascii_digit() || c == '~')).unwrap_or(text.len() - 1);
                Some(Some(1 + more))
            }
            '/' => {
                let (inside, after) = delimited(&text[1..], '/')?;
                let flag = usize::from(after.starts_with('I'));
                Some(Some(inside.len() + 2 + flag))
            }
            _ => Some(None),
        }
    };
    let Some(first) = one(text)? else { return Some(text) };
    let rest = text[first..].trim_start_matches(' ');
    match rest.strip_prefix(',') {
        Some(rest) => {
            let rest = rest.trim_start_matches(' ');
            one(rest)?.map(|second| &rest[second..])
        }
        None => Some(rest),
    }
}

/// Words of awk that print, choose and count. Loops are left out: they need not end.
const AWK_WORDS: &str = "print printf BEGIN END NR NF FNR FS OFS RS ORS FILENAME if else next exit in length substr split \
    index sub gsub match toupper tolower sprintf int";
/// The ones that are called.
const AWK_CALLS: &str = "length substr split index sub gsub match toupper tolower sprintf int if print printf";
/// Wherever these stand, also in a text, it is not looked at any further.
const AWK_NEVER: &[&str] = &["system", "getline", "close", "while", "function", "func", "ARGV", "ENVIRON"];

/// Whether a program of awk only prints: every word of it is known, nothing is redirected.
fn awk(program: &str) -> bool {
    if AWK_NEVER.iter().any(|word| program.contains(word)) {
        return false;
    }
    let (mut braces, mut brackets) = (0_i32, 0_i32);
    // The last thing that means something: the end of an operand makes `/` a division.
    let mut before = ' ';
    let mut keyword = false;
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let starts = |text: &str| after.starts_with(text);
        match c {
            ' ' | '\t' => {
                rest = after;
                continue;
            }
            // It ends the expression before it, so a `/` is not a division.
            '\n' => {
                (rest, before, keyword) = (after, ';', false);
                continue;
            }
            '"' => {
                let mut escaped = false;
                let end = after.char_indices().find_map(|(at, c)| {
                    let found = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    found.then_some(at)
                });
                let Some(end) = end else { return false };
                (rest, before, keyword) = (&after[end + 1..], '"', false);
                continue;
            }
            '/' if matches!(before, ' ' | '(' | ',' | '{' | '}' | ';' | '!' | '~' | '&' | '|') => {
                let Some((_, next)) = delimited(after, '/') else { return false };
                (rest, before, keyword) = (next, '"', false);
                continue;
            }
            '/' if keyword || !(before.is_alphanumeric() || matches!(before, ']' | '"')) => return false,
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (word, next) = rest.split_at(end);
                let called = next.trim_start().starts_with('(');
                let own = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
                    && !among("for do delete return fflush nextfile", word);
                if !(among(AWK_WORDS, word) || own) || (called && !among(AWK_CALLS, word)) {
                    return false;
                }
                (rest, before) = (next, 'a');
                keyword = among("print printf in else exit if next length BEGIN END", word);
                continue;
            }
            '{' => braces += 1,
            '}' => braces -= 1,
            '(' => brackets += 1,
            ')' => brackets -= 1,
            '|' if !starts("|") => return false,
            // In a list of what is printed this would be a file; between brackets, and before the first brace, it is
            // a comparison.
            '>' if starts(">") || (braces > 0 && brackets == 0) => return false,
            '|' | '&' if starts(if c == '|' { "|" } else { "&" }) => {
                (rest, before, keyword) = (&after[1..], c, false);
                continue;
            }
            '&' | '@' | '\\' | '#' | '`' | '\'' => return false,
            c if c.is_ascii() => {}
            _ => return false,
        }
        if braces < 0 || brackets < 0 {
            return false;
        }
        (rest, before, keyword) = (after, c, false);
    }
    braces == 0 && brackets == 0 && !program.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_print_are_told_from_those_that_might_do_more() {
        for program in [
            "1,50p",
            "$p",
            "10,20p;40q",
            "/^fn main/,/^}/p",
            "/a/!d",
            "s/a/b/g",
            "s|/usr|/opt|; 5q",
            "/[[:alpha:]]x/p",
            "$=",
            "2~3p",
            "5,+3p",
            "s/[0-9]+/N/",
            "1p\n2p",
            "5{p;q}",
            "5{p;q;}",
            "/a/{s/x/y/;p}",
            "{p}",
            "1{/a/{p}};2p",
        ] {
            assert!(sed(program), "{program}");
        }
        for program in [
            "",
            "e id",
            "1e id",
            "1,2e",
            "w out",
            "s/a/b/w out",
            "s/a/b/e",
            "s/a/b/;e",
            "1p\ne id",
            "1p;;w x",
            "{p",
            "p}",
            "{}",
            "5{p;e id}",
            "{p}e id",
            "5{w x\n}",
            "{p};}",
            "r x",
            "R x",
            "a\\\nx",
            "/[/]e id;/p",
            "s/[/]/e id;/",
            "s/[]/]/x/;e id",
            "s|[[:alpha:]|]|x|e",
            "s/[\\]/]/e id;#/",
            "\\%x%e id",
            "s/a/b\n/;e id",
            "#n\ne id",
            "y/a/b/",
            "s/a/b",
            "/a",
            "s",
            "1,",
            "1,p",
            "pp",
            "p#",
            "s/a/b/gm",
        ] {
            assert!(!sed(program), "{program}");
        }
    }

    #[test]
    fn an_awk_program_that_writes_or_starts_something_is_found_wherever_it_hides() {
        for program in [
            "{print $1}",
            "NR>=10 && NR<=20",
            "NR > 5 {print $1, $2}",
            "/start/,/end/",
            "!seen[$0]++",
            "{s+=$1} END {print s/NR}",
            "length($0) > 120 {print FILENAME\": \"FNR}",
            "{ if ($2 > 5) print $1; else print \"x\" }",
            "BEGIN {FS=\",\"} {gsub(/a/, \"b\"); print toupper($2)}",
            "$1 ~ /x/ || $2 == \"y\"",
            "{ printf \"%s %d\\n\", $1, $2 / 2 }",
            "{ print ($1 > 2) }",
        ] {
            assert!(awk(program), "{program}");
        }
        for program in [
            "",
            "{print > \"f\"}",
            "{print $1>>\"f\"}",
            "{print($1) > \"f\"}",
            "{print (1)(2) > \"f\"}",
            "{print | \"sh\"}",
            "BEGIN{system(\"id\")}",
            "{getline}",
            "BEGIN{f=\"x\"; @f()}",
            "BEGIN{print ENVIRON[\"A\"]}",
            "BEGIN{PROCINFO[\"x\"]}",
            "BEGIN{for(;;);}",
            "BEGIN{do x; while (1)}",
            "{x = a\n/(/; print \"id\" > \"f\"; y = b\n/)/ }",
            "{ if (1) /(/; print \"id\" > \"f\"; /)/ }",
            "{ print /(/ > \"f\"; x = /)/ }",
            "{ x = length /(/; print > \"f\"; /)/ }",
            "/[/]/ { print \"(\" > \"f\" }",
            "/a]b[/ {print (1)} /]/ {print > \"f\"}",
            "/[[:alpha:]/]/ {print (\"a\") }",
            "{ x++ /(/; print > \"f\" /)/ }",
            "{print \"a",
            "{print (}",
            "{print)}",
            "{foo($1)}",
            "{print `id`}",
            "{print \\\n > \"f\"}",
            "# x\n{print}",
        ] {
            assert!(!awk(program), "{program}");
        }
    }
}
