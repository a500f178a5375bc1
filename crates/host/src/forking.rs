//! Forks and names of sessions.
//!
//! A fork begins with the log of another session up to one of its facts. That part of a log never changes, so the
//! original is only read, even while another process runs it. The fork is made in one transaction. Stored texts are
//! not copied: the fork gets its own names for the texts that its facts refer to.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use trimtab_engine::{Input, Session, fork};
use trimtab_vocab::event::{ReplyFact, RequestFact, SessionFact};
use trimtab_vocab::{Event, Fact, FileRewind, Part, Problem, ProblemKind, RefKey, SessionId};
use trimtab_world::clock;
use trimtab_world::store::{NewInput, SeededSession, SessionRow, Store, StoreError};

use crate::client::{check_session, store_problem};
use crate::effects::written;
use crate::handles::Sessions;
use crate::import::refuse_imported;

/// Facts that are read at once.
const PAGE: u32 = 1000;
/// Characters of a name at most.
const LONGEST_TITLE: usize = 120;
/// How long the process that runs the session may take to accept the name.
const PATIENCE: Duration = Duration::from_secs(60);

impl Sessions<'_> {
    /// Makes a session that begins as this one was after its fact `at`, or as it is. What runs or waits there ends
    /// here, and what was changed until then can be seen here and moved there alone.
    pub async fn fork(self, session: &SessionId, at: Option<u64>) -> Result<SessionId, Problem> {
        let id = clock::session_id(self.0.clock());
        self.fork_as(session, at, id, None).await
    }

    /// Forks a session at most once for each `key`. A repeated call gets the first fork.
    pub async fn fork_once(self, session: &SessionId, at: Option<u64>, key: &str) -> Result<SessionId, Problem> {
        self.fork_as(session, at, clock::fork_named(session, key), None).await
    }

    /// Makes the session in which the user continues after going back. These changes of files were undone for it.
    pub(crate) async fn fork_rewound(
        self,
        session: &SessionId,
        at: u64,
        moved: Vec<FileRewind>,
    ) -> Result<SessionId, Problem> {
        let id = clock::session_id(self.0.clock());
        self.fork_as(session, Some(at), id, Some(moved)).await
    }

    async fn fork_as(
        self,
        session: &SessionId,
        at: Option<u64>,
        id: SessionId,
        rewound: Option<Vec<FileRewind>>,
    ) -> Result<SessionId, Problem> {
        check_session(session)?;
        refuse_imported(self.0.store(), session).await?;
        let row = self.get(session).await?;
        if self.0.store().session(&id).await.map_err(store_problem)?.is_some() {
            return Ok(id);
        }
        let mut events = taken(self.0.store(), session, at).await.map_err(store_problem)?;
        let last = events.last().and_then(|event| event.seq).unwrap_or(0);
        if at.is_some_and(|at| at > last) || last == 0 {
            let message = match at {
                Some(at) => format!("Session {session} has no event {at}."),
                None => format!("Session {session} is still being created."),
            };
            return Err(Problem::new(ProblemKind::Usage, message)
                .hint(format!("`trimtab sessions show {session} --numbers` shows where it can be forked.")));
        }
        let mut folded = Session::new(id.clone());
        let names = self.0.store().ref_keys(session).await.map_err(store_problem)?;
        let mut shares = Shares::new(names, session);
        for event in &mut events {
            event.session = id.clone();
            if let Fact::Session(SessionFact::Opened { parent_session_id, .. }) = &mut event.fact {
                *parent_session_id = Some(session.clone());
            }
            folded.fold(event.request.as_ref(), &event.fact);
            shares.observe(&event.fact);
        }
        let shares = shares.refs_for(&id);
        let title = folded.title().map_or(row.title, str::to_owned);
        let now = self.0.clock().now();
        let more = fork(&mut folded, session, last, rewound);
        events.extend((last + 1..).zip(more).map(|(seq, (request, fact))| Event {
            seq: Some(seq),
            time: now,
            session: id.clone(),
            request,
            fact,
        }));
        let parent = Some(session.clone());
        let row = SessionRow { id: id.clone(), title, created: now, updated: now, parent, forked: Some(last), ..row };
        match self.0.store().create_child(SeededSession { row, events, shares }).await {
            // Taken: a concurrent call with the same key was faster.
            Ok(()) | Err(StoreError::Taken) => Ok(id),
            Err(error) => Err(store_problem(error)),
        }
    }

    /// Renames a session, and returns the name as stored. It is not replaced by an automatic title.
    pub async fn rename(self, session: &SessionId, title: &str) -> Result<String, Problem> {
        check_session(session)?;
        self.get(session).await?;
        let title = cleaned(title)?;
        let last = self.0.store().last_seq(session).await.map_err(store_problem)?;
        let payload = written(&Input::Renamed { title: title.clone() });
        let input = NewInput { payload, housekeeping: true, ..NewInput::default() };
        self.0.store().enqueue(session, input).await.map_err(store_problem)?;
        self.0.resume(session);
        let mut watch = self.0.watch(session, last);
        let named = async {
            loop {
                if let Fact::Session(SessionFact::Titled { title: told, by: Some(_) }) = watch.next().await?.fact
                    && told == title
                {
                    return Ok(title);
                }
            }
        };
        tokio::time::timeout(PATIENCE, named).await.unwrap_or_else(|_| Err(crate::rewind_requests::unanswered()))
    }
}

