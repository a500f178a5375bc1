//! What waits for a person: questions, one after the other, each with why it is asked.
//!
//! A dialog shows what a checkpoint says and turns keys into its answer. That somebody answered elsewhere is a
//! fact like any other, and closes it.

mod clarify;
mod draw;
mod read;

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::text::Line;
use trimtab_host::Answered;
use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{CheckpointFact, CheckpointKind, RequestFact, Status};
use trimtab_vocab::{CallId, CheckpointId, Event, Fact, PlanStep, RequestId, Time, Visible};

use self::clarify::ClarifyDialog;
use self::read::ReadProgress;
use super::composer::{Composer, ComposerDraft, ComposerOutcome as Typed, HalfAnswer};
use super::keys::{KeyAction, KeyMap, TerminalInput};
use crate::diff::LoadedDiff;
use crate::words::{answers, details, reasons, starting_text, subtasks, text_label};

/// Keys on their way to somewhere else are not taken for an answer: a question that has come up is answered only
/// after so many milliseconds without a key.
const QUIET: i64 = 500;

/// All that waits for a person in this session.
#[derive(Debug, Default)]
pub(super) struct Dialogs {
    open: VecDeque<QuestionDialog>,
    /// The person wants to do something else first.
    is_aside: bool,
    /// What an earlier process left of an answer.
    half: Option<HalfAnswer>,
    /// The question that comes first.
    first: Option<CheckpointId>,
}

/// What came of a key.
#[derive(Debug)]
pub(super) enum DialogOutcome {
    /// It means nothing here.
    Passed,
    /// Something else is shown.
    Moved,
    /// This is the answer, and a note to the model that goes with it.
    Answer(Answered, Option<String>),
    /// The person wants to edit the plan.
    EditPlan,
    /// The person wants to see the whole change.
    ShowDiff(Arc<Vec<LoadedDiff>>, Option<CheckpointId>),
    /// Write in an editor.
    Editor(String),
}

