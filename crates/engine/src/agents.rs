//! Agents: whom work can be handed to, and what a worker gets from the file of its agent.

use trimtab_vocab::wording::ProblemText;
use trimtab_vocab::{
    AgentFact, AgentText, CallId, ListedAgent, Mode, Problem, ProblemKind, Request, RequestId, RunSettings, SubTask,
    SubTaskPlan,
};

use crate::acceptance::is_accepted;
use crate::calls;
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{LoadedAgent, RunningRequest, Session};
use crate::tokens::estimate;
use crate::tools;
use crate::transition::Transition;
use crate::words;

/// The share of the window that the instructions of an agent may take: one of this many parts.
const SHARE: u64 = 4;

/// The agents that the words or the options of a request call. A name in the words may be a file as well.
pub(crate) fn called(request: &Request) -> Vec<String> {
    let settings = &request.settings.subtasks;
    if settings.is_worker || request.ask.is_some() || request.picture.is_some() {
        return Vec::new();
    }
    match &settings.agent {
        Some(name) => vec![name.clone()],
        None if matches!(request.mode, Mode::Auto | Mode::Implement) => words::agents_of(request),
        None => Vec::new(),
    }
}

/// Those of them whose instructions are there, each once.
pub(crate) fn ready<'a>(session: &'a Session, active: &RunningRequest) -> Vec<&'a LoadedAgent> {
    let current = |name: &String| session.agents().current(name);
    let is_usable =
        |loaded: &&LoadedAgent| is_accepted(session, &loaded.agent) && is_near(session, active, &loaded.agent);
    called(&active.request).iter().filter_map(current).filter(is_usable).collect()
}

/// Whether an agent may be used at all: nothing of a folder is, before the folder is trusted.
fn is_near(session: &Session, active: &RunningRequest, agent: &ListedAgent) -> bool {
    !agent.project || permit::is_trusted(session, active)
}

/// The agents that the model may hand work to.
pub(crate) fn visible_agents<'a>(
    session: &'a Session,
    active: &'a RunningRequest,
) -> impl Iterator<Item = &'a ListedAgent> {
    let is_usable = |agent: &&ListedAgent| !agent.pending && is_near(session, active, agent);
    session.agents().listed.iter().filter(is_usable)
}

/// The agents of a plan whose instructions are not there yet. The error is for the model that made the plan.
pub(crate) fn missing(
    session: &Session,
    active: &RunningRequest,
    plan: &SubTaskPlan,
) -> Result<Vec<ListedAgent>, String> {
    let mut missing: Vec<ListedAgent> = Vec::new();
    for name in plan.tasks.iter().filter_map(|task| task.agent.as_ref()) {
        let Some(agent) = visible_agents(session, active).find(|agent| agent.name == *name) else {
            let names: Vec<&str> = visible_agents(session, active).map(|agent| agent.name.as_str()).collect();
            let is_pending = session.agents().listed.iter().any(|agent| agent.name == *name && agent.pending);
            return Err(match names.is_empty() {
                _ if is_pending && permit::is_trusted(session, active) => format!(
                    "the user has not accepted the agent {name} as it is now. They can call @agent-{name} to read and accept it"
                ),
                true => format!("there is no agent named {name}, and there are no others"),
                false => format!("there is no agent named {name}. The agents are: {}", names.join(", ")),
            });
        };
        if session.agents().current(name).is_none() && !missing.contains(agent) {
            missing.push(agent.clone());
        }
    }
    Ok(missing)
}

/// Records the instructions of an agent, for the workers that follow. The caller has checked that it is accepted.
pub(crate) fn load(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: Option<&CallId>,
    read: &AgentText,
) -> Result<(), Problem> {
    let name = &read.agent.name;
    let window = step.session.active().map_or(0, |active| calls::model(&active.request).1.window);
    if estimate(read.body()) > window / SHARE {
        let problem = Problem::new(ProblemKind::Usage, ProblemText::AgentTooLarge(visible(name), window));
        return Err(problem.hint(ProblemText::AgentTooLargeHint));
    }
    let is_known = step.session.agents().loaded.get(name);
    let is_known =
        is_known.is_some_and(|known| known.agent.hash == read.agent.hash && known.agent.path == read.agent.path);
    if !is_known {
        let agent = Box::new(ListedAgent { pending: false, ..read.agent.clone() });
        let text = read.body().to_owned();
        step.emit(Some(request), AgentFact::Loaded { call: call.cloned(), agent, text });
    }
    Ok(())
}

/// The model of an agent's worker; none if the user has not set up the one that it asks for.
pub(crate) fn model_of(agent: &ListedAgent, settings: &RunSettings) -> Option<String> {
    let wanted = agent.limits.model.as_ref()?;
    settings.worker_models().into_iter().map(|(name, _)| name).find(|name| name == wanted)
}

/// The settings of a worker with what its agent takes away. `limit`: model calls of the request at most.
pub(crate) fn narrow(settings: &mut RunSettings, agent: Option<&LoadedAgent>, active: &RunningRequest, limit: u32) {
    let pill = active.request.pill.as_ref().map(|pill| &pill.tools).filter(|tools| !tools.is_empty());
    let skills = active.tools.narrowed.as_ref().map(|narrowed| &narrowed.tools);
    let own = agent.and_then(|loaded| loaded.agent.limits.tools.as_ref());
    let mut tools: Option<Vec<String>> = None;
    for allowed in [pill, skills, own].into_iter().flatten() {
        tools = Some(match tools {
            Some(known) => known.into_iter().filter(|tool| allowed.contains(tool)).collect(),
            None => allowed.clone(),
        });
    }
    settings.subtasks.tools = tools;
    let Some(LoadedAgent { agent, .. }) = agent else { return };
    settings.subtasks.without_tools.clone_from(&agent.limits.without_tools);
    settings.models.effort = agent.limits.effort.or(settings.models.effort);
    if let Some(turns) = agent.limits.max_turns {
        // A file of the folder only lowers the limit; the user's own raises it unless a setting says otherwise.
        let is_bounded = agent.project || settings.models.steps_chosen;
        settings.models.max_steps = if is_bounded { turns.min(limit) } else { turns };
        settings.models.steps_chosen = true;
    }
}

/// Whether the worker of this request may use a tool.
pub(crate) fn allows(request: &Request, tool: &str) -> bool {
    let settings = &request.settings.subtasks;
    let is_named = |tools: &[String]| tools.iter().any(|known| known == tool);
    let is_free = tools::SHARED_TOOLS.contains(&tool)
        || tools::registry().get(tool).is_some_and(|known| known.category.is_none());
    is_free || (settings.tools.as_deref().is_none_or(is_named) && !is_named(&settings.without_tools))
}

/// Why the worker of this request may not use a tool.
pub(crate) fn refusal(request: &Request, tool: &str) -> Option<String> {
    if allows(request, tool) {
        return None;
    }
    let allowed = match request.settings.subtasks.tools.as_deref() {
        Some([]) => " It allows no other tools.".to_owned(),
        Some(tools) => format!(" It allows: {}.", tools.join(", ")),
        None => String::new(),
    };
    Some(format!("The agent or skill that this worker works for does not allow {tool}.{allowed}"))
}

/// What lists call a task of an agent.
pub(crate) fn title(agent: &str, task: &SubTask) -> String {
    let name = task.name();
    if name.starts_with(agent) { name.to_owned() } else { format!("{agent}: {name}") }
}
