//! Questions of a session in the protocol's forms: permissions, forms, and plain text where the client has no forms.

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, EnumOption,
    MultiSelectPropertySchema, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, StringPropertySchema, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{CheckpointFact, CheckpointKind};
use trimtab_vocab::{CheckpointId, Event, Fact, Question, RequestId, WorkerQuestion};

use super::tool_calls::whole_text;
use crate::words::{self, answers};

/// The field of a form that has the choice, and the field with the text that goes with it.
const CHOICE: &str = "choice";
const TEXT: &str = "text";
/// The choice that takes the answers to several questions.
const SUBMIT: &str = "submit";

/// A question that waits for the user.
#[derive(Debug, Clone)]
pub(super) struct OpenQuestion {
    pub(super) checkpoint: CheckpointId,
    /// The request that waits.
    pub(super) request: Option<RequestId>,
    pub(super) title: String,
    pub(super) kind: CheckpointKind,
    pub(super) choices: Vec<Choice>,
    pub(super) ask: Ask,
    pub(super) worker: Option<Box<WorkerQuestion>>,
    pub(super) state: AskState,
}

/// Where a question stands on the client's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskState {
    /// The client does not show it.
    Idle,
    /// The client was asked with the request of this ID.
    Asked(i64),
    /// The user has answered here, and the session has not taken the answer yet.
    Answered,
}

/// An answer that the user gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GivenChoice {
    pub(super) choice: String,
    pub(super) text: Option<String>,
}

/// What words say to a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SpokenAnswer {
    Given(GivenChoice),
    /// They name a choice that needs text, by this number or name.
    NeedsText {
        example: String,
        /// What the text replaces, if there is something to edit.
        start: Option<String>,
    },
}

