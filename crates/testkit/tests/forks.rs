//! Forks and names of sessions: what a fork has of its parent, what it does not, and what survives a kill.

use std::sync::Arc;

use trimtab_engine::Session;
use trimtab_host::{Client, World};
use trimtab_testkit::memory_store::{Death, Disk, folded};
use trimtab_testkit::plain_workspace::PlainWorkspace;
use trimtab_testkit::scenario::{only, play};
use trimtab_vocab::event::{BannerFact, Level, SessionFact};
use trimtab_vocab::{Event, Problem, ProblemKind, SessionId, Time};
use trimtab_world::clock::SystemClock;
use trimtab_world::models::{Model, ModelRegistry};
use trimtab_world::store::{SessionRow, SessionStore};

const KINDS: [&str; 9] = [
    "session.opened",
    "session.forked",
    "session.titled",
    "request.received",
    "answer",
    "request.finished",
    "checkpoint.opened",
    "change.refused",
    "change.reverted",
];

#[test]
fn a_fork_has_all_up_to_a_message_and_nothing_after_it() {
    let script = "
        > the first wish
        < The first answer.
        ^F answer
        > another second wish
        ?+ the first wish
        ?+ The first answer.
        ?+ [The user forked this conversation here
        ?- interrupted
        ? another second wish
        < Another second answer.
    ";
    insta::assert_snapshot!(only(&play(script), &KINDS), @r#"
    - session.opened {}
    r1 request.received {"text":"the first wish","mode":"auto"}
    r1 answer {"summary":"The first answer."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    === session s2
    - session.opened {"parentSessionId":"s"}
    r1 request.received {"text":"the first wish","mode":"auto"}
    r1 answer {"summary":"The first answer."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    - session.forked {"from":"s","at":12}
    r2 request.received {"text":"another second wish","mode":"auto"}
    r2 answer {"summary":"Another second answer."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_fork_in_the_middle_of_work_ends_what_ran_and_asks_nothing() {
    let script = r#"
        --- a.txt
        alpha
        --- dialogue
        > remove it
        <+ I will remove it.
        <@ delete_file {"path":"a.txt"}
        #
        ^F checkpoint.opened
        > rather tell me a joke
        ?+ I will remove it.
        ? rather tell me a joke
        < A joke.
    "#;
    insta::assert_snapshot!(only(&play(script), &KINDS), @r#"
    - session.opened {}
    r1 request.received {"text":"remove it","mode":"auto"}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Delete a.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"delete_file","input":{"path":"a.txt"},"class":"delete_unread","reason":"it would delete a file that the model has not read","ruleText":"allow delete_file: a.txt (in PROJECT)","rule":{"verdict":"allow","tool":"delete_file","pattern":"a.txt"},"proposal":"r1-p-c1t1"}
    === session s2
    - session.opened {"parentSessionId":"s"}
    r1 request.received {"text":"remove it","mode":"auto"}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Delete a.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"delete_file","input":{"path":"a.txt"},"class":"delete_unread","reason":"it would delete a file that the model has not read","ruleText":"allow delete_file: a.txt (in PROJECT)","rule":{"verdict":"allow","tool":"delete_file","pattern":"a.txt"},"proposal":"r1-p-c1t1"}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    - session.forked {"from":"s","at":12}
    r2 request.received {"text":"rather tell me a joke","mode":"auto"}
    r2 answer {"summary":"A joke."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn a_fork_at_the_words_of_a_person_leaves_them_unanswered() {
    let script = "
        > the first wish
        < The first answer.
        ^F request.received
        > and now
        ?+ the first wish
        ?- The first answer.
        ? and now
        < Now.
    ";
    let log = play(script);
    assert_eq!(log.matches(r#"request.finished {"status":"cancelled""#).count(), 1, "{log}");
}

#[test]
fn a_fork_sees_earlier_changes_moves_its_own_and_no_other() {
    let script = r#"
        --- a.txt
        alpha
        --- b.txt
        one
        --- dialogue
        > change @a.txt
        <@ edit_file {"path":"a.txt","blocks":[{"search":"alpha","replace":"beta"}]}
        #
        < Changed it.
        ^F
        > change @b.txt
        <@ edit_file {"path":"b.txt","blocks":[{"search":"one","replace":"two"}]}
        #
        < Changed that.
        ^B 1
        @ change.reverted
        ^B 1
        @ change.refused
    "#;
    insta::assert_snapshot!(only(&play(script), &["session.forked", "change.refused", "change.reverted", "change.applied"]), @r#"
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    === session s2
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    - session.forked {"from":"s","at":24}
    r2 change.applied {"changeSet":"r2-x-c3t1","position":1,"files":[{"path":"b.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    - change.reverted {"changeSet":"r2-x-c3t1","position":0}
    - change.refused {"reason":"Change #1 was made before this session was forked. Undo it in session s, with --session s. Nothing was changed."}
    --- a.txt
    beta
    --- b.txt
    one
    "#);
}

#[test]
fn operations_on_tasks_that_were_proposed_are_decided_where_they_were() {
    let script = r#"
        --- tasks
        {"op":"create","title":"Call Bob","scheduledFor":"2027-01-15"}
        --- dialogue
        % ask={}
        > Mark everything today as done
        < {"decision":"plan","category":"task","confidence":0.95}
        < {"operations":[{"op":"complete","id":1}]}
        < I will mark it as done.
        ^F
    "#;
    let log = play(script);
    let (parent, fork) = log.split_once("=== session s2").expect("two sessions");
    let count = |log: &str| (log.matches("proposal.opened").count(), log.matches("proposal.resolved").count());
    assert_eq!((count(parent), count(fork)), ((1, 0), (1, 1)), "{log}");
}

#[test]
fn the_name_that_a_person_gave_stays() {
    let log = play("> hello\n< Hi.\n^N  Trim\ttabs \n> and more\n< More.\n^F\n> even more\n< Even.\n");
    assert_eq!(
        log.matches(r#"session.titled {"title":"Trim tabs","by":"user"}"#).count(),
        2,
        "its fork has it too: {log}"
    );
}

struct NoModels;

impl ModelRegistry for NoModels {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Err(Problem::new(ProblemKind::NoKey, "Nobody is asked here."))
    }
}

fn process(disk: &Disk, seed: u64, death: Option<Death>) -> (Client, Arc<trimtab_testkit::memory_store::MemoryStore>) {
    let store = Arc::new(disk.process(seed, death, 0));
    let workspaces = trimtab_host::shared_workspace(PlainWorkspace::default());
    let world =
        World { store: Arc::clone(&store) as _, models: Arc::new(NoModels), clock: Arc::new(SystemClock), workspaces };
    (Client::with(world, 4), store)
}

/// A session with a few facts.
async fn session(disk: &Disk) -> SessionId {
    let id: SessionId = "s1".parse().expect("an id");
    let now = Time::from_millis(0);
    let store = disk.process(1, None, 0);
    let (folder, title) = ("/a".to_owned(), "A name".to_owned());
    let row = SessionRow::new(id.clone(), folder, title, now);
    store.create_session(row, vec![]).await.expect("made");
    let mut facts = vec![SessionFact::Opened { folder: "/a".into(), parent_session_id: None, imported: None }.into()];
    facts.extend((0..3).map(|n| BannerFact { level: Level::Info, text: format!("{n}") }.into()));
    let event = |(seq, fact)| Event { seq: Some(seq), time: now, session: id.clone(), request: None, fact };
    let events: Vec<Event> = (1..).zip(facts).map(event).collect();
    disk.state().events.insert(id.clone(), events);
    id
}

#[tokio::test]
async fn a_fork_that_is_killed_is_there_whole_or_not_at_all_and_once_for_a_key() {
    let mut made = 0;
    for (at, after) in (0..12).flat_map(|at| [(at, false), (at, true)]) {
        let disk = Disk::default();
        let id = session(&disk).await;
        let before = disk.state().events[&id].clone();
        let (client, store) = process(&disk, 2, Some(Death { at, after }));
        tokio::select! {
            fork = client.sessions().fork_once(&id, Some(3), "key") => drop(fork.expect("made")),
            () = store.died.notified() => {}
        }
        drop(client);
        made += usize::from(disk.state().sessions.len() == 2);
        let (client, _) = process(&disk, 3, None);
        let fork = client.sessions().fork_once(&id, Some(3), "key").await.expect("made");
        let state = disk.state();
        assert_eq!((state.sessions.len(), &state.events[&id]), (2, &before), "killed at {at}, after {after}");
        let row = &state.sessions[&fork];
        assert_eq!((row.parent.as_ref(), row.forked, row.title.as_str()), (Some(&id), Some(3), "A name"));
        let log = &state.events[&fork];
        assert_eq!(log.len(), 4);
        assert!(log.iter().zip(1..).all(|(event, seq)| event.session == fork && event.seq == Some(seq)));
        let replayed: Session = folded(log);
        assert!(replayed.lineage().is_fork && replayed.is_idle());
    }
    assert!((1..24).contains(&made), "kills before and after it was made: {made}");
}

#[tokio::test]
async fn a_place_that_is_not_there_and_a_name_that_is_none_are_refused() {
    let disk = Disk::default();
    let id = session(&disk).await;
    let (client, _) = process(&disk, 2, None);
    for at in [0, 5, u64::MAX] {
        let problem = client.sessions().fork(&id, Some(at)).await.expect_err("there is no such place");
        assert_eq!(problem.kind, ProblemKind::Usage, "{at}: {problem:?}");
    }
    for name in ["", " \n\t ", "\u{7}", &"x".repeat(121)] {
        assert_eq!(
            client.sessions().rename(&id, name).await.expect_err("no name").kind,
            ProblemKind::Usage,
            "{name:?}"
        );
    }
    let gone: SessionId = "gone".parse().expect("an id");
    assert_eq!(client.sessions().fork(&gone, None).await.expect_err("no session").kind, ProblemKind::NotFound);
    assert_eq!(disk.state().sessions.len(), 1);
}
