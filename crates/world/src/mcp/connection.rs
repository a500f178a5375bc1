//! A connection to one server.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientNotification, ClientRequest, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, Implementation, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, PeerRequestOptions, RequestContext,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;

use super::asking::{CallAsker, RunningCalls};
use super::http::{BoundedHttp, HttpError, LastRefusal};
use super::lines::{INVALID_RESPONSE, LineTransport};
use super::results::ToolCollector;
use super::stderr::LastLines;
use super::{
    CONNECT, LARGEST_MESSAGE, LoginRefusal, MOST_PAGES, McpAddress, McpError, ToolAnswer, ToolList, plain, results,
};
use crate::models::causes;
use crate::sandbox::server;

/// How often one call can ask for input.
const MOST_ROUNDS: usize = 20;
/// Bytes of an error that are shown.
const LONGEST_ERROR: usize = 600;

/// A server that is initialized. It ends when this is dropped.
pub struct Connection {
    service: RunningService<RoleClient, Handler>,
    errors: LastLines,
    changes: watch::Receiver<u64>,
    calls: Arc<RunningCalls>,
    refusal: LastRefusal,
}

/// Our side of the protocol.
struct Handler {
    changed: watch::Sender<u64>,
    version: ProtocolVersion,
    calls: Arc<RunningCalls>,
}

impl ClientHandler for Handler {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|times| *times += 1);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|times| *times += 1);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|times| *times += 1);
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.calls.note_progress();
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.calls.elicit(request).await)
    }

    fn get_info(&self) -> ClientConfig {
        let ours = Implementation::new("trimtab", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(Default::default()).with_url(Default::default()));
        let mut info = ClientConfig::new(capabilities, ours);
        info.protocol_version = self.version.clone();
        info
    }
}

impl Connection {
    /// Connects, within [`CONNECT`].
    pub async fn open(address: &McpAddress) -> Result<Self, McpError> {
        let (errors, refusal) = (LastLines::default(), LastRefusal::default());
        let opened = timeout(CONNECT, Self::connect(address, &errors, &refusal)).await;
        if !matches!(opened, Ok(Ok(_)))
            && let Some(refused) = taken(&refusal)
        {
            return Err(McpError::LoginNeeded(refused));
        }
        match opened {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(reason)) => {
                // What a process writes before it ends arrives a moment after its end.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(not_started(reason, &errors.get()))
            }
            Err(_) => {
                let reason = format!("The server did not answer within {} s.", CONNECT.as_secs());
                Err(not_started(reason, &errors.get()))
            }
        }
    }

    async fn connect(address: &McpAddress, errors: &LastLines, refusal: &LastRefusal) -> Result<Self, String> {
        let (changed, changes) = watch::channel(0);
        let calls = Arc::new(RunningCalls::default());
        let handler = |version| Handler { changed: changed.clone(), version, calls: Arc::clone(&calls) };
        let failed = |error| match error {
            ClientInitializeError::TransportError { error, .. } => {
                format!("Cannot connect to the server: {}.", unreachable_reason(error.error.as_ref()))
            }
            error => format!("The server failed to initialize: {}.", shown(&error)),
        };
        let service = match address {
            McpAddress::Process(process) => {
                let mut pipes = server::start(process).map_err(|error| format!("Cannot start the server: {error}."))?;
                tokio::spawn(errors.clone().read(pipes.stderr));
                // It is waited for, so that it does not stay among the processes after its end.
                tokio::spawn(async move { pipes.supervisor.wait().await });
                let transport = LineTransport::new(pipes.stdout, pipes.stdin);
                let handler = handler(ProtocolVersion::V_2025_11_25);
                serve_client_with_lifecycle(handler, transport, ClientLifecycleMode::Initialize)
                    .await
                    .map_err(failed)?
            }
            McpAddress::Http { url, headers, login } => {
                let client = BoundedHttp::new(url, login.clone(), refusal)?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(header_map(headers)?)
                    .max_sse_event_size(LARGEST_MESSAGE)
                    .reinit_on_expired_session(true);
                let transport = || StreamableHttpClientTransport::with_client(client.clone(), config.clone());
                let newest = ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                    legacy_version: Some(ProtocolVersion::V_2025_11_25),
                };
                let own = handler(ProtocolVersion::V_2026_07_28);
                match serve_client_with_lifecycle(own, transport(), newest).await {
                    // An older server that answers every method it does not know with an empty result, and not with
                    // an error, as the fall-back expects.
                    Err(ClientInitializeError::ExpectedInitResult(_)) => {
                        let older = handler(ProtocolVersion::V_2025_11_25);
                        serve_client_with_lifecycle(older, transport(), ClientLifecycleMode::Initialize)
                            .await
                            .map_err(failed)?
                    }
                    initialized => initialized.map_err(failed)?,
                }
            }
        };
        Ok(Self { service, errors: errors.clone(), changes, calls, refusal: Arc::clone(refusal) })
    }

    /// The tools. `trusted`: what the server says of them counts.
    pub async fn tools(&self, trusted: bool) -> Result<ToolList, McpError> {
        let has_tools = self.service.peer().peer_info().is_none_or(|info| info.capabilities.tools.is_some());
        if !has_tools {
            return Ok(ToolList::default());
        }
        match timeout(CONNECT, self.list(trusted)).await {
            Ok(listed) => listed.map_err(|error| self.failed(error)),
            Err(_) => Err(McpError::NotConnected(format!(
                "The server did not list its tools within {} s.",
                CONNECT.as_secs()
            ))),
        }
    }

    async fn list(&self, trusted: bool) -> Result<ToolList, ServiceError> {
        let mut collector = ToolCollector::default();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = self.service.peer().list_tools(params).await?;
            if !page.tools.into_iter().all(|tool| collector.add(tool, trusted)) {
                return Ok(collector.list);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(collector.list);
            }
        }
        collector.list.notes.push(format!("Only the first {MOST_PAGES} pages of tools are used."));
        Ok(collector.list)
    }

    /// Calls a tool. If this is dropped, the server gets a cancellation. `asker` gets what the server asks the user;
    /// without it, questions are cancelled.
    pub async fn call(
        &self,
        tool: &str,
        input: Map<String, Value>,
        asker: Option<CallAsker>,
    ) -> Result<ToolAnswer, McpError> {
        let running = self.calls.begin(asker);
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
        for _ in 0..MOST_ROUNDS {
            let required = match self.call_once(params.clone()).await? {
                ServerResult::CallToolResult(result) => return Ok(results::answer(result)),
                ServerResult::InputRequiredResult(required) => required,
                _ => return Err(McpError::Unknown("The server returned an unexpected response.".to_owned())),
            };
            // By the newer protocol, the server has let go of the call, and gets it again with the answers.
            let requests = required.input_requests.unwrap_or_default();
            params.input_responses = Some(running.fulfil(requests).await.map_err(McpError::Refused)?);
            params.request_state = required.request_state;
        }
        Err(McpError::Refused(format!("The server asked for input more than {MOST_ROUNDS} times.")))
    }

    async fn call_once(&self, params: CallToolRequestParams) -> Result<ServerResult, McpError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (peer, options) = (self.service.peer(), PeerRequestOptions::no_options());
        let handle = peer.send_cancellable_request(request, options).await.map_err(|error| self.failed(error))?;
        let mut cancel = CancelGuard { peer: peer.clone(), request: Some(handle.id.clone()) };
        let answered = self
            .calls
            .within_limits(handle.await_response())
            .await
            .map_err(|limit| McpError::Unknown(format!("The call timed out after {} s.", limit.as_secs())))?;
        cancel.request = None;
        answered.map_err(|error| self.failed(error))
    }

    /// Whether the server has gone.
    pub fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Counts how often the server said that one of its lists has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// The last lines of the server's standard error.
    pub fn last_errors(&self) -> Vec<String> {
        self.errors.get()
    }

    /// The server's own name and version, and the revision of the protocol.
    pub fn about(&self) -> String {
        let Some(info) = self.service.peer().peer_info() else { return String::new() };
        let named = info.server_info.as_ref().map(|server| format!("{} {}, ", server.name, server.version));
        plain(&format!("{}protocol {}", named.unwrap_or_default(), info.protocol_version.as_str()), LONGEST_ERROR)
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn failed(&self, error: ServiceError) -> McpError {
        if let Some(refused) = taken(&self.refusal) {
            return McpError::LoginNeeded(refused);
        }
        match error {
            ServiceError::McpError(error) => refusal(&error),
            ServiceError::Timeout { timeout } => {
                McpError::Unknown(format!("The call timed out after {} s.", timeout.as_secs()))
            }
            error => {
                let reason = format!("The connection to the server ended: {}.", shown(&error));
                McpError::Unknown(with_lines(reason, &self.errors.get()))
            }
        }
    }
}

