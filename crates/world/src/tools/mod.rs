//! Read-only tools: files, folders, names, lines, pages.
//!
//! Nothing here changes anything, and nothing here decides whether a call is allowed: the caller has asked already.
//! Two limits apply anyway, because no approval is meant to lift them: only files in the session's folder are read,
//! and the metadata addresses where a cloud serves its keys are never fetched. Errors are sentences that a model can
//! act on, because the model reads them. Every read is bounded in result, input, and time.

mod entities;
mod fetch;
mod glob;
mod html;
mod list;
mod nearest;
mod picture;
mod place;
mod read;
mod search;
mod walk;
mod web_search;
mod window;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{ReadOp, ReadResult};

pub(crate) use fetch::{PictureAddress, fetch_picture};
pub use nearest::edits;
pub use place::ReadScope;
pub use web_search::search_web;

/// A look that takes longer hangs: its disk has gone away.
const LONGEST: Duration = Duration::from_secs(30);
/// A folder that takes longer is too large; what was found until then is shown.
const LONGEST_WALK: Duration = Duration::from_secs(20);

/// Performs a read. Dropping the future ends the work, also on another thread.
pub async fn perform_read(place: &ReadScope, op: &ReadOp) -> ReadResult {
    let place = place.clone();
    match op.clone() {
        ReadOp::Read { path, offset, limit } => {
            aside(LONGEST, move |going| read::read(&place, &path, offset, limit, going)).await
        }
        ReadOp::List { path, depth } => aside(LONGEST, move |going| list::list(&place, &path, depth, going)).await,
        ReadOp::Glob { pattern, path } => aside(LONGEST, move |going| glob::glob(&place, &pattern, &path, going)).await,
        ReadOp::Search { pattern, path, glob, ignore_case, context } => {
            aside(LONGEST, move |going| {
                let sought = search::Sought { pattern: &pattern, glob: glob.as_deref(), ignore_case, context };
                search::search(&place, &path, &sought, going)
            })
            .await
        }
        ReadOp::Fetch { url } => fetch::fetch(&url).await,
        ReadOp::WebSearch { query } => search_web(None, &query).await,
    }
}

/// Shows lines of a file as the user's editor has it, where that is not saved yet.
pub async fn read_unsaved(
    place: &ReadScope,
    path: &str,
    text: Vec<u8>,
    offset: Option<u64>,
    limit: Option<u64>,
) -> ReadResult {
    let (place, path) = (place.clone(), path.to_owned());
    aside(LONGEST, move |going| read::read_unsaved(&place, &path, &text, window::Window::new(offset, limit), going))
        .await
}

/// Similar paths for a path that does not exist, the likeliest first. None if it exists, if it would be outside of
/// the folder, or if the search takes too long.
pub async fn absent(place: &ReadScope, path: &str) -> Option<Vec<String>> {
    let (place, path, going) = (place.clone(), path.to_owned(), Going::default());
    let _end = EndOnDrop(going.clone());
    let work = tokio::task::spawn_blocking(move || place.resembling(&path, &going));
    tokio::time::timeout(LONGEST, work).await.ok()?.ok()?
}

/// Why there is nothing to see, as a sentence for the model.
#[derive(Debug, PartialEq, Eq)]
struct ReadRefusal(String);

impl ReadRefusal {
    fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl From<ReadRefusal> for ReadResult {
    fn from(refusal: ReadRefusal) -> Self {
        seen(ToolStatus::Error, refusal.0)
    }
}

/// Something seen that is only text.
fn seen(status: ToolStatus, text: impl Into<String>) -> ReadResult {
    ReadResult { status, text: text.into(), images: Vec::new(), files: Vec::new() }
}

/// Whether the caller still waits. Checked often: at each entry of a folder and each block of a file.
#[derive(Debug, Clone, Default)]
struct Going(Arc<AtomicBool>);

impl Going {
    fn on(&self) -> Result<(), ReadRefusal> {
        // This text is never shown; it ends the work like any other refusal.
        if self.0.load(Ordering::Relaxed) { Err(ReadRefusal::new("It was stopped.")) } else { Ok(()) }
    }
}

/// A reader that stops when the caller no longer waits.
struct Watched<'a, R>(R, &'a Going);

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Not `Interrupted`, because readers retry on that.
        self.1.on().map_err(|refusal| io::Error::other(refusal.0))?;
        self.0.read(buffer)
    }
}