impl OpenQuestion {
    /// The question that an event opens.
    pub(super) fn opened_by(event: &Event) -> Option<Self> {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, title, choices, worker, ask }) = &event.fact
        else {
            return None;
        };
        Some(Self {
            checkpoint: checkpoint.clone(),
            request: event.request.clone(),
            title: title.clone(),
            kind: *kind,
            choices: choices.clone(),
            ask: ask.clone(),
            worker: worker.clone(),
            state: AskState::Idle,
        })
    }

    /// Whether it is asked as a permission: its answers are given by choosing, and none of them needs text.
    pub(super) fn is_permission(&self) -> bool {
        matches!(self.kind, CheckpointKind::Permission | CheckpointKind::Unknown)
    }

    /// Whether the client has it on its screen, or has answered it.
    pub(super) fn is_shown(&self) -> bool {
        self.state != AskState::Idle
    }

    /// Whether only one sub-task waits for it, while the others continue.
    pub(super) fn is_about_one_subtask(&self) -> bool {
        self.worker.is_some() || matches!(self.ask, Ask::SubtaskFailed { .. })
    }

    /// What is asked, whole, and by which sub-task.
    fn heading(&self) -> String {
        let title = words::title(&self.title, &self.ask);
        match &self.worker {
            Some(worker) => format!("{}\n{title}", words::subtasks::asks(worker)),
            None => title,
        }
    }

    /// The permission as the client is asked for it. `shown` is the tool call that it belongs to.
    pub(super) fn permission(
        &self,
        session: &str,
        shown: Option<String>,
        mut content: Vec<ToolCallContent>,
    ) -> RequestPermissionRequest {
        let lines = words::details(&self.ask);
        if !lines.is_empty() {
            content.insert(0, whole_text(&lines.join("\n")));
        }
        content.insert(0, whole_text(&self.heading()));
        let id = shown.unwrap_or_else(|| self.checkpoint.to_string());
        let fields = ToolCallUpdateFields::new()
            .title(self.heading())
            .status(ToolCallStatus::Pending)
            .content(content)
            .raw_input(self.ask.permission().map(|ask| ask.input.clone()));
        let options = self.choices.iter().filter_map(|choice| self.option(choice)).collect();
        RequestPermissionRequest::new(session.to_owned(), ToolCallUpdate::new(id, fields), options)
    }

    /// An answer of a permission. The rule that it adds stands in its name, because no second step shows it.
    fn option(&self, choice: &Choice) -> Option<PermissionOption> {
        if choice.text == ChoiceText::Required {
            return None;
        }
        let kind = match choice.role {
            ChoiceRole::AllowOnce | ChoiceRole::Primary => PermissionOptionKind::AllowOnce,
            ChoiceRole::AllowAlways => PermissionOptionKind::AllowAlways,
            ChoiceRole::RejectOnce | ChoiceRole::Secondary | ChoiceRole::Dismiss => PermissionOptionKind::RejectOnce,
            ChoiceRole::RejectAlways => PermissionOptionKind::RejectAlways,
        };
        let is_lasting = matches!(choice.role, ChoiceRole::AllowAlways | ChoiceRole::RejectAlways);
        let rule = is_lasting.then(|| answers::rule_text(&self.ask, choice, None)).flatten();
        let covers = choice.covers.iter().map(|covers| format!(". {covers}")).collect::<String>();
        let name = match rule {
            Some(rule) => format!("{} (adds the rule: {rule}){covers}", choice.label),
            None => choice.label.clone(),
        };
        Some(PermissionOption::new(choice.id.clone(), words::sanitize(&name).into_owned(), kind))
    }

    /// The choice that the client's answer to a permission makes. Anything but a choice leaves the question open.
    pub(super) fn permission_answer(&self, answer: &RawValue) -> Option<GivenChoice> {
        let response: RequestPermissionResponse = serde_json::from_str(answer.get()).ok()?;
        let RequestPermissionOutcome::Selected(selected) = response.outcome else { return None };
        let choice = self.choices.iter().find(|choice| choice.id == *selected.option_id.0)?;
        self.option(choice).map(|_| GivenChoice { choice: choice.id.clone(), text: None })
    }

    /// The questions that the form of a clarification asks, each in its own field.
    fn asks_each(&self) -> &[Question] {
        match self.choices.iter().any(|choice| choice.id == SUBMIT) {
            true => self.ask.questions(),
            false => &[],
        }
    }

    /// The question as a form.
    pub(super) fn form(&self, session: &str) -> CreateElicitationRequest {
        let questions = self.asks_each();
        let schema = match questions.is_empty() {
            true => self.choice_schema(),
            false => {
                let schema = ElicitationSchema::new().property(
                    CHOICE,
                    self.choice_field().default_value(SUBMIT.to_owned()),
                    false,
                );
                // A field for each question; it replaces the choice if the model has named a question like it.
                questions.iter().fold(schema, |schema, question| {
                    schema.property(question.id.clone(), question_field(question), false)
                })
            }
        };
        let mut message = self.heading();
        if let (Ask::Elicitation(asked_by), false) = (&self.ask, questions.is_empty()) {
            words::server_says(asked_by).iter().for_each(|line| message.push_str(&format!("\n{line}")));
        }
        if questions.is_empty() {
            words::details(&self.ask).iter().for_each(|line| message.push_str(&format!("\n{line}")));
        }
        let mut scope = ElicitationSessionScope::new(session.to_owned());
        if let Some(call) = self.ask.call().filter(|_| self.worker.is_none()) {
            scope = scope.tool_call_id(call.as_str());
        }
        CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message)
    }

    fn choice_field(&self) -> StringPropertySchema {
        let options: Vec<EnumOption> =
            self.choices.iter().map(|choice| EnumOption::new(choice.id.clone(), choice.label.clone())).collect();
        StringPropertySchema::new().title("Answer".to_owned()).one_of(options)
    }

    fn choice_schema(&self) -> ElicitationSchema {
        // Text alone means the choice that needs it.
        let needs_choice = self.text_choice().is_none();
        let schema = ElicitationSchema::new().property(CHOICE, self.choice_field(), needs_choice);
        let texts = self.choices.iter().filter(|choice| choice.text != ChoiceText::No);
        let Some(first) = self.text_choice().or(texts.into_iter().next()) else { return schema };
        let mut text = StringPropertySchema::new().title(words::text_label(&self.ask, first).to_owned());
        if let Some(start) = words::starting_text(&self.ask, first) {
            text = text.default_value(start);
        }
        schema.property(TEXT, text, false)
    }

    /// The first choice that text alone makes.
    fn text_choice(&self) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.text == ChoiceText::Required)
    }

    /// The choice that a form makes. A form that was declined or dismissed, or does not fit, leaves the question open.
    pub(super) fn form_answer(&self, answer: &RawValue) -> Option<GivenChoice> {
        let response: CreateElicitationResponse = serde_json::from_str(answer.get()).ok()?;
        let ElicitationAction::Accept(ElicitationAcceptAction { content, .. }) = response.action else { return None };
        let content = content.unwrap_or_default();
        let questions = self.asks_each();
        if !questions.is_empty() {
            let is_question = questions.iter().any(|question| question.id == CHOICE);
            let chosen = content.get(CHOICE).and_then(field_text).filter(|id| !is_question && id != SUBMIT);
            if let Some(id) = chosen {
                let choice = self.choices.iter().find(|choice| choice.id == id)?;
                return self.with_text(choice, None);
            }
            let mut given = Map::new();
            for question in questions {
                if let Some(text) = content.get(&question.id).and_then(field_text) {
                    given.insert(question.id.clone(), Value::String(text));
                }
            }
            let text = (!given.is_empty()).then(|| Value::Object(given).to_string())?;
            return Some(GivenChoice { choice: SUBMIT.to_owned(), text: Some(text) });
        }
        let text = content.get(TEXT).and_then(field_text);
        let choice = match content.get(CHOICE).and_then(field_text) {
            Some(id) => self.choices.iter().find(|choice| choice.id == id)?,
            None => self.text_choice().filter(|_| text.is_some())?,
        };
        self.with_text(choice, text)
    }

    /// A choice with the text that goes with it.
    fn with_text(&self, choice: &Choice, text: Option<String>) -> Option<GivenChoice> {
        let text = match choice.text {
            ChoiceText::No => None,
            ChoiceText::Optional => self.differing(choice, text),
            ChoiceText::Required => Some(text?),
        };
        Some(GivenChoice { choice: choice.id.clone(), text })
    }

    /// The text of an answer that does not need any, without the text that the form started from.
    fn differing(&self, choice: &Choice, text: Option<String>) -> Option<String> {
        let start = self.text_choice().and_then(|first| words::starting_text(&self.ask, first));
        text.filter(|text| Some(text) != start.as_ref()).filter(|_| choice.text == ChoiceText::Optional)
    }

    /// The question as a message, for a client without forms. The next prompt answers it.
    pub(super) fn message(&self) -> String {
        let mut text = format!("{}\n", self.heading());
        let lines = words::details(&self.ask);
        if !lines.is_empty() {
            text.push_str(&format!("\n```\n{}\n```\n", lines.join("\n").replace("```", "'''")));
        }
        text.push('\n');
        for (at, choice) in self.choices.iter().enumerate() {
            text.push_str(&format!("{}. {} (`{}`)\n", answers::number(&self.choices, at), choice.label, choice.id));
        }
        text.push_str("\nReply with a number or a name.");
        if let Some(at) = self.choices.iter().position(|choice| choice.text == ChoiceText::Required) {
            let number = answers::number(&self.choices, at);
            text.push_str(&format!(" For an answer with text, add it after a colon: `{number}: your text`."));
        }
        text
    }

    /// The choice that the words of a prompt make: a number or a name, with text after a colon.
    pub(super) fn spoken_answer(&self, words: &str) -> Option<SpokenAnswer> {
        let words = words.trim();
        let (name, text) = match words.split_once(':') {
            Some((name, text)) => (name.trim(), Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            None => (words, None),
        };
        let by_number = |at: &usize| answers::number(&self.choices, *at).to_string() == name;
        let by_name = |choice: &&Choice| choice.id == name || choice.label.eq_ignore_ascii_case(name);
        let numbered = (0..self.choices.len()).find(by_number).map(|at| &self.choices[at]);
        let choice = numbered.or_else(|| self.choices.iter().find(by_name))?;
        if text.is_some() && choice.text == ChoiceText::No {
            return None;
        }
        Some(match self.with_text(choice, text) {
            Some(given) => SpokenAnswer::Given(given),
            None => {
                SpokenAnswer::NeedsText { example: name.to_owned(), start: words::starting_text(&self.ask, choice) }
            }
        })
    }
}

