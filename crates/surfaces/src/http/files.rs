//! The files of a trusted folder: their names, for completion and the file tree, and the contents of one.

use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{LocalWorkspace, Workspace};
use trimtab_vocab::picture_type;
use trimtab_vocab::sensitive_paths::is_secret_in;

use super::Shared;
use super::access::FramePolicy;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::sessions::real_folder;

/// Names in one answer.
const MOST_NAMES: usize = 20_000;
/// Where the page finds its previews.
pub(super) const PREVIEW: &str = "/api/files/preview";

/// Under this policy a page of the folder runs no script, loads nothing, sends nothing, and shares its origin with no other page.
const PREVIEW_POLICY: FramePolicy = FramePolicy(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'self'",
);
/// Tags that lead a browser elsewhere before any policy is asked: connections ahead of time, and refreshes.
const LEADS_AWAY: [&str; 3] = ["link", "meta", "base"];

/// Bytes of a file that is shown.
const LARGEST_SHOWN: usize = 4 * 1024 * 1024;

pub(super) fn routes(api: Api) -> Api {
    let list = RouteOperation::new("get", "listFiles", "files", "List the files of a trusted folder")
        .query::<FilesQuery>()
        .gives::<FileNames>(
            StatusCode::OK,
            "The names, the shallow ones first. Folders end with a slash. Files that git ignores are left out.",
            json!({"folder": "/home/me/project", "files": ["src/", "README.md", "src/main.rs"], "more": false}),
        )
        .fails(409);
    let show = RouteOperation::new("get", "getFile", "files", "Show a file of a trusted folder")
        .query::<FileQuery>()
        .gives_other::<String>(StatusCode::OK, "The bytes of the file.", "application/octet-stream")
        .fails(404)
        .fails(409)
        .fails(413);
    let preview = RouteOperation::new("get", "previewFile", "files", "Show an HTML file of a trusted folder as a page")
        .query::<FileQuery>()
        .gives_other::<String>(StatusCode::OK, "The page, under a policy without scripts and network.", "text/html")
        .fails(404)
        .fails(409)
        .fails(413);
    api.add("/files", get(list_files), vec![list]).add("/files/content", get(get_file), vec![show]).add(
        "/files/preview",
        get(preview_file),
        vec![preview],
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FilesQuery {
    /// The folder. Default: the folder in which the server was started.
    folder: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileQuery {
    /// The folder. Default: the folder in which the server was started.
    folder: Option<String>,
    /// The file, relative to the folder.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileNames {
    /// The folder, with links resolved.
    folder: String,
    /// Relative to the folder.
    files: Vec<String>,
    /// There are more files than these.
    more: bool,
}

/// Ends the search if the client does not wait for it any longer.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn trusted_folder(server: &Shared, named: Option<String>) -> Result<String, Failure> {
    let folder = match named {
        Some(named) => real_folder(&named)?,
        None => server.folder.clone(),
    };
    if server.client.permissions().trusts(&server.profile(), &folder).await? {
        return Ok(folder);
    }
    let refusal = Failure::new(StatusCode::CONFLICT, "untrusted", format!("The folder {folder} is not trusted."));
    Err(refusal.hint("Run `trimtab trust` in it, or trust it when Trimtab asks in a session."))
}

async fn list_files(
    State(server): State<Shared>,
    QueryArgs(FilesQuery { folder }): QueryArgs<FilesQuery>,
) -> Result<Json<FileNames>, Failure> {
    let folder = trusted_folder(&server, folder).await?;
    let stop = StopOnDrop(Arc::default());
    let (place, flag) = (folder.clone(), Arc::clone(&stop.0));
    let listing = tokio::task::spawn_blocking(move || trimtab_host::names(Path::new(&place), MOST_NAMES + 1, &flag));
    let mut files = listing.await.unwrap_or_default();
    drop(stop);
    let more = files.len() > MOST_NAMES;
    files.truncate(MOST_NAMES);
    Ok(Json(FileNames { folder, files, more }))
}

/// The bytes of a file that can be shown.
async fn shown_bytes(server: &Shared, FileQuery { folder, path }: FileQuery) -> Result<Vec<u8>, Failure> {
    let folder = trusted_folder(server, folder).await?;
    let absent = || Failure::not_found(format!("There is no file {path} in this folder."));
    if !Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(absent());
    }
    // The workspace follows no link out of the folder.
    let workspace = LocalWorkspace::new([], &[]);
    let found = workspace.read(&folder, &path).await.map_err(|_| absent())?;
    // A link can have a harmless name.
    if holds_secrets(&path) || holds_secrets(&found.real) {
        let refusal = Failure::new(StatusCode::CONFLICT, "secret", format!("{path} usually holds keys or passwords."));
        return Err(refusal.hint("Open it in an editor."));
    }
    let (bytes, _) = found.content.ok_or_else(absent)?;
    if bytes.len() > LARGEST_SHOWN {
        let most = LARGEST_SHOWN >> 20;
        let refusal =
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("{path} is larger than {most} MB."));
        return Err(refusal.hint("Open it in an editor."));
    }
    Ok(bytes)
}

async fn get_file(State(server): State<Shared>, QueryArgs(wanted): QueryArgs<FileQuery>) -> Result<Response, Failure> {
    let bytes = shown_bytes(&server, wanted).await?;
    // A browser must not take it for a page, whatever it is.
    let kind = match picture_type(&bytes) {
        Some(kind) => kind,
        None if !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok() => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    };
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}

async fn preview_file(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<FileQuery>,
) -> Result<Response, Failure> {
    let path = wanted.path.to_ascii_lowercase();
    if !path.ends_with(".html") && !path.ends_with(".htm") {
        return Err(Failure::unprocessable("Only HTML files have a preview."));
    }
    let bytes = shown_bytes(&server, wanted).await?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::unprocessable("This file is not text in UTF-8."))?;
    let page = without_tags_that_lead_away(&text);
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
    response.extensions_mut().insert(PREVIEW_POLICY);
    Ok(response)
}

/// A page in which these tags mean nothing to a browser.
fn without_tags_that_lead_away(text: &str) -> String {
    let mut page = String::with_capacity(text.len() + 64);
    let mut pieces = text.split('<');
    page.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let leads_away =
            LEADS_AWAY.iter().any(|tag| piece.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)));
        page.push_str(if leads_away { "<x-" } else { "<" });
        page.push_str(piece);
    }
    page
}

/// Whether a part of the path usually holds keys or passwords.
fn holds_secrets(path: &str) -> bool {
    let mut above = "";
    path.split('/').any(|name| {
        let is_secret = is_secret_in(above, name);
        above = name;
        is_secret
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_lead_away_mean_nothing_in_a_preview() {
        for (text, page) in [
            ("<p>a < b</p>", "<p>a < b</p>"),
            ("<LINK rel=preconnect href=//x><b>", "<x-LINK rel=preconnect href=//x><b>"),
            ("<meta http-equiv=refresh><\u{e9}", "<x-meta http-equiv=refresh><\u{e9}"),
            ("<base href=//x>x</base>", "<x-base href=//x>x</base>"),
            ("", ""),
        ] {
            assert_eq!(without_tags_that_lead_away(text), page, "{text}");
        }
    }

    #[test]
    fn a_secret_is_found_in_every_part_of_a_path() {
        for path in [".env", "deploy/.env", ".ssh/config", "home/.docker/config.json"] {
            assert!(holds_secrets(path), "{path}");
        }
        for path in ["src/main.rs", "config.json", "docs/env.md", ".env.example"] {
            assert!(!holds_secrets(path), "{path}");
        }
    }
}
