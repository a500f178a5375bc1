//! What every store must do, tried on each of them; and what only a real database can show.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trimtab_testkit::memory_store::Disk;
use trimtab_testkit::postgres::PostgresServer;
use trimtab_vocab::event::{BannerFact, Level, Status};
use trimtab_vocab::{
    CallId, Event, FileSet, MemoryEntry, MemoryId, RefKey, RequestId, SessionId, Task, TaskWrite, Time,
};
use trimtab_world::clock::SystemClock;
use trimtab_world::store::{
    Admission, Claim, Commit, JobState, Lease, Liveness, MemoryChange, NewInput, NewJob, PostgresStore, Recipient,
    SeededSession, SessionQuery, SessionRow, SqliteStore, Store, StoreError, TaskBook, TaskChange, TaskChanged,
    TaskKey, TaskWork, tasks_session,
};

/// Something that processes share: each call of `process` is one more process on the same data.
trait Ground: Sync {
    fn process(&self) -> Arc<dyn Store>;
}

impl Ground for Disk {
    fn process(&self) -> Arc<dyn Store> {
        Arc::new(Disk::process(self, 0, None, 0))
    }
}

impl Ground for tempfile::TempDir {
    fn process(&self) -> Arc<dyn Store> {
        sqlite(self.path())
    }
}

fn sqlite(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder, Arc::new(SystemClock)).expect("opens"))
}

/// A schema of a PostgreSQL server.
struct Schema {
    url: String,
    folder: tempfile::TempDir,
}

impl Ground for Schema {
    fn process(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(&self.url, self.folder.path(), Arc::new(SystemClock)).expect("opens"))
    }
}

fn grounds() -> Vec<Box<dyn Ground>> {
    let mut grounds = databases();
    grounds.push(Box::new(Disk::default()));
    grounds
}

/// The real ones: in a folder, and on a server if one is installed.
fn databases() -> Vec<Box<dyn Ground>> {
    let mut grounds: Vec<Box<dyn Ground>> = vec![Box::new(tempfile::tempdir().expect("a folder"))];
    if let Some(server) = PostgresServer::shared() {
        grounds.push(Box::new(Schema { url: server.schema(), folder: tempfile::tempdir().expect("a folder") }));
    }
    grounds
}

fn session(name: &str) -> SessionId {
    name.parse().expect("an id")
}

fn request(name: &str) -> RequestId {
    name.parse().expect("an id")
}

fn row(id: &str, folder: &str) -> SessionRow {
    SessionRow::new(session(id), folder.into(), String::new(), Time::from_millis(1_800_000_000_000))
}

fn input(payload: &str) -> NewInput {
    NewInput { payload: payload.into(), ..NewInput::default() }
}

fn job(name: &str) -> NewInput {
    let job = NewJob { request: request(name), text: format!("words of {name}") };
    NewInput { payload: name.into(), job: Some(job), ..NewInput::default() }
}

fn event(of: &str, seq: u64, text: &str) -> Event {
    let fact = BannerFact { level: Level::Info, text: text.into() }.into();
    Event { seq: Some(seq), time: Time::from_millis(0), session: session(of), request: None, fact }
}

async fn owned(store: &dyn Store, id: &str) -> Lease {
    match store.claim(&session(id)).await.expect("answers") {
        Claim::Granted(lease) => lease,
        Claim::Held { by } => panic!("{id} is held by {by}"),
    }
}

#[tokio::test]
async fn inputs_wait_in_order_until_the_step_that_takes_them_up_is_durable() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![input("1"), input("2")]).await.expect("made");
        store.enqueue(&session("s1"), input("3")).await.expect("taken");
        let soon = NewInput { relaxed_durability: true, ..input("4") };
        store.enqueue(&session("s1"), soon).await.expect("taken");
        let waiting = store.inbox(&session("s1")).await.expect("read");
        assert_eq!(waiting.iter().map(|row| row.payload.as_str()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
        let lease = owned(store.as_ref(), "s1").await;
        let consumed = waiting[..2].iter().map(|row| row.id).collect();
        let commit = Commit { consumed, events: vec![event("s1", 1, "a"), event("s1", 2, "b")], ..Commit::default() };
        store.commit(&lease, commit).await.expect("durable");
        assert_eq!(store.inbox(&session("s1")).await.expect("read").len(), 2);
        let seen = store.events(&session("s1"), 1, 10).await.expect("read");
        assert_eq!(seen, [event("s1", 2, "b")]);
        assert_eq!(store.events(&session("s1"), 0, 1).await.expect("read").len(), 1, "the limit holds");
        assert_eq!(store.enqueue(&session("nobody"), input("x")).await, Err(StoreError::NoSession(session("nobody"))));
    }
}

#[tokio::test]
async fn sessions_are_found_by_what_was_said_in_them() {
    let fact = |id: &str, seq: u64, fact: serde_json::Value| -> Event {
        let mut event = serde_json::to_value(event(id, seq, "")).expect("an event is JSON");
        let fields = event.as_object_mut().expect("an object");
        fields.retain(|name, _| !matches!(name.as_str(), "type" | "level" | "text"));
        fields.extend(fact.as_object().expect("an object").clone());
        serde_json::from_value(event).expect("an event")
    };
    for ground in grounds() {
        let store = ground.process();
        for (id, folder) in [("s1", "/a"), ("s2", "/b")] {
            store.create_session(row(id, folder), vec![]).await.expect("made");
            let lease = owned(store.as_ref(), id).await;
            let events = vec![
                fact(id, 1, json!({"type": "request.received", "text": "Say \"Ärger\"\nnow", "tags": ["x", id]})),
                fact(id, 2, json!({"type": "request.joined", "text": "more", "into": "r1", "tags": ["y"]})),
                fact(id, 3, json!({"type": "answer", "summary": "Done so"})),
                fact(id, 4, json!({"type": "banner", "level": "info", "text": "hidden"})),
            ];
            store.commit(&lease, Commit { events, ..Commit::default() }).await.expect("durable");
        }
        let found = async |folder: Option<&str>, tags: &[&str], words: &str| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let rows = store.search(folder, SessionQuery::new(&tags, words)).await.expect("read");
            let mut ids: Vec<String> = rows.into_iter().map(|row| row.id.to_string()).collect();
            ids.sort();
            ids.join(" ")
        };
        assert_eq!(found(None, &["x", "y"], "\"ärger\" MORE done").await, "s1 s2");
        assert_eq!(found(None, &["#S1"], "").await, "s1");
        assert_eq!(found(Some("/b"), &["x"], "now").await, "s2");
        assert_eq!(found(None, &[], "hidden").await, "", "only what people and models say is looked through");
        assert_eq!(found(None, &["x", "z"], "").await, "");
    }
}

