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
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::sessions::real_folder;

/// Names in one answer.
const MOST_NAMES: usize = 20_000;
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
    api.add("/files", get(list_files), vec![list]).add("/files/content", get(get_file), vec![show])
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
    if server.client.permissions().trusts(&server.profile, &folder).await? {
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

async fn get_file(
    State(server): State<Shared>,
    QueryArgs(FileQuery { folder, path }): QueryArgs<FileQuery>,
) -> Result<Response, Failure> {
    let folder = trusted_folder(&server, folder).await?;
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
    // A browser must not take it for a page, whatever it is.
    let kind = match picture_type(&bytes) {
        Some(kind) => kind,
        None if !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok() => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    };
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
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
    fn a_secret_is_found_in_every_part_of_a_path() {
        for path in [".env", "deploy/.env", ".ssh/config", "home/.docker/config.json"] {
            assert!(holds_secrets(path), "{path}");
        }
        for path in ["src/main.rs", "config.json", "docs/env.md", ".env.example"] {
            assert!(!holds_secrets(path), "{path}");
        }
    }
}
