//! Agents in a turn: what the model knows of them, and how the one that the user calls comes to work.

use trimtab_vocab::event::{Level, RouteDecision, Status};
use trimtab_vocab::wording::{Notice, ProblemText};
use trimtab_vocab::{AgentFact, AgentText, CallId, ListedAgent, Problem, ProblemKind, RequestId};

use super::{batch, prompt, skills};
use crate::acceptance::{self, Acceptance, is_accepted};
use crate::agents;
use crate::finish::finish;
use crate::fragment::Fragment;
use crate::output::AgentQuery;
use crate::proposal::command::visible;
use crate::record::{Progress, RunningRequest, Session};
use crate::tools::ToolAction;
use crate::transition::Transition;

/// Bytes of the list, and of the instructions of an agent.
const NOTE: usize = 96 * 1024;

const LIST_HEADING: &str = "Agents are workers with their own instructions for some kinds of work. Hand work to one with delegate, by agent and task. It knows only what the task says:";
const LIST_GONE: &str = "There are no longer any agents.";

/// Which agents a request needs.
pub(super) fn query(active: &RunningRequest, trusted: bool, works: bool) -> Option<AgentQuery> {
    let called = agents::called(&active.request);
    let is_worker = active.request.settings.subtasks.is_worker;
    let is_needed = works && !is_worker && (!called.is_empty() || (trusted && active.may_use_workers()));
    is_needed.then_some(AgentQuery { with_folder: trusted, called })
}

/// The agents are known. `called` are those that the user calls.
pub(crate) fn listed(
    step: &mut Transition<'_>,
    request: &RequestId,
    listed: Vec<ListedAgent>,
    called: &[AgentText],
    problem: Option<String>,
) {
    let Some(active) = super::active(step, request) else { return };
    let is_due = active.phase == crate::record::Phase::Loading || super::awaits_instructions(step.session);
    if !is_due {
        return;
    }
    note(step, request, listed);
    let Some(active) = step.session.active() else { return };
    let names = agents::called(&active.request);
    let is_chosen = active.request.settings.subtasks.agent.is_some();
    for name in names {
        let read = called.iter().find(|read| read.agent.name == name);
        let is_listed = step.session.agents().listed.iter().any(|agent| agent.name == name);
        let is_missing = read.is_none() && (is_chosen || is_listed);
        if let Some(problem) = problem.clone().filter(|_| is_missing) {
            let problem = Problem::new(ProblemKind::Usage, ProblemText::AgentUnreadable(problem));
            return finish(step, request, Status::Failed, Some(problem.hint(ProblemText::NoSuchAgentHint)));
        }
        match read {
            Some(read) if !begin(step, request, read) => return,
            None if is_chosen => return unknown(step, request, &name),
            Some(_) | None => {}
        }
    }
}

/// Records the agents if they have changed.
fn note(step: &mut Transition<'_>, request: &RequestId, listed: Vec<ListedAgent>) {
    let marked = |agent: ListedAgent| ListedAgent { pending: !is_accepted(step.session, &agent), ..agent };
    let listed: Vec<ListedAgent> = listed.into_iter().map(marked).collect();
    let known = &step.session.agents().listed;
    if listed == *known {
        return;
    }
    let is_new = |agent: &&ListedAgent| agent.pending && !known.contains(agent);
    let pending: Vec<String> = listed.iter().filter(is_new).map(|agent| visible(&agent.name)).collect();
    step.emit(Some(request), AgentFact::Listed { agents: listed });
    if !pending.is_empty() {
        step.notify(request, Level::Warning, Notice::AgentsPending(pending.join(", ")));
    }
}