#[tokio::test]
async fn a_session_has_one_owner_and_a_dead_owners_lease_is_void_at_once() {
    for ground in grounds() {
        let (one, two) = (ground.process(), ground.process());
        one.create_session(row("s1", "/a"), vec![]).await.expect("made");
        let first = owned(one.as_ref(), "s1").await;
        assert!(matches!(two.claim(&session("s1")).await, Ok(Claim::Held { .. })));
        assert!(
            two.delete_session(&session("s1"), 9, NewInput::default()).await.is_err(),
            "a running session cannot be deleted"
        );
        one.release(&first).await.expect("released");
        let second = owned(two.as_ref(), "s1").await;
        assert!(second.token() > first.token());
        let late = one.commit(&first, Commit { events: vec![event("s1", 1, "late")], ..Commit::default() }).await;
        assert_eq!(late, Err(StoreError::LeaseLost));
        assert_eq!(one.append_partial(&first, &CallId::nth(1), "late").await, Err(StoreError::LeaseLost));
        assert_eq!(one.admit(&first, &request("r1"), 9).await, Err(StoreError::LeaseLost));
        assert!(one.events(&session("s1"), 0, 10).await.expect("read").is_empty());
    }
    // Ending without giving a session back is for real ones only.
    for ground in databases() {
        let gone = ground.process();
        gone.create_session(row("s1", "/a"), vec![]).await.expect("made");
        owned(gone.as_ref(), "s1").await;
        drop(gone);
        owned(ground.process().as_ref(), "s1").await;
    }
}

#[tokio::test]
async fn whoever_claims_again_voids_the_earlier_lease() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![]).await.expect("made");
        let old = owned(store.as_ref(), "s1").await;
        let new = owned(store.as_ref(), "s1").await;
        assert_eq!(store.commit(&old, Commit::default()).await, Err(StoreError::LeaseLost));
        store.release(&old).await.expect("changes nothing");
        store.commit(&new, Commit::default()).await.expect("still owned");
    }
}

#[tokio::test]
async fn requests_find_room_in_the_order_in_which_they_asked() {
    for ground in grounds() {
        let store = ground.process();
        let mut leases = Vec::new();
        for n in 0..4 {
            let (s, r) = (format!("s{n}"), format!("r{n}"));
            store.create_session(row(&s, "/a"), vec![job(&r)]).await.expect("made");
            leases.push(owned(store.as_ref(), &s).await);
        }
        let ask = async |n: usize| store.admit(&leases[n], &request(&format!("r{n}")), 2).await.expect("answers");
        assert_eq!(ask(0).await, Admission::Granted);
        assert_eq!(ask(1).await, Admission::Granted);
        assert_eq!(ask(2).await, Admission::Held { ahead: 2 });
        assert_eq!(ask(3).await, Admission::Held { ahead: 3 });
        let end = Commit { finished: vec![(request("r0"), Status::Completed)], ..Commit::default() };
        store.commit(&leases[0], end).await.expect("durable");
        assert_eq!(ask(3).await, Admission::Held { ahead: 2 }, "the third is before the fourth");
        assert_eq!(ask(2).await, Admission::Granted);
        // A request whose owner is gone takes no room; neither does one that only waits there.
        store.release(&leases[1]).await.expect("released");
        assert_eq!(ask(3).await, Admission::Granted);
    }
}

