//! How requests are read: bounded, strictly, and with errors in the one shape.

use std::fmt::Display;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::failure::Failure;

/// A body as it came, for routes that read more leniently than others.
pub(super) struct RawBody(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        Bytes::from_request(request, state).await.map(Self).map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The request's body is too large.")
                    .hint("Put large texts into files of the folder, and name them.")
            }
            _ => Failure::new(StatusCode::BAD_REQUEST, "broken", "The request's body is incomplete."),
        })
    }
}

/// A body of JSON.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let RawBody(bytes) = RawBody::from_request(request, state).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            let (status, code) = match error.classify() {
                serde_json::error::Category::Data => (StatusCode::UNPROCESSABLE_ENTITY, "usage"),
                _ => (StatusCode::BAD_REQUEST, "not_json"),
            };
            Failure::new(status, code, format!("The request's body cannot be read: {error}."))
                .hint("GET /api/openapi.json describes each route.")
        })
    }
}

/// The parts of the path, as ids. A text that can be no id names nothing.
pub(super) struct Id<T>(pub(super) T);

impl<T, S> FromRequestParts<S> for Id<T>
where
    T: FromStr<Err: Display>,
    S: Send + Sync,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(unreadable_path)?;
        text.parse().map(Self).map_err(|error| Failure::not_found(format!("{error}.")))
    }
}

/// Two of them.
pub(super) struct PathIds<A, B>(pub(super) A, pub(super) B);

impl<A, B, S> FromRequestParts<S> for PathIds<A, B>
where
    A: FromStr<Err: Display>,
    B: FromStr<Err: Display>,
    S: Send + Sync,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path((a, b)) = Path::<(String, String)>::from_request_parts(parts, state).await.map_err(unreadable_path)?;
        let a = a.parse().map_err(|error| Failure::not_found(format!("{error}.")))?;
        let b = b.parse().map_err(|error| Failure::not_found(format!("{error}.")))?;
        Ok(Self(a, b))
    }
}

fn unreadable_path(error: axum::extract::rejection::PathRejection) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "broken", format!("Invalid address: {error}."))
}

/// What stands after the `?`.
pub(super) struct QueryArgs<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryArgs<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Query(asked) = Query::<T>::from_request_parts(parts, state).await.map_err(|error| {
            Failure::new(StatusCode::BAD_REQUEST, "usage", format!("Invalid query string: {error}."))
        })?;
        Ok(Self(asked))
    }
}
