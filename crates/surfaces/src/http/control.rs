//! What a person says to a request that runs or waits: answers and controls.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_host::{Answered, Manner, RequestDraft};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, RequestFact};
use trimtab_vocab::{
    Autonomy, CallId, ChangePart, CheckpointId, Control, Event, Fact, Mode, ProposalId, RequestId, SessionId,
    SubtaskControl,
};

use super::Shared;
use super::extract::{Id, JsonBody};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::proposals;
use super::sessions::{goes_on, send_message, send_message_under};
use crate::subtask_log::SubtaskLog;

pub(super) fn routes(api: Api) -> Api {
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let taken = "Accepted. The session's events report the result.";
    let answer =
        id(RouteOperation::new("post", "answerCheckpoint", "sessions", "Answer a pending question or approval"))
            .takes::<NewAnswer>(json!({"checkpoint": "r01kabcdefghjkmnq-k1", "choice": "allow"}))
            .gives::<ControlAccepted>(
                StatusCode::ACCEPTED,
                taken,
                json!({"session": "s01kabcdefghjkmnp", "request": null}),
            );
    let control = id(RouteOperation::new(
        "post",
        "controlSession",
        "sessions",
        "Control a running request: pause, steer, skip, cancel",
    ))
    .takes::<NewControl>(json!({"action": "pause"}))
    .gives::<ControlAccepted>(StatusCode::ACCEPTED, taken, json!({"session": "s01kabcdefghjkmnp", "request": null}))
    .fails(409)
    .fails(502);
    let open = RouteOperation::new(
        "get",
        "listCheckpoints",
        "sessions",
        "List pending questions and approvals of every session",
    )
    .gives::<OpenCheckpoint>(
        StatusCode::OK,
        "The events that opened it, oldest first.",
        json!({"checkpoints": []}),
    );
    api.add("/sessions/{id}/answers", post(answers), vec![answer])
        .add("/sessions/{id}/control", post(controls), vec![control])
        .add("/checkpoints", get(checkpoints), vec![open])
}

/// The accepted action.
#[derive(Debug, Serialize, JsonSchema)]
struct ControlAccepted {
    session: SessionId,
    /// The request that was made for it, if one was.
    request: Option<RequestId>,
}

fn taken(session: SessionId, request: Option<RequestId>) -> (StatusCode, Json<ControlAccepted>) {
    (StatusCode::ACCEPTED, Json(ControlAccepted { session, request }))
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpenCheckpoint {
    /// The events that opened the pending questions.
    checkpoints: Vec<Event>,
}

async fn checkpoints(State(server): State<Shared>) -> Result<Json<OpenCheckpoint>, Failure> {
    Ok(Json(OpenCheckpoint { checkpoints: server.client.requests().checkpoints().await? }))
}

/// A person's answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewAnswer {
    checkpoint: CheckpointId,
    /// One of its choices.
    choice: String,
    /// Words or a value that go with the choice.
    #[serde(default)]
    text: Option<String>,
    /// The edited steps of a plan: the whole list, or operations.
    #[serde(default)]
    edits: Option<Value>,
    /// The selection: the options of each question, or the operations or `{path, hunks}` of a proposed change to apply
    /// (with the choice `allow`).
    #[serde(default)]
    selection: Option<Value>,
}

async fn answers(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(answer): JsonBody<NewAnswer>,
) -> Result<(StatusCode, Json<ControlAccepted>), Failure> {
    let NewAnswer { checkpoint, choice, text, edits, mut selection } = answer;
    // To another question they would be taken for words, and to one about a command for the command itself.
    if edits.is_some() && choice != "modify" {
        return Err(Failure::unprocessable("`edits` go with the choice `modify` of a plan."));
    }
    let proposal = match selection {
        Some(_) => proposal_of(&server, &id, &checkpoint).await?,
        None => None,
    };
    if let Some(proposal) = proposal
        && let Some(chosen) = selection.take()
    {
        if text.is_some() || edits.is_some() || choice != "allow" {
            return Err(Failure::unprocessable("A selection of a proposed change goes with `allow` alone."));
        }
        let chosen = serde_json::from_value(chosen).map_err(|_| {
            Failure::unprocessable("A selection of a proposed change is a list of operations.")
                .hint(r#"For example: [{"path":"src/main.rs","hunks":[1,3]}]"#)
        })?;
        let parts = proposals::parts(&server.client, &id, &proposal, chosen).await?;
        give_parts(&server, &id, &checkpoint, parts).await?;
        return Ok(taken(id, None));
    }
    let given: Vec<String> = [text, edits.map(|edits| edits.to_string()), selection.map(|chosen| chosen.to_string())]
        .into_iter()
        .flatten()
        .collect();
    if given.len() > 1 {
        return Err(Failure::unprocessable("An answer has one of text, edits, and selection."));
    }
    server.client.sessions().get(&id).await?;
    give(&server, &id, &checkpoint, choice, given.into_iter().next()).await?;
    Ok(taken(id, None))
}

/// The proposal of files that an open question is about, if it is about one.
async fn proposal_of(server: &Shared, id: &SessionId, wanted: &CheckpointId) -> Result<Option<ProposalId>, Failure> {
    let about = |event: &Event| match &event.fact {
        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, worker: None, .. }) if checkpoint == wanted => {
            ask.permission()?.proposal.clone()
        }
        _ => None,
    };
    let open = server.client.requests().checkpoints().await?;
    Ok(open.iter().filter(|event| event.session == *id).find_map(about))
}