#[tokio::test]
async fn jobs_say_how_every_request_stands() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![job("r1"), job("r2")]).await.expect("made");
        let state = async |name: &str| {
            let jobs = store.jobs(true).await.expect("read");
            let listed = jobs.into_iter().find(|job| job.request == request(name)).expect("listed");
            assert_eq!(store.job(&request(name)).await.expect("read"), Some(listed.clone()), "one as in the list");
            listed.state
        };
        assert_eq!(store.job(&request("r3")).await.expect("read"), None, "it was never said");
        assert_eq!(state("r1").await, JobState::Queued);
        let lease = owned(store.as_ref(), "s1").await;
        store.admit(&lease, &request("r1"), 5).await.expect("granted");
        assert_eq!((state("r1").await, state("r2").await), (JobState::Running, JobState::Queued));
        store.release(&lease).await.expect("released");
        assert_eq!((state("r1").await, state("r2").await), (JobState::Interrupted, JobState::Queued));
        let lease = owned(store.as_ref(), "s1").await;
        let end = Commit { finished: vec![(request("r1"), Status::Cancelled)], ..Commit::default() };
        store.commit(&lease, end).await.expect("durable");
        assert_eq!(state("r1").await, JobState::Finished(Status::Cancelled));
        assert_eq!(store.jobs(false).await.expect("read").len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_rests_never_takes_a_slot_and_asks_for_one_again() {
    for ground in grounds() {
        let store = ground.process();
        for (id, name) in [("s1", "r1"), ("s2", "r2")] {
            store.create_session(row(id, "/a"), vec![job(name)]).await.expect("made");
        }
        let (first, second) = (owned(store.as_ref(), "s1").await, owned(store.as_ref(), "s2").await);
        assert_eq!(store.admit(&first, &request("r1"), 1).await, Ok(Admission::Granted));
        assert_eq!(store.admit(&second, &request("r2"), 1).await, Ok(Admission::Held { ahead: 1 }));
        let rest = Commit { resting: vec![request("r1")], ..Commit::default() };
        store.commit(&first, rest).await.expect("durable");
        let state = store.job(&request("r1")).await.expect("read").map(|job| job.state);
        assert_eq!(state, Some(JobState::Running), "it is worked on, though nothing runs");
        assert_eq!(store.admit(&second, &request("r2"), 1).await, Ok(Admission::Granted));
        assert_eq!(store.admit(&first, &request("r1"), 1).await, Ok(Admission::Held { ahead: 1 }));
        let end = Commit { finished: vec![(request("r2"), Status::Completed)], ..Commit::default() };
        store.commit(&second, end).await.expect("durable");
        assert_eq!(store.admit(&first, &request("r1"), 1).await, Ok(Admission::Granted));
        // Its owner ends while it rests.
        store.commit(&first, Commit { resting: vec![request("r1")], ..Commit::default() }).await.expect("durable");
        store.release(&first).await.expect("released");
        let state = store.job(&request("r1")).await.expect("read").map(|job| job.state);
        assert_eq!(state, Some(JobState::Interrupted), "it has begun");
        // The next owner ends before it has done anything.
        let Claim::Granted(next) = store.claim(first.session()).await.expect("claimed") else { panic!("it is free") };
        store.release(&next).await.expect("released");
        let state = store.job(&request("r1")).await.expect("read").map(|job| job.state);
        assert_eq!(state, Some(JobState::Interrupted), "it still has");
    }
}

#[tokio::test]
async fn an_input_for_another_session_is_never_there_without_the_commit_that_tells_it() {
    for ground in grounds() {
        let store = ground.process();
        for (id, inputs) in [("s1", vec![job("r1")]), ("s2", vec![job("r2")]), ("s3", vec![])] {
            store.create_session(row(id, "/a"), inputs).await.expect("made");
        }
        let void = owned(store.as_ref(), "s1").await;
        let lease = owned(store.as_ref(), "s1").await;
        let payloads = async |id: &str| {
            let inputs = store.inbox(&session(id)).await.expect("read");
            inputs.into_iter().map(|input| input.payload).collect::<Vec<_>>()
        };
        let before = [payloads("s1").await, payloads("s2").await];
        let child = SeededSession { row: row("s4", "/a"), events: Vec::new(), shares: Vec::new() };
        let to = |id: &str, input: NewInput| (Recipient::Session(session(id)), input);
        let commit = Commit {
            children: vec![child],
            tell: vec![
                to("s3", input("for one")),
                to("s9", input("for nobody")),
                to("s4", job("r4")),
                (Recipient::OtherBusy, input("for the busy")),
            ],
            ..Commit::default()
        };
        assert_eq!(store.commit(&void, commit.clone()).await, Err(StoreError::LeaseLost));
        assert!(payloads("s3").await.is_empty(), "nothing of a step that was not taken");
        store.commit(&lease, commit).await.expect("durable");
        assert_eq!(payloads("s1").await, before[0], "whoever tells is not told");
        assert_eq!(payloads("s2").await, [&before[1][..], &["for the busy".to_owned()]].concat());
        assert_eq!(payloads("s3").await, ["for one"], "it has nothing to do");
        assert_eq!(payloads("s4").await, [job("r4").payload, "for the busy".into()], "made in the same step");
        assert!(store.job(&request("r4")).await.expect("read").is_some(), "with the request that it begins");
    }
}

#[tokio::test]
async fn the_last_fact_about_a_worker_is_found_however_long_ago_it_was() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), Vec::new()).await.expect("made");
        let lease = owned(store.as_ref(), "s1").await;
        let worker = |number: u32| SessionId::worker_of(&session("s1"), number);
        let about = |seq: u64, number: u32, status: &str| {
            let fact = json!({"seq": seq, "time": "2026-11-17T10:00:00.000Z", "session": "s1", "type": "subtask",
                "subtask": number.to_string(), "status": status, "progress": 0.0, "model": "m", "attempt": 1,
                "worker": worker(number)});
            serde_json::from_value::<Event>(fact).expect("an event")
        };
        assert_eq!(store.last_subtask(&session("s1"), &worker(1)).await.expect("is read"), None);
        let mut events =
            vec![about(1, 1, "running"), about(2, 2, "running"), about(3, 1, "stopped"), about(4, 11, "failed")];
        // Words may name it, too.
        events.extend((5..400).map(|seq| event("s1", seq, &format!("\"{}\"", worker(1)))));
        store.commit(&lease, Commit { events, ..Commit::default() }).await.expect("is written");
        for (number, status) in [(1, Some("stopped")), (2, Some("running")), (11, Some("failed")), (3, None)] {
            let found = store.last_subtask(&session("s1"), &worker(number)).await.expect("is read");
            assert_eq!(found.map(|fact| fact.status.to_string()).as_deref(), status, "{number}");
        }
    }
}

#[tokio::test]
async fn partial_replies_grow_and_go_with_their_call() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![]).await.expect("made");
        let lease = owned(store.as_ref(), "s1").await;
        for (call, text) in [(1, "Hel"), (2, "other"), (1, "lo 🦀")] {
            store.append_partial(&lease, &CallId::nth(call), text).await.expect("saved");
        }
        let saved = store.partials(&session("s1")).await.expect("read");
        assert_eq!(saved, [(CallId::nth(1), "Hello 🦀".to_owned()), (CallId::nth(2), "other".to_owned())]);
        let closed = Commit { closed_calls: vec![CallId::nth(1)], ..Commit::default() };
        store.commit(&lease, closed).await.expect("durable");
        assert_eq!(store.partials(&session("s1")).await.expect("read").len(), 1);
    }
}

#[tokio::test]
async fn texts_come_back_as_they_were() {
    for ground in grounds() {
        let store = ground.process();
        let key = |name: &str| name.parse::<RefKey>().expect("a key");
        let large = "naïve 🦀 ".repeat(20_000);
        let keeps = vec![(key("a"), large.clone()), (key("b"), large.clone()), (key("c"), String::new())];
        store.create_session(row("s1", "/a"), vec![NewInput { keeps, ..input("1") }]).await.expect("made");
        for name in ["a", "b"] {
            assert_eq!(store.text(&key(name)).await.expect("read").as_deref(), Some(large.as_str()));
        }
        assert_eq!(store.text(&key("c")).await.expect("read").as_deref(), Some(""));
        assert_eq!(store.text(&key("nothing")).await.expect("read"), None);
    }
}

#[tokio::test]
async fn sessions_are_listed_by_folder_and_forgotten_whole() {
    for ground in grounds() {
        let store = ground.process();
        for (id, folder) in [("s1", "/a"), ("s2", "/b"), ("s3", "/a")] {
            store.create_session(row(id, folder), vec![job(&format!("r-{id}"))]).await.expect("made");
        }
        let ids = |rows: Vec<SessionRow>| rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(store.sessions(Some("/a")).await.expect("read")), ["s3", "s1"]);
        assert_eq!(store.sessions(None).await.expect("read").len(), 3);
        let older = SessionRow { created: Time::from_millis(0), title: "same".into(), ..row("s5", "/c") };
        store.create_session(older, vec![]).await.expect("made");
        store.create_session(SessionRow { title: "same".into(), ..row("s4", "/c") }, vec![]).await.expect("made");
        assert_eq!(ids(store.sessions(Some("/c")).await.expect("read")), ["s4", "s5"], "the youngest first");
        let searched = store.search(Some("/c"), SessionQuery::new(&[], "same")).await.expect("read");
        assert_eq!(ids(searched), ["s4", "s5"], "what is found is listed in the same order");
        store.delete_session(&session("s1"), 0, NewInput::default()).await.expect("deleted");
        let unknown = store.delete_session(&session("s1"), 0, NewInput::default()).await;
        assert_eq!(unknown, Err(StoreError::NoSession(session("s1"))));
        assert_eq!(store.session(&session("s1")).await.expect("read"), None);
        assert!(store.inbox(&session("s1")).await.expect("read").is_empty());
        assert_eq!(store.jobs(true).await.expect("read").len(), 2);
        assert!(store.check().await.expect("checked").is_empty());
    }
}