/// A title on one line, if it is valid.
fn cleaned(title: &str) -> Result<String, Problem> {
    let words: Vec<&str> =
        title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let title = words.join(" ");
    let wrong = match title.chars().count() {
        0 => "The new name is empty.".to_owned(),
        all if all > LONGEST_TITLE => format!("The new name has {all} characters. The limit is {LONGEST_TITLE}."),
        _ => return Ok(title),
    };
    Err(Problem::new(ProblemKind::Usage, wrong).hint("The session keeps its name."))
}

/// The facts of a session up to one of them; all of them, if none is named. After the last reply of a request, what
/// only tells of its end belongs to it.
async fn taken(store: &dyn Store, session: &SessionId, at: Option<u64>) -> Result<Vec<Event>, StoreError> {
    let (mut events, mut wanted, mut last): (Vec<Event>, usize, u64) = (Vec::new(), 0, 0);
    loop {
        let page = store.events(session, last, PAGE).await?;
        if page.is_empty() {
            events.truncate(if at.is_none() { events.len() } else { wanted });
            return Ok(events);
        }
        for event in page {
            last = event.seq.unwrap_or(last);
            let (is_wanted, is_next) = (at.is_none_or(|at| last <= at), at.is_some_and(|at| last > at));
            if is_next {
                let ends = events.get(wanted.wrapping_sub(1)).and_then(ending);
                match (ends, tells_of_the_end(&event)) {
                    (Some(request), true) if event.request.is_none() || event.request.as_ref() == Some(request) => {
                        if matches!(event.fact, Fact::Request(RequestFact::Finished { .. })) {
                            events.push(event);
                            return Ok(events);
                        }
                    }
                    _ => {
                        events.truncate(wanted);
                        return Ok(events);
                    }
                }
            }
            events.push(event);
            wanted += usize::from(is_wanted);
        }
    }
}

/// The request whose last words this fact tells.
fn ending(event: &Event) -> Option<&trimtab_vocab::RequestId> {
    let is_last = match &event.fact {
        Fact::Answer(_) => true,
        Fact::Reply(ReplyFact::Saved { message, partial: false, .. }) => {
            !message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)))
        }
        Fact::Usage(_) | Fact::Stage(_) => true,
        _ => false,
    };
    event.request.as_ref().filter(|_| is_last)
}

/// Whether a fact is one of those between the last words of a request and its end, or that end.
fn tells_of_the_end(event: &Event) -> bool {
    matches!(
        event.fact,
        Fact::Usage(_)
            | Fact::Stage(_)
            | Fact::Answer(_)
            | Fact::Banner(_)
            | Fact::Bug(_)
            | Fact::Plan(_)
            | Fact::Session(SessionFact::Titled { .. })
            | Fact::Request(RequestFact::Finished { .. })
    )
}

/// Stored texts of a session, and which of them its facts tell of.
struct Shares<'a> {
    parent: &'a SessionId,
    /// By the word that facts have for it: its name, or as much of a file's hash as is in one.
    names: HashMap<String, RefKey>,
    told: HashSet<RefKey>,
}

impl<'a> Shares<'a> {
    fn new(names: Vec<RefKey>, parent: &'a SessionId) -> Self {
        let of_files = format!("file-{parent}-");
        let word = |name: &RefKey| name.as_str().strip_prefix(&of_files).unwrap_or(name.as_str()).to_owned();
        Self { parent, names: names.into_iter().map(|name| (word(&name), name)).collect(), told: HashSet::new() }
    }

    fn observe(&mut self, fact: &Fact) {
        let text = serde_json::to_string(fact).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        for word in text.split(|c| !is_part(c)).map(|word| word.trim_end_matches('.')) {
            let name = self.names.get(word).or_else(|| self.names.get(RefKey::short(word)));
            self.told.extend(name.cloned());
        }
    }

    /// The names of these texts, there and in this session.
    fn refs_for(self, id: &SessionId) -> Vec<(RefKey, RefKey)> {
        let of_files = format!("file-{}-", self.parent);
        let here = |name: &RefKey| match name.as_str().strip_prefix(&of_files) {
            Some(hash) => RefKey::file_of(id, hash),
            None => name.clone(),
        };
        self.told.into_iter().map(|name| (name.clone(), here(&name))).collect()
    }
}
