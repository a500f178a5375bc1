//! A real PostgreSQL server on a temporary cluster.
//!
//! It runs as a user who is not root, on a free port of this machine, and ends with the process that started it, also
//! when that is killed: a shell waits for its pipe to close.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres.sh");

/// A server. When it is dropped, its pipe closes, and it stops.
pub struct PostgresServer {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
    schemas: AtomicU32,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _shell: Child,
}

impl PostgresServer {
    /// The server that all tests of this process share. None, with a word on standard error, where PostgreSQL is not
    /// installed.
    ///
    /// # Panics
    /// When it is required with `TRIMTAB_POSTGRES=require` and missing, or does not start.
    pub fn shared() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
        SERVER.get_or_init(Self::start).as_ref()
    }

    /// A server of one's own, to be crashed and stopped.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn start() -> Option<Self> {
        let Some(bin) = binaries() else {
            let is_required = std::env::var_os("TRIMTAB_POSTGRES").is_some_and(|how| how == "require");
            assert!(!is_required, "PostgreSQL is not installed (Debian: postgresql)");
            eprintln!("SKIPPED: PostgreSQL is not installed (Debian: postgresql)");
            return None;
        };
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a port").port();
        let mut command = if rustix::process::getuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        // The script is handed over as a text: the other user may not be able to read it.
        let script = std::fs::read_to_string(SCRIPT).expect("the script");
        command.arg("-c").arg(script).arg("sh").arg(&bin).arg(port.to_string()).current_dir("/");
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let stdin = shell.stdin.take().expect("it is piped");
        let mut stdout = BufReader::new(shell.stdout.take().expect("it is piped"));
        let mut folder = String::new();
        stdout.read_line(&mut folder).expect("the script speaks");
        assert!(!folder.trim().is_empty(), "PostgreSQL does not start");
        let folder = PathBuf::from(folder.trim());
        Some(Self { bin, folder, port, schemas: AtomicU32::new(0), pipes: Mutex::new((stdin, stdout)), _shell: shell })
    }

    /// The address of an empty schema, as `store.url` has it.
    pub fn schema(&self) -> String {
        self.schema_at(self.port)
    }

    /// The same, with this port in the place of the server's own.
    pub fn schema_at(&self, port: u16) -> String {
        let name = format!("s{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        self.sql("", &format!("CREATE SCHEMA {name}"));
        format!("postgres://trimtab@127.0.0.1:{port}/postgres?options=-csearch_path%3D{name}")
    }

    /// Where it listens on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its data, its log, and its certificate are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs statements in the schema of an address, or in none, and returns the rows.
    ///
    /// # Panics
    /// When a statement fails.
    pub fn sql(&self, url: &str, statements: &str) -> String {
        let schema = url.split("search_path%3D").nth(1).unwrap_or("public");
        let mut command = Command::new(self.bin.join("psql"));
        command.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-U", "trimtab", "-d", "postgres", "-h"]).arg(&self.folder);
        command.arg("-p").arg(self.port.to_string()).arg("-c").arg(statements).current_dir("/");
        let run = command.env("PGOPTIONS", format!("-csearch_path={schema}")).output().expect("psql");
        assert!(run.status.success(), "{statements}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    }

    /// Kills the server as a power failure would, and waits until it is gone.
    pub fn crash(&self) {
        self.order("crash");
    }

    /// Starts it again, and waits until it answers.
    pub fn restart(&self) {
        self.order("start");
    }

    fn order(&self, word: &str) {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipes.0, "{word}").expect("the script hears");
        let mut done = String::new();
        pipes.1.read_line(&mut done).expect("the script speaks");
        assert_eq!(done.trim(), word);
    }
}

/// The folder with the programs of the newest installed version.
fn binaries() -> Option<PathBuf> {
    let listed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = listed
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&paths).collect::<Vec<_>>();
    let all = versions.into_iter().rev().map(|(_, folder)| folder).chain(others);
    let wanted = ["initdb", "postgres", "pg_isready", "psql"];
    all.into_iter().find(|folder| wanted.iter().all(|program| folder.join(program).exists()))
}
