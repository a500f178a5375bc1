//! Several sessions of one process: each works in its own workspace, and one that waits for a person is in nobody's
//! way.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;
use trimtab_host::{
    Answered, Client, CommandUpdate, Contents, EndedCommand, FileNow, JobState, Manner, RequestDraft, SendTo, Sent,
    StreamController, Workspace, World, shared_workspace,
};
use trimtab_testkit::memory_store::Disk;
use trimtab_testkit::plain_workspace::PlainWorkspace;
use trimtab_vocab::event::{CheckpointFact, RequestFact, Status, ToolFact, ToolStatus};
use trimtab_vocab::{
    CheckpointId, CommandPlan, Event, Fact, FilePlan, FolderTrust, ModelSettings, Overtime, Problem, Prompt, ReadOp,
    ReadResult, Role, RunSettings, SessionId, StopReason,
};
use trimtab_world::clock::SystemClock;
use trimtab_world::models::{Model, ModelRegistry, PieceStream, ReplyPiece};
use trimtab_world::store::{SqliteStore, Store};

/// A model that uses the tool which the request names, once, and then answers.
struct Scripted;

impl ModelRegistry for Scripted {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(Scripted))
    }
}

impl Model for Scripted {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let answered = prompt.messages.iter().any(|message| message.role == Role::Assistant);
        let said: String = prompt.messages.iter().map(|message| message.text()).collect();
        let tool = |name: &str, arguments: &str| {
            let (id, name) = (Some("t1".into()), Some(name.into()));
            [
                ReplyPiece::Tool { block: 0, id, name, arguments: arguments.into() },
                ReplyPiece::Stop(StopReason::ToolUse),
            ]
        };
        let pieces = match said {
            said if said.contains("Ask me") && !answered => tool("ask_user", r#"{"question":"Ready?"}"#),
            said if said.contains("Read it") && !answered => tool("read_file", r#"{"path":"a.txt"}"#),
            _ => [ReplyPiece::Text { block: 0, text: "Done.".into() }, ReplyPiece::Stop(StopReason::EndTurn)],
        };
        stream::iter(pieces.into_iter().chain([ReplyPiece::End]).map(Ok).collect::<Vec<_>>()).boxed()
    }
}

fn world(store: Arc<dyn Store>) -> World {
    let workspaces = shared_workspace(PlainWorkspace::default());
    World { store, models: Arc::new(Scripted), clock: Arc::new(SystemClock), workspaces }
}

async fn send(client: &Client, world: &World, text: &str) -> Sent {
    let settings = RunSettings {
        models: ModelSettings { model: "any/model".into(), ..ModelSettings::default() },
        trust: FolderTrust::WHOLE,
        ..RunSettings::default()
    };
    let say = world.say(RequestDraft::new(text, Manner::default()), None, settings);
    client.send(SendTo::New { folder: "/a".into() }, say).await.expect("is taken in")
}

/// The first fact of a session that `wanted` makes something of.
async fn seen<T>(client: &Client, session: &SessionId, wanted: impl Fn(&Event) -> Option<T>) -> T {
    let mut watch = client.watch(session, 0);
    let look = async {
        loop {
            if let Some(found) = wanted(&watch.next().await.expect("a fact")) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look).await.expect("it happens")
}

fn asked(event: &Event) -> Option<CheckpointId> {
    match &event.fact {
        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => Some(checkpoint.clone()),
        _ => None,
    }
}

fn ended(event: &Event) -> Option<Status> {
    match &event.fact {
        Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
        _ => None,
    }
}

#[tokio::test]
async fn a_request_that_waits_for_an_answer_never_keeps_others_from_running() {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = SqliteStore::open(folder.path(), Arc::new(SystemClock)).expect("opens");
    let stores: [Arc<dyn Store>; 2] = [Arc::new(Disk::default().process(0, None, 0)), Arc::new(sqlite)];
    for store in stores {
        let world = world(store);
        let client = Client::with(world.clone(), 1);
        let waiting = send(&client, &world, "Ask me").await;
        let checkpoint = seen(&client, &waiting.session, asked).await;
        let other = send(&client, &world, "Say it").await;
        assert_eq!(seen(&client, &other.session, ended).await, Status::Completed, "with room for one at a time");
        let job = client.requests().get(&waiting.request).await.expect("read").expect("listed");
        assert_eq!(job.state, JobState::Running, "it is still worked on, and not queued again");
        let answer = Answered { checkpoint, choice: "other".into(), text: Some("yes".into()), by: "test".into() };
        client.requests().answer(&waiting.session, answer).await.expect("is told");
        assert_eq!(seen(&client, &waiting.session, ended).await, Status::Completed);
    }
}

/// The buffers of an editor: a file holds what the session's own editor shows.
struct Buffers(SessionId);

#[async_trait]
impl Workspace for Buffers {
    async fn perform_read(&self, _: &str, _: &ReadOp) -> ReadResult {
        let text = format!("as {} shows it", self.0);
        ReadResult { status: ToolStatus::Ok, text, images: Vec::new(), files: Vec::new() }
    }

    async fn read(&self, _: &str, _: &str) -> Result<FileNow, String> {
        Err("nothing is open".into())
    }

    async fn write(&self, _: &FilePlan, _: Arc<dyn Contents>) -> Result<(), String> {
        Err("nothing is open".into())
    }

    async fn run(
        &self,
        _: &CommandPlan,
        _: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        _: &StreamController,
        _: mpsc::Receiver<Overtime>,
    ) -> EndedCommand {
        EndedCommand::default()
    }
}

#[tokio::test]
async fn a_session_never_sees_the_workspace_of_another() {
    let store = Arc::new(Disk::default().process(0, None, 0));
    let workspaces = Arc::new(|session: &SessionId| Arc::new(Buffers(session.clone())) as Arc<dyn Workspace>);
    let world = World { workspaces, ..world(store) };
    let client = Client::with(world.clone(), 10);
    for _ in 0..2 {
        let sent = send(&client, &world, "Read it").await;
        let result = seen(&client, &sent.session, |event| match &event.fact {
            Fact::Tool(ToolFact::Finished { preview, .. }) => Some(preview.clone()),
            _ => None,
        });
        assert!(result.await.contains(&format!("as {} shows it", sent.session)));
    }
}
