//! What a hook has said: parsed before anything follows from it.

use serde_json::{Map, Value};
use trimtab_vocab::{HookEvent, HookOutcome};

use super::plan::MARK;
use crate::Ran;

/// Bytes of standard output that are read. A hook that writes more counts as failed.
const LONGEST: usize = 64 * 1024;
/// Bytes of a reason or of a text for the model.
const LONGEST_TEXT: usize = 8 * 1024;
/// The exit code that refuses.
const REFUSES: i32 = 2;

/// What a hook came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookReport {
    pub(crate) outcome: HookOutcome,
    pub(crate) exit_code: Option<i32>,
    pub(crate) reason: Option<String>,
    /// Other arguments for the call, as the hook names them.
    pub(crate) input: Option<Value>,
    /// What the model reads because of it.
    pub(crate) message: Option<String>,
}

impl HookReport {
    pub(crate) fn failed(how: impl Into<String>) -> Self {
        Self { outcome: HookOutcome::Failed, reason: Some(shortened(&how.into())), ..Self::default() }
    }
}

/// Reads what a hook has said.
pub(crate) fn read(event: HookEvent, ran: &Ran) -> HookReport {
    if let Some(how) = failure(ran) {
        return HookReport::failed(how);
    }
    let Some((output, code, errors)) = parts(&ran.output) else {
        return HookReport::failed(match ran.signal {
            Some(signal) => format!("it was ended by signal {signal}"),
            None => "it was ended before it was over".to_owned(),
        });
    };
    let report = HookReport { exit_code: Some(code), ..HookReport::default() };
    match code {
        0 if output.len() > LONGEST => {
            HookReport { exit_code: Some(0), ..HookReport::failed("it wrote more than 64 KB") }
        }
        0 => said(event, output, report),
        REFUSES => {
            let reason = [errors, output].into_iter().map(str::trim).find(|text| !text.is_empty());
            let reason = shortened(reason.unwrap_or("it gives no reason"));
            blocked(event, reason, report)
        }
        code => {
            let how = match code {
                126 => "it cannot be started (exit code 126)".to_owned(),
                127 => "there is no such program (exit code 127)".to_owned(),
                129..=159 => format!("it was ended by signal {}", code - 128),
                _ => format!("exit code {code}"),
            };
            let last = errors.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let how = last.map_or_else(|| how.clone(), |line| format!("{how}: {line}"));
            HookReport { exit_code: Some(code), ..HookReport::failed(how) }
        }
    }
}

/// How a hook failed before it could say anything.
fn failure(ran: &Ran) -> Option<String> {
    let Ran { timed_out, stopped, lost, not_started, blocked, output_bytes, .. } = ran;
    match (not_started, blocked) {
        (Some(why), _) | (None, Some(why)) => Some(why.trim_end_matches('.').to_owned()),
        _ if *timed_out => Some("it took too long".to_owned()),
        _ if *stopped => Some("it was stopped".to_owned()),
        _ if *lost => Some("its end is not known".to_owned()),
        _ if *output_bytes > 0 => Some("it wrote too much".to_owned()),
        _ => None,
    }
}

/// Standard output, the exit code, and standard error.
fn parts(output: &str) -> Option<(&str, i32, &str)> {
    let (before, after) = output.rsplit_once(MARK)?;
    let (code, errors) = after.split_once('\n')?;
    Some((before.strip_suffix('\n').unwrap_or(before), code.trim().parse().ok()?, errors))
}

/// A hook that ended well: it may have said something.
fn said(event: HookEvent, output: &str, report: HookReport) -> HookReport {
    let output = output.trim();
    if output.is_empty() {
        return report;
    }
    if !output.starts_with('{') {
        return match event {
            // Their plain words are for the model.
            HookEvent::SessionStart | HookEvent::UserPromptSubmit => {
                HookReport { message: Some(shortened(output)), ..report }
            }
            // A check that says something unreadable has not said yes.
            HookEvent::PreToolUse | HookEvent::PermissionRequest => {
                HookReport { exit_code: report.exit_code, ..HookReport::failed("its output is not JSON") }
            }
            _ => report,
        };
    }
    let answer = match serde_json::from_str::<Value>(output) {
        Ok(Value::Object(answer)) => answer,
        _ => return HookReport { exit_code: report.exit_code, ..HookReport::failed("its output is not JSON") },
    };
    decided(event, &answer, report.clone())
        .unwrap_or_else(|how| HookReport { exit_code: report.exit_code, ..HookReport::failed(how) })
}

