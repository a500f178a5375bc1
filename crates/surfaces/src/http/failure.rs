//! What goes wrong, as programs meet it: `{"error":{"code","message","hint"}}` with a fitting status.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use trimtab_vocab::{Problem, ProblemKind};

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorBody {
    /// The error and what to do.
    error: ErrorDetail,
}

/// The error and what to do.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorDetail {
    /// Which sort of error it is, for programs.
    code: String,
    /// What happened and what it means.
    message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// An answer that is not a success.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", what)
    }

    /// The request is understood, and cannot be meant.
    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "usage", message)
    }

    pub(super) fn body(&self) -> ErrorBody {
        let (code, message, hint) = (self.code.to_owned(), self.message.clone(), self.hint.clone());
        ErrorBody { error: ErrorDetail { code, message, hint } }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        use ProblemKind as Kind;
        let (status, code) = match problem.kind {
            Kind::Usage => (StatusCode::UNPROCESSABLE_ENTITY, "usage"),
            // The request is fine; what stands in its way is how things are here.
            Kind::Settings => (StatusCode::CONFLICT, "settings"),
            Kind::NoKey => (StatusCode::CONFLICT, "no_key"),
            Kind::Busy => (StatusCode::CONFLICT, "busy"),
            Kind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Kind::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Kind::Limit => (StatusCode::TOO_MANY_REQUESTS, "limit"),
            Kind::NotDone => (StatusCode::BAD_GATEWAY, "not_done"),
            Kind::Auth => (StatusCode::BAD_GATEWAY, "auth"),
            Kind::Refused => (StatusCode::BAD_GATEWAY, "refused"),
            Kind::NoTools => (StatusCode::BAD_GATEWAY, "no_tools"),
            Kind::Overloaded => (StatusCode::BAD_GATEWAY, "overloaded"),
            Kind::Loading => (StatusCode::BAD_GATEWAY, "loading"),
            Kind::Network => (StatusCode::BAD_GATEWAY, "network"),
            Kind::Stalled => (StatusCode::BAD_GATEWAY, "stalled"),
            Kind::Protocol => (StatusCode::BAD_GATEWAY, "protocol"),
            Kind::Truncated => (StatusCode::BAD_GATEWAY, "truncated"),
            Kind::Repetition => (StatusCode::BAD_GATEWAY, "repetition"),
            Kind::Interrupted => (StatusCode::SERVICE_UNAVAILABLE, "interrupted"),
            Kind::Store => (StatusCode::SERVICE_UNAVAILABLE, "store"),
            Kind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            Kind::Unknown => (StatusCode::INTERNAL_SERVER_ERROR, "unknown"),
        };
        Self { status, code, message: problem.message, hint: problem.hint }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl Failure {
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
