//! Wishes and what comes of them, with a store of their own and a recorded model.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use std::collections::BTreeMap;
use std::time::Duration;

use trimtab_host::config::{self, Flag};
use trimtab_vocab::event::RequestFact;
use trimtab_vocab::{Fact, FileState, FileWrite, RequestId};

use super::*;
use crate::tui::composer::SavedComposer;

/// What waits longer would wait for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody at a screen.
struct Person {
    executor: Executor,
    messages: mpsc::Receiver<Msg>,
    folder: tempfile::TempDir,
}

fn person(model: Option<&str>) -> Person {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    let names = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.display().to_string())]);
    let model = model.map(|model| Flag { path: "model", option: "--model", value: model.into() });
    let profile = config::load_from(&names, model.as_slice()).expect("settings");
    let client = Client::open(&profile).expect("a store");
    let local_files = || LocalFiles::new(&profile.data);
    let place = folder.path().display().to_string();
    let (_, keeper) = DraftKeeper::open(local_files(), "test");
    let (said, last_session) = (SaidFile::new(local_files(), &place), LastSession::new(local_files(), &place));
    let (executor, messages) = Executor::new(client, profile, place, keeper, said, last_session);
    Person { executor, messages, folder }
}

impl Person {
    async fn next(&mut self) -> Msg {
        tokio::time::timeout(PATIENCE, self.messages.recv()).await.expect("a message in time").expect("a message")
    }

    /// What comes of a wish; facts of the session come beside it.
    async fn hear(&mut self) -> Msg {
        loop {
            match self.next().await {
                Msg::Events(_) => {}
                message => return message,
            }
        }
    }

    fn send(&mut self, words: &str) -> RequestId {
        let (request, draft) = (trimtab_host::new_request(), ComposerDraft::new(words));
        let outgoing = OutgoingMessage {
            request: request.clone(),
            draft,
            mode: Mode::Chat,
            while_running: None,
            session: None,
            subtasks: None,
            autonomy: None,
        };
        self.executor.run(Cmd::Send(Box::new(outgoing)));
        request
    }

    /// Says something, and waits for its end.
    async fn talk(&mut self, words: &str) -> SessionId {
        let request = self.send(words);
        let session = match self.hear().await {
            Msg::Sent(sent) => {
                assert_eq!(sent.request, request, "it is told which words have arrived");
                self.executor.made(&sent.session);
                sent.session
            }
            other => panic!("{other:?}"),
        };
        loop {
            let Msg::Events(events) = self.next().await else { continue };
            if events.iter().any(|event| matches!(event.fact, Fact::Request(RequestFact::Finished { .. }))) {
                return session;
            }
        }
    }
}

#[tokio::test]
async fn what_is_said_makes_a_session_that_is_watched_and_found_again() {
    let mut person = person(Some("replay/demo"));
    let session = person.talk("What is Trimtab?").await;
    assert_eq!(person.executor.last_session.left(), Some(session.clone()), "the next start shows it");
    assert_eq!(person.executor.said.read(), [ComposerDraft::new("What is Trimtab?")]);
    person.executor.run(Cmd::LoadSessions { query: "copilot".into() });
    match person.hear().await {
        Msg::Sessions { query, rows, .. } => {
            assert_eq!((query.as_str(), rows.len()), ("copilot", 1));
            assert_eq!(rows[0].id, session);
        }
        other => panic!("{other:?}"),
    }
    person.executor.run(Cmd::LoadSessions { query: "#nothing".into() });
    assert!(matches!(person.hear().await, Msg::Sessions { rows, .. } if rows.is_empty()));
}

#[tokio::test]
async fn words_that_could_not_be_sent_are_the_persons_again_and_it_is_said_why() {
    let mut person = person(Some("replay/no-such-recording.jsonl"));
    let hello = person.send("Hello");
    match person.hear().await {
        Msg::Unsent { request, draft } => assert_eq!((request, draft), (hello, ComposerDraft::new("Hello"))),
        other => panic!("{other:?}"),
    }
    assert!(matches!(person.hear().await, Msg::Failed(_)));
}

