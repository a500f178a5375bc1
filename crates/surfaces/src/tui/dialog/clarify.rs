//! Several questions at once: one is shown at a time, each with its options and room for words.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use trimtab_vocab::Question;
use trimtab_vocab::checkpoint::Ask;

use crate::tui::keys::{Chord, Key, KeyAction, KeyMap};

/// What came of a key.
pub(super) enum ClarifyOutcome {
    Passed,
    Moved,
    /// The person wants to write.
    Words,
    /// No question is answered.
    Skip,
    /// These are the answers.
    Submit(String),
}

/// The questions and what was answered so far.
#[derive(Debug)]
pub(super) struct ClarifyDialog {
    pub(super) questions: Vec<Question>,
    /// Which one is shown.
    pub(super) at: usize,
    /// The chosen row: an option, or after the last one words, or skip.
    pub(super) row: usize,
    /// Options that are ticked, where several may be.
    pub(super) ticked: BTreeSet<usize>,
    given: Map<String, Value>,
    /// It is the form of a server, whose fields can be left empty.
    pub(super) is_form: bool,
}

impl ClarifyDialog {
    pub(super) fn from_ask(ask: &Ask) -> Option<Self> {
        let questions = ask.questions().to_vec();
        let (at, row, ticked, given) = (0, 0, BTreeSet::new(), Map::new());
        let is_form = matches!(ask, Ask::Elicitation(_));
        (!questions.is_empty()).then_some(Self { questions, at, row, ticked, given, is_form })
    }

    pub(super) fn question(&self) -> &Question {
        &self.questions[self.at.min(self.questions.len() - 1)]
    }

    /// Rows to choose from: the options, words, nothing in a form, and skip.
    pub(super) fn rows(&self) -> usize {
        self.question().options.len() + 2 + usize::from(self.is_form)
    }

    pub(super) fn key(&mut self, chord: Chord, keys: &KeyMap) -> ClarifyOutcome {
        let (rows, options, several) = (self.rows(), self.question().options.len(), self.question().several);
        if let (Key::Char(digit @ '1'..='9'), Some(_)) = (chord.key, chord.typed()) {
            let at = digit as usize - '1' as usize;
            return if at < rows { self.pick(at) } else { ClarifyOutcome::Moved };
        }
        match (chord.typed(), keys.action(chord)) {
            (Some(' '), _) if several && self.row < options => {
                if !self.ticked.remove(&self.row) {
                    self.ticked.insert(self.row);
                }
                ClarifyOutcome::Moved
            }
            (_, Some(KeyAction::Down)) => {
                self.row = (self.row + 1) % rows;
                ClarifyOutcome::Moved
            }
            (_, Some(KeyAction::Up)) => {
                self.row = (self.row + rows - 1) % rows;
                ClarifyOutcome::Moved
            }
            (_, Some(KeyAction::Left)) if self.at > 0 => {
                self.go_to_question(self.at - 1);
                ClarifyOutcome::Moved
            }
            (_, Some(KeyAction::Right)) if self.at + 1 < self.questions.len() => {
                self.go_to_question(self.at + 1);
                ClarifyOutcome::Moved
            }
            (_, Some(KeyAction::Send)) => self.pick(self.row),
            _ => ClarifyOutcome::Passed,
        }
    }

    fn go_to_question(&mut self, at: usize) {
        (self.at, self.row) = (at, 0);
        self.ticked.clear();
    }

    fn pick(&mut self, row: usize) -> ClarifyOutcome {
        self.row = row;
        let question = self.question().clone();
        let options = question.options.len();
        if row == options {
            return ClarifyOutcome::Words;
        }
        if self.is_form && row == options + 1 {
            return self.take(Value::Null);
        }
        if row > options {
            return ClarifyOutcome::Skip;
        }
        if question.several {
            self.ticked.insert(row);
            let ids: Vec<&str> = self.ticked.iter().map(|at| question.options[*at].id.as_str()).collect();
            return self.take(Value::String(ids.join(", ")));
        }
        let id = question.options[row].id.clone();
        self.take(Value::String(id))
    }

    /// Words for the question that is shown; all answers, if it was the last one.
    pub(super) fn say(&mut self, words: &str) -> Option<String> {
        match self.take(Value::String(words.trim().to_owned())) {
            ClarifyOutcome::Submit(text) => Some(text),
            _ => None,
        }
    }

    fn take(&mut self, answer: Value) -> ClarifyOutcome {
        let id = self.question().id.clone();
        self.given.insert(id, answer);
        if self.at + 1 < self.questions.len() {
            self.go_to_question(self.at + 1);
            return ClarifyOutcome::Moved;
        }
        ClarifyOutcome::Submit(Value::Object(self.given.clone()).to_string())
    }

    /// What was answered to the question that is shown.
    pub(super) fn answered(&self) -> Option<&str> {
        self.given.get(&self.question().id).and_then(Value::as_str)
    }
}