#[tokio::test]
async fn what_others_are_about_to_write_is_known_in_order_and_goes_with_their_session() {
    for ground in grounds() {
        let store = ground.process();
        for id in ["s1", "s2"] {
            store.create_session(row(id, "/a"), vec![]).await.expect("made");
        }
        let set =
            |name: &str| FileSet { change_set: name.parse().expect("a name"), folder: "/a".into(), writes: Vec::new() };
        let leases = [owned(store.as_ref(), "s1").await, owned(store.as_ref(), "s2").await];
        for (of, name) in [(0, "x1"), (1, "x2"), (1, "x3")] {
            let commit = Commit { writing: vec![set(name)], ..Commit::default() };
            store.commit(&leases[of], commit).await.expect("durable");
        }
        assert_eq!(store.last_writing().await, Ok(3));
        let other = ground.process();
        assert_eq!(other.writings(&session("s1"), 0).await, Ok(vec![set("x2"), set("x3")]));
        assert_eq!(other.writings(&session("s1"), 2).await, Ok(vec![set("x3")]));
        assert_eq!(other.writings(&session("s2"), 0).await, Ok(vec![set("x1")]));
        store.release(&leases[1]).await.expect("released");
        store.delete_session(&session("s2"), 0, NewInput::default()).await.expect("deleted");
        assert_eq!(other.writings(&session("s1"), 0).await, Ok(vec![]));
        assert_eq!(other.last_writing().await, Ok(3), "no number is given twice");
    }
}

#[tokio::test]
async fn a_history_that_moves_is_known_until_a_step_after_which_it_does_not() {
    for ground in grounds() {
        let store = ground.process();
        for (id, folder) in [("s1", "/a"), ("s2", "/b")] {
            store.create_session(row(id, folder), vec![]).await.expect("made");
        }
        let set = FileSet { change_set: "x1".parse().expect("a name"), folder: "/a".into(), writes: Vec::new() };
        let lease = owned(store.as_ref(), "s1").await;
        let step = async |writing: &[FileSet], moving| {
            let commit = Commit { writing: writing.to_vec(), moving, ..Commit::default() };
            store.commit(&lease, commit).await.expect("durable");
            store.moving("/a").await.expect("read")
        };
        assert!(step(&[], true).await.is_empty(), "no file is touched yet");
        assert_eq!(step(std::slice::from_ref(&set), true).await, [session("s1")]);
        assert!(store.moving("/b").await.expect("read").is_empty());
        assert_eq!(step(&[], true).await, [session("s1")]);
        store.enqueue(&session("s1"), job("r1")).await.expect("taken in");
        assert!(store.moving("/a").await.expect("read").is_empty(), "it has something else to do, too");
        let finished = vec![(request("r1"), Status::Completed)];
        store.commit(&lease, Commit { finished, moving: true, ..Commit::default() }).await.expect("durable");
        assert_eq!(store.moving("/a").await.expect("read"), [session("s1")]);
        assert!(step(&[], false).await.is_empty());
        assert!(step(std::slice::from_ref(&set), false).await.is_empty(), "a change of its own is no move");
    }
}

#[tokio::test]
async fn contents_of_files_are_counted_and_forgotten_together_with_the_facts_that_say_so() {
    for ground in grounds() {
        let store = ground.process();
        for id in ["s1", "s2"] {
            store.create_session(row(id, "/a"), vec![]).await.expect("made");
        }
        let key = |of: &str, hash: &str| RefKey::file_of(&session(of), hash);
        for (of, hash, text) in [("s1", "aa", "one"), ("s1", "bb", "three"), ("s2", "aa", "one")] {
            store.keep(&session(of), &key(of, hash), text.into()).await.expect("kept");
        }
        let space = store.file_space().await.expect("counted");
        let counts: Vec<_> = space.iter().map(|one| (one.session.as_str(), one.contents, one.bytes)).collect();
        assert_eq!(counts, [("s1", 2, 8), ("s2", 1, 3)]);
        let lease = owned(store.as_ref(), "s1").await;
        let keep_only = Some([key("s1", "bb"), key("s1", "cc")].into());
        let commit = Commit { events: vec![event("s1", 1, "gone")], keep_only, ..Commit::default() };
        store.commit(&lease, commit.clone()).await.expect("done");
        assert_eq!(store.bytes(None, &key("s1", "aa")).await.expect("read"), None);
        assert_eq!(store.bytes(None, &key("s1", "bb")).await.expect("read").as_deref(), Some(&b"three"[..]));
        assert_eq!(store.bytes(None, &key("s2", "aa")).await.expect("read").as_deref(), Some(&b"one"[..]));
        assert!(store.check().await.expect("checked").is_empty());
        let quiet = NewInput { housekeeping: true, ..input("tidy") };
        let before = store.session(&session("s2")).await.expect("read").expect("there").updated;
        store.enqueue(&session("s2"), quiet).await.expect("queued");
        assert_eq!(store.session(&session("s2")).await.expect("read").expect("there").updated, before);
    }
}

// ---- the real database only ----

fn open_error(folder: &Path) -> StoreError {
    SqliteStore::open(folder, Arc::new(SystemClock)).err().expect("refused")
}

