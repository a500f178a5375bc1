//! Earlier sessions of other programs, which become transcripts that can be read and handed off.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trimtab_vocab::event::{AnswerFact, BannerFact, Level, ReplyFact, RequestFact, SessionFact, Status};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{Answer, CallId, Event, Fact, Message, Mode, Problem, ProblemKind, RequestId, RunSettings, Usage};
use trimtab_vocab::{SessionId, Time};
use trimtab_world::clock;
use trimtab_world::store::{SeededSession, SessionRow, Store, StoreError};

use super::transcripts::{ImportedConversation, read_transcript};
use super::{ImportAction, ImportItem, ImportKind, ImportPlaces, ImportSource, shown};
use crate::client::store_problem;

/// Sessions that are listed; older ones are counted.
const MOST: usize = 200;
/// Files that are looked at.
const MOST_FILES: usize = 10_000;
/// Bytes of a file that its entry in the list is made of.
const HEAD: u64 = 256 * 1024;

/// The files with sessions of a program, the latest first.
pub(super) fn session_files(places: &ImportPlaces<'_>, source: ImportSource) -> Vec<PathBuf> {
    let mut files = Vec::new();
    match source {
        ImportSource::Claude => collect_files(&places.at(".claude/projects"), 1, &mut files),
        ImportSource::Codex => collect_files(&places.at(".codex/sessions"), 3, &mut files),
        ImportSource::Opencode | ImportSource::Gemini | ImportSource::Vscode => {}
    }
    // Sub-agents of Claude Code, and other files of Codex.
    files.retain(|(_, file)| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if source == ImportSource::Codex { name.starts_with("rollout-") } else { !name.starts_with("agent-") }
    });
    files.sort_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, file)| file).collect()
}

/// The sessions of a program, the latest first.
pub(super) fn list_sessions(places: &ImportPlaces<'_>, source: ImportSource) -> Vec<ImportItem> {
    let mut files = session_files(places, source);
    let older = files.split_off(files.len().min(MOST));
    let mut items: Vec<ImportItem> = files.iter().filter_map(|file| item(source, file)).collect();
    if let Some(first) = older.first() {
        let (name, folder) = (format!("{} older ones", older.len()), first.parent().unwrap_or(first));
        let why = format!("Only the latest {MOST} sessions are listed.");
        items.push(ImportItem::ignored(ImportKind::Session, name, folder, why));
    }
    items
}

/// The JSONL files of a folder and so many levels below it. Links are not followed.
fn collect_files(folder: &Path, depth: usize, files: &mut Vec<(SystemTime, PathBuf)>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
        if files.len() >= MOST_FILES {
            return;
        }
        if data.is_dir() && depth > 0 {
            collect_files(&path, depth - 1, files);
        } else if data.is_file() && path.extension().is_some_and(|end| end == "jsonl") {
            files.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
    }
}

/// What the list says of a file; nothing, if nobody has said anything in it.
fn item(source: ImportSource, file: &Path) -> Option<ImportItem> {
    let kind = ImportKind::Session;
    let stem = shown(&file.file_stem().unwrap_or_default().to_string_lossy());
    let head = match read_transcript(source, file, Some(HEAD)) {
        Err(why) => return Some(ImportItem::ignored(kind, stem, file, why)),
        Ok(head) if head.exchanges.is_empty() => return None,
        Ok(head) => head,
    };
    let id = session_id_of(source, file, &head);
    let name = if head.title.is_empty() { stem } else { head.title };
    let folder = match folder(&head.folder) {
        Err(why) => return Some(ImportItem::ignored(kind, name, file, why)),
        Ok(folder) => folder,
    };
    let becomes = format!("session {id} in {}, to read and hand off", shown(&folder));
    let action = ImportAction::Session { source, file: file.to_owned(), id };
    Some(ImportItem::new(kind, name, file, becomes, action))
}

/// The ID that a session has here. It is the same for each import.
fn session_id_of(source: ImportSource, file: &Path, transcript: &ImportedConversation) -> SessionId {
    let name = if transcript.id.is_empty() { file.to_string_lossy().into_owned() } else { transcript.id.clone() };
    clock::imported_session(source.name(), &name)
}

/// The folder of a session, in the form that sessions here have it.
fn folder(named: &str) -> Result<String, String> {
    let path = Path::new(named);
    if named.is_empty() || !path.is_absolute() {
        return Err("It does not name its folder.".to_owned());
    }
    match path.canonicalize().ok().filter(|path| path.is_dir()).and_then(|path| path.to_str().map(str::to_owned)) {
        Some(folder) => Ok(folder),
        None => Err(format!("Its folder {} is gone.", shown(named))),
    }
}

