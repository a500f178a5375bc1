//! What an MCP server asks the user in the middle of a call. The call waits for the answer, and the question is a
//! checkpoint. Nobody can answer for the user: an unattended run cancels the question.

use serde_json::{Map, Value};
use trimtab_vocab::checkpoint::{Ask, ChoiceRole, ChoiceText, ElicitationAsk};
use trimtab_vocab::event::Level;
use trimtab_vocab::wording::{AnswerLabel, Notice, Objection, QuestionTitle};
use trimtab_vocab::{CallId, CheckpointId, Choosable, Question, ServerQuestion, ServerReply};

use super::answers::{self, CheckpointDraft};
use super::batch::find;
use super::overtime;
use crate::Effect;
use crate::flow::clarify;
use crate::proposal::json_schema::schema_errors;
use crate::record::{Progress, Session};
use crate::transition::Transition;

/// Fields of a form at most.
const MOST_FIELDS: usize = 20;
/// Options of a field at most.
const MOST_OPTIONS: usize = 50;

const SUBMIT: &str = "submit";
const ACCEPT: &str = "accept";
const DECLINE: &str = "decline";
const CANCEL: &str = "cancel";

/// A server asks the user something.
pub(crate) fn asked(step: &mut Transition<'_>, call: &CallId, question: ServerQuestion) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(server) = item.server_name() else { return };
    if item.progress != Progress::Acting {
        return;
    }
    let attended = step.session.active().is_some_and(|active| overtime::is_attended(&active.request.settings));
    let questions = question.schema.as_ref().map(questions);
    let is_readable = question.url.is_some() || questions.as_ref().is_some_and(Option::is_some);
    if item.stopping || !attended || !is_readable || open(step.session, call).is_some() {
        let notice = match is_readable {
            true => Notice::ServerQuestionCancelled(server.clone(), question.message),
            false => Notice::ServerQuestionUnreadable(server.clone()),
        };
        step.notify(&request, Level::Warning, notice);
        return step.request(Effect::AnswerServer { call: call.clone(), reply: ServerReply::Cancel });
    }
    let send = match question.url {
        Some(_) => answers::choice(ACCEPT, AnswerLabel::UrlDone).with_text(ChoiceText::No),
        None => answers::choice(SUBMIT, AnswerLabel::SendToServer(server.clone())),
    };
    let send = send.with_role(ChoiceRole::Primary);
    let no = |id, label| answers::choice(id, label).with_text(ChoiceText::No);
    let choices = vec![
        send,
        no(DECLINE, AnswerLabel::DeclineServer).with_role(ChoiceRole::RejectOnce),
        no(CANCEL, AnswerLabel::CancelServer).with_role(ChoiceRole::Dismiss),
    ];
    let title = QuestionTitle::Elicitation(server.clone());
    let ServerQuestion { message, schema, url } = question;
    let ask = ElicitationAsk {
        call: call.clone(),
        server,
        message,
        questions: questions.flatten().unwrap_or_default(),
        schema,
        url,
    };
    answers::open(step, CheckpointDraft { ask: Ask::Elicitation(Box::new(ask)), title, choices });
}

/// Why an answer cannot be sent: a field is missing, or is not what the form asks for.
pub(super) fn objection(ask: &Ask, choice: &str, text: Option<&str>) -> Option<Objection> {
    let Ask::Elicitation(ask) = ask else { return None };
    let schema = ask.schema.as_ref().filter(|_| choice == SUBMIT)?;
    let content = content(ask, text.unwrap_or_default());
    schema_errors(schema, &Value::Object(content)).into_iter().next().map(Objection::ServerForm)
}

/// The user has answered: the server gets the answer.
pub(super) fn answered(step: &mut Transition<'_>, ask: &ElicitationAsk, choice: &str, text: Option<&str>) {
    let reply = match choice {
        SUBMIT => ServerReply::Accept(Some(content(ask, text.unwrap_or_default()))),
        ACCEPT => ServerReply::Accept(None),
        DECLINE => ServerReply::Decline,
        _ => ServerReply::Cancel,
    };
    step.request(Effect::AnswerServer { call: ask.call.clone(), reply });
}

/// The call has ended, or its end is unknown: the question is obsolete.
pub(super) fn settle(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, _)) = find(step, call) else { return };
    let Some(checkpoint) = open(step.session, call) else { return };
    answers::resolve(step, &request, checkpoint, "over", "server");
}

fn open(session: &Session, call: &CallId) -> Option<CheckpointId> {
    let is_it = |ask: &Ask| matches!(ask, Ask::Elicitation(ask) if ask.call == *call);
    session.own_checkpoints().find(|(_, open)| is_it(&open.ask)).map(|(id, _)| id.clone())
}

/// The fields of a form as questions; none if it is not a form of plain fields.
fn questions(schema: &Value) -> Option<Vec<Question>> {
    let fields = schema.get("properties")?.as_object()?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    if fields.is_empty() || fields.len() > MOST_FIELDS {
        return None;
    }
    let question = |(name, field): (&String, &Value)| {
        let text = |key: &str| field.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut words = text("title").unwrap_or(name).to_owned();
        if let Some(about) = text("description") {
            words.push_str(&format!(": {about}"));
        }
        if !required.contains(&name.as_str()) {
            words.push_str(" (optional)");
        }
        if let Some(default) = field.get("default").filter(|default| !default.is_null()) {
            words.push_str(&format!(" [{}]", shown(default)));
        }
        let options = options(field);
        let is_plain = matches!(text("type"), Some("string" | "number" | "integer" | "boolean")) || !options.is_empty();
        let several = text("type") == Some("array");
        (is_plain && options.len() <= MOST_OPTIONS).then(|| Question {
            id: name.clone(),
            text: words,
            options,
            several,
        })
    };
    fields.iter().map(question).collect()
}