#[tokio::test]
async fn a_text_is_stored_once_however_often_it_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = sqlite(folder.path());
    // Noise does not compress: a second copy would show.
    let noise: String = {
        let mut dice = trimtab_testkit::dice::Dice::new(1);
        (0..200_000).map(|_| char::from(b'!' + dice.below(90) as u8)).collect()
    };
    let keeps = (0..20).map(|n| (format!("k{n}").parse().expect("a key"), noise.clone())).collect();
    store.create_session(row("s1", "/a"), vec![NewInput { keeps, ..input("1") }]).await.expect("made");
    drop(store);
    let size = std::fs::metadata(folder.path().join("trimtab.db")).expect("there").len();
    assert!(size < 600_000, "{size} bytes for one text of 200,000");
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(sqlite(folder.path()));
    let file = folder.path().join("trimtab.db");
    let newer = rusqlite::Connection::open(&file).expect("opens");
    newer.pragma_update(None, "user_version", 999).expect("set");
    drop(newer);
    assert!(matches!(open_error(folder.path()), StoreError::Newer { found: 999, .. }));
}

#[tokio::test]
async fn damage_is_told_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trimtab.db");
    std::fs::write(&file, "this was never a database, but it is somebody's file".repeat(100)).expect("written");
    let before = std::fs::read(&file).expect("there");
    assert!(matches!(open_error(folder.path()), StoreError::Corrupt(_)));
    assert_eq!(std::fs::read(&file).expect("there"), before);
}

#[tokio::test]
async fn a_changed_text_and_a_gap_in_a_log_are_found_by_the_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = sqlite(folder.path());
    let keeps = vec![("k".parse().expect("a key"), "words".to_owned())];
    store.create_session(row("s1", "/a"), vec![NewInput { keeps, ..input("1") }]).await.expect("made");
    let lease = owned(store.as_ref(), "s1").await;
    let events = (1..=3).map(|seq| event("s1", seq, "x")).collect();
    store.commit(&lease, Commit { events, ..Commit::default() }).await.expect("durable");
    assert!(store.check().await.expect("checked").is_empty());
    let hand = rusqlite::Connection::open(folder.path().join("trimtab.db")).expect("opens");
    hand.execute_batch("UPDATE blobs SET data = x'00'; DELETE FROM events WHERE seq = 2;").expect("done");
    let found = store.check().await.expect("checked").join("\n");
    assert!(found.contains("does not match its hash") && found.contains("the log of session s1 has gaps"), "{found}");
}

#[test]
fn many_processes_may_be_the_first() {
    for _ in 0..5 {
        for ground in databases() {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| drop(ground.process()))).collect();
                threads.into_iter().for_each(|thread| thread.join().expect("opens"));
            });
        }
    }
}

#[test]
fn many_processes_at_once_lose_nothing_and_never_see_a_locked_database() {
    for ground in databases() {
        let block_on = |work: std::pin::Pin<Box<dyn Future<Output = ()> + '_>>| {
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work);
        };
        block_on(Box::pin(async {
            ground.process().create_session(row("s1", "/a"), vec![]).await.expect("made");
        }));
        std::thread::scope(|scope| {
            let work = |n: u32| {
                let store = ground.process();
                move || {
                    block_on(Box::pin(async {
                        for m in 0..50 {
                            store.enqueue(&session("s1"), input(&format!("{n}-{m}"))).await.expect("taken");
                            let _ = store.claim(&session("s1")).await.expect("answers");
                        }
                    }));
                }
            };
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(work(n))).collect();
            threads.into_iter().for_each(|thread| thread.join().expect("did its work"));
        });
        block_on(Box::pin(async {
            assert_eq!(ground.process().inbox(&session("s1")).await.expect("read").len(), 400);
        }));
    }
}

#[tokio::test]
async fn a_child_is_made_with_the_step_that_names_it_or_not_at_all() {
    let key = |of: &str| RefKey::file_of(&session(of), "00");
    let child = || {
        // One step may be handed off twice, by two inputs that came together.
        ["s2", "s3"].map(|name| {
            let row = SessionRow { parent: Some(session("s1")), ..row(name, "/a") };
            let events = vec![event(name, 1, "inherited")];
            SeededSession { row, events, shares: vec![(key("s1"), key(name))] }
        })
    };
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![]).await.expect("made");
        store.keep(&session("s1"), &key("s1"), b"old".to_vec()).await.expect("kept");
        let late = owned(store.as_ref(), "s1").await;
        let lease = owned(store.as_ref(), "s1").await;
        let commit =
            || Commit { events: vec![event("s1", 1, "handed off")], children: child().into(), ..Commit::default() };
        assert_eq!(store.commit(&late, commit()).await, Err(StoreError::LeaseLost));
        assert_eq!(store.session(&session("s2")).await, Ok(None));
        store.commit(&lease, commit()).await.expect("durable");
        assert!(store.session(&session("s3")).await.expect("read").is_some(), "none takes the other's place");
        let made = store.session(&session("s2")).await.expect("read").expect("is there");
        assert_eq!(made.parent, Some(session("s1")));
        assert_eq!(store.events(&session("s2"), 0, 9).await.expect("read"), [event("s2", 1, "inherited")]);
        store.release(&lease).await.expect("released");
        store
            .create_session(SessionRow { parent: Some(session("s2")), ..row("s4", "/a") }, vec![])
            .await
            .expect("made");
        let delete = async |seen| store.delete_session(&session("s2"), seen, input("the child is gone")).await;
        assert!(matches!(delete(0).await, Err(StoreError::InUse(_))), "somebody went on there meanwhile");
        assert_eq!(store.inbox(&session("s1")).await, Ok(Vec::new()));
        delete(1).await.expect("deleted");
        assert_eq!(store.inbox(&session("s1")).await.expect("read").len(), 1, "its parent is told");
        let heir = store.session(&session("s4")).await.expect("read").expect("is there");
        assert_eq!(heir.parent, Some(session("s1")), "who comes next will be told of, too");
    }
    // What a child shares with its parent is stored once, and stays when the parent goes.
    for ground in databases() {
        let store = ground.process();
        let long_ago = SessionRow { created: Time::from_millis(0), ..row("s1", "/a") };
        store.create_session(long_ago, vec![]).await.expect("made");
        store.keep(&session("s1"), &key("s1"), b"old".to_vec()).await.expect("kept");
        let lease = owned(store.as_ref(), "s1").await;
        store.commit(&lease, Commit { children: child().into(), ..Commit::default() }).await.expect("durable");
        let listed = store.sessions(Some("/a")).await.expect("read");
        assert_eq!(
            listed.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
            ["s3", "s2", "s1"],
            "the children come first"
        );
        store.release(&lease).await.expect("released");
        store.delete_session(&session("s1"), 0, NewInput::default()).await.expect("deleted");
        assert_eq!(store.session(&session("s2")).await.expect("read").expect("is there").parent, None);
        assert_eq!(store.bytes(Some(&session("s2")), &key("s2")).await, Ok(Some(b"old".to_vec())));
        assert_eq!(store.check().await, Ok(Vec::new()));
    }
}

