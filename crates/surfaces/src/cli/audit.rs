//! `trimtab audit`: the trail of what was decided and done.

use clap::Args;
use serde_json::{Value, json};
use trimtab_host::{AuditLine, Client};
use trimtab_vocab::Problem;
use trimtab_vocab::event::Status;
use trimtab_vocab::format;

use super::number::whole;
use super::output::{note, print, print_exact, print_json};
use super::{CliOutcome, place};

/// Lines that are read at once.
const PAGE: u32 = 1000;

const EXAMPLES: &str = "\
Examples:
  trimtab audit                         show the last 20 entries and verify the trail
  trimtab audit --export > audit.jsonl  export the whole trail";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AuditArgs {
    /// Print the whole log as JSON lines, each with the hash of the line before it
    #[arg(long)]
    export: bool,
    /// Show this many of the last entries
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>, conflicts_with = "export")]
    last: u64,
    /// Verify the log and print the result as one JSON object
    #[arg(long, conflicts_with_all = ["export", "last"])]
    json: bool,
}

impl AuditArgs {
    /// The trail is followed from its first line whatever is shown of it.
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let check = client.admin().check_audit().await?;
        if self.export {
            each(&client, 0, |line| print_exact(&format!("{}\n", line.line))).await?;
        } else if self.json {
            print_json(&json!({"lines": check.lines, "head": check.head, "broken": check.broken}))?;
        } else {
            each(&client, check.lines.saturating_sub(self.last), |line| print(&in_words(line))).await?;
        }
        for broken in &check.broken {
            note(&format!("broken: {broken}"));
        }
        if !check.broken.is_empty() {
            note("The audit trail was modified, or the database is damaged.");
            return Ok(CliOutcome::Finished(Status::Failed));
        }
        if !self.json {
            note(&format!("{}, unmodified. The last hash is {}", format::plural(check.lines, "entry"), check.head));
        }
        Ok(CliOutcome::Done)
    }
}

async fn each(
    client: &Client,
    after: u64,
    mut show: impl FnMut(&AuditLine) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut last = after;
    loop {
        let page = client.admin().audit_lines(last, PAGE).await?;
        page.iter().try_for_each(&mut show)?;
        match page.last() {
            Some(line) => last = line.n,
            None => return Ok(()),
        }
    }
}

/// A line for a person: when, what, and what the action adds.
fn in_words(line: &AuditLine) -> String {
    let mut object = match serde_json::from_str(&line.line) {
        Ok(Value::Object(object)) => object,
        _ => return format!("{:>6}  (cannot be read)\n", line.n),
    };
    let mut taken = |name: &str| match object.shift_remove(name) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (_, time, action, session, _) = (taken("n"), taken("time"), taken("action"), taken("session"), taken("prev"));
    taken("request");
    let mut rest = Value::Object(object).to_string();
    let cut = rest.floor_char_boundary(160);
    if cut < rest.len() {
        rest.truncate(cut);
        rest.push('…');
    }
    format!("{:>6}  {time}  {action:<18}  {session:<17}  {rest}\n", line.n)
}