#[derive(Debug)]
pub(super) struct QuestionDialog {
    pub(super) checkpoint: CheckpointId,
    request: Option<RequestId>,
    pub(super) kind: CheckpointKind,
    title: String,
    choices: Vec<Choice>,
    ask: Ask,
    /// Whose question it is, where a worker asks.
    asks: Option<String>,
    /// What a person should know, a line each.
    details: Vec<String>,
    selected: usize,
    /// Why it is asked and where it would happen, which never leave the screen.
    reasons: Vec<String>,
    /// The proposed change, as it was laid out for a width.
    rows: Option<(usize, Arc<Vec<Line<'static>>>)>,
    /// How far what is asked about was read.
    reading: ReadProgress,
    second: SecondStep,
    /// Words that go with the chosen answer, while they are written.
    field: Option<TextField>,
    clarify: Option<ClarifyDialog>,
    /// The call whose change is asked about, and the change.
    pub(super) call: Option<CallId>,
    diff: AskedDiff,
    /// Keys count from then on.
    ready_at: Time,
    /// Text was typed at it that went to the input, so Enter does not answer it.
    pub(super) has_text_beside: bool,
    /// It was answered here; the fact is on its way.
    is_answered: bool,
}

/// The change that is asked about.
#[derive(Debug, Default)]
struct AskedDiff {
    loaded: Option<Arc<Vec<LoadedDiff>>>,
    /// It was to be shown before it was there.
    is_wanted: bool,
}

#[derive(Debug)]
struct TextField {
    choice: String,
    label: &'static str,
    words: Composer,
    /// The words are a note to the model, not a part of the answer.
    is_note: bool,
}

/// The answer that Enter gives at first. Those about sub-tasks stand in the documented order, with the usual one among
/// them.
fn preselected(ask: &Ask, choices: &[Choice]) -> usize {
    match ask {
        Ask::Breakdown { .. } | Ask::SubtaskPlan { .. } | Ask::MergeConflict { .. } => {
            choices.iter().position(|choice| choice.role == ChoiceRole::Primary).unwrap_or(0)
        }
        _ => 0,
    }
}

/// The step behind an answer that makes a rule.
#[derive(Debug, Default)]
struct SecondStep {
    /// Forms of an answer that add other rules.
    forms: Vec<Choice>,
    /// An answer that makes a rule, until the rule was confirmed.
    confirming: Option<Confirming>,
}

/// An answer that makes a rule.
#[derive(Debug)]
struct Confirming {
    text: Option<String>,
    note: Option<String>,
    /// The rules that it can make.
    rules: Vec<OfferedRule>,
    /// The row that Enter takes. At first it is the one behind the rules, which goes back.
    row: usize,
}

/// A rule to choose.
#[derive(Debug)]
struct OfferedRule {
    /// The answer that adds it.
    choice: String,
    /// The keys that choose it, the one that is shown first.
    keys: Vec<char>,
    /// The rule, in words.
    rule: String,
    covers: Option<String>,
}

impl OfferedRule {
    fn new(ask: &Ask, choice: &Choice, pattern: Option<&str>, is_first: bool) -> Self {
        let number = choice.number.and_then(|number| char::from_digit(number.into(), 10));
        Self {
            choice: choice.id.clone(),
            // The number of the first one was just pressed, and pressing it twice is no second step.
            keys: if is_first { vec!['y'] } else { number.into_iter().chain(choice.key).collect() },
            rule: answers::rule_text(ask, choice, pattern).unwrap_or_default(),
            covers: choice.covers.clone(),
        }
    }
}

impl Dialogs {
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if !self.has(checkpoint) => {
                self.open.extend(QuestionDialog::new(event));
                if let (Some(half), Some(dialog)) = (&self.half, self.open.back_mut())
                    && half.checkpoint == dialog.checkpoint
                    && dialog.clarify.is_none()
                    && dialog.has(&half.choice)
                {
                    dialog.open_field(&half.choice, &half.text, half.is_note);
                }
                self.is_aside = false;
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                self.open.retain(|open| open.checkpoint != *checkpoint);
            }
            // A request that is stopped asks nothing more. One that waits for its answer ends for now, too.
            Fact::Request(RequestFact::Finished { status, .. })
                if !matches!(status, Status::NeedsUser | Status::Limit) =>
            {
                self.open.retain(|open| open.request != event.request);
            }
            // An answer may be turned down; what was asked is still asked.
            Fact::Banner(_) => self.open.iter_mut().for_each(|open| open.is_answered = false),
            _ => {}
        }
    }

    fn has(&self, checkpoint: &CheckpointId) -> bool {
        self.open.iter().any(|open| open.checkpoint == *checkpoint)
    }

    pub(super) fn current(&mut self) -> Option<&mut QuestionDialog> {
        if self.is_aside {
            return None;
        }
        self.open.iter_mut().find(|open| !open.is_answered)
    }

    /// Looks which question comes first now. Keys on their way to the input, or to the question before it, must not
    /// answer one that has just come up; one that was there before, and is shown again, surprises nobody.
    pub(super) fn refresh(&mut self, now: Time, is_live: bool) {
        let first = self.open.iter_mut().find(|open| !open.is_answered);
        if first.as_ref().map(|dialog| &dialog.checkpoint) == self.first.as_ref() {
            return;
        }
        self.first = first.as_ref().map(|dialog| dialog.checkpoint.clone());
        if let Some(dialog) = first.filter(|_| is_live) {
            dialog.keep_quiet(now);
        }
    }

    /// Whether keys do not answer the question on the screen yet.
    pub(super) fn is_guarded(&self, now: Time) -> bool {
        let first = self.open.iter().find(|open| !open.is_answered);
        !self.is_aside && first.is_some_and(|dialog| dialog.is_guarded(now))
    }

    /// Puts the questions aside, or brings them back.
    pub(super) fn put_aside(&mut self) {
        self.is_aside = !self.is_aside && self.len() > 0;
    }

    /// How many are put aside.
    pub(super) fn aside(&self) -> usize {
        if self.is_aside { self.len() } else { 0 }
    }

    /// Another session is shown; its questions are told again.
    pub(super) fn begin_session(&mut self) {
        self.open.clear();
        self.is_aside = false;
    }

    /// Goes on with what an earlier process left of an answer, when it is asked for again.
    pub(super) fn restore(&mut self, half: Option<HalfAnswer>) {
        self.half = half;
    }

    /// The answer that is being written.
    pub(super) fn half(&self) -> Option<HalfAnswer> {
        let dialog = self.open.iter().find(|open| !open.is_answered)?;
        let field = dialog.field.as_ref().filter(|_| dialog.clarify.is_none())?;
        let (checkpoint, choice) = (dialog.checkpoint.clone(), field.choice.clone());
        Some(HalfAnswer { checkpoint, choice, text: field.words.draft().text(), is_note: field.is_note })
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.open.iter().filter(|open| !open.is_answered).count()
    }

    /// The changes of a call that is asked about. They are to be shown at once where somebody could not wait for them.
    pub(super) fn set_diff(&mut self, call: &CallId, files: &Arc<Vec<LoadedDiff>>) -> Option<DialogOutcome> {
        for open in self.open.iter_mut().filter(|open| open.call.as_ref() == Some(call)) {
            open.diff.loaded = Some(Arc::clone(files));
            open.reading = ReadProgress::default();
            open.rows = None;
        }
        let current = self.current()?;
        std::mem::take(&mut current.diff.is_wanted).then(|| current.show_diff())
    }

    /// An answer that could not be passed on is not given.
    pub(super) fn reopen(&mut self) {
        self.open.iter_mut().for_each(|open| open.is_answered = false);
    }
}