fn task(id: u64, title: &str) -> Task {
    Task { tags: vec!["home".into()], ..Task::new(id, title, Time::from_millis(0)) }
}

fn put(id: u64, title: &str) -> TaskWrite {
    TaskWrite { id, before: None, after: Some(task(id, title)) }
}

/// A change at some second; `work` sees the tasks.
fn change(
    second: i64,
    key: Option<TaskKey>,
    work: impl Fn(TaskBook) -> TaskWork + Send + Sync + 'static,
) -> TaskChange {
    TaskChange { now: Time::from_millis(second * 1000), key, with_log: true, work: Box::new(work) }
}

fn key(name: &str, print: &str) -> Option<TaskKey> {
    Some(TaskKey { name: name.into(), print: print.into(), life_ms: 600_000, most: 2 })
}

async fn titles(store: &dyn Store) -> Vec<String> {
    store.tasks(false).await.expect("are there").tasks.into_values().map(|task| task.title).collect()
}

#[tokio::test]
async fn tasks_are_changed_found_and_numbered_and_no_number_is_given_twice() {
    for ground in grounds() {
        let store = ground.process();
        let work = |book: TaskBook| {
            assert_eq!((book.next, book.seq, book.tasks.len()), (1, 0, 0));
            let events = vec![event("tasks", 1, "one")];
            let writes = vec![put(1, "Water the plants"), put(2, "Café, déjà vu")];
            TaskWork { writes, events, answer: "done".into(), ..TaskWork::default() }
        };
        let changed = store.change_tasks(change(1, None, work)).await.expect("changes");
        assert!(matches!(changed, TaskChanged::Done { answer, events } if answer == "done" && events.len() == 1));
        // Another process sees it at once.
        let store = ground.process();
        assert_eq!(titles(store.as_ref()).await, ["Water the plants", "Café, déjà vu"]);
        assert_eq!(store.task(2).await.expect("answers").map(|task| task.title), Some("Café, déjà vu".into()));
        assert_eq!(store.task(u64::MAX).await.expect("answers"), None);
        let log = store.events(&tasks_session(), 0, 10).await.expect("is read");
        assert_eq!(log.len(), 1, "the history is the log of a session");
        assert!(store.session(&tasks_session()).await.expect("answers").is_some());
        let found = async |words: &str| -> Vec<u64> {
            store.search_tasks(words, 10).await.expect("answers").iter().map(|task| task.id).collect()
        };
        assert_eq!(found("WAT pla").await, [1]);
        assert_eq!(found("home").await, [2, 1]);
        assert_eq!(found("water café").await, [0_u64; 0], "all words must be there");
        for odd in ["\"", "'; DROP TABLE tasks", "AND OR NOT", "water*", "title:water", "-", "", "(", "NEAR(a b)"] {
            let _ = found(odd).await;
        }
        assert_eq!(titles(store.as_ref()).await.len(), 2);
        let work = |book: TaskBook| {
            assert_eq!((book.next, book.log.len()), (3, 1));
            TaskWork { writes: vec![TaskWrite { id: 2, before: None, after: None }], ..TaskWork::default() }
        };
        store.change_tasks(change(2, None, work)).await.expect("changes");
        assert_eq!(found("café").await, [0_u64; 0], "what is gone is not found");
        let work = |book: TaskBook| {
            assert_eq!(book.next, 3, "the number of a deleted task is not given again");
            TaskWork::default()
        };
        store.change_tasks(change(3, None, work)).await.expect("changes");
    }
}

#[tokio::test]
async fn a_wish_with_a_key_is_done_once_and_answered_alike_for_ten_minutes() {
    for ground in grounds() {
        let store = ground.process();
        let wish = |second: i64, name: &str, print: &str| {
            let made = |book: TaskBook| {
                let answer = format!("made {}", book.next);
                TaskWork { writes: vec![put(book.next, "a")], keep: true, answer, ..TaskWork::default() }
            };
            store.change_tasks(change(second, key(name, print), made))
        };
        let answer = |changed: TaskChanged| match changed {
            TaskChanged::Done { answer, .. } => format!("{answer} now"),
            TaskChanged::Known { answer } => format!("{answer} before"),
            TaskChanged::Reused => "reused".to_owned(),
        };
        assert_eq!(answer(wish(0, "k", "x").await.expect("answers")), "made 1 now");
        let again = ground.process();
        assert_eq!(answer(wish(1, "k", "x").await.expect("answers")), "made 1 before");
        assert_eq!(answer(wish(2, "k", "y").await.expect("answers")), "reused", "another wish of the same name");
        assert_eq!(titles(again.as_ref()).await.len(), 1);
        assert_eq!(answer(wish(599, "k", "x").await.expect("answers")), "made 1 before");
        assert_eq!(answer(wish(600, "k", "x").await.expect("answers")), "made 2 now", "ten minutes later it is new");
        for name in ["l", "m"] {
            wish(601, name, "x").await.expect("answers");
        }
        assert_eq!(answer(wish(602, "k", "x").await.expect("answers")), "made 5 now", "so many are kept, and no more");
        let refused = |_: TaskBook| TaskWork { answer: "no".into(), ..TaskWork::default() };
        store.change_tasks(change(603, key("n", "x"), refused)).await.expect("answers");
        assert_eq!(answer(wish(604, "n", "x").await.expect("answers")), "made 6 now", "a refusal is not kept");
    }
}