/// The user has called an agent: one that is not accepted is asked about. Whether the request goes on.
fn begin(step: &mut Transition<'_>, request: &RequestId, read: &AgentText) -> bool {
    if !is_accepted(step.session, &read.agent) {
        match acceptance::ask(step, &read.agent, &read.text) {
            Some(Acceptance::Declined(state) | Acceptance::Unattended(state)) => {
                let text = ProblemText::AgentNotAccepted(state.to_string());
                let problem = Problem::new(ProblemKind::NotDone, text).hint(ProblemText::AgentNotAcceptedHint);
                finish(step, request, Status::NotDone, Some(problem));
            }
            Some(Acceptance::Asked) | None => {}
        }
        return false;
    }
    match agents::load(step, request, None, read) {
        Ok(()) => true,
        Err(problem) => {
            finish(step, request, Status::Failed, Some(problem));
            false
        }
    }
}

fn unknown(step: &mut Transition<'_>, request: &RequestId, name: &str) {
    let Some(active) = step.session.active() else { return };
    let names: Vec<String> = agents::visible_agents(step.session, active).map(|agent| visible(&agent.name)).collect();
    let text = match names.is_empty() {
        true => ProblemText::NoAgents(visible(name)),
        false => ProblemText::NoSuchAgent(visible(name), names.join(", ")),
    };
    let problem = Problem::new(ProblemKind::Usage, text).hint(ProblemText::NoSuchAgentHint);
    finish(step, request, Status::Failed, Some(problem));
}

/// Whether an agent that the user calls is still to be read: the user was asked about it, and what was loaded before
/// the answer is not what the request needs.
pub(super) fn is_awaited(session: &Session, active: &RunningRequest) -> bool {
    let is_listed = |name: &String| session.agents().listed.iter().any(|agent| agent.name == *name);
    let listed = agents::called(&active.request).iter().filter(|name| is_listed(name)).count();
    active.path() == Some(RouteDecision::Direct) && agents::ready(session, active).len() < listed
}

/// The agents in the words of a request that there are not.
pub(super) fn absent(session: &Session, active: &RunningRequest, missing: &[String]) -> Vec<Notice> {
    let is_absent =
        |name: &String| session.agents().current(name).is_none() && missing.contains(&format!("agent-{name}"));
    let names = agents::called(&active.request).into_iter().filter(is_absent);
    names.map(|name| Notice::NoSuchAgent(visible(&name))).collect()
}

/// Agents were read for a call that delegates to them.
pub(crate) fn read(step: &mut Transition<'_>, call: &CallId, agents: &[AgentText], problem: Option<String>) {
    let Some((request, item)) = batch::find(step, call) else { return };
    if item.progress != Progress::Started || !matches!(item.action.as_deref(), Ok(ToolAction::Delegate(_))) {
        return;
    }
    let mut problem = problem;
    for read in agents {
        if problem.is_some() {
            break;
        }
        // The file may have changed since it was listed.
        problem = match is_accepted(step.session, &read.agent) {
            true => agents::load(step, &request, Some(call), read).err().map(|problem| problem.message),
            false => Some(format!("The user has not accepted the agent {} as it is now.", read.agent.name)),
        };
    }
    match problem {
        Some(problem) => {
            let text = format!("Nothing was delegated. {problem}");
            batch::finished(step, call, trimtab_vocab::event::ToolStatus::Error, text);
        }
        None => batch::run_call(step, call),
    }
    batch::advance(step);
}

/// The list of agents, and in the session of a worker its own instructions.
pub(super) fn fragment(session: &Session, active: &RunningRequest) -> Fragment {
    let entries: Vec<(&str, &str)> = match active.may_use_workers() {
        true => agents::visible_agents(session, active)
            .map(|agent| (agent.name.as_str(), agent.description.as_str()))
            .collect(),
        false => Vec::new(),
    };
    let window = prompt::model(&active.request).1.window;
    Fragment::volatile("agents", skills::list(LIST_HEADING, &entries, window), NOTE, LIST_GONE)
}

/// The instructions of the agent that a worker works as. They are the same as long as the session lives.
pub(super) fn own_fragment(session: &Session) -> Option<Fragment> {
    let own = session.own_agent()?;
    let text = format!("\n\nYou work as the agent {}. Its instructions:\n{}", own.agent.name, own.text);
    Some(Fragment::stable("agent instructions", text, NOTE))
}
