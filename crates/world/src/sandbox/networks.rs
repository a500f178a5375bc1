//! The networks of sessions: one process of this program holds them, and the user namespace that they belong to.
//!
//! The commands of a session share one network, so that they reach each other's ports and nothing else. A network needs an
//! owner, which is a user namespace, and only those who are in that one can enter the network. So there is one holder for
//! all sessions of this program: supervisors join its user namespace instead of making their own, and a fence enters the
//! network of its session when it has its order. The holder makes a network on request, switches its loopback device on,
//! and listens there. It passes the listening socket on to the host, whose proxy accepts on it: a socket stays in the
//! network in which it was made. So nothing has to run inside, and there is no other way out.
//!
//! The holder ends when the host closes its socket, or dies in any way. Networks end with the holder and their commands.

use std::io::{BufRead as _, BufReader, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::{Deserialize, Serialize};

use super::{SUPERVISE, fence, inherited_fds};

/// The second argument that makes the process the holder.
const NETWORKS: &str = "networks";

/// How long the holder may take to answer. It takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// No other program gets the socket.
#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::empty();

/// More than an answer has.
const LONGEST_ANSWER: usize = 4096;

/// What the host wants of the holder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HolderRequest {
    Open,
    /// The network is no longer used.
    Close(i32),
    /// A socket in this network, to connect to a port there.
    Socket {
        network: i32,
        is_v6: bool,
    },
}

/// A network that the holder has made. The listening socket comes with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct HeldNetwork {
    /// The number of the file by which the holder keeps it,
    number: i32,
    /// and which file that is, so that no other is taken for it.
    inode: u64,
}

/// The answers of the holder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HolderReply {
    Ready,
    Opened(HeldNetwork),
    /// The socket comes with it.
    Made,
    Failed(String),
}

/// The holder of the networks of this program's sessions. It is started when it is needed first.
#[derive(Debug, Clone, Default)]
pub struct NetworkHolder(Arc<Mutex<Option<Holder>>>);

#[derive(Debug)]
struct Holder {
    /// It is not waited for while this is here, so that its number belongs to no other process.
    process: Child,
    socket: UnixStream,
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The network of a session. It is given back when this is dropped.
#[derive(Debug)]
pub struct SessionNetwork {
    holder: NetworkHolder,
    pid: u32,
    held: HeldNetwork,
}

impl SessionNetwork {
    /// Where a command finds it.
    pub(super) fn place(&self) -> (u32, i32, u64) {
        (self.pid, self.held.number, self.held.inode)
    }

    /// A socket in this network that is not connected yet. It waits for the holder.
    pub(crate) fn socket(&self, is_v6: bool) -> Result<OwnedFd, String> {
        let mut kept = lock(&self.holder.0);
        let Some(holder) = kept.as_ref().filter(|holder| holder.process.id() == self.pid) else {
            return Err(ENDED.into());
        };
        let wanted = HolderRequest::Socket { network: self.held.number, is_v6 };
        match send(&holder.socket, &wanted).and_then(|()| receive(&holder.socket)) {
            Ok((HolderReply::Made, Some(socket))) => Ok(socket),
            Ok((HolderReply::Failed(why), _)) => Err(why),
            Ok(_) => Err(NO_SOCKET.into()),
            Err(error) => {
                *kept = None;
                Err(no_answer(&error))
            }
        }
    }

    /// Whether its holder still runs.
    pub fn is_held(&self) -> bool {
        self.holder.running() == Some(self.pid)
    }
}

impl Drop for SessionNetwork {
    fn drop(&mut self) {
        let holder = lock(&self.holder.0);
        if let Some(holder) = holder.as_ref().filter(|holder| holder.process.id() == self.pid) {
            // A few bytes: the socket has room for them. A holder that is gone has given it back.
            let _ = send(&holder.socket, &HolderRequest::Close(self.held.number));
        }
    }
}

impl NetworkHolder {
    /// The process that holds the networks, if it runs.
    pub(super) fn running(&self) -> Option<u32> {
        let mut holder = lock(&self.0);
        running(&mut holder)
    }

    /// The same, started if there is none. It waits for that.
    pub(super) fn start(&self, launcher: &Path) -> Result<u32, String> {
        let mut holder = lock(&self.0);
        if let Some(pid) = running(&mut holder) {
            return Ok(pid);
        }
        let started = start_holder(launcher)?;
        let pid = started.process.id();
        *holder = Some(started);
        Ok(pid)
    }

