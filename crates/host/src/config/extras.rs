//! Headers, query parameters, and body fields of a provider. Values can name environment variables (`$NAME`), so that
//! no file has to contain a key. Values that may be secrets are never shown.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde_json::Map;
use toml::Value;
use trimtab_world::models::{ExtraFields, RequestExtras};

use super::raw::RawSettings;

/// Shown in place of a value that may be a secret.
const HIDDEN: &str = "…";
/// What stands around the name of a variable (`Bearer $TOKEN`) is short; anything longer may be a key itself.
const LONGEST_AROUND: usize = 8;

/// What the settings add to the requests of a provider.
pub(super) fn resolve(raw: &RawSettings, provider: &str, variables: &BTreeMap<String, String>) -> RequestExtras {
    let mut expander = Expander { variables, extras: RequestExtras::default() };
    let table = |field: &str| raw.get(&format!("providers.{provider}.{field}")).and_then(|(value, _)| value.as_table());
    let mut pairs = |field: &str| -> Vec<(String, SecretString)> {
        let pairs = table(field).into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.clone(), expander.text(value.as_str()?).into()))).collect()
    };
    let (headers, query) = (pairs("headers"), pairs("query"));
    let fields: Map<String, serde_json::Value> =
        table("body").into_iter().flatten().map(|(name, value)| (name.clone(), expander.json(value))).collect();
    RequestExtras { headers, query, body: ExtraFields(fields), ..expander.extras }
}

/// Puts the values of variables where their names stand, and notes which were named.
struct Expander<'a> {
    variables: &'a BTreeMap<String, String>,
    extras: RequestExtras,
}

impl Expander<'_> {
    fn text(&mut self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            whole.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            match variable(rest) {
                Some((name, after)) => {
                    whole.push_str(&self.value(name));
                    rest = after;
                }
                None => {
                    whole.push('$');
                    // Two of them mean one.
                    rest = rest.strip_prefix('$').unwrap_or(rest);
                }
            }
        }
        whole + rest
    }

    fn value(&mut self, name: &str) -> String {
        let extras = &mut self.extras;
        if !extras.variables.iter().any(|known| known == name) {
            extras.variables.push(name.to_owned());
        }
        match self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty()) {
            Some(value) => {
                extras.secrets.push(value.into());
                value.to_owned()
            }
            None => {
                extras.missing.push(name.to_owned());
                String::new()
            }
        }
    }

    fn json(&mut self, value: &Value) -> serde_json::Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(yes) => (*yes).into(),
            Value::Datetime(time) => time.to_string().into(),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Table(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.json(value)));
                serde_json::Value::Object(fields.collect())
            }
        }
    }
}

/// The variable that a text after a `$` begins with, and what follows it: `NAME` or `{NAME}`.
fn variable(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if let Some(inner) = text.strip_prefix('{') {
        let (name, after) = inner.split_once('}')?;
        return (is_name(name) && name.chars().all(is_part)).then_some((name, after));
    }
    let (name, after) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
    is_name(name).then_some((name, after))
}

