//! MCP servers: which of their tools the model gets, and the results of their calls.

use trimtab_vocab::event::{Level, McpFact, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{CallId, ListedServer, ReadResult, RequestId, server_mark};

use super::batch;
use super::prompt;
use crate::Effect;
use crate::record::{Progress, Session};
use crate::tools::{self, ToolRegistry};
use crate::transition::Transition;

/// Tools of servers that a prompt has at most.
const MOST_OFFERED: usize = 40;
/// The share of the window that their definitions may take: one of this many parts.
const WINDOW_SHARE: u64 = 10;

/// The servers and their tools are known, or have changed: the next model call has them. `call` is the search that
/// waited for this.
pub(crate) fn listed(step: &mut Transition<'_>, servers: Vec<ListedServer>, call: Option<&CallId>) {
    note(step, servers);
    if let Some(call) = call {
        show_found(step, call);
        batch::advance(step);
    }
}

/// Records what has changed. The host keeps the tools of a server that cannot be asked again. Tools are not kept by name
/// here, because another entry can have the name by now, and what one server says of its tools says nothing of another's.
pub(super) fn note(step: &mut Transition<'_>, servers: Vec<ListedServer>) {
    let known = step.session.servers();
    let request = step.session.active().map(|active| active.request.id.clone());
    let is_new = |server: &&ListedServer| server.pending && !known.listed.iter().any(|old| old == *server);
    let pending: Vec<&str> = servers.iter().filter(is_new).map(|server| server.name.as_str()).collect();
    let notice = (!pending.is_empty()).then(|| Notice::ServersPending(pending.join(", ")));
    let deferred = is_deferred(step.session, &servers);
    let is_gone = |old: &&ListedServer| !servers.iter().any(|server| server.name == old.name);
    let gone: Vec<String> = known.listed.iter().filter(is_gone).map(|old| old.name.clone()).collect();
    let is_known = |server: &ListedServer| known.listed.contains(server);
    let has_changed = !gone.is_empty() || !servers.iter().all(is_known) || deferred != known.is_deferred;
    // Only what has changed: a server that keeps changing its tools must not write the tools of all others, too.
    let servers: Vec<ListedServer> = servers.into_iter().filter(|server| !is_known(server)).collect();
    if has_changed {
        step.emit(request.as_ref(), McpFact::Listed { servers, gone, deferred });
    }
    if let (Some(notice), Some(request)) = (notice, request) {
        step.notify(&request, Level::Warning, notice);
    }
}

/// Whether the tools stay out of the prompt: there are too many, not all are known yet, or they have changed in this
/// session. Once they are out of it, they stay out, because another list of tools would invalidate the provider's cache.
fn is_deferred(session: &Session, servers: &[ListedServer]) -> bool {
    let known = session.servers();
    if known.is_deferred {
        return true;
    }
    let registry = ToolRegistry::with_servers(servers, false);
    let has_changed = !known.listed.is_empty() && registry != *session.tools();
    let (count, tokens) = registry.server_weight();
    let window = session.active().map_or(u64::MAX, |active| prompt::model(&active.request).1.window);
    let is_open = |server: &ListedServer| is_unknown(server) && server.problem.is_none();
    has_changed || servers.iter().any(is_open) || count > MOST_OFFERED || tokens > window / WINDOW_SHARE
}

/// Whether a server may be used, and its tools are not known.
fn is_unknown(server: &ListedServer) -> bool {
    !server.pending && server.tools.is_none()
}

/// Finds tools. Servers whose tools are not known are connected first, and are waited for a moment.
pub(super) fn find(step: &mut Transition<'_>, request: RequestId, call: &CallId) {
    match step.session.servers().listed.iter().any(is_unknown) {
        true => step.request(Effect::ListServers { request, call: call.clone() }),
        false => show_found(step, call),
    }
}

fn show_found(step: &mut Transition<'_>, call: &CallId) {
    let Some((_, item)) = batch::find(step, call) else { return };
    let (Progress::Started, Ok(tools::ToolAction::FindTool { query })) = (&item.progress, item.action.as_deref())
    else {
        return;
    };
    let mut text = tools::find_server_tools(step.session.tools().definitions(), query);
    for server in &step.session.servers().listed {
        if let Some(problem) = &server.problem {
            text.push_str(&format!("\n{} It cannot be used: {problem}", server_mark(&server.name)));
        }
    }
    let is_connecting = |server: &&ListedServer| is_unknown(server) && server.problem.is_none();
    let connecting: Vec<&str> =
        step.session.servers().listed.iter().filter(is_connecting).map(|server| server.name.as_str()).collect();
    if !connecting.is_empty() {
        text.push_str(&format!(
            "\nMCP servers that are still connecting: {}. Search again later for their tools.",
            connecting.join(", ")
        ));
    }
    batch::finished(step, call, ToolStatus::Ok, text);
}

/// A server has answered a call, or has not.
pub(crate) fn answered(step: &mut Transition<'_>, call: &CallId, seen: ReadResult) {
    let Some((_, item)) = batch::find(step, call) else { return };
    if item.progress == Progress::Acting && item.server_call().is_some() {
        batch::server_answered(step, call, seen);
    }
}
