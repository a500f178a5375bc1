//! The HTTP server: the API that `docs/server.md` lists, the events of sessions as they happen, and the
//! browser's program.
//!
//! A surface like any other: it shows facts and passes on wishes, through the host's client. Routes
//! stand in one file per noun; each describes itself ([`openapi`]). [`access`] stands before all of
//! them, [`listen`] before that. To add a group of routes: a file with a `routes` function, and one
//! line in [`router`].

mod about;
mod access;
mod assistant;
mod assistant_stream;
mod audit;
mod background;
mod changes;
mod confirmation;
mod control;
mod document;
mod events;
mod extract;
mod failure;
mod fanout;
mod files;
mod forking;
mod images;
mod jobs;
mod listen;
mod llm;
mod memory;
mod models;
mod openapi;
mod pages;
mod proposals;
mod refs;
mod rewind;
mod rules;
mod sessions;
mod settings;
mod setup;
mod subtasks;
mod todos;
mod trace;
mod usage;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use trimtab_host::config::Profile;
use trimtab_host::{Client, LiveProfile};

use self::access::ServerNames;
use self::confirmation::Confirmations;
use self::failure::Failure;
use self::openapi::{Api, RouteOperation};

pub(crate) use self::listen::{Certificate, Listening};
pub(crate) use self::settings::Idea;

/// A body may have so many bytes where a route does not say otherwise.
const LARGEST_BODY: usize = 1024 * 1024;

/// What one answer may hold of a log.
const LOG_PAGE: u32 = 1000;

/// What routes work with.
pub(crate) struct ServerState {
    client: Client,
    profile: LiveProfile,
    /// The default folder for new sessions.
    folder: String,
    idea: Option<Idea>,
    names: ServerNames,
    confirmations: Confirmations,
    feeds: fanout::Feeds,
    streams: events::Streams,
    /// Becomes true when the server is ending.
    going: watch::Receiver<bool>,
    description: Value,
}

impl ServerState {
    /// The settings in force.
    fn profile(&self) -> Arc<Profile> {
        self.profile.get()
    }
}

/// The server, as routes get it.
pub(crate) type Shared = Arc<ServerState>;

/// What a server is started with.
pub(crate) struct Start {
    /// The door to sessions.
    pub(crate) client: Client,
    /// The settings in force.
    pub(crate) profile: Profile,
    /// The default folder for new sessions.
    pub(crate) folder: String,
    /// What could be said first.
    pub(crate) idea: Option<Idea>,
    /// Where it listens.
    pub(crate) listener: TcpListener,
    /// Names that it may be called by, without the port.
    pub(crate) names: Vec<String>,
    /// With it, TLS is spoken.
    pub(crate) certificate: Option<Certificate>,
    /// Shows a line where the server was started.
    pub(crate) announce: fn(&str),
}

/// Serves until `ending` says so; then whatever is under way has a few seconds to end.
pub(crate) async fn serve(start: Start, ending: impl Future<Output = ()>) -> std::io::Result<()> {
    let Start { client, profile, folder, idea, listener, names, certificate, announce } = start;
    let (profile, confirmations) = (LiveProfile::new(profile), Confirmations::new(announce));
    let names = ServerNames::new(&names, listener.local_addr()?.port(), certificate.is_some());
    let (goes, going) = watch::channel(false);
    let (routes, description) = router();
    let (feeds, streams) = (fanout::Feeds::default(), events::Streams::default());
    let going_on = going.clone();
    let server = Arc::new(ServerState {
        client,
        profile,
        folder,
        idea,
        names,
        confirmations,
        feeds,
        streams,
        going: going_on,
        description,
    });
    let router = routes
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), access::guard))
        .with_state(server);
    let listening = Listening { listener, certificate, router, going };
    tokio::pin!(ending);
    let served = listening.run();
    tokio::pin!(served);
    tokio::select! {
        ended = &mut served => return ended,
        () = &mut ending => {}
    }
    // Whoever watches is told to come back later; nobody is listening any more if this fails.
    let _ = goes.send(true);
    served.await
}