/// A header that a provider may want; those that belong to the transport are ours.
pub(super) fn is_header(name: &str) -> bool {
    let ours = ["content-length", "content-type", "host", "connection", "transfer-encoding", "accept-encoding"];
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        && !ours.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A setting's value as it may be shown.
pub(super) fn shown(path: &str, value: &Value) -> Value {
    let section = path.strip_prefix("providers.").or_else(|| path.strip_prefix("mcp."));
    let Some((_, field)) = section.and_then(|rest| rest.split_once('.')) else {
        return value.clone();
    };
    match field {
        "headers" | "client_secret" => hidden(value, true),
        "query" | "body" => hidden(value, false),
        _ => value.clone(),
    }
}

fn hidden(value: &Value, is_secret: bool) -> Value {
    match value {
        Value::String(text) if is_secret && !names_variable(text) => Value::String(HIDDEN.to_owned()),
        Value::Array(items) => Value::Array(items.iter().map(|item| hidden(item, is_secret)).collect()),
        Value::Table(fields) => {
            let field =
                |(name, value): (&String, &Value)| (name.clone(), hidden(value, is_secret || may_be_secret(name)));
            Value::Table(fields.iter().map(field).collect())
        }
        value => value.clone(),
    }
}

/// Whether a text is the name of a variable, perhaps with a word before it.
fn names_variable(text: &str) -> bool {
    let Some((before, rest)) = text.split_once('$') else { return false };
    variable(rest).is_some_and(|(_, after)| before.len() + after.len() <= LONGEST_AROUND)
}

fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth", "sig", "code", "credential"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::super::{load_from, tests::environment};

    const MINE: &str = r#"
[providers.mine]
kind = "openai"
base_url = "https://x.test/v1"
headers = { "api-key" = "$AZURE_KEY", Authorization = "Bearer ${AZURE_KEY}", "x-plain" = "5 $$ or $5" }
query = { "api-version" = "2026-05-01", code = "literal" }
body = { provider = { order = ["x"] }, user = "$WHO", n = 1, flag = true }
"#;

    fn loaded(text: &str, more: &[(&str, &str)]) -> Result<super::super::Profile, trimtab_vocab::Problem> {
        let home = tempfile::tempdir().expect("folder");
        std::fs::write(home.path().join("config.toml"), text).expect("writes");
        load_from(&environment(home.path(), more), &[])
    }

    #[test]
    fn values_name_environment_variables_and_never_show() {
        let profile = loaded(MINE, &[("AZURE_KEY", "sk-azure-secret"), ("WHO", "me")]).expect("loads");
        let extras = &profile.providers["mine"].extras;
        let headers: Vec<(&str, &str)> =
            extras.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(
            headers,
            [("Authorization", "Bearer sk-azure-secret"), ("api-key", "sk-azure-secret"), ("x-plain", "5 $ or $5")]
        );
        let body = json!({"provider": {"order": ["x"]}, "user": "me", "n": 1, "flag": true});
        assert_eq!(serde_json::Value::Object(extras.body.0.clone()), body);
        assert_eq!((extras.variables.as_slice(), extras.missing.len()), (&["AZURE_KEY".into(), "WHO".into()][..], 0));
        let shown = format!("{profile:?} {:?}", profile.shown());
        assert!(!shown.contains("sk-azure-secret"), "{shown}");
        let value = |path: &str| profile.shown().into_iter().find(|shown| shown.path == path).expect("shown").value;
        let headers = value("providers.mine.headers");
        assert!(headers.contains("$AZURE_KEY") && headers.contains("Bearer ${AZURE_KEY}"), "{headers}");
        assert!(!headers.contains("or $5"), "a text that names no variable may be a key: {headers}");
        let query = value("providers.mine.query");
        assert!(query.contains("2026-05-01") && !query.contains("literal"), "{query}");
    }

    #[test]
    fn a_variable_that_is_not_set_is_named_when_the_provider_is_used() {
        use trimtab_world::models::ModelRegistry;
        let profile = loaded(MINE, &[("WHO", "me")]).expect("loads");
        let problem = profile.registry().find("mine/gpt").err().expect("refused");
        assert!(problem.message.contains("$AZURE_KEY"), "{problem:?}");
    }

    #[test]
    fn the_environment_sets_them_as_well() {
        let more = [
            ("TRIMTAB_PROVIDERS_MINE_BASE_URL", "https://x.test"),
            ("TRIMTAB_PROVIDERS_MINE_HEADERS", "x-a=1; x-b = $B"),
            ("TRIMTAB_PROVIDERS_MINE_BODY", r#"{"provider": {"sort": "price"}}"#),
            ("B", "two"),
        ];
        let profile = loaded("", &more).expect("loads");
        let extras = &profile.providers["mine"].extras;
        assert_eq!(extras.headers.iter().map(|(_, value)| value.expose_secret()).collect::<Vec<_>>(), ["1", "two"]);
        assert_eq!(extras.body.0["provider"], json!({"sort": "price"}));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_showing_it() {
        for bad in [
            "headers = { \"no spaces\" = \"sk-secret\" }",
            "headers = { host = \"sk-secret\" }",
            "headers = { x = 1 }",
            "query = \"sk-secret\"",
            "body = [\"sk-secret\"]",
        ] {
            let problem = loaded(&format!("[providers.mine]\nbase_url = \"https://x.test\"\n{bad}\n"), &[]);
            let problem = problem.expect_err(bad);
            assert!(!format!("{problem:?}").contains("sk-secret"), "{problem:?}");
        }
    }
}