impl QuestionDialog {
    fn new(event: &Event) -> Option<Self> {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, title, choices, ask, worker, .. }) =
            &event.fact
        else {
            return None;
        };
        let call = ask.permission().filter(|asked| asked.proposal.is_some()).map(|asked| asked.call.clone());
        let (choices, forms) = answers::without_forms(choices);
        let selected = preselected(ask, &choices);
        let mut dialog = Self {
            checkpoint: checkpoint.clone(),
            request: event.request.clone(),
            kind: *kind,
            title: title.clone(),
            choices,
            second: SecondStep { forms, confirming: None },
            details: details(ask),
            reasons: reasons(ask),
            rows: None,
            reading: ReadProgress::default(),
            clarify: ClarifyDialog::from_ask(ask),
            ask: ask.clone(),
            asks: worker.as_deref().map(subtasks::asks),
            selected,
            field: None,
            call,
            diff: AskedDiff::default(),
            ready_at: Time::from_millis(0),
            has_text_beside: false,
            is_answered: false,
        };
        // Where words are all that is asked for, they can be written at once.
        if dialog.ask == Ask::Tell {
            dialog.open_text();
        }
        Some(dialog)
    }

    /// Whether words are being written.
    pub(super) fn is_writing(&self) -> bool {
        self.field.is_some()
    }

    /// Whether keys may still be on their way to somewhere else. Where words are written, no single key answers.
    pub(super) fn is_guarded(&self, now: Time) -> bool {
        now < self.ready_at && self.field.is_none()
    }

    /// It has come up, or a key came that was meant for something else.
    pub(super) fn keep_quiet(&mut self, now: Time) {
        self.ready_at = Time::from_millis(now.millis() + QUIET);
    }

    /// The steps of the plan that is asked about.
    pub(super) fn plan(&self) -> Option<Vec<PlanStep>> {
        match &self.ask {
            Ask::Plan { steps, .. } => Some(steps.clone()),
            _ => None,
        }
    }

    fn has(&self, choice: &str) -> bool {
        self.choices.iter().any(|known| known.id == choice)
    }

    /// The first answer that is like this.
    fn id_where(&self, is_it: impl Fn(&Choice) -> bool) -> Option<String> {
        self.choices.iter().find(|choice| is_it(choice)).map(|choice| choice.id.clone())
    }

    /// Opens the field of the answer that is given in words.
    fn open_text(&mut self) {
        if let Some(choice) = self.id_where(|choice| choice.text == ChoiceText::Required) {
            self.open_field(&choice, "", false);
        }
    }

    /// The command that is asked about, as it would run. An earlier version recorded long ones in part: then the title,
    /// which ends with the whole of it, is shown instead.
    fn command(&self) -> Option<&str> {
        self.ask.fingerprint()?;
        let command = self.ask.command()?;
        self.title.ends_with(Visible::command(command.trim()).as_str()).then_some(command)
    }

    fn open_field(&mut self, choice: &str, begin: &str, is_note: bool) {
        let mut words = Composer::for_words();
        words.set_draft(&ComposerDraft::new(begin));
        let Some(at) = self.choices.iter().position(|known| known.id == choice) else { return };
        let label = match is_note {
            true => "A note to the model with this answer",
            false => text_label(&self.ask, &self.choices[at]),
        };
        self.field = Some(TextField { choice: choice.to_owned(), label, words, is_note });
        self.selected = at;
    }

    fn answer(&mut self, choice: &str, text: Option<String>, note: Option<String>) -> DialogOutcome {
        self.is_answered = true;
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (checkpoint, choice) = (self.checkpoint.clone(), choice.to_owned());
        DialogOutcome::Answer(Answered { checkpoint, choice, text: said(text), by: "user".into() }, said(note))
    }

    /// An answer is chosen: it is given, or the rule that it makes is shown first.
    fn give(&mut self, choice: &str, text: Option<String>, note: Option<String>) -> DialogOutcome {
        let Some(makes_rule) = self.choices.iter().find(|known| known.id == choice && known.confirm) else {
            return self.answer(choice, text, note);
        };
        let text = text.filter(|text| !text.trim().is_empty());
        let mut rules = vec![OfferedRule::new(&self.ask, makes_rule, text.as_deref(), true)];
        // Whoever has written a pattern means that one.
        if text.is_none() {
            let forms = self.second.forms.iter().filter(|form| form.variant_of.as_deref() == Some(choice));
            rules.extend(forms.map(|form| OfferedRule::new(&self.ask, form, None, false)));
        }
        self.second.confirming = Some(Confirming { text, note, row: rules.len(), rules });
        DialogOutcome::Moved
    }

    /// Takes a key while a rule is shown. The key that chose the answer does not confirm it.
    fn confirm(&mut self, input: &TerminalInput, keys: &KeyMap) -> DialogOutcome {
        let TerminalInput::Key(chord) = input else { return DialogOutcome::Moved };
        let Some(confirming) = &mut self.second.confirming else { return DialogOutcome::Passed };
        let rows = confirming.rules.len() + 1;
        let by_key = |key: char| confirming.rules.iter().position(|rule| rule.keys.contains(&key));
        let taken = match (chord.typed(), keys.action(*chord)) {
            (Some(key), _) if let Some(at) = by_key(key) => at,
            (_, Some(KeyAction::Send)) => confirming.row,
            (Some('n'), _) | (_, Some(KeyAction::Interrupt)) => rows - 1,
            (Some('j'), _) | (_, Some(KeyAction::Down)) => {
                confirming.row = (confirming.row + 1) % rows;
                return DialogOutcome::Moved;
            }
            (Some('k'), _) | (_, Some(KeyAction::Up)) => {
                confirming.row = (confirming.row + rows - 1) % rows;
                return DialogOutcome::Moved;
            }
            (None, Some(_)) => return DialogOutcome::Passed,
            _ => return DialogOutcome::Moved,
        };
        let Some(Confirming { mut rules, text, note, .. }) = self.second.confirming.take() else {
            return DialogOutcome::Moved;
        };
        match taken < rules.len() {
            true => self.answer(&rules.swap_remove(taken).choice, text, note),
            false => DialogOutcome::Moved,
        }
    }

    /// The edited plan is the answer.
    pub(super) fn answer_plan(&mut self, steps: &[PlanStep]) -> DialogOutcome {
        let written = serde_json::to_string(&serde_json::json!({ "steps": steps })).ok();
        match self.id_where(|choice| choice.text == ChoiceText::Required) {
            Some(choice) => self.answer(&choice, written, None),
            None => DialogOutcome::Moved,
        }
    }

    /// A choice is made: it is the answer, or it needs words first.
    fn choose(&mut self, at: usize) -> DialogOutcome {
        let Some(choice) = self.choices.get(at).cloned() else { return DialogOutcome::Moved };
        if self.is_disabled(at) {
            return DialogOutcome::Moved;
        }
        self.selected = at;
        match (&self.ask, choice.text) {
            (Ask::Plan { .. }, ChoiceText::Required) => return DialogOutcome::EditPlan,
            (ask, ChoiceText::Required) => {
                let begin = starting_text(ask, &choice).unwrap_or_default();
                self.open_field(&choice.id, &begin, false);
            }
            (Ask::Budget { budget_usd, spent_usd, .. }, ChoiceText::Optional) => {
                let doubled = format!("{:.2}", (budget_usd.max(*spent_usd) * 200.0).ceil() / 100.0);
                self.open_field(&choice.id, &doubled, false);
            }
            _ => return self.give(&choice.id, None, None),
        }
        DialogOutcome::Moved
    }

    /// Takes a key.
    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> DialogOutcome {
        if let Some(field) = &mut self.field {
            return match field.words.input(input, keys) {
                Typed::Send(draft) | Typed::Queue(draft) => {
                    let (choice, is_note) = (field.choice.clone(), field.is_note);
                    let text = draft.text();
                    if let Some(clarify) = &mut self.clarify {
                        self.field = None;
                        return match clarify.say(&text) {
                            Some(answer) => self.answer(&choice, Some(answer), None),
                            None => DialogOutcome::Moved,
                        };
                    }
                    let (text, note) = if is_note { (None, Some(text)) } else { (Some(text), None) };
                    self.field = None;
                    self.give(&choice, text, note)
                }
                Typed::Editor(text) => DialogOutcome::Editor(text),
                Typed::Passed(Some(KeyAction::Interrupt)) if self.ask != Ask::Tell => {
                    self.field = None;
                    DialogOutcome::Moved
                }
                Typed::Passed(_) => DialogOutcome::Passed,
                Typed::Moved | Typed::Changed => DialogOutcome::Moved,
            };
        }
        if self.clarify.is_some() {
            return self.clarifying(input, keys);
        }
        if self.second.confirming.is_some() {
            return self.confirm(input, keys);
        }
        let TerminalInput::Key(chord) = input else { return DialogOutcome::Passed };
        let last = self.choices.len().saturating_sub(1);
        if let Some(at) = chord.typed().and_then(|key| answers::by_key(&self.choices, key)) {
            return self.choose(at);
        }
        match (chord.typed(), keys.action(*chord)) {
            (Some('e'), _) => self.edit(),
            (Some('d'), _) if self.call.is_some() => self.show_diff(),
            (Some('0'..='9'), _) => DialogOutcome::Moved,
            (Some(' '), _) | (_, Some(KeyAction::PageDown)) => self.reading.forward(),
            (_, Some(KeyAction::PageUp)) => self.reading.back(),
            (Some('j'), _) | (_, Some(KeyAction::Down)) => {
                self.selected = if self.selected >= last { 0 } else { self.selected + 1 };
                DialogOutcome::Moved
            }
            (Some('k'), _) | (_, Some(KeyAction::Up)) => {
                self.selected = if self.selected == 0 { last } else { self.selected - 1 };
                DialogOutcome::Moved
            }
            (_, Some(KeyAction::Send)) => self.choose(self.selected),
            // A word with the answer.
            (_, Some(KeyAction::Queue)) => self.comment(),
            _ => DialogOutcome::Passed,
        }
    }

    /// The whole change. It is read while the question stands already, and shown as soon as it can be.
    fn show_diff(&mut self) -> DialogOutcome {
        // Only some questions can be answered with a part of the change.
        let can_be_divided = self.ask.permission().is_some_and(|asked| asked.hunks.is_some());
        let asked = can_be_divided.then(|| self.checkpoint.clone());
        self.diff.is_wanted = self.diff.loaded.is_none();
        self.diff.loaded.clone().map_or(DialogOutcome::Moved, |files| DialogOutcome::ShowDiff(files, asked))
    }

    /// Changes what is asked about before it is allowed: the command, the rule, the plan.
    fn edit(&mut self) -> DialogOutcome {
        if matches!(self.ask, Ask::Plan { .. }) {
            return DialogOutcome::EditPlan;
        }
        if let Some(at) = self.choices.iter().position(|choice| starting_text(&self.ask, choice).is_some()) {
            return self.choose(at);
        }
        // Whoever edits a rule has chosen the answer that adds it.
        let role = match self.choices.get(self.selected) {
            Some(choice) if choice.role == ChoiceRole::AllowAlways => choice.role,
            _ => ChoiceRole::AllowOnce,
        };
        let text = match (role, self.ask.rule()) {
            (ChoiceRole::AllowAlways, Some(rule)) => Some(rule.pattern.clone()),
            (ChoiceRole::AllowAlways, None) => None,
            _ => self.command().map(str::to_owned),
        };
        let takes_text = |choice: &Choice| choice.role == role && choice.text == ChoiceText::Optional;
        if let (Some(text), Some(choice)) = (text, self.id_where(takes_text)) {
            self.open_field(&choice, &text, false);
        }
        DialogOutcome::Moved
    }

    /// Words to go with the chosen answer.
    fn comment(&mut self) -> DialogOutcome {
        let Some(chosen) = self.choices.get(self.selected).cloned() else { return DialogOutcome::Moved };
        // Text in these answers means another command or another rule, so words go beside them.
        let is_note = match chosen.role {
            ChoiceRole::AllowAlways => true,
            ChoiceRole::AllowOnce => self.command().is_some(),
            _ => false,
        };
        if (is_note || chosen.text != ChoiceText::No) && !self.is_disabled(self.selected) {
            self.open_field(&chosen.id, "", is_note);
        }
        DialogOutcome::Moved
    }

    /// What was written in an editor.
    pub(super) fn edited(&mut self, text: Option<String>) {
        if let Some(field) = &mut self.field {
            field.words.edited(text);
        }
    }

    fn clarifying(&mut self, input: &TerminalInput, keys: &KeyMap) -> DialogOutcome {
        let TerminalInput::Key(chord) = input else { return DialogOutcome::Passed };
        let Some(clarify) = &mut self.clarify else { return DialogOutcome::Passed };
        match clarify.key(*chord, keys) {
            clarify::ClarifyOutcome::Passed => DialogOutcome::Passed,
            clarify::ClarifyOutcome::Moved => DialogOutcome::Moved,
            clarify::ClarifyOutcome::Words => {
                self.open_text();
                DialogOutcome::Moved
            }
            clarify::ClarifyOutcome::Skip => match self.id_where(|choice| !choice.role.consents()) {
                Some(skip) => self.answer(&skip, None, None),
                None => DialogOutcome::Moved,
            },
            clarify::ClarifyOutcome::Submit(text) => {
                match self.id_where(|choice| choice.text == ChoiceText::Required) {
                    Some(submit) => self.answer(&submit, Some(text), None),
                    None => DialogOutcome::Moved,
                }
            }
        }
    }
}