    /// Makes a network with a listening socket on its loopback device. It waits for that.
    pub fn open(&self, launcher: &Path) -> Result<(SessionNetwork, TcpListener), String> {
        let pid = self.start(launcher)?;
        let mut kept = lock(&self.0);
        let Some(holder) = kept.as_ref().filter(|holder| holder.process.id() == pid) else {
            return Err(ENDED.into());
        };
        let opened = send(&holder.socket, &HolderRequest::Open).and_then(|()| receive(&holder.socket));
        match opened {
            Ok((HolderReply::Opened(held), Some(listener))) => {
                let network = SessionNetwork { holder: self.clone(), pid, held };
                Ok((network, TcpListener::from(listener)))
            }
            Ok((HolderReply::Failed(why), _)) => Err(why),
            Ok(_) => Err(NO_SOCKET.into()),
            Err(error) => {
                // One that does not answer is of no use to the next command either.
                *kept = None;
                Err(no_answer(&error))
            }
        }
    }
}

const ENDED: &str = "The process that holds the networks has ended.";
const NO_SOCKET: &str = "The process that holds the networks gave no socket.";

fn no_answer(error: &std::io::Error) -> String {
    format!("The process that holds the networks does not answer: {error}.")
}

fn running(holder: &mut Option<Holder>) -> Option<u32> {
    let is_over = holder.as_mut().is_some_and(|holder| !matches!(holder.process.try_wait(), Ok(None)));
    if is_over {
        *holder = None;
    }
    holder.as_ref().map(|holder| holder.process.id())
}

fn lock(holder: &Mutex<Option<Holder>>) -> MutexGuard<'_, Option<Holder>> {
    holder.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start_holder(launcher: &Path) -> Result<Holder, String> {
    let failed = |error: std::io::Error| format!("The networks of commands cannot be held: {error}.");
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    ours.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    ours.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut command = super::run::program(launcher);
    // It must not keep a folder busy.
    command.args([SUPERVISE, NETWORKS]).env_clear().current_dir("/");
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
    let process = command.spawn().map_err(failed)?;
    // Its own end is closed here, so that the socket reports its end.
    drop(command);
    let holder = Holder { process, socket: ours };
    match receive(&holder.socket).map_err(failed)? {
        (HolderReply::Ready, _) => Ok(holder),
        (HolderReply::Failed(why), _) => Err(why),
        (HolderReply::Opened(_) | HolderReply::Made, _) => {
            Err("The process that holds the networks gives a wrong answer.".into())
        }
    }
}

fn send(mut socket: &UnixStream, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

/// The next answer, and the socket that came with it.
fn receive(socket: &UnixStream) -> std::io::Result<(HolderReply, Option<OwnedFd>)> {
    let (mut read, mut listener) = (Vec::new(), None);
    while read.last() != Some(&b'\n') {
        let mut bytes = [0_u8; 512];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
        // A child of this program that ends interrupts it.
        let got = match rustix::net::recvmsg(socket.as_fd(), &mut parts, &mut beside, CLOSED_ON_EXEC) {
            Err(rustix::io::Errno::INTR) => continue,
            got => got?,
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(mut files) = message {
                listener = files.next();
            }
        }
        if got.bytes == 0 || read.len() > LONGEST_ANSWER {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        read.extend_from_slice(&bytes[..got.bytes]);
    }
    Ok((serde_json::from_slice(&read)?, listener))
}

/// Whether this process was started as the holder. It may have been restarted to close files that it had inherited, which
/// puts one argument before.
pub(super) fn is_wanted() -> bool {
    std::env::args_os().skip(2).take(2).any(|argument| argument == NETWORKS)
}

/// The whole life of the holder.
pub(super) fn main() -> ExitCode {
    inherited_fds::close();
    let _ = rustix::process::setsid();
    let Ok(stdin) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let socket = UnixStream::from(stdin);
    if let Err(why) = fence::hold_networks() {
        let _ = send(&socket, &HolderReply::Failed(why));
        return ExitCode::FAILURE;
    }
    if send(&socket, &HolderReply::Ready).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(requests) = socket.try_clone() else { return ExitCode::FAILURE };
    let mut held: Vec<(i32, OwnedFd)> = Vec::new();
    for line in BufReader::new(requests).lines().map_while(Result::ok) {
        let answered = match serde_json::from_str(&line) {
            Ok(HolderRequest::Open) => open(&socket, &mut held),
            Ok(HolderRequest::Close(number)) => {
                held.retain(|(known, _)| *known != number);
                Ok(())
            }
            Ok(HolderRequest::Socket { network, is_v6 }) => make_socket(&socket, &held, network, is_v6),
            Err(_) => return ExitCode::FAILURE,
        };
        if answered.is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Makes a network, keeps it, and passes its listening socket on.
fn open(socket: &UnixStream, held: &mut Vec<(i32, OwnedFd)>) -> std::io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let (link, listener) = match fence::session_network() {
        Ok(made) => made,
        Err(why) => return send(socket, &HolderReply::Failed(why)),
    };
    let inode = rustix::fs::fstat(&link)?.st_ino;
    let number = link.as_raw_fd();
    held.push((number, link));
    pass_on(socket, &HolderReply::Opened(HeldNetwork { number, inode }), listener.as_fd())
}

/// Makes a socket in a network and passes it on.
fn make_socket(socket: &UnixStream, held: &[(i32, OwnedFd)], network: i32, is_v6: bool) -> std::io::Result<()> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let known = held.iter().find(|(number, _)| *number == network).ok_or("There is no such network.".to_owned());
    match known.and_then(|(_, link)| fence::socket_in(link, family)) {
        Ok(made) => pass_on(socket, &HolderReply::Made, made.as_fd()),
        Err(why) => send(socket, &HolderReply::Failed(why)),
    }
}

/// Sends an answer with a socket.
fn pass_on(socket: &UnixStream, reply: &HolderReply, made: BorrowedFd<'_>) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let files = [made];
    beside.push(SendAncillaryMessage::ScmRights(&files));
    let sent = rustix::net::sendmsg(socket, &[std::io::IoSlice::new(&line)], &mut beside, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(&line[sent..])
}
