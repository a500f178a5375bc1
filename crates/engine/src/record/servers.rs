//! The MCP servers of a session, and the registry with their tools.

use std::sync::Arc;

use trimtab_vocab::ListedServer;

use super::Session;
use crate::tools::{self, ToolRegistry};

/// The servers, as they were recorded last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionServers {
    pub(crate) listed: Vec<ListedServer>,
    /// Their tools are found with a tool. Once that is so, it stays so: the prompt's beginning must not change.
    pub(crate) is_deferred: bool,
    registry: Option<Arc<ToolRegistry>>,
}

impl SessionServers {
    /// The same after a change: these servers are new or have changed, and those are gone.
    pub(super) fn changed(&self, servers: &[ListedServer], gone: &[String], is_deferred: bool) -> Self {
        let is_kept =
            |old: &&ListedServer| !gone.contains(&old.name) && !servers.iter().any(|server| server.name == old.name);
        let mut listed: Vec<ListedServer> = self.listed.iter().filter(is_kept).cloned().collect();
        listed.extend_from_slice(servers);
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        let registry = Some(Arc::new(ToolRegistry::with_servers(&listed, is_deferred)));
        Self { listed, is_deferred, registry }
    }

    /// Whether a server runs or reads a file of the folder. A pending server counts, because it may be approved.
    pub(crate) fn runs(&self, path: &str) -> bool {
        self.listed.iter().any(|server| server.files.iter().any(|file| file == path))
    }

    pub(super) fn registry(&self) -> Option<Arc<ToolRegistry>> {
        self.registry.clone()
    }
}

impl Session {
    /// All tools that there are in this session.
    pub(crate) fn tools(&self) -> &ToolRegistry {
        self.extensions.servers.registry.as_deref().unwrap_or_else(|| tools::registry())
    }

    pub(crate) fn servers(&self) -> &SessionServers {
        &self.extensions.servers
    }
}
