//! Skills: what the model knows of them, and how one becomes part of the prompt.
//!
//! Those of a folder are used only as the user has accepted them (`acceptance.rs`).

use trimtab_vocab::event::{Level, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{CallId, ListedSkill, RequestId, SkillFact, SkillText};

use super::{batch, prompt};
use crate::Effect;
use crate::acceptance::{self, Acceptance, is_accepted};
use crate::fragment::Fragment;
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{Progress, RunningRequest, Session};
use crate::tokens::estimate;
use crate::tools::{self, ToolAction};
use crate::transition::Transition;

/// The share of the window that the list of skills, and that of agents, may take: one of this many parts.
const LIST_SHARE: u64 = 100;
/// The same for the texts of all loaded skills together.
const LOADED_SHARE: u64 = 4;
/// Bytes of a skill's note. The file of a skill is smaller, so nothing is ever cut.
const NOTE: usize = 96 * 1024;
/// Letters of a description, in the order in which the list is tried.
const DESCRIPTIONS: [usize; 5] = [1024, 400, 160, 60, 0];

const LIST_HEADING: &str =
    "Skills hold instructions for some kinds of work. Load one with use_skill before you begin with such work:";
const LIST_GONE: &str = "There are no longer any skills.";
const SKILL_GONE: &str = "This skill no longer applies.";

/// The skills are known. `called` is the one that the user calls.
pub(crate) fn listed(
    step: &mut Transition<'_>,
    request: &RequestId,
    skills: Vec<ListedSkill>,
    called: Option<Box<SkillText>>,
) {
    let Some(active) = super::active(step, request) else { return };
    let is_due = active.phase == crate::record::Phase::Loading || super::awaits_instructions(step.session);
    if !is_due {
        return;
    }
    note(step, request, skills);
    let wanted = step.session.active().and_then(|active| active.request.pill.as_ref()?.skill.clone());
    match (called, wanted) {
        (Some(called), _) => load_called(step, request, &called),
        (None, Some(name)) if !step.session.skills().loaded.contains_key(&name) => {
            step.notify(request, Level::Warning, Notice::SkillMissing(visible(&name)));
        }
        _ => {}
    }
}

/// Whether the skill that the user calls is still to be read: the user has accepted it since the skills were listed, so
/// what was loaded before the answer is not what the request needs. The next list has it as accepted, or not at all.
pub(super) fn is_awaited(session: &Session, active: &RunningRequest) -> bool {
    let wanted = active.request.pill.as_ref().and_then(|pill| pill.skill.as_ref());
    let is_due = |skill: &ListedSkill| Some(&skill.name) == wanted && skill.pending && is_accepted(session, skill);
    session.skills().listed.iter().any(is_due)
}

/// Records the skills if they have changed.
fn note(step: &mut Transition<'_>, request: &RequestId, skills: Vec<ListedSkill>) {
    let marked = |skill: ListedSkill| ListedSkill { pending: !is_accepted(step.session, &skill), ..skill };
    let skills: Vec<ListedSkill> = skills.into_iter().map(marked).collect();
    let known = &step.session.skills().listed;
    if skills == *known {
        return;
    }
    let is_new = |skill: &&ListedSkill| skill.pending && !known.contains(skill);
    let pending: Vec<String> = skills.iter().filter(is_new).map(|skill| visible(&skill.name)).collect();
    step.emit(Some(request), SkillFact::Listed { skills });
    if !pending.is_empty() {
        step.notify(request, Level::Warning, Notice::SkillsPending(pending.join(", ")));
    }
}

/// The user has called a skill. One of the folder that is not accepted is asked about.
fn load_called(step: &mut Transition<'_>, request: &RequestId, called: &SkillText) {
    if !is_accepted(step.session, &called.skill) {
        if let Some(Acceptance::Unattended(state)) = acceptance::ask(step, &called.skill, &called.text) {
            step.notify(request, Level::Warning, Notice::InstructionsUnused(state));
        }
        return;
    }
    match load(step, request, None, called) {
        Ok(_) => {}
        Err(notice) => step.notify(request, Level::Warning, notice),
    }
}

/// Makes a skill part of the prompt, and returns what the model is told. A version that is there already is not
/// loaded again.
fn load(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: Option<&CallId>,
    text: &SkillText,
) -> Result<String, Notice> {
    let ListedSkill { name, path, hash, project, tools, .. } = &text.skill;
    let loaded = &step.session.skills().loaded;
    if is_in_force(step.session, &text.skill) {
        return Ok(already_loaded(name));
    }
    let shown = shown(text);
    let window = step.session.active().map_or(0, |active| prompt::model(&active.request).1.window);
    let others = loaded.iter().filter(|(known, _)| *known != name);
    let tokens: u64 = others.map(|(_, skill)| estimate(&skill.text)).sum::<u64>() + estimate(&shown);
    if tokens > window / LOADED_SHARE || shown.len() > NOTE {
        return Err(Notice::SkillTooLarge(name.clone(), window));
    }
    let fact = SkillFact::Loaded {
        call: call.cloned(),
        name: name.clone(),
        path: path.clone(),
        hash: hash.clone(),
        project: *project,
        text: shown,
        tools: tools.clone(),
    };
    step.emit(Some(request), fact);
    let narrowed = match tools {
        Some(tools) if tools.is_empty() => {
            " Until the request ends, no tools that touch anything may be used.".to_owned()
        }
        Some(tools) => format!(" Until the request ends, only these tools may be used: {}.", tools.join(", ")),
        None => String::new(),
    };
    Ok(format!("The skill {name} is loaded. Its instructions follow as a note.{narrowed}"))
}

/// Whether this version of a skill is loaded, and its restriction of tools holds. A restriction ends with its request,
/// so the next request that uses the skill records it again.
fn is_in_force(session: &Session, skill: &ListedSkill) -> bool {
    let ListedSkill { name, path, hash, tools, .. } = skill;
    let is_loaded = session.skills().loaded.get(name).is_some_and(|known| known.hash == *hash && known.path == *path);
    let narrowed = session.active().and_then(|active| active.tools.narrowed.as_ref());
    is_loaded && (tools.is_none() || narrowed.is_some_and(|narrowed| narrowed.is_by(name)))
}

fn already_loaded(name: &str) -> String {
    format!("The skill {name} is already loaded. Its instructions are in a note of this conversation.")
}

/// What the model reads of a skill: word for word what the file says.
fn shown(text: &SkillText) -> String {
    let folder = text.skill.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let mut shown = format!("Instructions of the skill {}. Its folder is {folder}.", text.skill.name);
    if !text.files.is_empty() {
        shown.push_str(&format!(" use_skill reads its other files by `file`: {}.", text.files.join(", ")));
    }
    shown.push('\n');
    shown.push_str(text.body());
    shown
}

/// The model wants a skill, or a file of one.
pub(super) fn begin(step: &mut Transition<'_>, request: RequestId, call: &CallId, name: &str, file: Option<&str>) {
    let Some(active) = step.session.active() else { return };
    let skills = step.session.skills();
    let Some(skill) = visible_skills(step.session, active).find(|skill| skill.name == name) else {
        let is_pending = skills.listed.iter().any(|skill| skill.name == name && skill.pending);
        let names: Vec<&str> = visible_skills(step.session, active).map(|skill| skill.name.as_str()).collect();
        let (status, text) = match names.is_empty() {
            _ if is_pending && permit::is_trusted(step.session, active) => (ToolStatus::Blocked, not_accepted(name)),
            true => (ToolStatus::Error, format!("There is no skill named {name}, and there are no others.")),
            false => {
                (ToolStatus::Error, format!("There is no skill named {name}. The skills are: {}.", names.join(", ")))
            }
        };
        return batch::finished(step, call, status, text);
    };
    if is_in_force(step.session, skill) && file.is_none() {
        return batch::finished(step, call, ToolStatus::Ok, already_loaded(name));
    }
    let (skill, file) = (Box::new(skill.clone()), file.map(str::to_owned));
    step.request(Effect::ReadSkill { request, call: call.clone(), skill, file });
}

fn not_accepted(name: &str) -> String {
    format!(
        "The user has not accepted the skill {name} as it is now, so it cannot be used. They can call /{name} to read and accept it."
    )
}

/// A skill was read for a call.
pub(crate) fn read(step: &mut Transition<'_>, call: &CallId, skill: Option<Box<SkillText>>, problem: Option<String>) {
    let Some((request, item)) = batch::find(step, call) else { return };
    if item.progress != Progress::Started || !matches!(item.action.as_deref(), Ok(ToolAction::UseSkill { .. })) {
        return;
    }
    let (status, text) = match skill {
        None => (ToolStatus::Error, problem.unwrap_or_else(|| "The skill cannot be read.".to_owned())),
        // The file may have changed since it was listed.
        Some(skill) if !is_accepted(step.session, &skill.skill) => {
            (ToolStatus::Blocked, not_accepted(&skill.skill.name))
        }
        Some(skill) => match load(step, &request, Some(call), &skill) {
            Ok(text) => (ToolStatus::Ok, text),
            Err(notice) => (ToolStatus::Error, notice.to_string()),
        },
    };
    batch::finished(step, call, status, text);
    batch::advance(step);
}

/// The skills that the model may load.
fn visible_skills<'a>(session: &'a Session, active: &RunningRequest) -> impl Iterator<Item = &'a ListedSkill> {
    let is_trusted = permit::is_trusted(session, active);
    session
        .skills()
        .listed
        .iter()
        .filter(move |skill| !skill.pending && !skill.manual && (is_trusted || !skill.project))
}