/// The values to choose from, with their titles.
fn options(field: &Value) -> Vec<Choosable> {
    let option = |id: String, title: String| Choosable { id, title, scheduled_for: None };
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return vec![option("true".into(), "Yes".into()), option("false".into(), "No".into())];
    }
    let field = field.get("items").unwrap_or(field);
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array);
    if let Some(titled) = titled {
        let read = |one: &Value| {
            let id = shown(one.get("const")?);
            let title = one.get("title").map_or_else(|| id.clone(), shown);
            Some(option(id, title))
        };
        return titled.iter().filter_map(read).collect();
    }
    let names = field.get("enumNames").and_then(Value::as_array);
    let values = field.get("enum").and_then(Value::as_array);
    let title = |at: usize, value: &Value| names.and_then(|names| names.get(at)).map_or_else(|| shown(value), shown);
    values.into_iter().flatten().enumerate().map(|(at, value)| option(shown(value), title(at, value))).collect()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What the server gets: the answers by the names of their fields, as the form types them. An empty answer takes the
/// default of its field.
fn content(ask: &ElicitationAsk, text: &str) -> Map<String, Value> {
    let fields = ask.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let mut content = Map::new();
    for (question, answer) in ask.questions.iter().zip(clarify::read(&ask.questions, text)) {
        let Some(field) = fields.and_then(|fields| fields.get(&question.id)) else { continue };
        let value = match answer.filter(|answer| !answer.is_empty()) {
            Some(answer) => Some(typed(question, field, &answer)),
            None => field.get("default").filter(|default| !default.is_null()).cloned(),
        };
        if let Some(value) = value {
            content.insert(question.id.clone(), value);
        }
    }
    content
}

/// An answer as the field types it. What does not fit stays text, and the form's own rules object to it.
fn typed(question: &Question, field: &Value, answer: &str) -> Value {
    // Answers have the titles of options; the server wants their values.
    let value = |part: &str| {
        let is_it = |option: &&Choosable| option.title.eq_ignore_ascii_case(part) || option.id == part;
        question.options.iter().find(is_it).map_or_else(|| part.to_owned(), |option| option.id.clone())
    };
    match field.get("type").and_then(Value::as_str) {
        Some("array") => {
            answer.split(", ").filter(|part| !part.is_empty()).map(|part| Value::String(value(part))).collect()
        }
        Some("boolean") => match value(answer).to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" => Value::Bool(true),
            "false" | "no" | "n" => Value::Bool(false),
            _ => Value::String(answer.to_owned()),
        },
        Some("number" | "integer") => match serde_json::from_str::<Value>(answer) {
            Ok(number @ Value::Number(_)) => number,
            _ => Value::String(answer.to_owned()),
        },
        _ => Value::String(value(answer)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: Value) -> ElicitationAsk {
        let questions = questions(&schema).expect("a form");
        let (message, server) = (String::new(), "a".to_owned());
        ElicitationAsk { call: CallId::nth(1), server, message, questions, schema: Some(schema), url: None }
    }

    fn every_kind() -> ElicitationAsk {
        form(json!({"type": "object", "required": ["name", "count"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "as in the passport", "minLength": 2},
            "count": {"type": "integer", "minimum": 1},
            "sure": {"type": "boolean", "default": true},
            "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
        }}))
    }

    #[test]
    fn a_form_becomes_questions() {
        let ask = every_kind();
        let texts: Vec<&str> = ask.questions.iter().map(|question| question.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Your name: as in the passport",
                "count",
                "sure (optional) [true]",
                "color (optional)",
                "size (optional)",
                "days (optional)"
            ]
        );
        assert_eq!(ask.questions[3].options[1].title, "Green");
        assert!(ask.questions[5].several);
        assert!(questions(&json!({"properties": {"a": {"type": "object"}}})).is_none());
        assert!(questions(&json!({"properties": {}})).is_none());
    }

    #[test]
    fn answers_are_typed_and_empty_ones_take_the_default() {
        let ask = every_kind();
        let text = json!({"name": "Ada", "count": "3", "color": "Green", "size": "l", "days": "mon, tue"}).to_string();
        let expected =
            json!({"name": "Ada", "count": 3, "sure": true, "color": "g", "size": "l", "days": ["mon", "tue"]});
        assert_eq!(Value::Object(content(&ask, &text)), expected);
        assert_eq!(content(&ask, "1: Ada; 2: 4; 3: no")["sure"], json!(false));
    }

    #[test]
    fn what_the_form_does_not_take_is_refused() {
        let ask = Ask::Elicitation(Box::new(every_kind()));
        let wrong = |text: Value| objection(&ask, SUBMIT, Some(&text.to_string())).is_some();
        assert!(!wrong(json!({"name": "Ada", "count": 3})));
        assert!(wrong(json!({"name": "Ada"})), "count is required");
        assert!(wrong(json!({"name": "Ada", "count": "many"})));
        assert!(wrong(json!({"name": "A", "count": 3})), "too short");
        assert!(wrong(json!({"name": "Ada", "count": 3, "color": "blue"})));
        assert!(objection(&ask, DECLINE, None).is_none());
    }
}