#[tokio::test]
async fn words_that_cannot_be_noted_as_sent_are_not_sent() {
    let mut person = person(Some("replay/demo"));
    let local_files = person.executor.profile().data.join("drawer");
    std::fs::create_dir_all(local_files.parent().expect("a folder")).expect("made");
    std::fs::write(&local_files, "there is no room").expect("written");
    person
        .executor
        .run(Cmd::Keep(Box::new(SavedComposer { draft: ComposerDraft::new("Hello"), ..SavedComposer::default() })));
    let request = person.send("Hello");
    assert!(matches!(person.hear().await, Msg::Unsent { draft, .. } if draft == ComposerDraft::new("Hello")));
    match person.hear().await {
        Msg::Failed(problem) => assert!(problem.message.starts_with("The message was not sent"), "{problem:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(person.executor.client.requests().get(&request).await.expect("read"), None);
}

#[tokio::test]
async fn going_on_by_itself_holds_from_the_next_message_on() {
    let mut person = person(Some("replay/demo"));
    person.executor.run(Cmd::AutoContinue(true));
    let session = person.talk("What is Trimtab?").await;
    let events = person.executor.client.sessions().events(&session, 0).await.expect("read");
    let settings = events.iter().find_map(|event| match &event.fact {
        Fact::Request(RequestFact::Received { settings, .. }) => Some(settings.clone()),
        _ => None,
    });
    assert!(settings.expect("a request").copilot.auto_continue);
}

#[tokio::test]
async fn an_export_takes_no_other_files_place() {
    let mut person = person(Some("replay/demo"));
    let session = person.talk("What is Trimtab?").await;
    let file = person.folder.path().join(format!("trimtab-{session}.json"));
    std::fs::write(&file, "mine").expect("writes");
    person.executor.run(Cmd::Export(session.clone()));
    let problem = match person.hear().await {
        Msg::Failed(problem) => problem,
        other => panic!("{other:?}"),
    };
    assert!(problem.hint.is_some_and(|hint| hint.contains("trimtab sessions export")));
    assert_eq!(std::fs::read_to_string(&file).expect("reads"), "mine");
    std::fs::remove_file(&file).expect("goes away");
    person.executor.run(Cmd::Export(session.clone()));
    assert!(matches!(person.hear().await, Msg::Told(text) if text.contains(&format!("trimtab-{session}.json"))));
    let text = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("one object")["id"], session.as_str());
}

#[tokio::test]
async fn a_session_is_named_forked_and_forgotten() {
    let mut person = person(Some("replay/demo"));
    let session = person.talk("What is Trimtab?").await;
    person.executor.run(Cmd::Rename { session: session.clone(), title: "Rudders".into(), query: String::new() });
    assert!(matches!(person.hear().await, Msg::Told(text) if text.contains("“Rudders”")));
    assert!(matches!(person.hear().await, Msg::Sessions { rows, .. } if rows[0].title == "Rudders"));
    person.executor.run(Cmd::Fork { session: session.clone(), at: None, words: Some("And now?".into()) });
    let fork = match person.hear().await {
        Msg::Forked { session: fork, words } => {
            assert_eq!(words.as_deref(), Some("And now?"));
            fork
        }
        other => panic!("{other:?}"),
    };
    assert_ne!(fork, session);
    person.executor.run(Cmd::New);
    person.executor.run(Cmd::Forget { session: fork, query: String::new() });
    assert!(matches!(person.hear().await, Msg::Sessions { rows, .. } if rows.len() == 1));
}

#[tokio::test]
async fn a_session_that_is_opened_is_told_from_its_beginning_and_then_followed() {
    let mut person = person(Some("replay/demo"));
    let session = person.talk("What is Trimtab?").await;
    person.executor.run(Cmd::New);
    assert_eq!(person.executor.last_session.left(), None);
    person.executor.run(Cmd::Open(session.clone()));
    let mut told = Vec::new();
    loop {
        match person.next().await {
            Msg::Events(events) => told.extend(events),
            Msg::CaughtUp => break,
            other => panic!("{other:?}"),
        }
    }
    let numbers: Vec<u64> = told.iter().filter_map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "every fact, in order");
    assert!(told.iter().any(|event| matches!(event.fact, Fact::Request(RequestFact::Finished { .. }))));
}

#[tokio::test]
async fn a_change_whose_bytes_are_gone_is_told_by_its_counts_or_refused() {
    let mut person = person(Some("replay/demo"));
    person.talk("What is Trimtab?").await;
    let after = Some(FileState { hash: "0".repeat(64), mode: 0o644 });
    let write = FileWrite { path: "a.txt".into(), before: None, after, added: 1, removed: 0, modified: 0 };
    let call = "c1".parse().expect("a name");
    person.executor.run(Cmd::LoadDiff { call, writes: vec![write.clone()] });
    assert!(matches!(person.hear().await, Msg::Diff { files, .. } if files.is_empty()));
    person.executor.run(Cmd::LoadSet { set: "x1".parse().expect("a name"), writes: vec![write] });
    assert!(matches!(person.hear().await, Msg::Failed(_)), "of a set that is looked at, nothing is made up");
}

#[tokio::test]
async fn wishes_for_a_session_that_is_not_there_do_nothing() {
    let mut person = person(Some("replay/demo"));
    person.executor.run(Cmd::Control(Control::Cancel));
    person.executor.run(Cmd::LoadHistory);
    person.executor.run(Cmd::Withdraw("r1".parse().expect("a name")));
    // What comes first is the answer to the only wish that can be carried out.
    person.executor.run(Cmd::Model("replay/demo".into()));
    assert!(matches!(person.hear().await, Msg::Model(name) if name == "replay/demo"));
}

#[test]
fn tags_and_words_are_told_apart() {
    let apart = |query: &str| tags_and_words(query);
    assert_eq!(apart("hull #paint  and #sail"), (vec!["paint".into(), "sail".into()], "hull and".into()));
    assert_eq!(apart("# #"), (Vec::new(), String::new()));
}