/// The list of skills, and the texts of those that were loaded.
pub(super) fn fragments(session: &Session, active: &RunningRequest, can_load: bool) -> Vec<Fragment> {
    let is_trusted = permit::is_trusted(session, active);
    let window = prompt::model(&active.request).1.window;
    let visible = visible_skills(session, active);
    let entries: Vec<(&str, &str)> = visible.map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
    let list = if can_load { list(LIST_HEADING, &entries, window) } else { String::new() };
    let loaded = session.skills().loaded.iter().map(|(name, skill)| {
        let text = if is_trusted || !skill.project { skill.text.clone() } else { String::new() };
        Fragment::volatile(format!("skill {name}"), text, NOTE, SKILL_GONE)
    });
    [Fragment::volatile("skills", list, NOTE, LIST_GONE)].into_iter().chain(loaded).collect()
}

/// Names and descriptions in a hundredth of the window: with shorter descriptions, and at last without those that do not
/// fit, which is said.
pub(super) fn list(heading: &str, entries: &[(&str, &str)], window: u64) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let most = window / LIST_SHARE;
    let line = |(name, description): &(&str, &str), letters: usize| {
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        match letters {
            0 => format!("\n- {name}"),
            _ if description.chars().count() <= letters => format!("\n- {name}: {description}"),
            _ => format!("\n- {name}: {}…", description.chars().take(letters).collect::<String>().trim_end()),
        }
    };
    let whole = |letters: usize| {
        let lines: String = entries.iter().map(|entry| line(entry, letters)).collect();
        format!("{heading}{lines}")
    };
    if let Some(list) = DESCRIPTIONS.iter().map(|letters| whole(*letters)).find(|list| estimate(list) <= most) {
        return list;
    }
    let end = |left: usize| format!("\n- and {left} more, whose names you can ask the user for");
    let mut list = heading.to_owned();
    for (at, entry) in entries.iter().enumerate() {
        let line = line(entry, 0);
        let left = entries.len() - at;
        if estimate(&list) + estimate(&line) + estimate(&end(left)) > most {
            list.push_str(&end(left));
            break;
        }
        list.push_str(&line);
    }
    // A window in which not even this fits has no room for a list.
    if estimate(&list) > most { String::new() } else { list }
}

/// Why a tool may not be used, because of a skill that was loaded for this request. Skills only take tools away.
pub(super) fn refusal(active: &RunningRequest, tool: &str) -> Option<String> {
    let narrowed = active.tools.narrowed.as_ref()?;
    let is_free = tools::registry().get(tool).is_some_and(|known| known.category.is_none());
    if is_free || narrowed.tools.iter().any(|known| known == tool) {
        return None;
    }
    let allowed = if narrowed.tools.is_empty() { "none".to_owned() } else { narrowed.tools.join(", ") };
    Some(format!("The loaded skill ({}) does not allow {tool}. It allows: {allowed}.", narrowed.skill))
}
