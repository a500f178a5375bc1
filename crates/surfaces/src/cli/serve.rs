//! `trimtab serve`: the HTTP API and the browser's program.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use trimtab_host::ServerLock;
use trimtab_vocab::format;
use trimtab_vocab::{Mode, Problem, ProblemKind, SubtaskStart};

use super::output::{note, print, sanitize};
use super::{CliOutcome, background, browser, demo, place};
use crate::http::{self, Certificate, Idea, Start};

const EXAMPLES: &str = "\
Examples:
  trimtab serve --open                  open the page in your browser
  trimtab token login                   create a login link for another browser
  ssh -L 7420:127.0.0.1:7420 MACHINE    reach it from another machine through SSH";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// Listen on this address (port 0 picks a free port)
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7420")]
    addr: String,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Accept this host name as well (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Allow non-loopback connections without TLS (traffic is not encrypted)
    #[arg(long)]
    allow_remote: bool,
    /// Use TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Use this private key for TLS (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Start new sessions in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Serve {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let certificate = match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => Some(Certificate::read(chain, key)?),
            _ => None,
        };
        let addresses = self.addresses(certificate.is_some()).await?;
        let (profile, client) = place::open(&[])?;
        let client = client.on("http");
        let mut lock = ServerLock::take(&profile.data)?;
        let listener = TcpListener::bind(addresses.as_slice()).await.map_err(|error| {
            Problem::new(ProblemKind::Usage, format!("Cannot listen on {}: {error}.", self.addr))
                .hint("Another program may listen there. Choose another port, or 0 for any: --addr 127.0.0.1:0")
        })?;
        let there = listener.local_addr().map_err(|error| {
            Problem::new(ProblemKind::Internal, format!("Cannot read the server's address: {error}."))
        })?;
        let names = self.names(there);
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let name = self.host.first().or(names.first()).cloned().unwrap_or_else(|| there.ip().to_string());
        let url = format!("{scheme}://{name}:{}", there.port());
        trimtab_host::raise_file_limit();
        // That the address is not told is no reason not to serve.
        if let Err(error) = lock.tell(&url) {
            note(&format!("note: Other commands will not know where the server is: {error}."));
        }
        let login = format!("{url}/login?token={}", client.admin().add_login().await?);
        // Before anybody knows that it is there: whoever does may tell it to end.
        let ending = signals()?;
        print(&format!("Trimtab is running at {url}\nLog in once, within 15 minutes: {login}\n"))?;
        if self.open {
            browser::open(&login);
        }
        match client.serve().await? {
            0 => {}
            left => note(&format!("Resuming interrupted work in {}.", format::plural(left, "session"))),
        }
        // The recorded model knows two requests, and nobody should have to guess them.
        let is_recorded = profile.model.as_deref() == Some("replay/demo");
        let ideas = if is_recorded { demo_ideas() } else { Vec::new() };
        let serving = client.clone();
        http::serve(Start { client: serving, profile, folder, ideas, listener, names, certificate, announce }, ending)
            .await
            .map_err(|error| Problem::new(ProblemKind::Internal, format!("The server failed: {error}.")))?;
        client.requests().end_workers().await;
        background::end_with_program(&client).await;
        note("The server stopped. Running requests continue when it starts again, or with `trimtab resume`.");
        Ok(CliOutcome::Done)
    }

    /// Where to listen, if that is safe.
    async fn addresses(&self, secure: bool) -> Result<Vec<SocketAddr>, Problem> {
        let found = tokio::net::lookup_host(&self.addr).await.map_err(|error| {
            Problem::new(ProblemKind::Usage, format!("Invalid address {}: {error}.", self.addr))
                .hint("Name a host and a port, for example 127.0.0.1:7420.")
        })?;
        let addresses: Vec<SocketAddr> = found.collect();
        if !secure && !self.allow_remote && addresses.iter().any(|address| !address.ip().is_loopback()) {
            return Err(Problem::new(
                ProblemKind::Usage,
                format!("{} accepts connections from other machines, and the traffic is not encrypted.", self.addr),
            )
            .hint(
                "Give a certificate (--tls-cert, --tls-key), or listen on 127.0.0.1 behind a tunnel such as \
                 `ssh -L`. --allow-remote overrides this check.",
            ));
        }
        Ok(addresses)
    }

    /// What the server may be called by.
    fn names(&self, there: SocketAddr) -> Vec<String> {
        let mut names = match there.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => vec!["127.0.0.1".to_owned(), "localhost".into()],
            IpAddr::V6(ip) if ip.is_unspecified() => vec!["[::1]".into(), "127.0.0.1".into(), "localhost".into()],
            IpAddr::V4(ip) => vec![ip.to_string()],
            IpAddr::V6(ip) => vec![format!("[{ip}]")],
        };
        if there.ip().is_loopback() {
            names.push("localhost".into());
        }
        names.extend(self.host.iter().cloned());
        names
    }
}

/// Shows a line of the server to whoever started it.
fn announce(line: &str) {
    note(&sanitize(line));
}

/// Rings at the first signal to end; the second one ends the process where it stands.
fn signals() -> Result<impl Future<Output = ()>, Problem> {
    let listen = |kind| {
        signal(kind).map_err(|error| Problem::new(ProblemKind::Internal, format!("Cannot handle signals: {error}.")))
    };
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        note("Stopping. Press Ctrl-C again to stop immediately.");
        tokio::spawn(async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            std::process::exit(130);
        });
    })
}
/// What the recorded model can do.
fn demo_ideas() -> Vec<Idea> {
    let (request, parts) = (demo::REQUEST.to_owned(), demo::SUBTASKS.to_owned());
    vec![
        Idea { text: request, mode: Mode::Plan, subtasks: None },
        Idea { text: parts, mode: Mode::Auto, subtasks: Some(SubtaskStart::Ask) },
    ]
}