/// Ends the work when it goes out of scope, be it finished or forgotten.
struct EndOnDrop(Going);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Blocking work on a thread. A thread that hangs in the kernel (a network disk that is gone) cannot be ended; it is
/// left behind, and the caller gets an error.
async fn aside(
    longest: Duration,
    work: impl FnOnce(&Going) -> Result<ReadResult, ReadRefusal> + Send + 'static,
) -> ReadResult {
    let going = Going::default();
    let _end = EndOnDrop(going.clone());
    let work = tokio::task::spawn_blocking(move || work(&going).unwrap_or_else(ReadResult::from));
    match tokio::time::timeout(longest, work).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(_)) => ReadRefusal::new("The tool failed because of an internal error. Try another way.").into(),
        Err(_) => {
            let sentence =
                format!("Stopped after {} s. Name a smaller folder or a more exact pattern.", longest.as_secs());
            ReadRefusal::new(sentence).into()
        }
    }
}

/// A path or another foreign word on one line: what would break the line is shown as its escape.
pub(crate) fn on_one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread::sleep;
    use std::time::Instant;

    use super::*;

    fn patiently(what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
            sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn dropping_the_future_ends_the_blocking_work() {
        let (rounds, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, over) = (Arc::clone(&rounds), Arc::clone(&ended));
        let work = aside(LONGEST, move |going| {
            let result = loop {
                if let Err(refusal) = going.on() {
                    break Err(refusal);
                }
                counted.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1));
            };
            over.store(true, Ordering::Relaxed);
            result
        });
        assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err());
        patiently("the work goes on without anybody waiting", || ended.load(Ordering::Relaxed));
        let at_the_end = rounds.load(Ordering::Relaxed);
        assert!(at_the_end > 0, "it had begun");
        sleep(Duration::from_millis(20));
        assert_eq!(rounds.load(Ordering::Relaxed), at_the_end);
    }

    #[tokio::test]
    async fn work_that_takes_too_long_is_given_up_with_a_sentence() {
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        let seen = aside(Duration::from_millis(20), move |going| {
            while going.on().is_ok() {
                sleep(Duration::from_millis(1));
            }
            over.store(true, Ordering::Relaxed);
            Err(ReadRefusal::new("late"))
        })
        .await;
        assert_eq!(seen.status, ToolStatus::Error);
        assert!(seen.text.starts_with("Stopped after"), "{}", seen.text);
        patiently("the work goes on", || ended.load(Ordering::Relaxed));
    }

    #[test]
    fn every_look_at_files_stops_when_nobody_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.txt", "b.txt"] {
            std::fs::write(folder.path().join(name), "text\n").expect("a file");
        }
        let place = ReadScope::open(folder.path()).expect("the folder");
        let going = Going::default();
        drop(EndOnDrop(going.clone()));
        let stopped = Err(ReadRefusal::new("It was stopped."));
        let sought = search::Sought { pattern: "text", glob: None, ignore_case: false, context: 0 };
        assert_eq!(read::read(&place, "a.txt", None, None, &going), stopped);
        assert_eq!(list::list(&place, "", 2, &going), stopped);
        assert_eq!(glob::glob(&place, "*.txt", "", &going), stopped);
        assert_eq!(search::search(&place, "", &sought, &going), stopped);
    }

    #[test]
    fn a_name_cannot_break_its_line() {
        assert_eq!(on_one_line("a\nb\u{1b}[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(on_one_line("ä b"), "ä b");
    }
}