/// Allows parts of a proposed change.
pub(super) async fn give_parts(
    server: &Shared,
    id: &SessionId,
    checkpoint: &CheckpointId,
    parts: Vec<ChangePart>,
) -> Result<(), Failure> {
    server.client.requests().check_parts(id, checkpoint, &parts).await?;
    let open = server.client.requests().checkpoints().await?;
    let is_it = |event: &&Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint: known, .. }) if known == checkpoint);
    let request = open.iter().find(is_it).and_then(|event| event.request.clone());
    let there = Control::Adjust { approve: None, attended: Some(true), max_steps: None, trusted: None };
    server.client.requests().control(id, request, there).await?;
    Ok(server.client.requests().apply_parts(id, checkpoint, parts, "user").await?)
}

/// Gives an answer that the question offers.
pub(super) async fn give(
    server: &Shared,
    id: &SessionId,
    wanted: &CheckpointId,
    choice: String,
    text: Option<String>,
) -> Result<(), Failure> {
    let open = server.client.requests().checkpoints().await?;
    let found = open.iter().filter(|event| event.session == *id).find_map(|event| match &event.fact {
        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, ask, .. }) if checkpoint == wanted => {
            Some((event.request.clone(), choices, ask))
        }
        _ => None,
    });
    let Some((request, choices, ask)) = found else {
        return Err(Failure::not_found(format!("There is no pending checkpoint {wanted} in this session."))
            .hint("It may have been answered elsewhere; GET /api/checkpoints lists pending checkpoints."));
    };
    // A plan, a change and a command can be rejected, whichever choices are shown for it.
    let rejects = choice == "reject" && matches!(ask, Ask::Plan { .. } | Ask::Permission(_));
    if !rejects && !choices.iter().any(|known| known.id == choice) {
        let known: Vec<&str> = choices.iter().map(|choice| choice.id.as_str()).collect();
        return Err(Failure::unprocessable(format!("`{choice}` is not one of the choices."))
            .hint(format!("Choose one of: {}.", known.join(", "))));
    }
    // Whoever answers is there to be asked again.
    let there = Control::Adjust { approve: None, attended: Some(true), max_steps: None, trusted: None };
    server.client.requests().control(id, request, there).await?;
    let answer = Answered { checkpoint: wanted.clone(), choice, text, by: "user".into() };
    Ok(server.client.requests().answer(id, answer).await?)
}

/// An action on a running request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewControl {
    /// What to do.
    action: ControlAction,
    /// The text of `steer` and `editSummary`, or the text that `continue` and `autoContinue` send instead of
    /// "continue".
    #[serde(default)]
    text: Option<String>,
    /// The call that `stopTool` ends, or that `background` is about.
    #[serde(default)]
    call: Option<CallId>,
    /// The sub-task that `subtask` is about.
    #[serde(default)]
    subtask: Option<String>,
    /// What `subtask` does to it.
    #[serde(default)]
    subtask_action: Option<SubtaskControl>,
    /// The level that `autonomy` sets.
    #[serde(default)]
    level: Option<Autonomy>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ControlAction {
    /// Stop now and keep the results.
    Cancel,
    /// Rest after this step.
    Pause,
    /// Continue with the unfinished request.
    Resume,
    /// Try again: the question that offers it is answered so, or the last request is made once more.
    Retry,
    /// Continue: answers the question that offers it, or sends "continue".
    Continue,
    /// Send "continue", and repeat it while steps are open.
    AutoContinue,
    /// Skip the current step, and continue with the next.
    Skip,
    /// Send this text for the next step.
    Steer,
    /// Stop one tool call. The others continue.
    StopTool,
    /// Let the running command continue in the background; `call` names it if several run.
    Background,
    /// Control one sub-task. The others continue.
    Subtask,
    /// Replace the last summary of the conversation with this text.
    EditSummary,
    /// Put the conversation back in place of its last summary.
    UndoSummary,
    /// Start the work that was discussed.
    Implement,
    /// Ask more or less from the next decision on.
    Autonomy,
}

