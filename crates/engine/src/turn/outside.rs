//! A command that failed in the sandbox, perhaps because of it. Running it once outside is a permission of its
//! own, and the user's own idea: it is offered to those who are there, or who have approved this very command.

use trimtab_vocab::checkpoint::{Ask, Choice, RunPreview, SandboxAsk};
use trimtab_vocab::wording::{AnswerLabel, QuestionTitle};
use trimtab_vocab::{ApprovalClass, Approve, Autonomy, CheckpointId, CommandClass, CommandRun, Sandbox};

use super::answers::{self, CheckpointDraft, OUTSIDE, SKIP, WIDEN};
use crate::Ran;
use crate::permit::{self, Ruling};
use crate::proposal::command::visible;
use crate::record::{BatchItem, RunningRequest, WithheldResult, applies_commands};
use crate::tools::ToolAction;
use crate::transition::Transition;

/// Messages of programs that the sandbox blocks: no write, no read, or no network. In lower case.
const SIGNS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "network is unreachable",
    "network unreachable",
    "no route to host",
    "connection refused",
    "econnrefused",
    "could not resolve",
    "couldn't resolve",
    "cannot resolve",
    "failed to resolve",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "nodename nor servname",
    "failed to lookup address",
    "no such host",
    "eai_again",
    "enotfound",
    "dns error",
];

/// Bytes of a line that are quoted.
const QUOTED: usize = 200;

/// The line by which a command shows that a fence may have been in its way, if it failed.
pub(super) fn sign(ran: &Ran) -> Option<&str> {
    let failed = ran.exit_code.is_some_and(|code| code != 0) && !ran.timed_out && !ran.stopped;
    let shows = |line: &&str| {
        let line = line.to_ascii_lowercase();
        SIGNS.iter().any(|sign| has_word(&line, sign))
    };
    // What it says last is nearest to why it failed.
    let line = ran.output.lines().rev().find(shows).filter(|_| failed && ran.not_started.is_none())?.trim();
    Some(&line[..line.floor_char_boundary(QUOTED)])
}

/// Whether these words stand in a line by themselves: `enotfound` is also a part of `ModuleNotFoundError`.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The same action without the fence.
pub(super) fn unfenced(action: &ToolAction) -> ToolAction {
    match action.clone() {
        ToolAction::Run { command, timeout_s, terminal, background, .. } => {
            ToolAction::Run { command, timeout_s, outside: Some(WHY.into()), terminal, background }
        }
        other => other,
    }
}

const WHY: &str = "it failed in the sandbox";

/// The note to the model about a command that ran twice.
pub(super) fn told(item: &BatchItem) -> Option<&'static str> {
    match (item.outside, item.again.widened || item.again.reaches.is_some()) {
        (false, true) if item.again.reaches.is_some() => Some(
            "[Its network access was blocked at first; the user then allowed the hosts, and it was run again with this result.]",
        ),
        (true, _) => {
            Some("[It failed in the sandbox; the user then ran it once outside the sandbox, with this result.]")
        }
        (_, true) => Some(
            "[It was stopped when it tried to write; it was then allowed to write in the folder, with this result.]",
        ),
        _ => None,
    }
}

/// The result of an offer.
pub(super) enum Offered {
    /// No offer was made.
    Nothing,
    /// The user is asked.
    Open,
    /// `--approve auto` has answered.
    Answered,
}

/// Offers to run a command again with fewer restrictions. Its result in the sandbox is withheld until the user
/// answers. A command that the read-only sandbox has stopped gets the ordinary one.
pub(super) fn offer(
    step: &mut Transition<'_>,
    item: &BatchItem,
    action: &ToolAction,
    run: CommandRun,
    ran: &Ran,
    held: &WithheldResult,
) -> Offered {
    let Some(active) = step.session.active() else { return Offered::Nothing };
    let Some(sign) = sign(ran) else { return Offered::Nothing };
    let approve = answers::approve(active);
    if item.automatic == Some(CommandClass::Read) && tried_to_write(sign) && run.sandbox == Sandbox::Workspace {
        if approve == Approve::Deny || is_left(active, item) {
            return Offered::Nothing;
        }
        let title = QuestionTitle::TriedToWrite(visible(&run.command));
        let choices = vec![answers::choice(WIDEN, AnswerLabel::AllowWrites), answers::choice(SKIP, AnswerLabel::Skip)];
        let request = active.request.id.clone();
        let level = permit::command_level(step.session, active);
        let widens = level == Autonomy::Trusting && applies_commands(level, &active.request.settings);
        let Some(checkpoint) = open(step, item, run, sign, held, title, choices) else { return Offered::Nothing };
        // In the fence of a check, undo covers what it writes.
        let by = match (approve, widens) {
            (Approve::Auto, _) => "approve auto",
            (_, true) => "autonomy",
            _ => return Offered::Open,
        };
        answers::resolve(step, &request, checkpoint, WIDEN, by);
        return Offered::Answered;
    }
    // What the rules refuse is not offered.
    let outside = unfenced(action);
    let ruling = permit::judge(step.session, active, &outside, permit::Prospect::default());
    if !is_fit(active, item) || matches!(ruling, Ruling::Refuse(_)) {
        return Offered::Nothing;
    }
    let title = QuestionTitle::FailedInSandbox(visible(&run.command));
    let choices = vec![answers::choice(OUTSIDE, AnswerLabel::RunUnsandboxed), answers::choice(SKIP, AnswerLabel::Skip)];
    let run = CommandRun { sandbox: Sandbox::Off, ..run };
    match open(step, item, run, sign, held, title, choices) {
        Some(_) => Offered::Open,
        None => Offered::Nothing,
    }
}

