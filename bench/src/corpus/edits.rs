//! Awkward edits: what becomes of a file, or why nothing does.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use trimtab_engine::proposal::edit::{Edit, NewContent, SearchReplace, apply};

use super::answers::percent;
use super::bases::FILES;
use super::dice::Dice;

/// Edits written by hand.
const BY_HAND: &str = include_str!("../../corpus/edits.jsonl");

/// One edit of one file and what has to come of it.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) kind: String,
    pub(super) file: Option<Vec<u8>>,
    pub(super) edit: Edit,
    /// The file afterwards; `None`: the edit has to be refused.
    pub(super) after: Option<NewContent>,
}

/// What a tool did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Did {
    Wrote(NewContent),
    Refused(String),
    /// The tool does not know edits of this kind.
    Unknown,
}

#[derive(Default)]
struct Row {
    cases: usize,
    right: usize,
    needless: usize,
    wrong: usize,
}

/// How one tool did.
#[derive(Default)]
pub(super) struct Sheet {
    rows: BTreeMap<String, Row>,
    pub(super) mistakes: Vec<String>,
}

impl Sheet {
    pub(super) fn add(&mut self, case: &Case, did: &Did) {
        if *did == Did::Unknown {
            return;
        }
        let name = if case.kind.starts_with("by hand") { "by hand" } else { &case.kind };
        let row = self.rows.entry(name.to_owned()).or_default();
        row.cases += 1;
        let (mark, tally) = match (did, &case.after) {
            (Did::Wrote(after), Some(due)) if after == due => ("", &mut row.right),
            (Did::Refused(_), None) => ("", &mut row.right),
            (Did::Refused(_), Some(_)) => ("REFUSED", &mut row.needless),
            _ => ("WRONG", &mut row.wrong),
        };
        *tally += 1;
        if !mark.is_empty() {
            let show = |after: &NewContent| match after {
                NewContent::Write(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                NewContent::Delete => "gone".to_owned(),
            };
            let file = case.file.as_deref().map(String::from_utf8_lossy);
            let did = match did {
                Did::Wrote(after) => show(after),
                Did::Refused(reason) => reason.clone(),
                Did::Unknown => String::new(),
            };
            self.mistakes.push(format!(
                "{mark} [{}]\n  did  {did}\n  due  {:?}\n  file {file:?}\n  edit {:?}",
                case.kind,
                case.after.as_ref().map(show),
                case.edit
            ));
        }
    }

    pub(super) fn line(&self, who: &str) -> String {
        let sum = |of: fn(&Row) -> usize| self.rows.values().map(of).sum::<usize>();
        let (cases, right) = (sum(|row| row.cases), sum(|row| row.right));
        format!(
            "{who:<34} {right:>5} of {cases:>4} right ({:.1} %), refused needlessly {:>3}, WRONG {}",
            percent(right, cases),
            sum(|row| row.needless),
            sum(|row| row.wrong)
        )
    }

    pub(super) fn table(&self) -> String {
        let mut out =
            format!("{:<42} {:>6} {:>6} {:>9} {:>6}\n", "kind of edit", "cases", "right", "needless", "WRONG");
        for (kind, row) in &self.rows {
            let _ = writeln!(out, "{kind:<42} {:>6} {:>6} {:>9} {:>6}", row.cases, row.right, row.needless, row.wrong);
        }
        out
    }
}

pub(super) fn ours(cases: &[Case]) -> Sheet {
    let mut sheet = Sheet::default();
    for case in cases {
        let path = case.edit.path();
        let file = case.file.as_deref();
        let files = case.edit.paths().into_iter().map(|name| (name.clone(), file.filter(|_| name == path))).collect();
        let did = match apply(&case.edit, &files) {
            Ok(after) => match after.into_iter().find(|one| one.path == path) {
                Some(one) => Did::Wrote(one.after),
                None => Did::Refused("It changes another file.".into()),
            },
            Err(refusal) => Did::Refused(refusal.reason),
        };
        sheet.add(case, &did);
    }
    sheet
}

/// One change of a file: so many lines from `at` give way to others.
#[derive(Debug, Clone)]
struct Change {
    at: usize,
    old: usize,
    new: Vec<String>,
}

/// A file by lines, without their ends, and changes to it in order.
struct Work {
    path: &'static str,
    lines: Vec<String>,
    changes: Vec<Change>,
}

impl Work {
    /// A file and one or two changes to it, far enough from each other to be hunks of their own.
    fn new(dice: &mut Dice, several: bool) -> Option<Self> {
        let (path, text) = dice.pick(FILES);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() < 8 {
            return None;
        }
        let mut changes = Vec::new();
        let spots = if several { vec![1 + dice.below(2), lines.len() - 2] } else { vec![dice.below(lines.len() - 1)] };
        for at in spots {
            let old = lines.get(at)?;
            if old.trim().is_empty() {
                return None;
            }
            let indent: String = old.chars().take_while(|c| c.is_whitespace()).collect();
            let new = match dice.below(4) {
                0 => vec![format!("{indent}changed_{at}(\"x\");")],
                1 => vec![format!("{indent}first_{at}"), format!("{indent}second_{at}")],
                2 => vec![old.clone(), format!("{indent}added_{at}")],
                _ => vec![],
            };
            changes.push(Change { at, old: 1, new });
        }
        if several && changes[1].at < changes[0].at + 8 {
            return None;
        }
        Some(Self { path, lines, changes })
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn after(&self) -> String {
        let mut lines = self.lines.clone();
        for change in self.changes.iter().rev() {
            lines.splice(change.at..change.at + change.old, change.new.iter().cloned());
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The hunks with so many lines of context: number of the first line, old side, new side, lines with marks.
    fn hunks(&self, context: usize) -> Vec<Hunk> {
        let mut shift = 0_i64;
        self.changes
            .iter()
            .map(|change| {
                let from = change.at.saturating_sub(context);
                let to = (change.at + change.old + context).min(self.lines.len());
                let mut lines: Vec<String> =
                    self.lines[from..change.at].iter().map(|line| format!(" {line}")).collect();
                // A line that both sides have is context, as every diff program writes it.
                let keeps = change.new.first() == Some(&self.lines[change.at]);
                if keeps {
                    lines.push(format!(" {}", self.lines[change.at]));
                } else {
                    lines.extend(self.lines[change.at..change.at + change.old].iter().map(|line| format!("-{line}")));
                }
                lines.extend(change.new.iter().skip(usize::from(keeps)).map(|line| format!("+{line}")));
                lines.extend(self.lines[change.at + change.old..to].iter().map(|line| format!(" {line}")));
                let hunk = Hunk {
                    from: from + 1,
                    new_from: (from as i64 + 1 + shift) as usize,
                    old: to - from,
                    new: to - from - change.old + change.new.len(),
                    lines,
                };
                shift += change.new.len() as i64 - change.old as i64;
                hunk
            })
            .collect()
    }

    /// Whether the old side of each hunk stands in the file once, white space apart.
    fn is_unique(&self, context: usize) -> bool {
        let bare = |line: &str| line.split_whitespace().collect::<String>();
        let all: Vec<String> = self.lines.iter().map(|line| bare(line)).collect();
        self.changes.iter().all(|change| {
            let from = change.at.saturating_sub(context);
            let to = (change.at + change.old + context).min(all.len());
            all.windows(to - from).filter(|window| *window == &all[from..to]).count() == 1
        })
    }
}

struct Hunk {
    from: usize,
    new_from: usize,
    old: usize,
    new: usize,
    lines: Vec<String>,
}

impl Hunk {
    fn header(&self) -> String {
        format!("@@ -{},{} +{},{} @@", self.from, self.old, self.new_from, self.new)
    }

    fn with(&self, header: &str) -> String {
        let mut text = format!("{header}\n");
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

fn names(path: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n")
}

fn diff(path: &str, diff: impl Into<String>) -> Edit {
    Edit::UnifiedDiff { path: path.to_owned(), diff: diff.into() }
}

fn plain(work: &Work) -> String {
    names(work.path) + &work.hunks(3).iter().map(|hunk| hunk.with(&hunk.header())).collect::<String>()
}

/// The whole of a case: file, edit, and the text afterwards, or `None` for a refusal.
type Made = Option<(Option<Vec<u8>>, Edit, Option<NewContent>)>;
type Make = fn(&Work, &mut Dice) -> Made;

fn done(file: impl Into<Vec<u8>>, edit: Edit, after: impl Into<Vec<u8>>) -> Made {
    Some((Some(file.into()), edit, Some(NewContent::Write(after.into()))))
}

fn refused(file: impl Into<Vec<u8>>, edit: Edit) -> Made {
    Some((Some(file.into()), edit, None))
}

/// How many cases of each kind.
const EACH: usize = 7;

/// All cases, generated and written.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, (kind, several, make)) in KINDS.iter().enumerate() {
        let mut made = 0;
        for n in 0..400 {
            if made == EACH {
                break;
            }
            let mut dice = Dice::new(n * 31 + at as u64 * 7);
            let Some(work) = Work::new(&mut dice, *several) else { continue };
            let Some((file, edit, after)) = make(&work, &mut dice) else { continue };
            made += 1;
            cases.push(Case { kind: (*kind).to_owned(), file, edit, after });
        }
    }
    cases.extend(BY_HAND.lines().filter(|line| !line.is_empty()).map(|line| {
        let case: Value = serde_json::from_str(line).expect("a line of edits.jsonl is JSON");
        let bytes = |value: &Value| value.as_str().map(|text| text.as_bytes().to_vec());
        let after = match &case["after"] {
            Value::Bool(_) => Some(NewContent::Delete),
            after => bytes(after).map(NewContent::Write),
        };
        Case {
            kind: format!("by hand: {}", case["kind"].as_str().unwrap_or("other")),
            file: bytes(&case["file"]),
            edit: serde_json::from_value(case["edit"].clone()).expect("its edit is one"),
            after,
        }
    }));
    cases
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// The lines of a change as a search block, with so many lines around it.
fn block(work: &Work, context: usize) -> SearchReplace {
    let change = &work.changes[0];
    let from = change.at.saturating_sub(context);
    let to = (change.at + change.old + context).min(work.lines.len());
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let new: Vec<String> = work.lines[from..change.at]
        .iter()
        .chain(&change.new)
        .chain(&work.lines[change.at + change.old..to])
        .cloned()
        .collect();
    SearchReplace { search: text(&work.lines[from..to]), replace: text(&new) }
}

fn blocks(work: &Work, blocks: Vec<SearchReplace>) -> Edit {
    Edit::SearchReplace { path: work.path.to_owned(), blocks }
}

/// Each line of a text changed.
fn by_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| change(line) + "\n").collect()
}

/// Lines of a diff changed behind their marks.
fn behind_marks(diff: &str, change: impl Fn(&str) -> String) -> String {
    by_line(diff, |line| match line.chars().next() {
        Some(mark @ (' ' | '+' | '-')) if !line.starts_with("---") && !line.starts_with("+++") => {
            format!("{mark}{}", change(&line[1..]))
        }
        _ => line.to_owned(),
    })
}

/// Four blanks for each tab, as models write what they were shown.
fn blanks_for_tabs(line: &str) -> String {
    let tabs = line.chars().take_while(|c| *c == '\t').count();
    format!("{}{}", "    ".repeat(tabs), &line[tabs..])
}

fn indented(line: &str) -> String {
    if line.trim().is_empty() { line.to_owned() } else { format!("    {line}") }
}

/// Only blanks in front of lines, so that one offset is the same for all.
fn no_tabs(work: &Work) -> bool {
    !work.text().contains('\t')
}

const KINDS: &[(&str, bool, Make)] = &[
    ("diff: clean", false, |w, _| done(w.text(), diff(w.path, plain(w)), w.after())),
    ("diff: clean, two hunks", true, |w, _| done(w.text(), diff(w.path, plain(w)), w.after())),
    ("diff: wrong numbers", true, |w, d| {
        let off = d.pick(&[1000, 77, 2]);
        let text: String = w
            .hunks(3)
            .iter()
            .map(|h| h.with(&format!("@@ -{},{} +{},{} @@", h.from + off, h.old, h.new_from + off, h.new)))
            .collect();
        w.is_unique(3).then(|| done(w.text(), diff(w.path, names(w.path) + &text), w.after()))?
    }),
    ("diff: wrong counts", true, |w, d| {
        let off = 1 + d.below(4);
        let text: String = w
            .hunks(3)
            .iter()
            .map(|h| h.with(&format!("@@ -{},{} +{},{} @@", h.from, h.old + off, h.new_from, h.new + off)))
            .collect();
        done(w.text(), diff(w.path, names(w.path) + &text), w.after())
    }),
    ("diff: bare @@", true, |w, d| {
        let header = d.pick(&["@@", "@@ @@", "@@ ... @@", "@@ -?,? +?,? @@", "@@ def main @@"]);
        let text: String = w.hunks(3).iter().map(|h| h.with(header)).collect();
        w.is_unique(3).then(|| done(w.text(), diff(w.path, names(w.path) + &text), w.after()))?
    }),
    ("diff: section behind @@", true, |w, _| {
        let text: String = w.hunks(3).iter().map(|h| h.with(&format!("{} fn main() {{", h.header()))).collect();
        done(w.text(), diff(w.path, names(w.path) + &text), w.after())
    }),
    ("diff: no names of files", false, |w, _| {
        let text: String = w.hunks(3).iter().map(|h| h.with(&h.header())).collect();
        done(w.text(), diff(w.path, text), w.after())
    }),
    ("diff: names without a/ and b/", false, |w, _| {
        done(w.text(), diff(w.path, plain(w).replace("--- a/", "--- ").replace("+++ b/", "+++ ")), w.after())
    }),
    ("diff: names with times", false, |w, _| {
        let text = plain(w).replacen(w.path, &format!("{}\t2024-01-02 03:04:05.000000000 +0100", w.path), 1);
        done(w.text(), diff(w.path, text), w.after())
    }),
    ("diff: git's own header", false, |w, _| {
        let head = format!("diff --git a/{0} b/{0}\nindex 83db48f..bf12a3c 100644\n", w.path);
        done(w.text(), diff(w.path, head + &plain(w)), w.after())
    }),
    ("diff: in a fence with talk", false, |w, _| {
        let text = format!("Here is the change:\n\n```diff\n{}```\n\nThat's it.\n", plain(w));
        done(w.text(), diff(w.path, text), w.after())
    }),
    ("diff: without its last newline", false, |w, _| {
        done(w.text(), diff(w.path, plain(w).trim_end_matches('\n')), w.after())
    }),
    ("diff: crlf, file lf", true, |w, _| done(w.text(), diff(w.path, crlf(&plain(w))), w.after())),
    ("diff: lf, file crlf", true, |w, _| done(crlf(&w.text()), diff(w.path, plain(w)), crlf(&w.after()))),
    ("diff: file with bom", false, |w, _| {
        done(format!("\u{feff}{}", w.text()), diff(w.path, plain(w)), format!("\u{feff}{}", w.after()))
    }),
    ("diff: blanks at line ends", false, |w, _| {
        let text = behind_marks(&plain(w), |line| format!("{line}  "));
        // What is added keeps what it has, for want of a line in the file to follow.
        let added = w.changes.iter().any(|change| !change.new.is_empty());
        (!added).then(|| done(w.text(), diff(w.path, text), w.after()))?
    }),
    ("diff: file has blanks at line ends", false, |w, _| {
        let spaced: Vec<String> = w.lines.iter().map(|line| format!("{line} ")).collect();
        let mut after = spaced.clone();
        for change in w.changes.iter().rev() {
            let keeps = change.new.first() == Some(&w.lines[change.at]);
            let mut new = change.new.clone();
            if keeps {
                new[0].push(' ');
            }
            after.splice(change.at..change.at + change.old, new);
        }
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        done(text(&spaced), diff(w.path, plain(w)), text(&after))
    }),
    ("diff: empty context lines lost their blank", false, |w, _| {
        let text = by_line(&plain(w), |line| if line == " " { String::new() } else { line.to_owned() });
        text.contains("\n\n").then(|| done(w.text(), diff(w.path, text), w.after()))?
    }),
    ("diff: blanks for tabs", false, |w, _| {
        let tabs = w.hunks(3).iter().any(|hunk| hunk.lines.iter().any(|line| line[1..].starts_with('\t')));
        let text = behind_marks(&plain(w), blanks_for_tabs);
        tabs.then(|| done(w.text(), diff(w.path, text), w.after()))?
    }),
    ("diff: all lines moved to the right", false, |w, _| {
        let text = behind_marks(&plain(w), indented);
        no_tabs(w).then(|| done(w.text(), diff(w.path, text), w.after()))?
    }),
    ("diff: all lines moved to the left", false, |w, _| {
        let file = by_line(&w.text(), indented);
        no_tabs(w).then(|| done(file, diff(w.path, plain(w)), by_line(&w.after(), indented)))?
    }),
    ("diff: file has no last newline, marker", false, |w, _| {
        let last = w.hunks(3).iter().all(|h| h.from + h.old - 1 == w.lines.len());
        let kept = w.hunks(3).iter().all(|h| h.lines.last().is_some_and(|line| line.starts_with(' ')));
        let text = plain(w) + "\\ No newline at end of file\n";
        (last && kept)
            .then(|| done(w.text().trim_end_matches('\n'), diff(w.path, text), w.after().trim_end_matches('\n')))?
    }),
    ("diff: file has no last newline, no marker", false, |w, _| {
        done(w.text().trim_end_matches('\n'), diff(w.path, plain(w)), w.after().trim_end_matches('\n'))
    }),
    ("diff: hunks in another order", true, |w, _| {
        let text: String = w.hunks(3).iter().rev().map(|h| h.with(&h.header())).collect();
        done(w.text(), diff(w.path, names(w.path) + &text), w.after())
    }),
    ("diff: one line of context", true, |w, _| {
        let text: String = w.hunks(1).iter().map(|h| h.with(&h.header())).collect();
        done(w.text(), diff(w.path, names(w.path) + &text), w.after())
    }),
    ("diff: no context, right number", false, |w, _| {
        let hunk = &w.hunks(0)[0];
        done(w.text(), diff(w.path, names(w.path) + &hunk.with(&hunk.header())), w.after())
    }),
    ("diff: new file", false, |w, _| {
        let added: String = w.lines.iter().map(|line| format!("+{line}\n")).collect();
        let text = format!("--- /dev/null\n+++ b/{}\n@@ -0,0 +1,{} @@\n{added}", w.path, w.lines.len());
        Some((None, diff(w.path, text), Some(NewContent::Write(w.text().into_bytes()))))
    }),
    ("diff: new file that exists", false, |w, _| {
        let text = format!("--- /dev/null\n+++ b/{}\n@@ -0,0 +1,1 @@\n+other\n", w.path);
        refused(w.text(), diff(w.path, text))
    }),
    ("diff: file deleted", false, |w, _| {
        let gone: String = w.lines.iter().map(|line| format!("-{line}\n")).collect();
        let text = format!("--- a/{}\n+++ /dev/null\n@@ -1,{} +0,0 @@\n{gone}", w.path, w.lines.len());
        Some((Some(w.text().into_bytes()), diff(w.path, text), Some(NewContent::Delete)))
    }),
    ("diff: file deleted that differs", false, |w, _| {
        let gone: String = w.lines[1..].iter().map(|line| format!("-{line}\n")).collect();
        let text = format!("--- a/{}\n+++ /dev/null\n@@ -1,{} +0,0 @@\n{gone}", w.path, w.lines.len() - 1);
        refused(w.text(), diff(w.path, text))
    }),
    ("diff: two places fit", false, |w, _| {
        let text: String = w.hunks(3).iter().map(|h| h.with("@@")).collect();
        refused(w.text() + &w.text(), diff(w.path, names(w.path) + &text))
    }),
    ("diff: two places fit, number says which", false, |w, _| {
        let hunk = &w.hunks(3)[0];
        let header =
            format!("@@ -{},{} +{},{} @@", hunk.from + w.lines.len(), hunk.old, hunk.from + w.lines.len(), hunk.new);
        done(w.text() + &w.text(), diff(w.path, names(w.path) + &hunk.with(&header)), w.text() + &w.after())
    }),
    ("diff: two places fit, number near one", false, |w, _| {
        let hunk = &w.hunks(3)[0];
        let header = format!("@@ -{},{} +{},{} @@", hunk.from + 1, hunk.old, hunk.from + 1, hunk.new);
        refused(w.text() + &w.text(), diff(w.path, names(w.path) + &hunk.with(&header)))
    }),
    ("diff: context differs in a letter", false, |w, d| {
        let text = plain(w);
        let places: Vec<&str> = text.lines().filter(|line| line.starts_with(' ') && line.trim().len() > 3).collect();
        if places.is_empty() {
            return None;
        }
        let line = d.pick(&places);
        refused(w.text(), diff(w.path, text.replacen(line, &format!("{line}x"), 1)))
    }),
    ("diff: removed line differs in a letter", false, |w, _| {
        let text = plain(w);
        let line = text.lines().skip(2).find(|line| line.starts_with('-') && line.trim().len() > 3)?;
        refused(w.text(), diff(w.path, text.replacen(line, &format!("{line};"), 1)))
    }),
    ("diff: a line of context left out", false, |w, _| {
        let text = plain(w);
        let lines: Vec<&str> = text.lines().collect();
        // In the middle, so that what is left cannot stand in the file.
        let at = (4..lines.len() - 2).find(|at| {
            lines[*at].starts_with(' ')
                && lines[at - 1].starts_with(' ')
                && lines[at + 1].starts_with(' ')
                && lines[*at] != lines[at + 1]
                && lines[*at] != lines[at - 1]
        })?;
        let mut left = lines.clone();
        left.remove(at);
        refused(w.text(), diff(w.path, left.join("\n") + "\n"))
    }),
    ("diff: case differs", false, |w, _| {
        let text = plain(w);
        let line = text.lines().find(|line| line.starts_with(' ') && line.chars().any(|c| c.is_ascii_lowercase()))?;
        refused(w.text(), diff(w.path, text.replacen(line, &line.to_ascii_uppercase(), 1)))
    }),
    ("diff: applied already", false, |w, _| {
        let adds = w.changes.iter().all(|change| change.new.first().is_some_and(|line| *line != w.lines[change.at]));
        adds.then(|| refused(w.after(), diff(w.path, plain(w))))?
    }),
    ("diff: no change", false, |w, _| {
        let text: String = w
            .hunks(3)
            .iter()
            .map(|h| {
                let kept: Vec<&String> = h.lines.iter().filter(|line| line.starts_with(' ')).collect();
                format!("{}\n{}", h.header(), kept.iter().map(|line| format!("{line}\n")).collect::<String>())
            })
            .collect();
        refused(w.text(), diff(w.path, names(w.path) + &text))
    }),
    ("diff: adds a placeholder", false, |w, d| {
        let hold = d.pick(&[
            "// ... existing code ...",
            "# ... rest unchanged ...",
            "/* rest of the file unchanged */",
            "<!-- ... -->",
            "...",
            "// rest of the code remains the same",
        ]);
        let text = plain(w);
        let line = text.lines().skip(2).find(|line| line.starts_with('+'))?;
        (!w.path.ends_with(".yaml"))
            .then(|| refused(w.text(), diff(w.path, text.replacen(line, &format!("{line}\n+    {hold}"), 1))))?
    }),
    ("diff: lines run together", false, |w, _| {
        let text = plain(w);
        let lines: Vec<&str> = text.lines().collect();
        let at = (2..lines.len() - 1).find(|at| lines[*at].starts_with('-') && lines[at + 1].starts_with('+'))?;
        let joined = format!("{}{}", lines[at], lines[at + 1]);
        let mut all: Vec<&str> = lines.clone();
        all[at] = &joined;
        all.remove(at + 1);
        refused(w.text(), diff(w.path, all.join("\n") + "\n"))
    }),
    ("diff: the same hunk twice", false, |w, _| {
        let hunk = &w.hunks(3)[0];
        let once = hunk.with(&hunk.header());
        (!w.changes[0].new.is_empty()).then(|| refused(w.text(), diff(w.path, names(w.path) + &once + &once)))?
    }),
    ("diff: hunks overlap", false, |w, _| {
        let hunk = &w.hunks(3)[0];
        let other = hunk.with(&hunk.header()).replace("\n+", "\n+other ");
        (!w.changes[0].new.is_empty())
            .then(|| refused(w.text(), diff(w.path, names(w.path) + &hunk.with(&hunk.header()) + &other)))?
    }),
    ("diff: one hunk of two fits nowhere", true, |w, _| {
        let hunks = w.hunks(3);
        let bad = hunks[1].with(&hunks[1].header()).replace("\n ", "\n not there ");
        refused(w.text(), diff(w.path, names(w.path) + &hunks[0].with(&hunks[0].header()) + &bad))
    }),
    ("diff: of another file", false, |w, _| {
        refused(w.text(), diff(w.path, plain(w).replace(w.path, "other/file.txt")))
    }),
    ("diff: file does not exist", false, |w, _| Some((None, diff(w.path, plain(w)), None))),
    ("blocks: clean", false, |w, _| w.is_unique(2).then(|| done(w.text(), blocks(w, vec![block(w, 2)]), w.after()))?),
    ("blocks: without last newlines", false, |w, _| {
        let SearchReplace { search, replace } = block(w, 2);
        let trimmed = SearchReplace {
            search: search.trim_end_matches('\n').into(),
            replace: replace.trim_end_matches('\n').into(),
        };
        let blank = search.ends_with("\n\n") || replace.ends_with("\n\n") || replace.is_empty();
        (w.is_unique(2) && !blank).then(|| done(w.text(), blocks(w, vec![trimmed]), w.after()))?
    }),
    ("blocks: blanks at line ends", false, |w, _| {
        let mut block = block(w, 2);
        block.search = by_line(&block.search, |line| format!("{line} \t"));
        w.is_unique(2).then(|| done(w.text(), blocks(w, vec![block]), w.after()))?
    }),
    ("blocks: lf, file crlf", false, |w, _| {
        w.is_unique(2).then(|| done(crlf(&w.text()), blocks(w, vec![block(w, 2)]), crlf(&w.after())))?
    }),
    ("blocks: crlf, file lf", false, |w, _| {
        let SearchReplace { search, replace } = block(w, 2);
        let block = SearchReplace { search: crlf(&search), replace: crlf(&replace) };
        w.is_unique(2).then(|| done(w.text(), blocks(w, vec![block]), w.after()))?
    }),
    ("blocks: blanks for tabs", false, |w, _| {
        let SearchReplace { search, replace } = block(w, 2);
        let tabs = search.contains("\n\t") || search.starts_with('\t');
        let block =
            SearchReplace { search: by_line(&search, blanks_for_tabs), replace: by_line(&replace, blanks_for_tabs) };
        (tabs && w.is_unique(2)).then(|| done(w.text(), blocks(w, vec![block]), w.after()))?
    }),
    ("blocks: all lines moved", false, |w, _| {
        let SearchReplace { search, replace } = block(w, 2);
        let block = SearchReplace { search: by_line(&search, indented), replace: by_line(&replace, indented) };
        (w.is_unique(2) && no_tabs(w)).then(|| done(w.text(), blocks(w, vec![block]), w.after()))?
    }),
    ("blocks: two places fit", false, |w, _| refused(w.text() + &w.text(), blocks(w, vec![block(w, 1)]))),
    ("blocks: empty search", false, |w, d| {
        let search = d.pick(&["", "\n", "  \n\n"]).to_owned();
        refused(w.text(), blocks(w, vec![SearchReplace { search, replace: "new\n".into() }]))
    }),
    ("blocks: no change", false, |w, _| {
        let SearchReplace { search, .. } = block(w, 2);
        w.is_unique(2).then(|| refused(w.text(), blocks(w, vec![SearchReplace { replace: search.clone(), search }])))?
    }),
    ("blocks: part of a line", false, |w, _| {
        let line = &w.lines[w.changes[0].at];
        let part: String = line.trim().chars().skip(1).take(5).collect();
        let whole = w.lines.iter().any(|line| line.trim() == part.trim());
        (!whole && !part.trim().is_empty())
            .then(|| refused(w.text(), blocks(w, vec![SearchReplace { search: part, replace: "x".into() }])))?
    }),
    ("blocks: differs in a letter", false, |w, _| {
        let mut block = block(w, 1);
        block.search = block.search.replacen('e', "3", 1);
        (!w.text().contains(&block.search)).then(|| refused(w.text(), blocks(w, vec![block])))?
    }),
    ("blocks: second fits nowhere", false, |w, _| {
        let bad = SearchReplace { search: "nowhere to be found\n".into(), replace: "x\n".into() };
        w.is_unique(2).then(|| refused(w.text(), blocks(w, vec![block(w, 2), bad])))?
    }),
    ("blocks: second stands on the first", false, |w, _| {
        let new = w.changes[0].new.first()?.clone();
        let second = SearchReplace { search: new.clone() + "\n", replace: "replaced twice\n".into() };
        let once = w.after().lines().filter(|line| line.trim() == new.trim()).count() == 1;
        let after = w.after().replacen(&format!("{new}\n"), "replaced twice\n", 1);
        let indented = new.starts_with(char::is_whitespace);
        (w.is_unique(2) && once && !indented).then(|| done(w.text(), blocks(w, vec![block(w, 2), second]), after))?
    }),
    ("blocks: adds a placeholder", false, |w, d| {
        let hold = d.pick(&[
            "// ... existing code ...\n",
            "# ... (unchanged) ...\n",
            "    // ...\n",
            "{/* existing code */}\n",
        ]);
        let mut block = block(w, 2);
        block.replace.push_str(hold);
        w.is_unique(2).then(|| refused(w.text(), blocks(w, vec![block])))?
    }),
    ("whole: new file", false, |w, _| {
        let edit = Edit::WholeFile { path: w.path.into(), content: w.text() };
        Some((None, edit, Some(NewContent::Write(w.text().into_bytes()))))
    }),
    ("whole: other text", false, |w, _| {
        done(w.text(), Edit::WholeFile { path: w.path.into(), content: w.after() }, w.after())
    }),
    ("whole: lf for a crlf file", false, |w, _| {
        done(crlf(&w.text()), Edit::WholeFile { path: w.path.into(), content: w.after() }, crlf(&w.after()))
    }),
    ("whole: a placeholder", false, |w, d| {
        let hold = d.pick(&["// ... existing code ...", "# rest of the file unchanged", "/* ... */"]);
        let content = format!("{}\n{hold}\n", w.lines[0]);
        refused(w.text(), Edit::WholeFile { path: w.path.into(), content })
    }),
    ("whole: same text", false, |w, _| refused(w.text(), Edit::WholeFile { path: w.path.into(), content: w.text() })),
];
