//! Operations on tasks, tried out and applied: `POST /llm/dryrun` and `POST /llm/apply`, as documented.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_host::{ApplyOperations, NotApplied};
use trimtab_vocab::{Applied, DryRun, Operation as TaskOperation, TaskAuthor, Validation};

use super::Shared;
use super::extract::JsonBody;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::todos::example;

/// A proposal may have so many bytes.
const LARGEST: usize = 4 * 1024 * 1024;

pub(super) fn routes(api: Api) -> Api {
    let operation = json!({"op": "complete", "id": 7});
    let operations = json!({"operations": [operation]});
    let summary = json!({"created": 0, "updated": 0, "deleted": 0, "completed": 1});
    let dry_run = RouteOperation::new("post", "dryRunOperations", "llm", "Show what operations on tasks would do")
        .takes::<Proposal>(operations.clone())
        .gives::<DryRun>(
            StatusCode::OK,
            "What each operation would do. Nothing is changed. Warnings need the user's confirmation.",
            json!({"results": [{"op": operation, "valid": true, "errors": [],
                    "preview": {"before": example(), "after": example()}}], "summary": summary}),
        )
        .gives::<Invalid>(StatusCode::BAD_REQUEST, "There are no operations.", invalid_example());
    let apply = RouteOperation::new("post", "applyOperations", "llm", "Apply operations on tasks, all in one step")
        .header(
            "Idempotency-Key",
            "Idempotency key: repeated within ten minutes, the request returns the same answer and changes nothing. Counts \
             before the field `idempotencyKey`.",
            json!({"type": "string", "minLength": 1, "maxLength": 255}),
        )
        .takes::<OperationsBody>(operations)
        .gives::<Applied>(
            StatusCode::OK,
            "The result of each operation. A missing task fails only its own operation.",
            json!({"results": [{"ok": true, "op": operation, "todo": example()}], "summary": summary,
                   "changeSet": "t01kabcdefghjkmnp"}),
        )
        .gives::<Invalid>(StatusCode::BAD_REQUEST, "Some operations are invalid. Nothing was applied.", invalid_example())
        .gives::<Unconfirmed>(
            StatusCode::CONFLICT,
            "The operations touch many tasks and need confirmation. Nothing was applied.",
            json!({"error": "confirmation_required", "message": UNCONFIRMED, "warnings": ["This will delete 21 tasks."],
                   "detail": {"results": [], "summary": summary}}),
        );
    api.add("/llm/dryrun", post(self::dry_run).layer(DefaultBodyLimit::max(LARGEST)), vec![dry_run]).add(
        "/llm/apply",
        post(self::apply).layer(DefaultBodyLimit::max(LARGEST)),
        vec![apply],
    )
}

fn invalid_example() -> Value {
    json!({"error": INVALID, "message": MESSAGE, "detail": {"errors": [INVALID],
        "results": [{"op": {"op": "fly"}, "errors": ["invalid_op: there is no \"fly\""]}]}})
}

const INVALID: &str = "invalid_operations";
const MESSAGE: &str =
    "Some operations were invalid. The assistant may be attempting unsupported or inconsistent changes.";
const UNCONFIRMED: &str = "This touches many tasks. Send it again with \"confirm\": true to confirm.";

/// Operations, in any shape that is understood.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it describes what is read by hand, more leniently")]
struct Proposal {
    /// What to do to tasks.
    operations: Vec<TaskOperation>,
}

/// Operations to apply.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what is read by hand, more leniently")]
struct OperationsBody {
    /// What to do to tasks.
    operations: Vec<TaskOperation>,
    /// The idempotency key, for clients that cannot send headers.
    idempotency_key: Option<String>,
    /// The user has confirmed the large operation.
    confirm: Option<bool>,
}

/// Operations that cannot be applied.
#[derive(Debug, Serialize, JsonSchema)]
struct Invalid {
    /// `invalid_operations`.
    error: &'static str,
    /// The errors of each operation.
    detail: Validation,
    /// In a sentence.
    message: &'static str,
}

/// Operations that need a second word.
#[derive(Debug, Serialize, JsonSchema)]
struct Unconfirmed {
    /// `confirmation_required`.
    error: &'static str,
    /// In a sentence.
    message: &'static str,
    /// The warnings that the user must confirm.
    warnings: Vec<String>,
    /// What they would do.
    detail: DryRun,
}

fn invalid(detail: Validation) -> Response {
    (StatusCode::BAD_REQUEST, Json(Invalid { error: INVALID, detail, message: MESSAGE })).into_response()
}

/// The list of operations, or what is wrong about the body.
fn operations(body: &mut Value) -> Result<Vec<Value>, Validation> {
    let Some(fields) = body.as_object_mut() else {
        return Err(Validation { errors: vec!["invalid_body".into()], results: Vec::new() });
    };
    match fields.get_mut("operations") {
        Some(Value::Array(list)) if !list.is_empty() => Ok(std::mem::take(list)),
        _ => Err(Validation { errors: vec!["missing_operations".into()], results: Vec::new() }),
    }
}

async fn dry_run(State(server): State<Shared>, JsonBody(mut body): JsonBody<Value>) -> Result<Response, Failure> {
    match operations(&mut body) {
        Ok(operations) => Ok(Json(server.tasks()?.dry_run(operations).await?).into_response()),
        Err(validation) => Ok(invalid(validation)),
    }
}

async fn apply(
    State(server): State<Shared>,
    headers: HeaderMap,
    JsonBody(mut body): JsonBody<Value>,
) -> Result<Response, Failure> {
    let operations = match operations(&mut body) {
        Ok(operations) => operations,
        Err(validation) => return Ok(invalid(validation)),
    };
    let header = headers.get("idempotency-key").map(|key| {
        let unreadable =
            || Failure::new(StatusCode::BAD_REQUEST, "usage", "Idempotency-Key has printable letters only.");
        key.to_str().map(str::to_owned).map_err(|_| unreadable())
    });
    let field = body.get("idempotencyKey").and_then(Value::as_str).map(str::to_owned);
    let key = header.transpose()?.or(field);
    let confirmed = body.get("confirm").and_then(Value::as_bool).unwrap_or(false);
    let order = ApplyOperations { operations, by: TaskAuthor::Assistant, key, confirmed };
    match server.tasks()?.apply(order).await {
        Ok(applied) => {
            let done = applied.results.iter().filter(|result| result.ok).count();
            if done > 0 {
                server.client.requests().decide_tasks(done).await;
            }
            Ok(Json(applied).into_response())
        }
        Err(NotApplied::Invalid(validation)) => Ok(invalid(validation)),
        Err(NotApplied::Unconfirmed(dry_run)) => {
            let (error, message) = ("confirmation_required", UNCONFIRMED);
            let body = Unconfirmed { error, message, warnings: dry_run.warnings.clone(), detail: dry_run };
            Ok((StatusCode::CONFLICT, Json(body)).into_response())
        }
        Err(NotApplied::KeyReused) => Err(Failure::unprocessable("This key was used for other operations.")
            .hint("Use a new key for new operations. Nothing was changed.")),
        Err(NotApplied::Problem(problem)) => Err(problem.into()),
    }
}
