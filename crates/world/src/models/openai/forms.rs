//! The response formats that a server supports. Old servers refuse a schema, or any format; that is found out once.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use trimtab_vocab::{Fault, Format, ProblemKind};

/// The response formats that a server was found to support.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TakenForm {
    #[default]
    Schema,
    Json,
    Nothing,
}

/// By the address of the server and the name of the model.
type TakenForms = HashMap<(String, String), TakenForm>;

fn all() -> MutexGuard<'static, TakenForms> {
    static ALL: LazyLock<Mutex<TakenForms>> = LazyLock::new(Mutex::default);
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(base_url: &str, model: &str) -> (String, String) {
    (base_url.trim_end_matches('/').to_owned(), model.to_owned())
}

/// As much of a form as the server takes.
pub(super) fn allowed(base_url: &str, model: &str, wanted: Option<Format>) -> Option<Format> {
    match (all().get(&name(base_url, model)).copied().unwrap_or_default(), wanted) {
        (TakenForm::Schema, wanted) => wanted,
        (TakenForm::Json, wanted) => wanted.map(|_| Format::Json),
        (TakenForm::Nothing, _) => None,
    }
}

/// The server refused this form.
pub(super) fn give_up(base_url: &str, model: &str, refused: &Format) {
    let left = match refused {
        Format::Schema { .. } => TakenForm::Json,
        Format::Json => TakenForm::Nothing,
    };
    all().insert(name(base_url, model), left);
}

/// Whether a server refused the form of the words, and not something else.
pub(super) fn is_refused(fault: &Fault) -> bool {
    let answered = matches!(fault.problem.kind, ProblemKind::Refused | ProblemKind::Overloaded);
    let said = fault.problem.message.to_ascii_lowercase();
    let words =
        ["response_format", "json_schema", "json schema", "json_object", "grammar", "structured output", "guided"];
    answered && words.iter().any(|word| said.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_form_is_not_asked_for_again() {
        let schema = || Some(Format::Schema { name: "answer".into(), schema: json!({"type": "object"}) });
        let (url, model) = ("http://127.0.0.1:1/v1", "old");
        assert_eq!(allowed(url, model, schema()), schema());
        give_up(url, model, &schema().expect("a form"));
        assert_eq!(allowed("http://127.0.0.1:1/v1/", model, schema()), Some(Format::Json));
        give_up(url, model, &Format::Json);
        assert_eq!(allowed(url, model, schema()), None);
        assert_eq!(allowed(url, "new", schema()), schema(), "another model of the same server");
    }
}