/// Why the last request was refused for want of a login. It counts once.
fn taken(refusal: &LastRefusal) -> Option<LoginRefusal> {
    refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// An error that came in place of a result.
pub(super) fn refusal(error: &ErrorData) -> McpError {
    let text = plain(&error.message, LONGEST_ERROR);
    match error.code == INVALID_RESPONSE {
        true => McpError::Unknown(format!("The response of the server is not valid: {text}")),
        false => McpError::Refused(format!("The server refused: {text}")),
    }
}

/// Tells the server when a call is no longer waited for.
struct CancelGuard {
    peer: Peer<RoleClient>,
    request: Option<rmcp::model::RequestId>,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let peer = self.peer.clone();
        let params = CancelledNotificationParam::new(Some(request), Some("The user stopped it.".to_owned()));
        let told = ClientNotification::CancelledNotification(CancelledNotification::new(params));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { peer.send_notification(told).await });
        }
    }
}

fn header_map(headers: &[(String, SecretString)]) -> Result<HashMap<http::HeaderName, http::HeaderValue>, String> {
    let header = |(name, value): &(String, SecretString)| {
        let wrong = || format!("The header {name} of the MCP server is not valid.");
        let mut secret = http::HeaderValue::from_str(value.expose_secret()).map_err(|_| wrong())?;
        secret.set_sensitive(true);
        Ok((http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, secret))
    };
    headers.iter().map(header).collect()
}

/// An error with its causes, as the end of a sentence.
fn shown(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    plain(text.trim_end_matches('.'), LONGEST_ERROR)
}

/// Why nothing came through, without the names of the client's own layers.
fn unreachable_reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(HttpError::Client(error)) = cause.downcast_ref() {
            return causes(error);
        }
        next = cause.source();
    }
    shown(error)
}

fn not_started(reason: String, lines: &[String]) -> McpError {
    match lines.last() {
        Some(last) => McpError::NotStarted { reason, output: last.clone() },
        None => McpError::NotConnected(reason),
    }
}

fn with_lines(reason: String, lines: &[String]) -> String {
    match lines.last() {
        Some(last) => format!("{reason} Its last output: {last}"),
        None => reason,
    }
}
