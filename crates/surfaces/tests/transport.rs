//! What lies between the program and a provider: TLS, HTTP/2, compression, proxies, names that lead
//! nowhere.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use trimtab_testkit::program::{KEY, Program};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};

const HELLO: &str = "Hello, wörld 🦀.\n";

struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: String,
}

impl Server {
    fn start(key: &str, certificate: &str, encoding: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transport/server.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .args([key, certificate, encoding])
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed");
        let mut server =
            Self { lines: BufReader::new(child.stdout.take().expect("a pipe")), child, port: String::new() };
        server.port = server.line();
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_LIMITS_RETRIES", "0");
    program
}

fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let (key, certificate) = (folder.join("key.pem"), folder.join("cert.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is installed by scripts/test");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (key, certificate)
}

#[test]
fn https_speaks_http_2_and_an_unknown_certificate_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (key, certificate) = certificate(folder.path());
    let mut server = Server::start(&key.display().to_string(), &certificate.display().to_string(), "identity");
    let mut program = program();
    program.set("ANTHROPIC_BASE_URL", &format!("https://localhost:{}", server.port));

    let stranger = program.run(&["run", "hi"]);
    assert_eq!(stranger.code, Some(1));
    assert!(stranger.stderr.contains("Cannot reach the provider at localhost:"), "{}", stranger.stderr);
    assert!(stranger.stderr.to_lowercase().contains("certificate"), "{}", stranger.stderr);

    program.set("SSL_CERT_FILE", &certificate.display().to_string());
    let known = program.run(&["run", "hi"]);
    assert_eq!((known.code, known.stdout.as_str()), (Some(0), HELLO), "{}", known.stderr);
    assert!(server.line().starts_with("HTTP/2.0 "));
}

#[test]
fn compressed_streams_are_read_as_they_come() {
    for encoding in ["gzip", "br"] {
        let mut server = Server::start("PLAIN", "", encoding);
        let mut program = program();
        program.set("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{}", server.port));
        let ended = program.run(&["run", "hi"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), HELLO), "{encoding}: {}", ended.stderr);
        let asked = server.line();
        assert!(asked.contains("gzip") && asked.contains("br"), "{asked}");
    }
}

#[test]
fn a_name_that_leads_nowhere_and_a_port_that_is_closed_are_told() {
    let mut program = program();
    for (address, part) in [
        ("http://no-such-host.invalid", "Cannot reach the provider at no-such-host.invalid:"),
        ("http://127.0.0.1:1", "Cannot reach the provider at 127.0.0.1:1:"),
        ("ftp://127.0.0.1", "Cannot reach the provider"),
    ] {
        program.set("ANTHROPIC_BASE_URL", address);
        let ended = program.run(&["run", "hi"]);
        assert_eq!(ended.code, Some(1), "{address}");
        assert!(ended.stderr.contains(part) && !ended.stderr.contains(KEY), "{address}: {}", ended.stderr);
    }
}

#[test]
fn a_proxy_is_used_for_others_and_never_for_this_machine() {
    let proxy = FakeProvider::start();
    proxy.always(Answer::anthropic(Reply::new().text(["Hello, wörld 🦀."])));
    let mut program = program();
    program.set("HTTP_PROXY", proxy.url());
    program.set("http_proxy", proxy.url());
    program.provider.push(Answer::anthropic(Reply::new().text(["Hello, wörld 🦀."])));
    assert_eq!(program.run(&["run", "hi"]).stdout, HELLO);
    assert!(proxy.requests().is_empty(), "a server on this machine is reached directly");

    program.set("ANTHROPIC_BASE_URL", "http://elsewhere.invalid");
    let ended = program.run(&["run", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), HELLO), "{}", ended.stderr);
    assert_eq!(proxy.requests()[0].path, "http://elsewhere.invalid/v1/messages");
}
