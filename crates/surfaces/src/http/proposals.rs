//! What a model would like to do, decided by name: a shorter way to answer the question about it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_host::Client;
use trimtab_vocab::event::{CheckpointFact, ProposalFact, ProposalKind};
use trimtab_vocab::{ChangePart, CheckpointId, Event, Fact, FileWrite, ProposalId, SessionId};

use super::Shared;
use super::control::{give, give_parts};
use super::extract::{JsonBody, PathIds};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let describe = |id, summary, example: Value| {
        RouteOperation::new("post", id, "proposals", summary)
            .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
            .path::<ProposalId>("proposal", "ID of the proposal, from the events.", "r01kabcdefghjkmnq-p-c1t1")
            .takes::<Decision>(example)
            .gives::<Decided>(
                StatusCode::ACCEPTED,
                "Accepted. The session's events report the result.",
                json!({"checkpoint": "r01kabcdefghjkmnq-k1", "choice": "allow"}),
            )
    };
    let part = json!({"operations": [{"path": "src/main.rs", "hunks": [1, 3]}]});
    let apply = describe("applyProposal", "Apply a proposed file change, or a part of it", part);
    let run = describe("runProposal", "Run the proposed command", json!({}));
    let reject = describe("rejectProposal", "Reject the proposal, tell the model, and continue", json!({}));
    api.add("/sessions/{id}/proposals/{proposal}/apply", post(apply_it), vec![apply])
        .add("/sessions/{id}/proposals/{proposal}/run", post(run_it), vec![run])
        .add("/sessions/{id}/proposals/{proposal}/reject", post(reject_it), vec![reject])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Decision {
    /// Words for the model.
    #[serde(default)]
    text: Option<String>,
    /// The parts to apply. Default: all of it. The model sees which parts were left out.
    #[serde(default)]
    operations: Option<Vec<ProposalOperation>>,
}

impl Decision {
    /// The words of a decision that can only be made as a whole.
    fn whole(self) -> Result<Option<String>, Failure> {
        match self.operations {
            None => Ok(self.text),
            Some(_) => Err(Failure::unprocessable("This is decided as a whole: `operations` go with `apply`.")
                .hint("Apply the ones that you want. The others are left out.")),
        }
    }
}

/// An operation of a proposal, or a part of one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ProposalOperation {
    /// By its place among the operations, from 0.
    Place(u32),
    /// By its file.
    Path(String),
    /// Some hunks of a file, by the numbers of its diff.
    Part(ChangePart),
}

/// What a proposal of files would write, as it was first opened.
pub(super) async fn proposed(client: &Client, id: &SessionId, wanted: &ProposalId) -> Result<Vec<FileWrite>, Failure> {
    let mut after = 0;
    loop {
        let page = client.sessions().events(id, after).await?;
        let Some(last) = page.last().and_then(|event| event.seq) else {
            return Err(Failure::not_found("There is no such file proposal in this session."));
        };
        after = last;
        for event in page {
            if let Fact::Proposal(ProposalFact::Opened { proposal, kind: ProposalKind::Files, operations, .. }) =
                event.fact
                && proposal == *wanted
            {
                return Ok(operations.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect());
            }
        }
    }
}

/// The parts that are meant.
pub(super) async fn parts(
    client: &Client,
    id: &SessionId,
    proposal: &ProposalId,
    wanted: Vec<ProposalOperation>,
) -> Result<Vec<ChangePart>, Failure> {
    let writes = proposed(client, id, proposal).await?;
    let part = |wanted| match wanted {
        ProposalOperation::Place(place) => match writes.get(place as usize) {
            Some(write) => Ok(ChangePart { path: write.path.clone(), hunks: Vec::new() }),
            None => {
                let all = writes.len();
                Err(Failure::unprocessable(format!("There is no operation {place}: the proposal has {all}, from 0.")))
            }
        },
        ProposalOperation::Path(path) => Ok(ChangePart { path, hunks: Vec::new() }),
        ProposalOperation::Part(part) => Ok(part),
    };
    wanted.into_iter().map(part).collect()
}

#[derive(Debug, Serialize, JsonSchema)]
struct Decided {
    /// The question that was answered.
    checkpoint: CheckpointId,
    /// The choice that was made.
    choice: String,
}

/// The question about a proposal, and whether it is about a command.
struct ProposalQuestion {
    checkpoint: CheckpointId,
    is_command: bool,
}

async fn find(server: &Shared, id: &SessionId, wanted: &ProposalId) -> Result<ProposalQuestion, Failure> {
    server.client.sessions().get(id).await?;
    let about = |event: Event| {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, worker: None, .. }) = event.fact else {
            return None;
        };
        let is_it = event.session == *id && ProposalId::for_call(event.request.as_ref()?, ask.call()?) == *wanted;
        let is_command = ask.run().is_some();
        is_it.then_some(ProposalQuestion { checkpoint, is_command })
    };
    server.client.requests().checkpoints().await?.into_iter().find_map(about).ok_or_else(|| {
        Failure::not_found("There is no pending proposal with this ID.")
            .hint("It may have been decided elsewhere; GET /api/checkpoints lists pending checkpoints.")
    })
}

async fn allow(
    server: &Shared,
    id: &SessionId,
    question: ProposalQuestion,
    text: Option<String>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let choice = "allow".to_owned();
    give(server, id, &question.checkpoint, choice.clone(), text).await?;
    Ok((StatusCode::ACCEPTED, Json(Decided { checkpoint: question.checkpoint, choice })))
}

async fn apply_it(
    State(server): State<Shared>,
    PathIds(id, proposal): PathIds<SessionId, ProposalId>,
    JsonBody(Decision { text, operations }): JsonBody<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let question = find(&server, &id, &proposal).await?;
    if question.is_command {
        return Err(Failure::unprocessable("This is a command. Run it instead of applying it."));
    }
    if let Some(operations) = operations {
        if text.is_some() {
            return Err(Failure::unprocessable("Either `text` or `operations`."));
        }
        let parts = parts(&server.client, &id, &proposal, operations).await?;
        give_parts(&server, &id, &question.checkpoint, parts).await?;
        return Ok((StatusCode::ACCEPTED, Json(Decided { checkpoint: question.checkpoint, choice: "allow".into() })));
    }
    allow(&server, &id, question, text).await
}

async fn run_it(
    State(server): State<Shared>,
    PathIds(id, proposal): PathIds<SessionId, ProposalId>,
    JsonBody(decision): JsonBody<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let question = find(&server, &id, &proposal).await?;
    if !question.is_command {
        return Err(Failure::unprocessable("This is a file change. Apply it instead of running it."));
    }
    let text = decision.whole()?;
    allow(&server, &id, question, text).await
}

async fn reject_it(
    State(server): State<Shared>,
    PathIds(id, proposal): PathIds<SessionId, ProposalId>,
    JsonBody(decision): JsonBody<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let text = decision.whole()?;
    let ProposalQuestion { checkpoint, .. } = find(&server, &id, &proposal).await?;
    let choice = "reject".to_owned();
    give(&server, &id, &checkpoint, choice.clone(), text).await?;
    Ok((StatusCode::ACCEPTED, Json(Decided { checkpoint, choice })))
}