#[tokio::test]
async fn what_is_remembered_is_there_once_and_becomes_durable_with_its_step() {
    fn entry(id: &str, text: &str, folder: Option<&str>) -> MemoryEntry {
        MemoryEntry {
            id: id.parse().expect("an id"),
            text: text.into(),
            folder: folder.map(str::to_owned),
            session: Some(session("s")),
            request: Some(request("r1")),
            made: Time::from_millis(7),
            edited: None,
        }
    }
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s", "/a"), vec![]).await.expect("creates");
        let lease = owned(store.as_ref(), "s").await;
        let remembered = vec![entry("m1", "My name is Ada", None), entry("m2", "We use tabs", Some("/a"))];
        let lost = Lease::new(session("s"), lease.token() + 1);
        let commit = Commit { remembered, ..Commit::default() };
        assert!(store.commit(&lost, commit.clone()).await.is_err());
        assert!(store.memories(None, 10).await.expect("answers").is_empty(), "no step, nothing remembered");
        store.commit(&lease, commit).await.expect("commits");
        let store = ground.process();
        let texts = async |folder: Option<&str>, limit: u32| -> Vec<String> {
            store.memories(folder, limit).await.expect("answers").into_iter().map(|entry| entry.text).collect()
        };
        assert_eq!(texts(None, 10).await, ["My name is Ada", "We use tabs"]);
        assert_eq!(texts(Some("/b"), 10).await, ["My name is Ada"]);
        assert_eq!(texts(None, 1).await, ["We use tabs"], "the latest");
        let again = MemoryChange::Add(entry("m3", " my name is ADA ", None));
        store.change_memory(again).await.expect("answers").expect("is there");
        assert_eq!(texts(None, 10).await, ["We use tabs", " my name is ADA "]);
        let id: MemoryId = "m2".parse().expect("an id");
        let (text, at) = (Some("We use spaces".to_owned()), Time::from_millis(9));
        let edit = MemoryChange::Edit { id: id.clone(), text, folder: Some(None), at };
        let edited = store.change_memory(edit).await.expect("answers").expect("is there");
        assert_eq!((edited.folder.clone(), edited.edited, edited.made), (None, Some(at), Time::from_millis(7)));
        assert_eq!(store.memory(&id).await.expect("answers"), Some(edited));
        assert!(store.change_memory(MemoryChange::Delete(id.clone())).await.expect("answers").is_some());
        assert_eq!(store.change_memory(MemoryChange::Delete(id.clone())).await.expect("answers"), None);
        assert_eq!(texts(Some("/a"), 10).await, [" my name is ADA "]);
        let trail: Vec<String> =
            store.audit_lines(0, 10).await.expect("answers").into_iter().map(|line| line.line).collect();
        assert_eq!(trail.len(), 3);
        assert!(trail.iter().all(|line| line.contains("memory_") && !line.contains("spaces")), "{trail:?}");
    }
}

#[tokio::test]
async fn what_came_to_a_server_or_was_run_by_one_is_known_as_such() {
    for ground in databases() {
        let (person, server) = (ground.process(), ground.process());
        server.serve();
        person.create_session(row("p", "/a"), vec![job("r1")]).await.expect("creates");
        server.create_session(row("s", "/a"), vec![job("r2")]).await.expect("creates");
        let served = async || -> Vec<String> {
            let jobs = person.jobs(false).await.expect("answers");
            jobs.into_iter().filter(|job| job.served).map(|job| job.request.to_string()).collect()
        };
        assert_eq!(served().await, ["r2"]);
        owned(person.as_ref(), "s").await;
        assert_eq!(served().await, ["r2"], "who takes over does not take it away");
        owned(server.as_ref(), "p").await;
        assert_eq!(served().await, ["r2", "r1"]);
    }
}

#[tokio::test]
async fn tasks_changed_at_once_wait_for_each_other() {
    for ground in databases() {
        let stores: Vec<_> = (0..4).map(|_| ground.process()).collect();
        let add = |store: Arc<dyn Store>, name: Option<&str>| {
            let key = name.and_then(|name| key(name, "x"));
            tokio::spawn(async move {
                let work = |book: TaskBook| TaskWork {
                    writes: vec![put(book.next, "a")],
                    keep: true,
                    answer: book.next.to_string(),
                    events: vec![event("tasks", book.seq + 1, "x")],
                    ..TaskWork::default()
                };
                store.change_tasks(change(1, key, work)).await.expect("changes")
            })
        };
        let running: Vec<_> = (0..40).map(|n| add(Arc::clone(&stores[n % 4]), None)).collect();
        for one in running {
            one.await.expect("ends");
        }
        assert_eq!(titles(stores[0].as_ref()).await.len(), 40, "no update is lost");
        let same: Vec<_> = (0..8).map(|n| add(Arc::clone(&stores[n % 4]), Some("k"))).collect();
        let mut answers = Vec::new();
        for one in same {
            answers.push(match one.await.expect("ends") {
                TaskChanged::Done { answer, .. } | TaskChanged::Known { answer } => answer,
                TaskChanged::Reused => "reused".into(),
            });
        }
        answers.dedup();
        assert_eq!(answers, ["41"], "all get the one answer");
        assert_eq!(stores[0].check().await.expect("answers"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_fork_shares_names_and_is_no_heir() {
    let (shared, own): (RefKey, RefKey) = ("reply-s1-c1".parse().expect("a key"), "input-r2".parse().expect("a key"));
    let fork = || {
        let row = SessionRow { parent: Some(session("s1")), forked: Some(1), ..row("s2", "/a") };
        SeededSession { row, events: vec![event("s2", 1, "x")], shares: vec![(shared.clone(), shared.clone())] }
    };
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![]).await.expect("made");
        store.keep(&session("s1"), &shared, b"words".to_vec()).await.expect("kept");
        store.create_child(fork()).await.expect("made");
        assert_eq!(store.create_child(fork()).await, Err(StoreError::Taken));
        let made = store.session(&session("s2")).await.expect("read").expect("is there");
        assert_eq!((made.parent, made.forked), (Some(session("s1")), Some(1)));
        assert!(store.ref_keys(&session("s2")).await.expect("read").contains(&shared));
        let heir = SessionRow { parent: Some(session("s2")), ..row("s3", "/a") };
        store.create_session(heir, vec![]).await.expect("made");
        store.delete_session(&session("s2"), 1, input("gone")).await.expect("deleted");
        assert_eq!(store.inbox(&session("s1")).await, Ok(Vec::new()), "a fork takes nothing over");
        let heir = store.session(&session("s3")).await.expect("read").expect("is there");
        assert_eq!(heir.parent, None, "nobody hands anything off to the heir of a fork");
    }
    // What both have is stored once, and goes with the last of them.
    for ground in databases() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![]).await.expect("made");
        store.keep(&session("s1"), &shared, b"words".to_vec()).await.expect("kept");
        store.create_child(fork()).await.expect("made");
        store.keep(&session("s2"), &own, b"own".to_vec()).await.expect("kept");
        assert_eq!(store.ref_keys(&session("s1")).await, Ok(vec![shared.clone()]));
        store.delete_session(&session("s1"), 0, NewInput::default()).await.expect("deleted");
        let left = store.session(&session("s2")).await.expect("read").expect("is there");
        assert_eq!(left.parent, Some(session("s1")), "where it comes from stays known");
        assert_eq!(store.bytes(Some(&session("s2")), &shared).await, Ok(Some(b"words".to_vec())));
        store.delete_session(&session("s2"), 1, NewInput::default()).await.expect("deleted");
        assert_eq!(store.bytes(None, &shared).await, Ok(None));
        assert_eq!(store.check().await, Ok(Vec::new()));
    }
}

