//! A session whole, as one JSON object, with its change history in the documented shape. It is written piece by
//! piece: a history may hold more than fits into memory.

use std::collections::BTreeMap;
use std::path::Path;

use crate::subtask_documents::SubtaskDocuments;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use trimtab_host::compare::is_text;
use trimtab_host::{Client, SessionRow, Set};
use trimtab_vocab::event::{AnswerFact, BugFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{Answer, Event, Fact, FileWrite, GeneratedImage, Problem, RequestId, SessionId, Time, Usage};

/// Pieces that wait for whoever writes them.
const PIECES: usize = 8;

/// A session as lists show it.
pub(crate) fn about(row: &SessionRow) -> Value {
    json!({
        "id": row.id, "docType": "chat", "parentSessionId": row.parent, "forkedAt": row.forked, "folder": row.folder,
        "title": row.title, "created": row.created, "updated": row.updated,
    })
}

/// The pieces of a session's object, in order. A problem is the last of them, and the object is not whole then.
pub(crate) fn pieces(client: Client, row: SessionRow) -> mpsc::Receiver<Result<String, Problem>> {
    let (to, pieces) = mpsc::channel(PIECES);
    tokio::spawn(async move {
        if let Err(ExportStop::Problem(problem)) = write(&client, &row, &to).await {
            // Whoever has gone does not need to know.
            let _ = to.send(Err(problem)).await;
        }
    });
    pieces
}

/// Why an object is not written to its end.
enum ExportStop {
    /// Nobody reads it any more.
    Unread,
    Problem(Problem),
}

impl From<Problem> for ExportStop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

async fn write(
    client: &Client,
    row: &SessionRow,
    to: &mpsc::Sender<Result<String, Problem>>,
) -> Result<(), ExportStop> {
    let print = async |piece: String| to.send(Ok(piece)).await.map_err(|_| ExportStop::Unread);
    let head = about(row).to_string();
    print(head.strip_suffix('}').unwrap_or(&head).to_owned()).await?;
    print(r#","events":["#.to_owned()).await?;
    let mut last = 0;
    let mut bugs = Vec::new();
    let mut extensions = Vec::new();
    let mut subtasks = SubtaskDocuments::default();
    let mut ends: BTreeMap<RequestId, RequestEnd> = BTreeMap::new();
    loop {
        let page = client.sessions().events(&row.id, last).await?;
        if page.is_empty() {
            break;
        }
        for event in page {
            let comma = if last == 0 { "" } else { "," };
            last = event.seq.unwrap_or(last);
            bugs.extend(bug(&event));
            subtasks.observe(&event);
            if let Some(request) = &event.request {
                ends.entry(request.clone()).or_default().observe(&event.fact);
            }
            if let Fact::Session(SessionFact::Extended { extension }) = &event.fact {
                extensions.push(json!({
                    "id": extension, "docType": "extension", "sessionId": row.id, "number": extensions.len() + 1,
                    "timestamp": event.time, "fromSeq": last,
                }));
            }
            print(format!("{comma}{}", json!(event))).await?;
        }
    }
    print(format!(r#"],"bugs":{},"extensions":{},"#, json!(bugs), json!(extensions))).await?;
    if !subtasks.is_empty() {
        let (all, context, runs) = (json!(subtasks.all()), subtasks.context(&row.id), subtasks.runs());
        print(format!(r#""subtasks":{all},"subtaskContext":{context},"subtaskRuns":{runs},"workers":["#)).await?;
        for (at, (subtask, worker)) in subtasks.workers().iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            print(format!(r#"{comma}{{"subtaskId":{},"session":{},"events":["#, json!(subtask), json!(worker))).await?;
            let (mut last, mut comma) = (0, "");
            loop {
                let page = client.sessions().events(worker, last).await?;
                let Some(end) = page.last().and_then(|event| event.seq) else { break };
                for event in &page {
                    print(format!("{comma}{}", json!(event))).await?;
                    comma = ",";
                }
                last = end;
            }
            print("]}".to_owned()).await?;
        }
        print("],".to_owned()).await?;
    }
    print(r#""pairs":["#.to_owned()).await?;
    // The log is read once more: all answers of a long session need not fit into memory.
    let gallery = client.gallery().list(&row.id).await?;
    let (mut seen, mut comma) = (0, "");
    loop {
        let page = client.sessions().events(&row.id, seen).await?;
        let Some(end) = page.last().and_then(|event| event.seq) else { break };
        for (event, request) in page.iter().filter_map(|event| Some((event, event.request.as_ref()?))) {
            let end = ends.entry(request.clone()).or_default();
            if let Some(pair) = end.pair(event, request, &gallery) {
                print(format!("{comma}{pair}")).await?;
                comma = ",";
            }
        }
        seen = end;
    }
    let history = client.changes().history(&row.id).await?;
    print(r#"],"changeHistory":{"history":["#.to_owned()).await?;
    let mut named = i64::MIN;
    for (at, set) in history.sets.iter().enumerate() {
        // Two sets of the same millisecond have names of their own all the same.
        named = set.time.millis().max(named.saturating_add(1));
        let comma = if at == 0 { "" } else { "," };
        print(format!("{comma}{}", entry(client, row, set, named, at < history.in_force).await?)).await?;
    }
    // The index of the current set; below zero: none is.
    print(format!("],\"position\":{}}}}}\n", history.in_force as i64 - 1)).await
}

/// A bug as the session's document lists it.
fn bug(event: &Event) -> Option<Value> {
    let Fact::Bug(BugFact { kind, by, message }) = &event.fact else { return None };
    Some(json!({"type": kind, "by": by, "message": message, "request": event.request, "time": event.time}))
}

/// How a request stands at the end of the log, and what of it was said on the way there.
#[derive(Default)]
struct RequestEnd {
    /// Absent: it has not ended.
    status: Option<Status>,
    usage: Usage,
    answers: usize,
    text: String,
    time: Option<Time>,
}

impl RequestEnd {
    /// On the first way through the log.
    fn observe(&mut self, fact: &Fact) {
        match fact {
            Fact::Answer(_) => self.answers += 1,
            Fact::Request(RequestFact::Finished { status, usage, .. }) => {
                (self.status, self.usage) = (Some(*status), *usage);
            }
            Fact::Request(RequestFact::Reopened {}) => self.status = None,
            _ => {}
        }
    }

    /// On the second: what a request came to, whole, with its pictures as they are now in their places. One that has
    /// no answer, or not yet, has a pair all the same.
    fn pair(&mut self, event: &Event, request: &RequestId, gallery: &[GeneratedImage]) -> Option<Value> {
        let structured = match &event.fact {
            Fact::Request(RequestFact::Received { text, .. }) => {
                (self.text, self.time) = (text.clone(), Some(event.time));
                if self.answers > 0 {
                    return None;
                }
                None
            }
            Fact::Answer(AnswerFact { answer }) => {
                let now = |made: &GeneratedImage| gallery.iter().find(|picture| picture.id == made.id).cloned();
                let generated_images = answer.generated_images.iter().filter_map(now).collect();
                Some(Answer { generated_images, ..answer.clone() })
            }
            _ => return None,
        };
        let status = self.status.map_or_else(|| json!("pending"), |status| json!(status));
        Some(json!({
            "docType": "chat-pair", "request": request, "timestamp": self.time, "text": self.text, "status": status,
            "structured": structured, "usage": self.usage,
        }))
    }
}

/// One set. What goes beyond the documented fields has names of its own.
async fn entry(client: &Client, row: &SessionRow, set: &Set, named: i64, applied: bool) -> Result<Value, Problem> {
    let mut files = Vec::new();
    let mut total = [0; 3];
    for write in &set.writes {
        let (entry, stats) = file(client, &row.id, &row.folder, write).await?;
        files.push(entry);
        total.iter_mut().zip(stats).for_each(|(sum, one)| *sum += one);
    }
    let id = format!("cs-{named}");
    // Names come from the time, and a set keeps its time: it is called here what its parent called it.
    let inherited = set.inherited.then(|| id.clone());
    Ok(json!({
        "id": id, "sessionId": row.id, "parentChangeSetId": inherited, "timestamp": set.time, "files": files,
        "totalStats": stats(total), "applied": applied,
        "changeSet": set.id, "undoes": set.undoes, "costUsd": set.cost,
    }))
}

fn stats([added, removed, modified]: [u64; 3]) -> Value {
    json!({"added": added, "removed": removed, "modified": modified})
}

async fn file(
    client: &Client,
    session: &SessionId,
    folder: &str,
    write: &FileWrite,
) -> Result<(Value, [u64; 3]), Problem> {
    let (before, after) = client.changes().contents(session, write).await?;
    let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    let texts = is_text(old) && is_text(new);
    let counts = [write.added, write.removed, write.modified];
    let name = Path::new(&write.path).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut entry = json!({
        "filePath": format!("{folder}/{}", write.path), "fileName": name, "oldContent": null, "newContent": null,
        "stats": stats(counts), "isNewFile": write.before.is_none(), "isDeletedFile": write.after.is_none(),
    });
    for (name, in_base64, state, bytes) in
        [("oldContent", "oldBase64", &write.before, &before), ("newContent", "newBase64", &write.after, &after)]
    {
        match (state, bytes) {
            // There is no file on this side.
            (None, _) => entry[name] = json!(""),
            // There was one, and its content is not kept any more.
            (Some(_), None) => entry["expired"] = json!(true),
            (Some(_), Some(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) if texts => entry[name] = json!(text),
                _ => entry[in_base64] = json!(BASE64_STANDARD.encode(bytes)),
            },
        }
    }
    if !texts {
        entry["isText"] = json!(false);
    }
    Ok((entry, counts))
}
