//! A port of a session's network that the user opened for a browser on this machine.
//!
//! Commands of a session listen in a network that nothing outside reaches. A forward listens on the loopback device of the
//! machine instead, and copies each connection to one port of that network. It leads in, and never out.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::sandbox::SessionNetwork;

/// Connections at a time. More wait.
const MOST_CONNECTIONS: usize = 64;
/// How long a server may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// An open forward. It ends when this is dropped, and its connections with it.
#[derive(Debug)]
pub struct PortForward {
    port: u16,
    local: u16,
    accepting: AbortHandle,
}

impl Drop for PortForward {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl PortForward {
    /// Listens on the same port of this machine, or on another one if that is taken.
    pub async fn start(network: Arc<SessionNetwork>, port: u16) -> io::Result<Self> {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        };
        let local = listener.local_addr()?.port();
        let accepting = tokio::spawn(accept(listener, network, port)).abort_handle();
        Ok(Self { port, local, accepting })
    }

    /// The port in the network of the session.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of this machine.
    pub fn local(&self) -> u16 {
        self.local
    }
}

async fn accept(listener: TcpListener, network: Arc<SessionNetwork>, port: u16) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((mut ours, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let network = Arc::clone(&network);
        connections.spawn(async move {
            // A server that does not answer closes the connection, as it would without a forward.
            if let Some(mut theirs) = connect(&network, port).await {
                let _ = tokio::io::copy_bidirectional(&mut ours, &mut theirs).await;
            }
            drop(place);
        });
    }
}

/// Connects to the port. Some servers listen on only one kind of address.
async fn connect(network: &Arc<SessionNetwork>, port: u16) -> Option<TcpStream> {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))] {
        let network = Arc::clone(network);
        let made = tokio::task::spawn_blocking(move || network.socket(address.is_ipv6())).await;
        let Ok(Ok(socket)) = made else { continue };
        if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, tcp_socket(socket).connect(address)).await {
            return Some(stream);
        }
    }
    None
}

fn tcp_socket(socket: OwnedFd) -> TcpSocket {
    TcpSocket::from_std_stream(socket.into())
}
