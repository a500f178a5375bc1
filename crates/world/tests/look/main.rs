//! Looking at real folders: what a model gets to read, and what it does not.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

mod folders;
mod reading;
mod searching;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use trimtab_vocab::event::ToolStatus::{self, Error, Ok as Fine, Partial};
use trimtab_vocab::{FileMark, ReadOp, ReadResult};
use trimtab_world::tools::{ReadScope, perform_read};

/// A folder, and the place it is.
struct Scene {
    folder: TempDir,
    place: ReadScope,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = ReadScope::open(folder.path()).expect("the folder");
        let scene = Self { folder, place };
        for (path, text) in files {
            scene.write(path, text);
        }
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    async fn perform_read(&self, at: ReadOp) -> ReadResult {
        tokio::time::timeout(Duration::from_secs(60), perform_read(&self.place, &at))
            .await
            .expect("nothing blocks for ever")
    }

    async fn read(&self, path: &str, offset: Option<u64>, limit: Option<u64>) -> ReadResult {
        self.perform_read(ReadOp::Read { path: path.into(), offset, limit }).await
    }

    async fn list(&self, path: &str, depth: u32) -> (ToolStatus, String) {
        told(self.perform_read(ReadOp::List { path: path.into(), depth }).await)
    }

    async fn glob(&self, pattern: &str, path: &str) -> (ToolStatus, String) {
        told(self.perform_read(ReadOp::Glob { pattern: pattern.into(), path: path.into() }).await)
    }

    async fn search(&self, pattern: &str, path: &str) -> (ToolStatus, String) {
        self.search_with(pattern, path, None, false, 0).await
    }

    async fn search_with(
        &self,
        pattern: &str,
        path: &str,
        glob: Option<&str>,
        ignore_case: bool,
        context: u32,
    ) -> (ToolStatus, String) {
        let glob = glob.map(str::to_owned);
        let at = ReadOp::Search { pattern: pattern.into(), path: path.into(), glob, ignore_case, context };
        told(self.perform_read(at).await)
    }

    /// A sentence, with the folder's changing name taken out.
    fn steady(&self, seen: &ReadResult) -> String {
        let root = self.folder.path().canonicalize().expect("a path");
        seen.text.replace(root.to_str().expect("a name"), "FOLDER")
    }
}

fn told(seen: ReadResult) -> (ToolStatus, String) {
    assert_eq!((seen.images.len(), seen.files.len()), (0, 0));
    (seen.status, seen.text)
}

fn hash(bytes: impl AsRef<[u8]>) -> String {
    blake3::hash(bytes.as_ref()).to_hex().to_string()
}

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

#[tokio::test]
async fn pages_are_looked_at_by_the_same_door() {
    let scene = Scene::new(&[]);
    let seen = scene.perform_read(ReadOp::Fetch { url: "http://169.254.169.254/latest/meta-data/".into() }).await;
    assert_eq!(seen.status, Error);
    assert!(seen.text.contains("never fetched"), "{}", seen.text);
}
