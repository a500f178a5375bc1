//! Connections: how many, how slow, and how they end.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use trimtab_vocab::{Problem, ProblemKind};

/// Connections at once; who comes on top of them is turned away.
const CONNECTIONS: usize = 2048;
/// Of them, so many may be of strangers, who have not shown a token yet. Of more, the oldest is given up: whoever opens
/// connections and says nothing shuts nobody out.
const STRANGERS: usize = 512;
/// How long the head of a request may take, and how long a connection may rest between two.
const HEAD: Duration = Duration::from_secs(15);
/// What a head may come to.
const LARGEST_HEAD: usize = 64 * 1024;
/// How long a reader may take nothing of what it is sent. A watcher comes back and goes on where it was.
const STALLED: Duration = Duration::from_secs(30);
/// How long answers that are under way may take when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// What TLS is spoken with.
pub(crate) struct Certificate(TlsAcceptor);

impl Certificate {
    /// Reads a chain of certificates and its key, both in PEM.
    pub(crate) fn read(chain: &Path, key: &Path) -> Result<Self, Problem> {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let wrong = |file: &Path, why: String| {
            Problem::new(ProblemKind::Usage, format!("{} cannot be used for TLS: {why}.", file.display()))
                .hint("--tls-cert and --tls-key name files in PEM, as certificate authorities hand them out.")
        };
        let certificates = CertificateDer::pem_file_iter(chain)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(chain, error.to_string()))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private))
            .map_err(|error| wrong(chain, error.to_string()))?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

/// A server that listens.
pub(crate) struct Listening {
    pub(super) listener: TcpListener,
    pub(super) certificate: Option<Certificate>,
    pub(super) router: Router,
    pub(super) going: watch::Receiver<bool>,
}

impl Listening {
    /// Takes connections until the server ends, then waits for those that are there, for a while.
    pub(super) async fn run(mut self) -> io::Result<()> {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let strangers = Arc::new(Strangers::default());
        let mut count = 0;
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.going.changed() => break,
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept() => accepted,
            };
            let (socket, peer) = match accepted {
                Ok((socket, peer)) => (socket, PeerAddress(peer.ip().to_canonical())),
                Err(error) => {
                    // No more files may be open, or the caller has gone: neither is the end of the server.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                tracing::warn!("too many connections");
                continue;
            };
            count += 1;
            let stranger = strangers.enter(count);
            let (router, going) = (self.router.clone(), self.going.clone());
            let tls = self.certificate.as_ref().map(|certificate| certificate.0.clone());
            let task = connections.spawn(async move {
                let _place = place;
                let known = stranger.0.clone();
                drop(socket.set_nodelay(true));
                match tls {
                    None => serve_connection(Patient::new(socket), router, (known, peer), going).await,
                    Some(tls) => match timeout(HEAD, tls.accept(Patient::new(socket))).await {
                        Ok(Ok(stream)) => serve_connection(stream, router, (known, peer), going).await,
                        _ => tracing::debug!("the client did not use TLS"),
                    },
                }
                drop(stranger);
            });
            strangers.watch(count, task);
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        drop(timeout(FAREWELL, all).await);
        Ok(())
    }
}

/// Connections on which no token was shown yet, by their number: the lowest is the oldest.
#[derive(Debug, Default)]
struct Strangers(Mutex<BTreeMap<u64, Option<AbortHandle>>>);

impl Strangers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Option<AbortHandle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a connection on the list before it is served, so that it cannot leave the list before it is on it.
    fn enter(self: &Arc<Self>, number: u64) -> Stranger {
        self.all().insert(number, None);
        Stranger(ConnectionSlot { number, strangers: Arc::clone(self) })
    }

    /// Notes what ends a connection that is still on the list, and gives up the oldest if there are too many.
    fn watch(&self, number: u64, task: AbortHandle) {
        let mut all = self.all();
        if let Some(entry) = all.get_mut(&number) {
            *entry = Some(task);
        }
        while all.len() > STRANGERS {
            if let Some((_, Some(oldest))) = all.pop_first() {
                oldest.abort();
            }
        }
    }
}

/// The place of a connection among the strangers. Each of its requests carries it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionSlot {
    number: u64,
    strangers: Arc<Strangers>,
}

impl ConnectionSlot {
    /// Somebody who is known speaks on this connection: it is not given up for others.
    pub(super) fn keep(&self) {
        self.strangers.all().remove(&self.number);
    }
}

/// The other end of a connection. Each of its requests carries it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerAddress(pub(super) IpAddr);

/// Takes a connection off the list when it ends, however it ends.
struct Stranger(ConnectionSlot);

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.keep();
    }
}

async fn serve_connection<I>(
    io: I,
    router: Router,
    (place, peer): (ConnectionSlot, PeerAddress),
    mut going: watch::Receiver<bool>,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(place.clone());
        request.extensions_mut().insert(peer);
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { drop(going.wait_for(|going| *going).await) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// A socket that gives up a peer which takes nothing of what it is sent.
struct Patient {
    socket: TcpStream,
    /// Runs while the peer takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(socket: TcpStream) -> Self {
        Self { socket, stalled: None }
    }

    /// What came of a write; if it must wait, the patience with it.
    fn judge<T>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + STALLED)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.judge(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.judge(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;

    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;

    /// A server that lives as long as what is given along. Its clock stands still while anything moves, and goes
    /// on to the next timer when nothing does.
    async fn listening(router: Router) -> (SocketAddr, watch::Sender<bool>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (ends, going) = watch::channel(false);
        tokio::spawn(Listening { listener, certificate: None, router, going }.run());
        (address, ends)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_to_its_end_is_waited_for_15_seconds() {
        let (address, _ends) = listening(Router::new()).await;
        for head in ["", "GET / HTTP/1.1\r\nHost: here\r\nX-Slow:"] {
            let begun = Instant::now();
            let mut socket = TcpStream::connect(address).await.expect("connects");
            socket.write_all(head.as_bytes()).await.expect("writes");
            let mut answer = Vec::new();
            // However it is ended, it is ended.
            drop(socket.read_to_end(&mut answer).await);
            assert!(Instant::now() - begun >= HEAD, "{head:?}");
            assert!(!answer.starts_with(b"HTTP/1.1 200"), "{head:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_given_up_after_30_seconds() {
        struct Gone(Option<oneshot::Sender<Instant>>);
        impl Drop for Gone {
            fn drop(&mut self) {
                let _ = self.0.take().map(|gone| gone.send(Instant::now()));
            }
        }
        let (gone, when) = oneshot::channel();
        let gone = Arc::new(std::sync::Mutex::new(Some(Gone(Some(gone)))));
        let endless = move || {
            let gone = gone.lock().expect("nobody panics").take();
            let chunk = Bytes::from(vec![b'x'; 64 * 1024]);
            let stream = futures_util::stream::unfold(gone, move |gone| {
                let chunk = chunk.clone();
                async move { Some((Ok::<_, Infallible>(chunk), gone)) }
            });
            std::future::ready(Body::from_stream(stream))
        };
        let (address, _ends) = listening(Router::new().route("/", get(endless))).await;
        let begun = Instant::now();
        let mut socket = TcpStream::connect(address).await.expect("connects");
        socket.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.expect("writes");
        let given_up = when.await.expect("the stream is dropped");
        assert!(given_up - begun >= STALLED);
        drop(socket);
    }
}
