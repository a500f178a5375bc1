//! The change history of a session, handoff, and extension.

use std::num::NonZero;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::compare::{self, hunks};
use trimtab_host::{History, Set};
use trimtab_vocab::event::{ChangeFact, ChangedFile, Conflict, SessionFact};
use trimtab_vocab::{ChangePart, ChangeSetId, Control, ExtensionId, OnConflict, ProposalId, SessionId, Time};

use super::Shared;
use super::extract::{Id, JsonBody, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::proposals::proposed;

pub(super) fn routes(api: Api) -> Api {
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let list = id(RouteOperation::new("get", "listChanges", "changes", "List the changes of a session, oldest first"))
        .gives::<Changes>(StatusCode::OK, "The change sets.", json!({"changes": [], "position": -1}))
        .fails(409);
    let moves = |operation: RouteOperation, body: serde_json::Value| {
        id(operation)
            .takes::<Move>(body)
            .gives::<Moves>(
                StatusCode::OK,
                "The position in the change history. If nothing changed, `refused` says why.",
                json!({"changes": [], "position": 0, "refused": null, "conflicts": []}),
            )
            .fails(409)
    };
    let rewind = moves(RouteOperation::new("post", "rewind", "changes", "Undo changes"), json!({"steps": 1}));
    let forward = moves(RouteOperation::new("post", "forward", "changes", "Redo undone changes"), json!({"steps": 1}));
    let handoff = id(RouteOperation::new("post", "handOff", "sessions", "Hand off to a new session"))
        .gives::<HandedOff>(
            StatusCode::OK,
            "The new session.",
            json!({"session": "s01kabcdefghjkmnr", "parentSessionId": "s01kabcdefghjkmnp", "changeSets": [], "prefill": null}),
        )
        .fails(409);
    let extend =
        id(RouteOperation::new("post", "extend", "sessions", "Extend the session with its complete conversation"))
            .gives::<Extended>(
                StatusCode::OK,
                "The session is extended.",
                json!({"session": "s01kabcdefghjkmnp", "extension": "s01kabcdefghjkmnp-e1"}),
            )
            .fails(409);
    let diff = id(RouteOperation::new(
        "get",
        "getDiff",
        "changes",
        "Show the diff of a change set or a proposal",
    ))
    .query::<SetWanted>()
    .gives::<Diffs>(
        StatusCode::OK,
        "A patch for each file.",
        json!({"files": [{"path": "a.txt", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n", "hunks": 1}]}),
    );
    api.add("/sessions/{id}/changes", get(changes), vec![list])
        .add("/sessions/{id}/diff", get(diff_of), vec![diff])
        .add("/sessions/{id}/rewind", post(rewind_by), vec![rewind])
        .add("/sessions/{id}/forward", post(forward_by), vec![forward])
        .add("/sessions/{id}/handoff", post(hand_off), vec![handoff])
        .add("/sessions/{id}/extend", post(extend_it), vec![extend])
}

#[derive(Debug, Serialize, JsonSchema)]
struct Changes {
    /// The sets, oldest first.
    changes: Vec<ChangeSetInfo>,
    /// The place of the set that is current, from 0; below 0: none is.
    position: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChangeSetInfo {
    /// Its number, from 1.
    number: usize,
    change_set: ChangeSetId,
    /// When it was applied.
    time: Time,
    /// What it touched.
    files: Vec<ChangedFile>,
    /// Dollars that the calls since the set before it cost.
    cost_usd: Option<f64>,
    /// It is in force.
    applied: bool,
    /// It is the last applied one.
    current: bool,
    /// The change set that it partly undoes.
    undoes: Option<ChangeSetId>,
    /// It can no longer be undone or redone.
    expired: bool,
    /// It was made in an earlier session, or in the session from which this one was forked.
    inherited: bool,
    /// The only session that can undo it: the session of a handoff, or the original of a fork.
    handed_off_to: Option<SessionId>,
    /// The command that did it.
    command: Option<String>,
}

impl ChangeSetInfo {
    fn new(at: usize, in_force: usize, set: &Set) -> Self {
        Self {
            number: at + 1,
            change_set: set.id.clone(),
            time: set.time,
            files: set.files(),
            cost_usd: set.cost,
            applied: at < in_force,
            current: at + 1 == in_force,
            undoes: set.undoes.clone(),
            expired: set.expired,
            inherited: set.inherited,
            handed_off_to: set.lent.clone(),
            command: set.by.as_ref().map(|by| by.command.clone()),
        }
    }
}

fn position(history: &History) -> i64 {
    i64::try_from(history.in_force).unwrap_or(i64::MAX) - 1
}

async fn changes(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<Changes>, Failure> {
    server.client.sessions().get(&id).await?;
    let (history, _) = server.client.changes().settled_history(&id).await?;
    let sets = history.sets.iter().enumerate().map(|(at, set)| ChangeSetInfo::new(at, history.in_force, set));
    Ok(Json(Changes { changes: sets.collect(), position: position(&history) }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SetWanted {
    change_set: Option<ChangeSetId>,
    /// Or which proposal of files: what it would do.
    proposal: Option<ProposalId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Diffs {
    /// The files, in order.
    files: Vec<FileDiff>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileDiff {
    /// The file.
    path: String,
    /// What changed, as a unified diff; empty where there are no lines to compare.
    diff: String,
    /// Number of hunks that can be undone or chosen separately, numbered from 1 in this order.
    hunks: usize,
}

async fn diff_of(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    QueryArgs(wanted): QueryArgs<SetWanted>,
) -> Result<Json<Diffs>, Failure> {
    server.client.sessions().get(&id).await?;
    let history = server.client.changes().history(&id).await?;
    let writes = match (&wanted.change_set, &wanted.proposal) {
        (Some(wanted), None) => {
            let set = history.sets.into_iter().find(|set| set.id == *wanted).ok_or_else(|| {
                Failure::not_found("There is no such change in this session.")
                    .hint("GET /api/sessions/{id}/changes lists all changes.")
            })?;
            set.writes
        }
        (None, Some(wanted)) => proposed(&server.client, &id, wanted).await?,
        _ => return Err(Failure::unprocessable("Either `changeSet` or `proposal`.")),
    };
    let mut files = Vec::new();
    for write in &writes {
        let mut sides = [None, None];
        for (side, state) in sides.iter_mut().zip([&write.before, &write.after]) {
            if let Some(state) = state {
                *side = Some(server.client.changes().file(&id, &state.hash).await?);
            }
        }
        let [before, after] = &sides;
        let (diff, _) = compare::patch(&write.path, before.as_deref(), after.as_deref());
        let hunks = hunks(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()).len();
        files.push(FileDiff { path: write.path.clone(), diff, hunks });
    }
    Ok(Json(Diffs { files }))
}

/// How far the history moves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Move {
    /// Number of change sets. Default: 1.
    #[serde(default)]
    steps: Option<NonZero<u32>>,
    /// Undo only a part of this change set, as a new change set. `parts` names it. Not for a redo.
    #[serde(default)]
    change_set: Option<ChangeSetId>,
    /// The files of that set, or their hunks.
    #[serde(default)]
    parts: Vec<ChangePart>,
    /// How to handle lines that the user has edited since then.
    #[serde(default)]
    on_conflict: OnConflict,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Moves {
    /// What moved, in order.
    changes: Vec<ChangeFact>,
    /// The place of the set that is current now, from 0; below 0: none is.
    position: i64,
    /// Why it did not move.
    refused: Option<String>,
    /// The conflicts with the user's own edits.
    conflicts: Vec<Conflict>,
}

async fn rewind_by(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(wanted): JsonBody<Move>,
) -> Result<Json<Moves>, Failure> {
    let Move { steps, change_set, parts, on_conflict } = wanted;
    let control = match (steps, change_set, parts.is_empty()) {
        (None, Some(change_set), false) => Control::UndoPart { change_set, parts, on_conflict },
        (steps, None, true) => Control::Rewind { steps: steps.map_or(1, NonZero::get), on_conflict },
        _ => return Err(Failure::unprocessable("Either `steps`, or `changeSet` and `parts`.")),
    };
    move_files(&server, &id, control).await
}

async fn forward_by(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(wanted): JsonBody<Move>,
) -> Result<Json<Moves>, Failure> {
    let Move { steps, change_set, parts, on_conflict } = wanted;
    if change_set.is_some() || !parts.is_empty() {
        return Err(Failure::unprocessable("Only whole change sets can be redone. Use `steps`."));
    }
    move_files(&server, &id, Control::Forward { steps: steps.map_or(1, NonZero::get), on_conflict }).await
}

async fn move_files(server: &Shared, id: &SessionId, control: Control) -> Result<Json<Moves>, Failure> {
    server.client.sessions().get(id).await?;
    let (history, _) = server.client.changes().settled_history(id).await?;
    let moved = server.client.changes().move_history(id, history.last, control).await?;
    let (refused, conflicts) = moved.refused.unzip();
    let position = position(&server.client.changes().history(id).await?);
    Ok(Json(Moves { changes: moved.changes, position, refused, conflicts: conflicts.unwrap_or_default() }))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HandedOff {
    /// The new session.
    session: SessionId,
    /// The session that was handed off.
    parent_session_id: SessionId,
    /// Change sets that only the new one can move from now on.
    change_sets: Vec<ChangeSetId>,
    /// What its input begins with.
    prefill: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Extended {
    session: SessionId,
    /// Its new document.
    extension: ExtensionId,
}

async fn settled(server: &Shared, id: &SessionId, control: Control) -> Result<SessionFact, Failure> {
    server.client.sessions().get(id).await?;
    let (history, _) = server.client.changes().settled_history(id).await?;
    match server.client.sessions().settle(id, history.last, control).await? {
        SessionFact::Refused { reason } => Err(Failure::new(StatusCode::CONFLICT, "refused", reason)),
        fact => Ok(fact),
    }
}

fn unexpected() -> Failure {
    Failure::new(StatusCode::CONFLICT, "busy", "Another undo or redo was requested at the same time.")
        .hint("Try again.")
}

async fn hand_off(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<HandedOff>, Failure> {
    match settled(&server, &id, Control::Handoff).await? {
        SessionFact::Handoff { child, change_sets, prefill } => {
            Ok(Json(HandedOff { session: child, parent_session_id: id, change_sets, prefill }))
        }
        _ => Err(unexpected()),
    }
}

async fn extend_it(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<Extended>, Failure> {
    match settled(&server, &id, Control::Extend).await? {
        SessionFact::Extended { extension } => Ok(Json(Extended { session: id, extension })),
        _ => Err(unexpected()),
    }
}
