//! Questions to the user before a call continues.

use serde_json::{Value, json};
use trimtab_vocab::checkpoint::{Ask, PermissionAsk, RunPreview};
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::wording::{AnswerLabel, PermissionReason, PermissionTitle, QuestionTitle};
use trimtab_vocab::{ApprovalClass, Approve, Autonomy, CallId, CommandRun, Dialog, ProposalId, Rule, RunSettings};

use super::call::permit_and_act;
use super::ended::finished;
use super::find;
use crate::ProposedChange;
use crate::permit;
use crate::proposal::command;
use crate::record::BatchItem;
use crate::record::names::choice::DENIED;
use crate::tools::ToolAction;
use crate::transition::Transition;
use crate::turn::answers::CheckpointDraft;
use crate::turn::{answers, choosing, overtime};

/// Arguments as they are shown. The reply has them whole; long texts are not stored twice.
pub(super) fn shown(input: &Value) -> Value {
    const LONGEST: usize = 1_000;
    match input {
        Value::String(text) if text.len() > LONGEST => {
            let head = &text[..text.floor_char_boundary(LONGEST)];
            json!(format!("{head}… ({} bytes)", text.len()))
        }
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), shown(value))).collect())
        }
        other => other.clone(),
    }
}

/// What a permission is asked for.
pub(super) struct PermissionRequest {
    pub(super) class: ApprovalClass,
    pub(super) reason: PermissionReason,
    pub(super) rule: Rule,
}

pub(super) fn ask_permission(
    step: &mut Transition<'_>,
    call: &CallId,
    action: &ToolAction,
    item: &BatchItem,
    asked: PermissionRequest,
    run: Option<CommandRun>,
) {
    let PermissionRequest { class, reason, rule } = asked;
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let approve = answers::approve(active);
    let settings = &active.request.settings;
    let is_compact = run.is_some()
        && match settings.commands.dialog {
            Dialog::Auto => active.batch.as_ref().is_some_and(|batch| batch.of_series),
            Dialog::Full => false,
            Dialog::Compact => true,
        };
    let mut choices =
        if is_compact { answers::compact_choices() } else { answers::permission_choices(&settings.style.assistant) };
    // A rule would not answer it the next time.
    let is_destructive = matches!(action, ToolAction::CallServer(call) if call.tool.destructive);
    let is_once = class == ApprovalClass::Unprotected
        || !item.concerns.unsaved.is_empty()
        || is_destructive
        || class == ApprovalClass::Hook
        || matches!(action, ToolAction::Run { command, .. } if !settings.commands.remember_deletes && command::deletes(command));
    if is_once {
        choices.retain(|choice| choice.id != answers::ALWAYS);
    } else if let ToolAction::Run { command, outside: None, .. } = action
        && class == ApprovalClass::Command
        && let Some(prefix) = permit::prefix_rule(step.session, active, command)
    {
        answers::offer_forms(&mut choices, &rule, prefix, settings.commands.plain_prefix);
    }
    let title = title_of(action, item, settings);
    let mut input = shown(&item.call.input);
    if let ToolAction::Run { command, .. } = action {
        // The user agrees to all of it, so nothing of it is cut.
        input["command"] = json!(command);
    }
    if let ToolAction::CallServer(call) = action {
        // The same holds for what a server gets.
        input = Value::Object(call.input.clone());
    }
    let mut ask = PermissionAsk {
        class: Some(class),
        blocked: (class == ApprovalClass::Unprotected).then(|| reason.to_string()),
        reason: Some(reason.to_string()),
        rule_text: (!is_once).then(|| rule.to_string()),
        plan: run.as_ref().map(RunPreview::from),
        fingerprint: run.as_ref().map(permit::fingerprint),
        edited_from: item.origin.edited_from.clone(),
        autonomy: Some(step.session.autonomy_for(settings)).filter(|level| *level != Autonomy::Standard),
        rule: Some(rule),
        ..PermissionAsk::new(call.clone(), &item.call.name, input)
    };
    if let ToolAction::Run { command, timeout_s, .. } = action {
        let words = command::judge(command, &permit::policy(step.session, active)).argv;
        let limit = overtime::limit(&active.request.settings, command, words.as_deref(), *timeout_s);
        if limit.is_asked_for {
            ask.timeout_s = Some(limit.seconds);
        }
    }
    if item.writes.is_some() {
        ask.proposal = Some(ProposalId::for_call(&request, call));
        // Only where there is something to choose from.
        let hunks: u32 = item.hunks.iter().sum();
        if hunks > 1 && choosing::is_divisible(item) {
            ask.hunks = Some(hunks);
        }
    }
    let ask = Ask::Permission(Box::new(ask));
    let Some(checkpoint) = answers::open(step, CheckpointDraft { ask, title: title.into(), choices }) else { return };
    let is_allowed = (item.hooks.before.allows || item.hooks.permission.allows) && !class.needs_person();
    let (choice, by) = match approve {
        // The user's own hook says yes.
        Approve::Ask | Approve::Auto if is_allowed => (answers::ALLOW, "hook"),
        Approve::Ask => return,
        // It stays open until the user answers.
        Approve::Auto if class.needs_person() => return,
        Approve::Auto => (answers::ALLOW, "approve auto"),
        Approve::Deny => (DENIED, "approve deny"),
    };
    answers::resolve(step, &request, checkpoint, choice, by);
    permit_and_act(step, call);
}