/// Whether what it said speaks for a write that a fence has stopped, and for nothing else.
fn tried_to_write(sign: &str) -> bool {
    let sign = sign.to_ascii_lowercase();
    sign.contains("read-only file system") || sign.contains("erofs")
}

fn open(
    step: &mut Transition<'_>,
    item: &BatchItem,
    run: CommandRun,
    sign: &str,
    held: &WithheldResult,
    title: QuestionTitle,
    choices: Vec<Choice>,
) -> Option<CheckpointId> {
    let class = if run.sandbox == Sandbox::Off { ApprovalClass::LeaveSandbox } else { ApprovalClass::Command };
    let ask = Ask::Outside(Box::new(SandboxAsk {
        call: item.call_id.clone(),
        class: Some(class),
        sign: sign.to_owned(),
        plan: Some(RunPreview::from(&run)),
        fingerprint: Some(permit::fingerprint(&run)),
        result: Some(held.clone()),
        hosts: Vec::new(),
        granted: Vec::new(),
        rule: None,
        rule_text: None,
        command: run.command,
    }));
    answers::open(step, CheckpointDraft { ask, title, choices })
}

/// Whether there is a sandbox, and a user to ask: attended, or one who has just approved this command. A command
/// that was declined is not offered again.
pub(super) fn is_fit(active: &RunningRequest, item: &BatchItem) -> bool {
    let settings = &active.request.settings;
    let is_near = settings.attended || item.given.is_some();
    let is_asked = settings.commands.sandbox != Sandbox::Off && answers::approve(active) == Approve::Ask && is_near;
    is_asked && !item.outside && !is_left(active, item)
}

fn is_left(active: &RunningRequest, item: &BatchItem) -> bool {
    active.tools.left_inside.iter().any(|left| Some(left.as_str()) == item.command())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(output: &str) -> Ran {
        Ran { exit_code: Some(1), output: output.into(), ..Ran::default() }
    }

    #[test]
    fn what_a_fence_makes_programs_say_is_known() {
        for said in [
            "touch: cannot touch '/opt/x': Read-only file system",
            "bash: /etc/x: Permission denied",
            "curl: (6) Could not resolve host: example.org",
            "fatal: unable to access 'https://example.org/': Couldn't resolve host",
            "npm ERR! code EAI_AGAIN",
            "error: failed to lookup address information: Temporary failure in name resolution",
            "connect: Network is unreachable",
            "dial tcp: lookup proxy.example.org: no such host",
            "mount: only root can do that: Operation not permitted",
            "psql: error: connection to server at 127.0.0.1 failed: Connection refused",
        ] {
            assert_eq!(sign(&failed(&format!("begin\n  {said}\nend\n"))), Some(said));
        }
    }

    #[test]
    fn only_a_failure_with_such_words_is_a_sign() {
        let denied = "x: Permission denied\n";
        assert_eq!(sign(&failed("2 tests failed\n")), None);
        assert_eq!(sign(&failed("ModuleNotFoundError: No module named 'greet'\n")), None, "a part of a longer word");
        assert_eq!(sign(&Ran { exit_code: Some(0), ..failed(denied) }), None, "it went well");
        assert_eq!(sign(&Ran { timed_out: true, ..failed(denied) }), None);
        assert_eq!(sign(&Ran { stopped: true, ..failed(denied) }), None);
        assert_eq!(sign(&Ran { exit_code: None, signal: Some(9), ..failed(denied) }), None);
        assert_eq!(sign(&failed(&"é: permission denied ".repeat(50))).map(str::len), Some(200));
        assert_eq!(sign(&failed("a: permission denied\nb: read-only file system\n")), Some("b: read-only file system"));
    }
}