async fn controls(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(body): JsonBody<NewControl>,
) -> Result<(StatusCode, Json<ControlAccepted>), Failure> {
    let NewControl { action, text, call, subtask, subtask_action, level } = body;
    server.client.sessions().get(&id).await?;
    let words = text.filter(|text| !text.trim().is_empty());
    let needed = |words: Option<String>| words.ok_or_else(|| Failure::unprocessable("This needs `text`."));
    let passed_on = match action {
        ControlAction::Cancel => Control::Cancel,
        ControlAction::Pause => Control::Pause,
        ControlAction::Skip => Control::Skip,
        ControlAction::Steer => Control::Steer { text: needed(words)? },
        ControlAction::EditSummary => Control::EditSummary { text: needed(words)? },
        ControlAction::UndoSummary => Control::UndoSummary,
        ControlAction::StopTool => {
            let call =
                call.ok_or_else(|| Failure::unprocessable("This needs the `call`, with the ID from the events."))?;
            Control::StopTool { call }
        }
        ControlAction::Background => Control::Background { call },
        ControlAction::Subtask => {
            let missing = || Failure::unprocessable("This needs the `subtask` and the `subtaskAction`.");
            let (subtask, action) = (subtask.ok_or_else(missing)?, subtask_action.ok_or_else(missing)?);
            SubtaskLog::read(&server.client, &id).await?.check(&subtask, &action)?;
            Control::Subtask { subtask, action }
        }
        // A request that rests at a pause is let go on; one whose process ended is taken up again.
        ControlAction::Resume => match offering(&server, &id, "continue").await? {
            Some(checkpoint) => {
                give(&server, &id, &checkpoint, "continue".into(), words).await?;
                return Ok(taken(id, None));
            }
            None => Control::Resume,
        },
        ControlAction::Retry => return again(&server, id, words).await,
        ControlAction::Continue => match offering(&server, &id, "continue").await? {
            Some(checkpoint) => {
                give(&server, &id, &checkpoint, "continue".into(), words).await?;
                return Ok(taken(id, None));
            }
            None => return speak(&server, id, words.unwrap_or_else(|| "continue".into()), Mode::Auto).await,
        },
        ControlAction::AutoContinue => {
            let words = RequestDraft::new(words.unwrap_or_else(|| "continue".into()), Manner::attended());
            let said = send_message_under(&server, &goes_on(&server.profile()), &id, words, None).await?;
            return Ok(taken(id, Some(said.request)));
        }
        ControlAction::Autonomy => {
            let level = level.ok_or_else(|| Failure::unprocessable("This needs the `level`."))?;
            server.client.requests().set_autonomy(&id, level).await?;
            return Ok(taken(id, None));
        }
        ControlAction::Implement => {
            let text = words.unwrap_or_else(|| crate::words::IMPLEMENT.into());
            return speak(&server, id, text, Mode::Implement).await;
        }
    };
    server.client.requests().control(&id, None, passed_on).await?;
    Ok(taken(id, None))
}

async fn speak(
    server: &Shared,
    id: SessionId,
    text: String,
    mode: Mode,
) -> Result<(StatusCode, Json<ControlAccepted>), Failure> {
    let said =
        send_message(server, &id, RequestDraft { mode, ..RequestDraft::new(text, Manner::attended()) }, None).await?;
    Ok(taken(id, Some(said.request)))
}

/// The question of the session that offers this choice.
async fn offering(server: &Shared, id: &SessionId, wanted: &str) -> Result<Option<CheckpointId>, Failure> {
    let offers = |event: Event| match event.fact {
        // To resume a request does not answer the questions of its workers.
        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, worker: None, .. }) if event.session == *id => {
            choices.iter().any(|choice| choice.id == wanted).then_some(checkpoint)
        }
        _ => None,
    };
    Ok(server.client.requests().checkpoints().await?.into_iter().find_map(offers))
}

async fn again(
    server: &Shared,
    id: SessionId,
    words: Option<String>,
) -> Result<(StatusCode, Json<ControlAccepted>), Failure> {
    if let Some(checkpoint) = offering(server, &id, "retry").await? {
        give(server, &id, &checkpoint, "retry".into(), words).await?;
        return Ok(taken(id, None));
    }
    let (mut after, mut last) = (0, None);
    loop {
        let page = server.client.sessions().events(&id, after).await?;
        let Some(seq) = page.last().and_then(|event| event.seq) else { break };
        after = seq;
        for event in page {
            if let Fact::Request(RequestFact::Received { text, refs, images, mode, .. }) = event.fact {
                last = Some((text, refs, images, mode));
            }
        }
    }
    let nothing =
        || Failure::new(StatusCode::CONFLICT, "nothing_to_retry", "There is no request in this session to retry.");
    let (text, refs, images, mode) = last.ok_or_else(nothing)?;
    let text = match refs.iter().find(|key| key.is_input()) {
        // Words that were too large to send are stored whole.
        Some(whole) => server.client.refs().text(whole).await?,
        None => text,
    };
    let mut pictures = Vec::new();
    for image in images {
        pictures.push((image.media_type, server.client.refs().text(&image.key).await?));
    }
    let words = RequestDraft { mode, images: pictures, ..RequestDraft::new(text, Manner::attended()) };
    let said = send_message(server, &id, words, None).await?;
    Ok(taken(id, Some(said.request)))
}