/// What the fields of an answer decide. The error says what cannot be read.
fn decided(event: HookEvent, answer: &Map<String, Value>, report: HookReport) -> Result<HookReport, String> {
    let none = Map::new();
    let own = match answer.get("hookSpecificOutput") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(own)) => own,
        Some(_) => return Err("hookSpecificOutput is not an object".to_owned()),
    };
    let word = |from: &Map<String, Value>, name: &str| match from.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(shortened(text))),
        Some(_) => Err(format!("{name} is not a text")),
    };
    let reason = word(own, "permissionDecisionReason")?.or(word(answer, "reason")?).or(word(answer, "stopReason")?);
    let because = || reason.clone().unwrap_or_else(|| "it gives no reason".to_owned());
    let (decision, input) = match event {
        // `{"decision": {"behavior": "deny", "message": …}}`
        HookEvent::PermissionRequest if own.get("decision").is_some() => {
            let Some(Value::Object(inner)) = own.get("decision") else {
                return Err("decision is not an object".into());
            };
            let behavior = word(inner, "behavior")?;
            let reason = word(inner, "message")?.or_else(|| reason.clone());
            let report = HookReport { reason, ..report.clone() };
            return choice(event, behavior.as_deref(), report, inner.get("updatedInput").cloned());
        }
        _ => (word(own, "permissionDecision")?.or(word(answer, "decision")?), own.get("updatedInput").cloned()),
    };
    if answer.get("continue") == Some(&Value::Bool(false)) && event != HookEvent::Stop {
        return Ok(blocked(event, because(), report));
    }
    let message = word(own, "additionalContext")?;
    choice(event, decision.as_deref(), HookReport { reason, message, ..report }, input)
}

fn choice(
    event: HookEvent,
    decision: Option<&str>,
    report: HookReport,
    input: Option<Value>,
) -> Result<HookReport, String> {
    let input = match input.filter(|input| !input.is_null()) {
        Some(Value::Object(input)) if matches!(event, HookEvent::PreToolUse) => Some(Value::Object(input)),
        Some(Value::Object(_)) | None => None,
        Some(_) => return Err("updatedInput is not an object".to_owned()),
    };
    let reason = report.reason.clone().unwrap_or_else(|| "it gives no reason".to_owned());
    match decision {
        None => Ok(HookReport { input, ..report }),
        Some("allow" | "approve") => Ok(HookReport { outcome: HookOutcome::Allowed, input, ..report }),
        Some("ask") => Ok(HookReport { outcome: HookOutcome::Asked, reason: Some(reason), input, ..report }),
        Some("deny" | "block") => Ok(blocked(event, reason, report)),
        Some(other) => Err(format!("it decides \"{other}\", which is unknown")),
    }
}

