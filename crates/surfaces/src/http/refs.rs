//! Stored texts and bytes, by the key that events name.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use trimtab_vocab::{RefKey, picture_type};

use super::Shared;
use super::extract::Id;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let text = RouteOperation::new("get", "getRef", "refs", "Show a stored text or file")
        .path::<RefKey>("key", "The key from an event, without `ref:`.", "reply-s01kabcdefghjkmnp-c1")
        .gives_other::<String>(StatusCode::OK, "The bytes as they are stored.", "application/octet-stream");
    api.add("/refs/{key}", get(get_ref), vec![text])
}

async fn get_ref(State(server): State<Shared>, Id(key): Id<RefKey>) -> Result<Response, Failure> {
    let bytes = server.client.refs().bytes(&key).await?;
    // Whatever it is, a browser must not take it for a page. A picture that was made is shown as what its first
    // bytes say, and only if they say that it is one that can hold no script.
    let kind = if key.is_picture() { picture_type(&bytes) } else { None };
    Ok((StatusCode::OK, [("content-type", kind.unwrap_or("application/octet-stream"))], bytes).into_response())
}