/// What is asked. The words are in the catalog.
fn title_of(action: &ToolAction, item: &BatchItem, settings: &RunSettings) -> PermissionTitle {
    match action {
        ToolAction::Run { command, outside: Some(_), .. } => PermissionTitle::RunOutside(command::visible(command)),
        ToolAction::Run { command, .. } if item.check().is_some() => PermissionTitle::Check(command::visible(command)),
        ToolAction::Run { command, .. } => PermissionTitle::Run(command::visible(command)),
        ToolAction::Fetch { url, host } => PermissionTitle::Fetch(host.clone(), command::visible(url)),
        ToolAction::SearchWeb { query } => {
            PermissionTitle::SearchWeb(settings.web_search.clone(), command::visible(query))
        }
        ToolAction::CallServer(call) => PermissionTitle::CallServer(command::visible(&call.title())),
        ToolAction::Change(ProposedChange::Delete { path }) => PermissionTitle::Delete(path.as_str().into()),
        ToolAction::Change(ProposedChange::Move { from, to }) => PermissionTitle::Move(from.clone(), to.clone()),
        ToolAction::Change(ProposedChange::Save { folder, pictures }) => {
            PermissionTitle::Save(pictures.len(), folder.clone())
        }
        ToolAction::Change(change) => item
            .writes
            .as_deref()
            .and_then(PermissionTitle::for_writes)
            .unwrap_or_else(|| PermissionTitle::Change(change.path().into())),
        ToolAction::Read(op) => {
            PermissionTitle::Read(permit::secret_in(op).or(op.path()).unwrap_or(&item.call.name).to_owned())
        }
        _ => PermissionTitle::Use(item.call.name.clone()),
    }
}

/// The model asks the user something.
pub(super) fn ask(step: &mut Transition<'_>, call: &CallId, question: &str, options: &[String]) {
    let Some((_, item)) = find(step, call) else { return };
    if let Some(given) = &item.given {
        let text = match (given.choice.as_str(), &given.text) {
            (answers::OTHER, Some(text)) => format!("The user answers: {text}"),
            (choice, text) => {
                let number = choice.strip_prefix('o').and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
                let label = options.get(number.wrapping_sub(1)).map_or(choice, String::as_str);
                let more = text.as_ref().map(|text| format!(" — {text}")).unwrap_or_default();
                format!("The user chooses: {label}{more}")
            }
        };
        return finished(step, call, ToolStatus::Ok, text);
    }
    let Some(active) = step.session.active() else { return };
    if answers::approve(active) == Approve::Deny {
        let text = "The user is not available to answer. Decide yourself, and state your assumption.".into();
        return finished(step, call, ToolStatus::Blocked, text);
    }
    let mut choices: Vec<_> = options
        .iter()
        .enumerate()
        .map(|(number, label)| answers::choice(&format!("o{}", number + 1), AnswerLabel::Words(label.clone())))
        .collect();
    choices.push(answers::choice(answers::OTHER, AnswerLabel::AnswerInWords));
    choices.push(answers::choice(answers::STOP, AnswerLabel::StopHere));
    let ask = Ask::Question { call: call.clone() };
    answers::open(step, CheckpointDraft { ask, title: QuestionTitle::Words(question.to_owned()), choices });
}