/// A refusal. What has happened already cannot be refused: the model reads the reason.
fn blocked(event: HookEvent, reason: String, report: HookReport) -> HookReport {
    let message = match event {
        HookEvent::PostToolUse => Some(format!("[A hook objects to this: {reason}]")),
        HookEvent::Stop => Some(format!("[A hook asks you to continue: {reason}]")),
        _ => report.message.clone(),
    };
    let outcome = match event {
        HookEvent::Notification | HookEvent::PreCompact | HookEvent::SessionEnd | HookEvent::SessionStart => {
            HookOutcome::Passed
        }
        _ => HookOutcome::Blocked,
    };
    HookReport { outcome, reason: Some(reason), message, ..report }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.len() > LONGEST_TEXT {
        true => format!("{}…", &text[..text.floor_char_boundary(LONGEST_TEXT)]),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(output: &str, code: i32, errors: &str) -> Ran {
        Ran { exit_code: Some(0), output: format!("{output}\n{MARK}{code}\n{errors}"), ..Ran::default() }
    }

    #[test]
    fn answers_are_read_as_their_format_says() {
        use HookEvent::{PermissionRequest, PostToolUse, PreToolUse, Stop, UserPromptSubmit};
        use HookOutcome::{Allowed, Asked, Blocked, Failed, Passed};
        let pre = |decision: &str| {
            format!(
                r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{decision}","permissionDecisionReason":"why"}}}}"#
            )
        };
        let cases = [
            (PreToolUse, String::new(), 0, "", Passed, None),
            (PreToolUse, pre("allow"), 0, "", Allowed, Some("why")),
            (PreToolUse, pre("deny"), 0, "", Blocked, Some("why")),
            (PreToolUse, pre("ask"), 0, "", Asked, Some("why")),
            (PreToolUse, pre("maybe"), 0, "", Failed, Some("it decides \"maybe\", which is unknown")),
            (PreToolUse, r#"{"decision":"block","reason":"no"}"#.into(), 0, "", Blocked, Some("no")),
            (PreToolUse, r#"{"continue":false,"stopReason":"no"}"#.into(), 0, "", Blocked, Some("no")),
            (PreToolUse, "fine".into(), 0, "", Failed, Some("its output is not JSON")),
            (PreToolUse, "{\"a\":".into(), 0, "", Failed, Some("its output is not JSON")),
            (
                PreToolUse,
                r#"{"hookSpecificOutput":1}"#.into(),
                0,
                "",
                Failed,
                Some("hookSpecificOutput is not an object"),
            ),
            (PreToolUse, String::new(), 2, "Do not.\n", Blocked, Some("Do not.")),
            (PreToolUse, String::new(), 1, "a\nb\n", Failed, Some("exit code 1: b")),
            (PreToolUse, String::new(), 127, "", Failed, Some("there is no such program (exit code 127)")),
            (PreToolUse, String::new(), 137, "", Failed, Some("it was ended by signal 9")),
            (PostToolUse, "formatted 1 file".into(), 0, "", Passed, None),
            (UserPromptSubmit, "Today is Monday.".into(), 0, "", Passed, None),
            (Stop, r#"{"decision":"block","reason":"Run the tests."}"#.into(), 0, "", Blocked, Some("Run the tests.")),
            (
                PermissionRequest,
                r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}}"#.into(),
                0,
                "",
                Blocked,
                Some("no"),
            ),
        ];
        for (event, output, code, errors, outcome, reason) in cases {
            let report = read(event, &ran(&output, code, errors));
            assert_eq!((report.outcome, report.reason.as_deref()), (outcome, reason), "{event:?} {output} {code}");
        }
        let report = read(UserPromptSubmit, &ran("Today is Monday.", 0, ""));
        assert_eq!(report.message.as_deref(), Some("Today is Monday."));
    }

    #[test]
    fn whatever_goes_wrong_is_a_failure() {
        let fails = [
            Ran { timed_out: true, ..Ran::default() },
            Ran { stopped: true, ..Ran::default() },
            Ran { lost: true, ..Ran::default() },
            Ran { not_started: Some("No such folder.".into()), ..Ran::default() },
            Ran { blocked: Some("There are no namespaces.".into()), ..Ran::default() },
            Ran { signal: Some(9), ..Ran::default() },
            Ran { exit_code: Some(0), ..Ran::default() },
            Ran { output_bytes: 1 << 30, ..ran("", 0, "") },
            ran(&"x".repeat(LONGEST + 1), 0, ""),
        ];
        for ran in fails {
            let report = read(HookEvent::PreToolUse, &ran);
            assert_eq!(report.outcome, HookOutcome::Failed, "{report:?}");
            assert!(report.reason.is_some());
        }
    }
}
