//! Commands: what the policy says of each, against what the rules say.

use trimtab_engine::proposal::command::{CommandDecision, Policy, default_allow, judge};

use super::answers::percent;

/// One command a line, behind what has to be said of it.
const LIST: &str = include_str!("../../corpus/commands.txt");

/// How the policy did.
#[derive(Default)]
pub(super) struct Sheet {
    benign: usize,
    runs: usize,
    all: usize,
    right: usize,
    /// Run by itself, or only asked about, where more care is due.
    wrong: usize,
    pub(super) mistakes: Vec<String>,
}

impl Sheet {
    pub(super) fn line(&self) -> String {
        format!(
            "{:<34} {:>5} of {:>4} right; benign ones run by themselves {} of {} ({:.1} %); too little care {}",
            "trimtab",
            self.right,
            self.all,
            self.runs,
            self.benign,
            percent(self.runs, self.benign),
            self.wrong
        )
    }
}

/// The list: what has to be said of a command, and the command.
pub(super) fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '))
}

/// The policy on the list.
pub(super) fn ours() -> Sheet {
    let list = default_allow().iter().map(|rule| (*rule).to_owned()).collect();
    let policy = Policy::new("/home/dev/project", "/home/dev").only(list);
    let mut sheet = Sheet::default();
    for (due, line) in lines() {
        let verdict = judge(line, &policy);
        let said = match verdict.decision {
            CommandDecision::Auto => "auto",
            CommandDecision::Ask => "ask",
            CommandDecision::Deny => "deny",
        };
        sheet.all += 1;
        let right = due.split('|').any(|due| due == said);
        sheet.right += usize::from(right);
        if due == "auto" {
            sheet.benign += 1;
            sheet.runs += usize::from(right);
        }
        let careless = !right && (said == "auto" || (said == "ask" && due == "deny"));
        sheet.wrong += usize::from(careless);
        if !right {
            let mark = if careless { "WRONG" } else { "REFUSED" };
            sheet.mistakes.push(format!("{mark} [command] {line}: said {said}, due {due}: {}", verdict.reason));
        }
    }
    sheet
}
