//! The networks of sessions: each is made when a command of the session needs it first, with its proxy.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use trimtab_vocab::SessionId;
use trimtab_world::network::NetworkProxy;
use trimtab_world::sandbox::{NetworkHolder, SessionNetwork};

/// Networks that are kept while no command uses them. One that was given back is made again when it is needed.
const MOST_KEPT: usize = 32;

/// After a failure, commands go without for this long.
const PAUSE: Duration = Duration::from_secs(60);

/// A network, and the way out of it.
#[derive(Debug)]
pub(crate) struct OpenNetwork {
    pub(crate) network: Arc<SessionNetwork>,
    pub(crate) proxy: NetworkProxy,
}

/// The networks of this program's sessions. They end with it.
#[derive(Debug, Default)]
pub(crate) struct SessionNetworks {
    pub(crate) holder: NetworkHolder,
    kept: Mutex<KeptNetworks>,
}

#[derive(Debug, Default)]
struct KeptNetworks {
    /// The one that was used last is last.
    open: Vec<(SessionId, Arc<OpenNetwork>)>,
    failed: Option<(Instant, String)>,
}

impl SessionNetworks {
    /// Gives the network of a session back. Commands that are still in it keep it.
    pub(crate) async fn close(&self, session: &SessionId) {
        self.kept.lock().await.open.retain(|(known, _)| known != session);
    }

    /// The network of a session, or why there is none.
    pub(crate) async fn of_session(&self, session: &SessionId, launcher: &Path) -> Result<Arc<OpenNetwork>, String> {
        let mut kept = self.kept.lock().await;
        if let Some(at) = kept.open.iter().position(|(known, _)| known == session) {
            let (known, network) = kept.open.remove(at);
            if network.network.is_held() {
                kept.open.push((known, Arc::clone(&network)));
                return Ok(network);
            }
        }
        if let Some((_, why)) = kept.failed.as_ref().filter(|(at, _)| at.elapsed() < PAUSE) {
            return Err(why.clone());
        }
        let (holder, launcher) = (self.holder.clone(), launcher.to_owned());
        let opened = tokio::task::spawn_blocking(move || holder.open(&launcher)).await;
        let opened = opened.unwrap_or_else(|error| Err(error.to_string()));
        let opened = opened.and_then(|(network, listener)| {
            let proxy = NetworkProxy::start(listener).map_err(|error| format!("The proxy cannot start: {error}."))?;
            Ok(Arc::new(OpenNetwork { network: Arc::new(network), proxy }))
        });
        match opened {
            Ok(network) => {
                if kept.open.len() >= MOST_KEPT {
                    // One that a command uses stays.
                    let unused = kept.open.iter().position(|(_, network)| Arc::strong_count(network) == 1);
                    unused.map(|at| kept.open.remove(at));
                }
                kept.open.push((session.clone(), Arc::clone(&network)));
                Ok(network)
            }
            Err(why) => {
                kept.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }
}