/// Every route, and the description of all of them.
fn router() -> (Router<Shared>, Value) {
    let mut api = Api::new();
    let groups = [
        sessions::routes,
        events::routes,
        control::routes,
        proposals::routes,
        changes::routes,
        forking::routes,
        rewind::routes,
        trace::routes,
        subtasks::routes,
        refs::routes,
        jobs::routes,
        background::routes,
        usage::routes,
        audit::routes,
        memory::routes,
        images::routes,
        todos::routes,
        llm::routes,
        assistant::routes,
        about::routes,
        settings::routes,
        rules::routes,
        files::routes,
        models::routes,
        setup::routes,
    ];
    for group in groups {
        api = group(api);
    }
    let describe = RouteOperation::new("get", "describe", "about", "This description").gives::<Value>(
        StatusCode::OK,
        "An OpenAPI document.",
        json!({"openapi": "3.1.0"}),
    );
    let (routes, description) = api.add("/openapi.json", get(openapi), vec![describe]).finish();
    let routes = routes
        .route(pages::LOGIN, get(pages::log_in).post(pages::log_in_by_form))
        .route(pages::LOGIN_STYLE, get(pages::login_style))
        .method_not_allowed_fallback(not_allowed)
        .fallback(pages::page);
    (routes, description)
}

async fn openapi(State(server): State<Shared>) -> Json<Value> {
    Json(server.description.clone())
}

async fn not_allowed() -> impl IntoResponse {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method", "This route does not support this method.")
        .hint("GET /api/openapi.json describes all routes.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_ref(value: &Value, see: &mut impl FnMut(&str)) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get("$ref") {
                    see(to);
                }
                fields.values().for_each(|value| each_ref(value, see));
            }
            Value::Array(values) => values.iter().for_each(|value| each_ref(value, see)),
            _ => {}
        }
    }

    #[test]
    fn the_description_is_complete_in_itself() {
        let (_, description) = router();
        each_ref(&description, &mut |to| {
            let pointer = to.strip_prefix('#').unwrap_or_else(|| panic!("{to} leads elsewhere"));
            assert!(description.pointer(pointer).is_some(), "{to} leads nowhere");
        });
        let mut names = std::collections::BTreeSet::new();
        for (path, operations) in description["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                let name = operation["operationId"].as_str().expect("a name");
                assert!(names.insert(name), "{name} is there twice");
                for part in ["summary", "tags", "responses"] {
                    assert!(!operation[part].is_null(), "{method} {path} has no {part}");
                }
                let answers = operation["responses"].as_object().expect("answers");
                assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path} never succeeds");
            }
        }
    }

    #[test]
    fn every_type_of_event_is_described_by_its_name() {
        let (_, description) = router();
        let text = description["components"]["schemas"].to_string();
        for kind in trimtab_vocab::event::KNOWN_TYPES {
            assert!(text.contains(&format!(r#""const":"{kind}""#)), "{kind}");
        }
    }

    #[test]
    fn every_type_has_a_name_of_its_own() {
        let (_, description) = router();
        let types = description["components"]["schemas"].as_object().expect("types");
        // Of two that are called alike, the second would get a number, and whoever uses it a name that tells nothing.
        let numbered = types.keys().filter(|name| name.ends_with(|c: char| c.is_ascii_digit()));
        assert_eq!(numbered.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    /// One line for each method of a path and each type, so that what changed can be seen.
    fn lines(value: &Value, depth: usize) -> String {
        match value {
            Value::Object(fields) if depth > 0 && !fields.is_empty() => {
                let line = |(name, part)| format!("{}: {}", json!(name), lines(part, depth - 1));
                format!("{{\n{}\n}}", fields.iter().map(line).collect::<Vec<String>>().join(",\n"))
            }
            other => other.to_string(),
        }
    }

    /// The browser has the words around a permission from this file.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test keeps a file of the repository in step")]
    fn the_browsers_words_around_a_permission_are_those_of_the_catalog() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/lib/permission.json");
        let lines = serde_json::to_string_pretty(&trimtab_vocab::wording::permission::LINES).expect("JSON");
        let text = lines + "\n";
        if std::env::var_os("TRIMTAB_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("writes");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, text, "run once with TRIMTAB_UPDATE_DOCS=1");
    }

    /// The browser's program takes its types from this file.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test keeps a file of the repository in step")]
    fn the_browsers_copy_of_the_description_is_what_the_server_says() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json");
        let text = lines(&router().1, 3) + "\n";
        if std::env::var_os("TRIMTAB_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("writes");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let stale = text.lines().zip(kept.lines().chain(std::iter::repeat(""))).find(|(now, then)| now != then);
        let stale = stale.map(|(now, _)| now.chars().take(120).collect::<String>());
        assert!(
            kept == text,
            "web/openapi.json is not of this server, from {stale:?} on; run once with TRIMTAB_UPDATE_DOCS=1"
        );
    }
}
