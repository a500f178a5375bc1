//! The agents of a session: those that there are, and those that were put to work.

use std::collections::BTreeMap;

use trimtab_vocab::{AgentFact, ListedAgent};

use super::Session;

/// The agents, as they were recorded last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionAgents {
    pub(crate) listed: Vec<ListedAgent>,
    /// The instructions of agents, by name. In the session of a worker, there is at most its own.
    pub(crate) loaded: BTreeMap<String, LoadedAgent>,
    /// The model was offered agents. Its list of tools stays the same from then on.
    pub(crate) is_offered: bool,
}

/// An agent with the instructions of its workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedAgent {
    pub(crate) agent: ListedAgent,
    pub(crate) text: String,
}

impl SessionAgents {
    /// The instructions of an agent, if they are those of the version in the list.
    pub(crate) fn current(&self, name: &str) -> Option<&LoadedAgent> {
        let listed = self.listed.iter().find(|agent| agent.name == name)?;
        self.loaded.get(name).filter(|loaded| loaded.agent.path == listed.path && loaded.agent.hash == listed.hash)
    }
}

impl Session {
    pub(crate) fn agents(&self) -> &SessionAgents {
        &self.extensions.agents
    }

    /// The agent that this session works as, if it is a worker's.
    pub(crate) fn own_agent(&self) -> Option<&LoadedAgent> {
        self.lineage.role.as_ref().and_then(|_| self.extensions.agents.loaded.values().next())
    }

    pub(super) fn fold_agent(&mut self, fact: &AgentFact) {
        let agents = &mut self.extensions.agents;
        match fact {
            AgentFact::Listed { agents: listed } => {
                agents.is_offered |= listed.iter().any(|agent| !agent.pending);
                agents.listed.clone_from(listed);
            }
            AgentFact::Loaded { agent, text, .. } => {
                let loaded = LoadedAgent { agent: ListedAgent::clone(agent), text: text.clone() };
                agents.loaded.insert(agent.name.clone(), loaded);
            }
        }
    }
}