#[tokio::test]
async fn what_another_process_writes_wakes_whoever_waits_for_it() {
    let soon = Duration::from_millis(200);
    for ground in grounds() {
        let (one, two) = (ground.process(), ground.process());
        one.create_session(row("s1", "/a"), vec![]).await.expect("made");
        let mut since = two.changed(None).await.expect("answers at once");
        // A server may tell of the session that was just made a moment later.
        while let Ok(next) = tokio::time::timeout(soon, two.changed(Some(since))).await {
            since = next.expect("news");
        }
        two.enqueue(&session("s1"), input("own")).await.expect("taken");
        assert!(tokio::time::timeout(soon, two.changed(Some(since))).await.is_err(), "its own writes are no news");
        // What was written before somebody waits is news as well.
        one.enqueue(&session("s1"), input("1")).await.expect("taken");
        let next = two.changed(Some(since)).await.expect("news");
        assert_ne!(next, since);
        let (waits, writes) = tokio::join!(two.changed(Some(next)), async {
            tokio::time::sleep(soon).await;
            one.enqueue(&session("s1"), input("2")).await
        });
        writes.expect("taken");
        assert_ne!(waits.expect("news"), next);
    }
}

#[tokio::test]
async fn asking_again_for_what_another_process_has_is_no_news() {
    for ground in databases() {
        let (one, two) = (ground.process(), ground.process());
        one.create_session(row("s1", "/a"), vec![job("r1")]).await.expect("made");
        one.create_session(row("s2", "/a"), vec![job("r2")]).await.expect("made");
        let running = owned(one.as_ref(), "s1").await;
        assert_eq!(one.admit(&running, &request("r1"), 1).await, Ok(Admission::Granted));
        let waiting = owned(two.as_ref(), "s2").await;
        assert_eq!(two.admit(&waiting, &request("r2"), 1).await, Ok(Admission::Held { ahead: 1 }));
        let mut since = one.changed(None).await.expect("answers at once");
        while let Ok(next) = tokio::time::timeout(Duration::from_millis(200), one.changed(Some(since))).await {
            since = next.expect("news");
        }
        assert!(matches!(two.claim(&session("s1")).await, Ok(Claim::Held { .. })));
        assert_eq!(two.admit(&waiting, &request("r2"), 1).await, Ok(Admission::Held { ahead: 1 }));
        let heard = tokio::time::timeout(Duration::from_millis(300), one.changed(Some(since))).await;
        assert!(heard.is_err(), "nothing has changed");
    }
}

#[tokio::test]
async fn many_who_wait_all_hear_of_one_change_and_those_who_give_up_miss_none() {
    for ground in grounds() {
        let (one, two) = (ground.process(), ground.process());
        one.create_session(row("s1", "/a"), vec![]).await.expect("made");
        let since = two.changed(None).await.expect("answers at once");
        for _ in 0..20 {
            let _ = tokio::time::timeout(Duration::from_millis(3), two.changed(Some(since))).await;
        }
        one.enqueue(&session("s1"), input("1")).await.expect("taken");
        let all = tokio::join!(two.changed(Some(since)), two.changed(Some(since)), two.changed(Some(since)));
        let all = [all.0, all.1, all.2].map(|version| version.expect("news"));
        assert!(all.iter().all(|version| *version != since));
    }
}

#[tokio::test]
async fn whether_a_session_has_an_open_request_is_known_without_reading_those_of_others() {
    for ground in grounds() {
        let store = ground.process();
        store.create_session(row("s1", "/a"), vec![job("r1")]).await.expect("made");
        store.create_session(row("s2", "/a"), vec![input("x")]).await.expect("made");
        assert!(store.has_open_request(&session("s1")).await.expect("read"));
        assert!(!store.has_open_request(&session("s2")).await.expect("read"), "another session's request");
        let lease = owned(store.as_ref(), "s1").await;
        let finished = vec![(request("r1"), Status::Completed)];
        store.commit(&lease, Commit { finished, ..Commit::default() }).await.expect("durable");
        assert!(!store.has_open_request(&session("s1")).await.expect("read"));
        let reopened = vec![request("r1")];
        store.commit(&lease, Commit { reopened, ..Commit::default() }).await.expect("durable");
        assert!(store.has_open_request(&session("s1")).await.expect("read"));
    }
}

/// Owners that live as long as their heart beats, as a database of many machines would know them.
struct Heartbeat {
    name: &'static str,
    beating: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Liveness for Heartbeat {
    fn name(&self) -> &str {
        self.name
    }

    fn is_alive(&self, owner: &str) -> bool {
        self.beating.lock().expect("nobody panicked").contains(owner)
    }

    fn describe(&self, owner: &str) -> String {
        format!("worker {owner}")
    }
}

#[tokio::test]
async fn a_lease_is_void_when_its_owners_heart_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let beating = Arc::new(Mutex::new(BTreeSet::from(["a", "b"])));
    let worker = |name: &'static str| {
        let owner = Arc::new(Heartbeat { name, beating: Arc::clone(&beating) });
        SqliteStore::open_as(folder.path(), Arc::new(SystemClock), owner).expect("opens")
    };
    let (a, b): (Arc<dyn Store>, Arc<dyn Store>) = (Arc::new(worker("a")), Arc::new(worker("b")));
    a.create_session(row("s1", "/a"), vec![job("r1")]).await.expect("made");
    let first = owned(a.as_ref(), "s1").await;
    a.admit(&first, &request("r1"), 1).await.expect("answers");
    assert_eq!(b.claim(&session("s1")).await, Ok(Claim::Held { by: "worker a".into() }));
    assert_eq!(b.jobs(false).await.expect("read")[0].state, JobState::Running);
    beating.lock().expect("nobody panicked").remove("a");
    assert_eq!(b.jobs(false).await.expect("read")[0].state, JobState::Interrupted);
    owned(b.as_ref(), "s1").await;
    // Its heart beats again, but it is not the owner any more.
    beating.lock().expect("nobody panicked").insert("a");
    let late = Commit { events: vec![event("s1", 1, "late")], ..Commit::default() };
    assert_eq!(a.commit(&first, late).await, Err(StoreError::LeaseLost));
}