/// Stores a session of another program.
pub(super) async fn import_session(
    store: &dyn Store,
    source: ImportSource,
    file: &Path,
    id: SessionId,
) -> Result<(), Problem> {
    let (from, opened) = (file.to_owned(), id);
    let read = tokio::task::spawn_blocking(move || {
        let whole = read_transcript(source, &from, None)?;
        let changed = whole.exchanges.is_empty() || session_id_of(source, &from, &whole) != opened;
        let folder = folder(&whole.folder)?;
        if changed {
            Err("It has changed since it was listed.".to_owned())
        } else {
            Ok(seeded(source, opened, folder, whole))
        }
    });
    let read = read.await.map_err(|_| Problem::new(ProblemKind::Internal, "The session cannot be read."))?;
    let session = read.map_err(|why| {
        let what = format!("Cannot import {}: {why}", shown(&file.display().to_string()));
        Problem::new(ProblemKind::Usage, what).hint("Run the same command again to see the current list.")
    })?;
    match store.create_child(session).await {
        // Taken: it was imported by another process meanwhile.
        Ok(()) | Err(StoreError::Taken) => Ok(()),
        Err(error) => Err(store_problem(error)),
    }
}

/// The log of a transcript: requests that have ended, and nothing that could be undone or continued in it.
fn seeded(source: ImportSource, id: SessionId, folder: String, transcript: ImportedConversation) -> SeededSession {
    let began = transcript.exchanges.iter().find_map(|exchange| exchange.time).unwrap_or(Time::from_millis(0));
    let mut log = LogWriter { session: id.clone(), time: began, events: Vec::new() };
    let imported = Some(source.name().to_owned());
    log.add(None, SessionFact::Opened { folder: folder.clone(), parent_session_id: None, imported });
    log.add(None, SessionFact::Titled { title: transcript.title.clone(), by: None });
    let mut calls = 0;
    for (number, exchange) in (1_u32..).zip(transcript.exchanges) {
        // A clock that went back does not bring facts out of their order.
        log.time = exchange.time.map_or(log.time, |time| time.max(log.time));
        let request = clock::request_named(&id, &number.to_string());
        log.add(Some(&request), received(exchange.user));
        for text in [exchange.work, exchange.answer.clone()].into_iter().filter(|text| !text.is_empty()) {
            calls += 1;
            log.add(Some(&request), replied(calls, text));
        }
        log.time = exchange.ended.map_or(log.time, |time| time.max(log.time));
        let answer = Answer { summary: exchange.answer, ..Answer::default() };
        log.add(Some(&request), AnswerFact { answer });
        let (status, usage) = (Status::Completed, Usage::default());
        log.add(
            Some(&request),
            RequestFact::Finished { status, error: None, usage, reason: None, done: <_>::default() },
        );
    }
    let mut notices = vec![Notice::Imported(source.title().to_owned())];
    if transcript.left_out > 0 {
        notices.push(Notice::ImportedPartly(Plural::new(transcript.left_out as u64, "message")));
    }
    for notice in notices {
        log.add(None, BannerFact { level: Level::Info, text: notice.to_string() });
    }
    let row = SessionRow {
        id,
        folder,
        title: transcript.title,
        created: began,
        updated: log.time,
        parent: None,
        forked: None,
    };
    SeededSession { row, events: log.events, shares: Vec::new() }
}

fn received(text: String) -> RequestFact {
    RequestFact::Received {
        text,
        refs: Vec::new(),
        images: Vec::new(),
        mode: Mode::Auto,
        tags: Vec::new(),
        pill: None,
        ask: None,
        picture: None,
        while_running: None,
        pause_s: None,
        settings: Box::new(RunSettings::default()),
    }
}

fn replied(call: u64, text: String) -> ReplyFact {
    ReplyFact::Saved {
        call: CallId::nth(call),
        raw: None,
        stop_reason: None,
        usage: Usage::default(),
        message: Message::assistant(text),
        partial: false,
        text_calls: 0,
        unasked_text: false,
    }
}

/// Numbers facts as a log does.
struct LogWriter {
    session: SessionId,
    time: Time,
    events: Vec<Event>,
}

impl LogWriter {
    fn add(&mut self, request: Option<&RequestId>, fact: impl Into<Fact>) {
        let seq = Some(self.events.len() as u64 + 1);
        let (session, request) = (self.session.clone(), request.cloned());
        self.events.push(Event { seq, time: self.time, session, request, fact: fact.into() });
    }
}

/// Refuses what a transcript of another program cannot take: it has no requests of its own.
pub(crate) async fn refuse_imported(store: &dyn Store, session: &SessionId) -> Result<(), Problem> {
    let first = store.events(session, 0, 1).await.map_err(store_problem)?;
    let Some(Fact::Session(SessionFact::Opened { imported: Some(source), .. })) =
        first.first().map(|first| &first.fact)
    else {
        return Ok(());
    };
    let from = ImportSource::named(source).map_or(source.as_str(), |known| known.title());
    let what = format!("Session {session} was imported from {from} and is read-only.");
    let how = format!(
        "Run `trimtab handoff --session {session}`, or `/handoff` in the session, to continue it in a new one."
    );
    Err(Problem::new(ProblemKind::Usage, what).hint(how))
}
