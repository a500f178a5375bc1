//! Whoever watches sees every recorded fact once, in order, however long the log and however slow
//! the watcher.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use trimtab_host::{Client, ComposedRequest, Manner, RequestDraft, SendTo, SessionWatch, World};
use trimtab_testkit::memory_store::Disk;
use trimtab_testkit::plain_workspace::PlainWorkspace;
use trimtab_testkit::postgres::PostgresServer;
use trimtab_vocab::event::{BannerFact, Level, ReplyFact, RequestFact};
use trimtab_vocab::{Event, Fact, ModelSettings, Problem, Prompt, RunSettings, SessionId, Time};
use trimtab_world::clock::SystemClock;
use trimtab_world::models::{Model, ModelRegistry, PieceStream, ReplyPiece};
use trimtab_world::store::{Claim, Commit, PostgresStore, SessionRow, SqliteStore, Store};

/// A model that says ten thousand words.
struct Talkative;

impl ModelRegistry for Talkative {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(Talkative))
    }
}

impl Model for Talkative {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, _: &Prompt) -> PieceStream {
        let words = (0..10_000).map(|n| Ok(ReplyPiece::Text { block: 0, text: format!("{n} ") }));
        stream::iter(words.chain([Ok(ReplyPiece::End)]).collect::<Vec<_>>()).boxed()
    }
}

fn world(store: Arc<dyn Store>) -> World {
    let workspaces = trimtab_host::shared_workspace(PlainWorkspace::default());
    World { store, models: Arc::new(Talkative), clock: Arc::new(SystemClock), workspaces }
}

fn talk(world: &World) -> ComposedRequest {
    let settings = RunSettings {
        models: ModelSettings { model: "any/model".into(), ..ModelSettings::default() },
        ..RunSettings::default()
    };
    world.say(RequestDraft::new("talk", Manner::default()), None, settings)
}

#[tokio::test]
async fn a_long_log_is_read_page_by_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.path(), Arc::new(SystemClock)).expect("opens"));
    let session: SessionId = "s1".parse().expect("an id");
    let now = Time::from_millis(0);
    let row = SessionRow::new(session.clone(), "/a".into(), String::new(), now);
    store.create_session(row, vec![]).await.expect("is made");
    let Ok(Claim::Granted(lease)) = store.claim(&session).await else { panic!("is granted") };
    let event = |seq: u64| Event {
        seq: Some(seq),
        time: now,
        session: session.clone(),
        request: None,
        fact: BannerFact { level: Level::Info, text: "x".repeat(50) }.into(),
    };
    store.commit(&lease, Commit { events: (1..=3_000).map(event).collect(), ..Commit::default() }).await.expect("kept");
    let client = Client::with(world(store), 10);
    let mut watch = client.watch(&session, 1_200);
    for seq in 1_201..=3_000 {
        assert_eq!(watch.next().await.expect("a fact").seq, Some(seq));
    }
    assert!(tokio::time::timeout(Duration::from_millis(200), watch.next()).await.is_err(), "and then nothing");
}

#[tokio::test]
async fn a_slow_watcher_loses_live_pieces_but_no_recorded_fact() {
    let disk = Disk::default();
    let world = world(Arc::new(disk.process(0, None, 0)));
    let say = talk(&world);
    let client = Client::with(world, 10);
    let sent = client.send(SendTo::New { folder: "/a".into() }, say).await.expect("is taken in");
    let mut slow = client.watch(&sent.session, 0);
    let mut quick = client.watch(&sent.session, 0);
    let is_end = |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { .. }));
    let first = slow.next().await.expect("a fact");
    assert_eq!(first.seq, Some(1));
    while !is_end(&quick.next().await.expect("a fact")) {}
    let (mut seen, mut pieces) = (1, 0);
    loop {
        let event = slow.next().await.expect("a fact");
        match event.seq {
            Some(seq) => {
                assert_eq!(seq, seen + 1);
                seen = seq;
            }
            None => pieces += 1,
        }
        if is_end(&event) {
            break;
        }
    }
    assert!(pieces < 10_000, "the queue is bounded");
    assert_eq!(seen as usize, disk.state().events[&sent.session].len());
}

/// A model that begins to speak and never ends.
struct Thoughtful;

impl ModelRegistry for Thoughtful {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(Thoughtful))
    }
}

impl Model for Thoughtful {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, _: &Prompt) -> PieceStream {
        let words = ["One ", "two ", "three"].map(|text| Ok(ReplyPiece::Text { block: 0, text: text.into() }));
        stream::iter(words).chain(stream::pending()).boxed()
    }
}

#[tokio::test]
async fn whoever_comes_late_gets_the_words_that_are_in_no_log_yet() {
    let world = World { models: Arc::new(Thoughtful), ..world(Arc::new(Disk::default().process(0, None, 0))) };
    let say = talk(&world);
    let client = Client::with(world, 10);
    let sent = client.send(SendTo::New { folder: "/a".into() }, say).await.expect("is taken in");
    let words = async |watch: &mut SessionWatch| {
        let mut said = String::new();
        while !said.ends_with("three") {
            if let Fact::Reply(ReplyFact::Delta { text, .. }) = watch.next().await.expect("a fact").fact {
                said.push_str(&text);
            }
        }
        said
    };
    assert_eq!(words(&mut client.watch(&sent.session, 0)).await, "One two three");
    assert_eq!(words(&mut client.watch(&sent.session, 0)).await, "One two three", "although nobody was watching");
}

#[tokio::test]
async fn another_process_gets_the_words_once_while_they_come() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = || Arc::new(SystemClock);
    let sqlite = || Arc::new(SqliteStore::open(folder.path(), clock()).expect("opens")) as Arc<dyn Store>;
    let mut grounds = vec![[sqlite(), sqlite()]];
    if let Some(server) = PostgresServer::shared() {
        let url = server.schema();
        let store = || Arc::new(PostgresStore::open(&url, folder.path(), clock()).expect("opens")) as Arc<dyn Store>;
        grounds.push([store(), store()]);
    }
    for [here, there] in grounds {
        let running = World { models: Arc::new(Thoughtful), ..world(here) };
        let say = talk(&running);
        let (runner, watcher) = (Client::with(running, 10), Client::with(world(there), 10));
        let sent = runner.send(SendTo::New { folder: "/a".into() }, say).await.expect("is taken in");
        let mut watch = watcher.watch(&sent.session, 0);
        let (mut said, mut seen) = (String::new(), 0);
        while said != "One two three" {
            let event = watch.next().await.expect("a fact");
            if let Some(seq) = event.seq {
                assert_eq!(seq, seen + 1);
                seen = seq;
            }
            if let Fact::Reply(ReplyFact::Delta { text, .. }) = event.fact {
                assert_eq!(event.request.as_ref(), Some(&sent.request));
                said.push_str(&text);
                assert!("One two three".starts_with(&said), "{said}");
            }
        }
        assert!(tokio::time::timeout(Duration::from_millis(600), watch.next()).await.is_err(), "nothing comes twice");
        drop((runner, watch, watcher));
    }
}
