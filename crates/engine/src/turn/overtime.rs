//! The time limit of commands. When the time is up, an attended command continues while the user is asked, and an
//! unattended one is ended.

use trimtab_vocab::checkpoint::{Ask, ChoiceText};
use trimtab_vocab::wording::{AnswerLabel, QuestionTitle};
use trimtab_vocab::{Approve, BackgroundReason, CallId, CheckpointId, Overtime, RunSettings};

use super::answers::{self, BACKGROUND, CheckpointDraft, END, EXTEND, UNLIMITED};
use super::background;
use super::batch::find;
use crate::Effect;
use crate::proposal::command;
use crate::record::{Progress, Session};
use crate::tools::ToolAction;
use crate::transition::Transition;

/// How long a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) seconds: u64,
    /// The model asked for them; without that, it would be less.
    pub(super) is_asked_for: bool,
}

/// The limit of a command: what is set for its beginning, or for all; of several parts, the longest. A
/// model may ask for more, up to a bound, or for less.
pub(super) fn limit(settings: &RunSettings, line: &str, argv: Option<&[Vec<String>]>, asked: Option<u64>) -> Limit {
    let plain = [line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()];
    let set = |words: &Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let of = |(rule, seconds): (&String, &u64)| command::begins(rule, &words).map(|length| (length, *seconds));
        let longest = settings.commands.timeouts.iter().filter_map(of).max();
        longest.map_or(settings.commands.timeout_s, |(_, seconds)| seconds)
    };
    let usual = argv.unwrap_or(&plain).iter().map(set).max().unwrap_or(settings.commands.timeout_s);
    let seconds = asked.map_or(usual, |asked| asked.min(usual.max(settings.commands.longest_s)));
    Limit { seconds: seconds.max(1), is_asked_for: seconds > usual }
}

/// Whether the user can decide about a command whose time is up.
pub(super) fn is_attended(settings: &RunSettings) -> bool {
    settings.attended && settings.approve == Approve::Ask
}

/// The time of a command is up. It continues, and the user decides for how long.
pub(crate) fn overdue(step: &mut Transition<'_>, call: &CallId) {
    let Some((_, item)) = find(step, call) else { return };
    if item.progress != Progress::Acting || item.stopping || open(step.session, call).is_some() {
        return;
    }
    let Some(seconds) = limit_of(step.session, call) else { return };
    let command = item.command().unwrap_or_default();
    let background =
        background::is_offered(step.session).then(|| answers::choice(BACKGROUND, AnswerLabel::ToBackground));
    let extend = answers::choice(EXTEND, AnswerLabel::MoreTime(seconds)).with_text(ChoiceText::No);
    let question = CheckpointDraft {
        ask: Ask::Overtime { call: call.clone(), command: command.to_owned(), timeout_s: seconds },
        title: QuestionTitle::Overtime(seconds, command.to_owned()),
        choices: [Some(extend), Some(answers::choice(UNLIMITED, AnswerLabel::AnyTime)), background]
            .into_iter()
            .flatten()
            .chain([answers::choice(END, AnswerLabel::StopCommand)])
            .collect(),
    };
    answers::open(step, question);
}

/// The user decided about it.
pub(super) fn answered(step: &mut Transition<'_>, call: &CallId, choice: &str) {
    if choice == BACKGROUND {
        return step.request(Effect::Detach { call: call.clone(), why: BackgroundReason::Overtime });
    }
    let overtime = match choice {
        EXTEND => limit_of(step.session, call).map_or(Overtime::Unlimited, Overtime::Seconds),
        UNLIMITED => Overtime::Unlimited,
        _ => Overtime::None,
    };
    step.request(Effect::Overtime { call: call.clone(), overtime });
}

/// The command has ended, or its end is unknown: the question is obsolete.
pub(super) fn settle(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, _)) = find(step, call) else { return };
    let Some(checkpoint) = open(step.session, call) else { return };
    answers::resolve(step, &request, checkpoint, "over", "command");
}

fn open(session: &Session, call: &CallId) -> Option<CheckpointId> {
    let is_it = |ask: &Ask| matches!(ask, Ask::Overtime { call: overdue, .. } if overdue == call);
    session.own_checkpoints().find(|(_, open)| is_it(&open.ask)).map(|(id, _)| id.clone())
}

/// The limit that a command was started with: it follows from what is recorded.
pub(super) fn limit_of(session: &Session, call: &CallId) -> Option<u64> {
    let active = session.active()?;
    let item = active.batch.as_ref()?.item(call)?;
    let Ok(ToolAction::Run { command, timeout_s, .. }) = item.action.as_deref() else { return None };
    let argv = command::judge(command, &crate::permit::policy(session, active)).argv;
    Some(limit(&active.request.settings, command, argv.as_deref(), *timeout_s).seconds)
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::CommandSettings;

    use super::*;

    fn settings() -> RunSettings {
        let timeouts = [("cargo", 100), ("cargo test", 900), ("curl", 10)];
        let timeouts = timeouts.map(|(rule, seconds)| (rule.to_owned(), seconds)).into();
        RunSettings { commands: CommandSettings { timeouts, ..CommandSettings::default() }, ..RunSettings::default() }
    }

    fn seconds(line: &str, asked: Option<u64>) -> u64 {
        let policy = command::Policy::new("/w", "/h");
        limit(&settings(), line, command::judge(line, &policy).argv.as_deref(), asked).seconds
    }

    #[test]
    fn the_longest_beginning_that_fits_sets_the_limit() {
        assert_eq!(seconds("ls", None), 120);
        assert_eq!(seconds("cargo build", None), 100);
        assert_eq!(seconds("cargo test --workspace", None), 900);
        assert_eq!(seconds("cargo tests", None), 100, "words count, not letters");
        assert_eq!(seconds("curl x", None), 10, "it may be less than for others");
        assert_eq!(seconds("cd a && cargo test", None), 900, "the longest of its parts");
        assert_eq!(seconds("cargo test $X", None), 900, "also where the words are not known");
    }

    #[test]
    fn a_model_may_ask_for_more_within_bounds() {
        assert_eq!(seconds("ls", Some(240)), 240);
        assert_eq!(seconds("ls", Some(86_400)), 600);
        assert_eq!(seconds("cargo test", Some(86_400)), 900, "never beyond what is set for it");
        assert_eq!(seconds("cargo test", Some(5)), 5);
        assert!(limit(&settings(), "ls", None, Some(180)).is_asked_for);
        assert!(!limit(&settings(), "ls", None, Some(20)).is_asked_for);
    }
}
