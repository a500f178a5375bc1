//! Headers, query parameters, and body fields that a provider's settings add to every request.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use trimtab_vocab::{Fault, Problem, ProblemKind, Retry};

use super::http::fault;

/// Headers, query parameters and body fields that a provider wants beside what its dialect sends. Their values may
/// hold secrets, so nothing here is ever printed.
#[derive(Debug, Clone, Default)]
pub struct RequestExtras {
    /// Sent with every request; one that the dialect sends as well is replaced.
    pub headers: Vec<(String, SecretString)>,
    /// Added to every address.
    pub query: Vec<(String, SecretString)>,
    /// Merged into the body of every call of a model.
    pub body: ExtraFields,
    /// Values of environment variables in any of these, which are removed from error messages.
    pub secrets: Vec<SecretString>,
    /// The names of those variables, so that commands never see them.
    pub variables: Vec<String>,
    /// Variables that are named but not set.
    pub missing: Vec<String>,
}

/// Fields of a JSON body, which may hold secrets.
#[derive(Clone, Default)]
pub struct ExtraFields(pub Map<String, Value>);

impl std::fmt::Debug for ExtraFields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl RequestExtras {
    pub(super) fn add_query(&self, url: &str) -> Result<String, Fault> {
        if self.query.is_empty() {
            return Ok(url.to_owned());
        }
        let mut url = Url::parse(url).map_err(|_| unusable("The provider's address is not a URL."))?;
        for (name, value) in &self.query {
            url.query_pairs_mut().append_pair(name, value.expose_secret());
        }
        Ok(url.into())
    }

    pub(super) fn header_map(&self) -> Result<HeaderMap, Fault> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let broken = || unusable(&format!("The header {name} of the provider cannot be sent."));
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| broken())?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| broken())?, value);
        }
        Ok(map)
    }

    /// The body with the extra fields in it. Objects are merged field by field; anything else is replaced.
    pub(super) fn add_fields(&self, body: Vec<u8>) -> Result<Vec<u8>, Fault> {
        if self.body.0.is_empty() {
            return Ok(body);
        }
        let written = |_| fault(ProblemKind::Internal, "The request cannot be written.", Retry::Never);
        let mut whole: Value = serde_json::from_slice(&body).map_err(written)?;
        merge(&mut whole, &Value::Object(self.body.0.clone()));
        serde_json::to_vec(&whole).map_err(written)
    }
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

fn unusable(message: &str) -> Fault {
    let problem = Problem::new(ProblemKind::Settings, message)
        .hint("Check base_url, headers and query of the provider; `trimtab config` shows where they are set.");
    Fault { problem, retry: Retry::Never }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extras(query: &[(&str, &str)], body: Value) -> RequestExtras {
        let Value::Object(body) = body else { panic!("an object") };
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), SecretString::from(*value))).collect();
        RequestExtras { query, body: ExtraFields(body), ..RequestExtras::default() }
    }

    #[test]
    fn fields_are_merged_into_objects_and_replace_everything_else() {
        let extras = extras(&[], json!({"provider": {"order": ["x"]}, "a": {"b": {"c": 1}}, "stream": false}));
        let body = json!({"model": "m", "stream": true, "a": {"b": {"d": 2}, "e": 3}});
        let merged = extras.add_fields(serde_json::to_vec(&body).expect("json")).expect("merged");
        assert_eq!(
            serde_json::from_slice::<Value>(&merged).expect("json"),
            json!({"model": "m", "stream": false, "provider": {"order": ["x"]}, "a": {"b": {"c": 1, "d": 2}, "e": 3}})
        );
    }

    #[test]
    fn query_parameters_are_added_to_those_of_the_dialect() {
        let extras = extras(&[("api-version", "2026-05-01"), ("code", "a&b")], json!({}));
        let url = extras.add_query("https://x.test/v1/models?limit=1").expect("a URL");
        assert_eq!(url, "https://x.test/v1/models?limit=1&api-version=2026-05-01&code=a%26b");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let headers = vec![("x-key".to_owned(), SecretString::from("line\nbreak"))];
        let fault = RequestExtras { headers, ..RequestExtras::default() }.header_map().expect_err("refused");
        assert!(fault.problem.message.contains("x-key") && !fault.problem.message.contains("break"));
    }

    #[test]
    fn nothing_of_it_is_ever_printed() {
        let mut extras = extras(&[("code", "q-secret")], json!({"user": "b-secret"}));
        extras.headers.push(("api-key".into(), "h-secret".into()));
        extras.secrets.push("e-secret".into());
        assert!(!format!("{extras:?}").contains("secret\""), "{extras:?}");
        assert!(!format!("{extras:?}").contains("-secret"), "{extras:?}");
    }
}
