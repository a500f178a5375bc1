//! What a model would like to do, decided by name: a shorter way to answer the question about it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::event::CheckpointFact;
use trimtab_vocab::{CallId, CheckpointId, Event, Fact, ProposalId, SessionId};

use super::Shared;
use super::failure::Failure;
use super::openapi::{Api, Operation};
use super::take::{Body, Ids};
use super::work::give;

pub(super) fn routes(api: Api) -> Api {
    let describe = |id, summary| {
        Operation::new("post", id, "proposals", summary)
            .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
            .path::<ProposalId>("proposal", "The proposal, as events name it.", "r01kabcdefghjkmnq-p-c1t1")
            .takes::<Decision>(json!({}))
            .gives::<Decided>(
                StatusCode::ACCEPTED,
                "It is taken in; what comes of it is told by the session's events.",
                json!({"checkpoint": "r01kabcdefghjkmnq-k1", "choice": "allow"}),
            )
    };
    let apply = describe("applyProposal", "Make the proposed changes of files");
    let run = describe("runProposal", "Run the proposed command");
    let reject =
        describe("rejectProposal", "Do neither; the model is told so, with the words that come with it, and goes on");
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
}

#[derive(Debug, Serialize, JsonSchema)]
struct Decided {
    /// The question that was answered.
    checkpoint: CheckpointId,
    /// The choice that was made.
    choice: String,
}

/// The question about a proposal, and whether it is about a command.
struct Question {
    checkpoint: CheckpointId,
    is_command: bool,
}

async fn find(server: &Shared, id: &SessionId, wanted: &ProposalId) -> Result<Question, Failure> {
    server.client.session(id).await?;
    let about = |event: Event| {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, body, .. }) = event.fact else {
            return None;
        };
        let call: CallId = body.get("call")?.as_str()?.parse().ok()?;
        let is_it = event.session == *id && ProposalId::of(event.request.as_ref()?, &call) == *wanted;
        let is_command = body.contains_key("plan");
        is_it.then_some(Question { checkpoint, is_command })
    };
    server.client.checkpoints().await?.into_iter().find_map(about).ok_or_else(|| {
        Failure::not_found("No proposal of this name waits for a decision.")
            .hint("It may have been decided elsewhere; GET /api/checkpoints lists what is open.")
    })
}

async fn allow(
    server: &Shared,
    id: &SessionId,
    question: Question,
    text: Option<String>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let choice = "allow".to_owned();
    give(server, id, &question.checkpoint, choice.clone(), text).await?;
    Ok((StatusCode::ACCEPTED, Json(Decided { checkpoint: question.checkpoint, choice })))
}

async fn apply_it(
    State(server): State<Shared>,
    Ids(id, proposal): Ids<SessionId, ProposalId>,
    Body(Decision { text }): Body<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let question = find(&server, &id, &proposal).await?;
    if question.is_command {
        return Err(Failure::unprocessable("This is a command: it is run, not applied."));
    }
    allow(&server, &id, question, text).await
}

async fn run_it(
    State(server): State<Shared>,
    Ids(id, proposal): Ids<SessionId, ProposalId>,
    Body(Decision { text }): Body<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let question = find(&server, &id, &proposal).await?;
    if !question.is_command {
        return Err(Failure::unprocessable("This is a change of files: it is applied, not run."));
    }
    allow(&server, &id, question, text).await
}

async fn reject_it(
    State(server): State<Shared>,
    Ids(id, proposal): Ids<SessionId, ProposalId>,
    Body(Decision { text }): Body<Decision>,
) -> Result<(StatusCode, Json<Decided>), Failure> {
    let Question { checkpoint, .. } = find(&server, &id, &proposal).await?;
    let choice = "reject".to_owned();
    give(&server, &id, &checkpoint, choice.clone(), text).await?;
    Ok((StatusCode::ACCEPTED, Json(Decided { checkpoint, choice })))
}