fn question_field(question: &Question) -> agent_client_protocol_schema::v1::ElicitationPropertySchema {
    let options: Vec<EnumOption> =
        question.options.iter().map(|option| EnumOption::new(option.id.clone(), option.title.clone())).collect();
    let title = question.text.clone();
    match (options.is_empty(), question.several) {
        (true, _) => StringPropertySchema::new().title(title).into(),
        (false, false) => StringPropertySchema::new().title(title).one_of(options).into(),
        (false, true) => MultiSelectPropertySchema::titled(options).title(title).into(),
    }
}

/// The value of a field as text; several values with commas between them.
fn field_text(value: &ElicitationContentValue) -> Option<String> {
    let text = match value {
        ElicitationContentValue::String(text) => text.trim().to_owned(),
        ElicitationContentValue::StringArray(all) => all.join(", "),
        ElicitationContentValue::Integer(number) => number.to_string(),
        ElicitationContentValue::Number(number) => number.to_string(),
        ElicitationContentValue::Boolean(value) => value.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(ask: Value, choices: Vec<Choice>) -> OpenQuestion {
        let ask: Ask = serde_json::from_value(ask).expect("a question");
        OpenQuestion {
            checkpoint: "r01kabcdefghjkmnq-k1".parse().expect("an ID"),
            request: None,
            title: "What now?".to_owned(),
            kind: ask.kind(),
            choices,
            ask,
            worker: None,
            state: AskState::Idle,
        }
    }

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).expect("JSON")
    }

    fn given(choice: &str, text: Option<&str>) -> Option<GivenChoice> {
        Some(GivenChoice { choice: choice.to_owned(), text: text.map(str::to_owned) })
    }

    fn clarification() -> OpenQuestion {
        let questions = json!([{"id": "db", "text": "Which database?"}, {"id": "auth", "text": "Which log-ins?",
            "several": true, "options": [{"id": "g", "title": "Google"}, {"id": "h", "title": "GitHub"}]}]);
        let choices = vec![Choice::new("submit", "Submit"), Choice::new("skip", "Skip")];
        question(json!({"about": "clarify", "questions": questions}), choices)
    }

    #[test]
    fn each_question_of_a_clarification_is_a_field_and_skip_is_a_choice() {
        let question = clarification();
        let form = serde_json::to_value(question.form("s1")).expect("JSON");
        let fields = &form["requestedSchema"]["properties"];
        assert_eq!(fields["db"], json!({"type": "string", "title": "Which database?"}));
        assert_eq!(fields["auth"]["items"]["anyOf"][1], json!({"const": "h", "title": "GitHub"}));
        assert_eq!(fields["choice"]["default"], "submit");
        let accept = |content: Value| question.form_answer(&raw(&json!({"action": "accept", "content": content})));
        assert_eq!(
            accept(json!({"db": "SQLite", "auth": ["g", "h"]})),
            given("submit", Some(r#"{"db":"SQLite","auth":"g, h"}"#))
        );
        assert_eq!(accept(json!({"choice": "skip", "db": "SQLite"})), given("skip", None));
        assert_eq!(accept(json!({})), None, "nothing was said");
        assert_eq!(accept(json!({"choice": "other"})), None);
        for other in [json!({"action": "decline"}), json!({"action": "cancel"}), json!({"action": 7}), json!([])] {
            assert_eq!(question.form_answer(&raw(&other)), None, "{other}");
        }
    }

    #[test]
    fn a_choice_takes_text_only_where_text_goes_with_it() {
        let choices =
            vec![Choice::new("approve", "Approve"), Choice::new("modify", "Modify"), Choice::new("cancel", "Cancel")];
        let question = question(json!({"about": "plan", "version": 1, "steps": []}), choices);
        let accept = |content: Value| question.form_answer(&raw(&json!({"action": "accept", "content": content})));
        assert_eq!(accept(json!({"choice": "cancel", "text": "x"})), given("cancel", None));
        assert_eq!(accept(json!({"choice": "modify"})), None, "it needs text");
        assert_eq!(accept(json!({"text": "Test first"})), given("modify", Some("Test first")));
        let spoken = |words: &str| question.spoken_answer(words);
        assert_eq!(spoken("1"), given("approve", None).map(SpokenAnswer::Given));
        assert_eq!(spoken(" APPROVE "), given("approve", None).map(SpokenAnswer::Given));
        assert_eq!(spoken("2: test first"), given("modify", Some("test first")).map(SpokenAnswer::Given));
        assert_eq!(spoken("modify"), Some(SpokenAnswer::NeedsText { example: "modify".to_owned(), start: None }));
        assert_eq!(spoken("cancel: because"), None, "words that name no choice are a message");
        assert_eq!(spoken("test first"), None);
    }

    #[test]
    fn an_option_says_which_rule_it_adds_and_an_unknown_one_is_no_answer() {
        let rule = json!({"verdict": "allow", "tool": "run_command", "pattern": "make x"});
        let choices = ["allow", "always", "wait", "never"].map(|id| Choice::new(id, id)).to_vec();
        let question = question(json!({"about": "tool", "call": "c1-1", "rule": rule}), choices);
        let request = serde_json::to_value(question.permission("s1", None, Vec::new())).expect("JSON");
        let names: Vec<&str> =
            request["options"].as_array().expect("options").iter().filter_map(|one| one["name"].as_str()).collect();
        assert!(names[1].contains("adds the rule: allow run_command: make x"), "{names:?}");
        assert!(names[3].contains("adds the rule: deny run_command: make x"), "{names:?}");
        assert_eq!((names[0], names[2]), ("allow", "wait"));
        let selected = |id: &str| raw(&json!({"outcome": {"outcome": "selected", "optionId": id}}));
        assert_eq!(question.permission_answer(&selected("always")), given("always", None));
        assert_eq!(question.permission_answer(&selected("outside")), None);
        assert_eq!(question.permission_answer(&raw(&json!({"outcome": {"outcome": "cancelled"}}))), None);
        assert_eq!(question.permission_answer(&raw(&json!("allow"))), None);
    }
}
