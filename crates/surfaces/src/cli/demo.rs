//! `trimtab demo`: the real program with a recorded model.
//!
//! In plain text it is a list of command lines, each run in a process of its own as a person would: what is
//! shown is what they do.

mod stage;
mod story;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use trimtab_host::Client;
use trimtab_host::config::{self, Flag, Profile};
use trimtab_vocab::{Mode, Problem, ProblemKind};

use super::CliOutcome;
use super::follow::ignores_hang_up;
use super::output::print;
use crate::output::StdStream;
use crate::tui::{self, StartOptions};
use stage::DemoFolder;
use story::{Act, STORY, TASKS};

pub(super) use story::{REQUEST, SUBTASKS};

/// How long a person may look before the next thing is shown.
const LOOK: Duration = Duration::from_millis(1_500);
/// How much of a reply is heard before the program is killed.
const HEARD: Duration = Duration::from_millis(900);
/// How often it is looked whether the request that is to be killed has begun, and for how long.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS: u32 = 1_500;

const BEFORE: &str = "\
This is the real program; only the model is a recording. It needs no key and
no network, and works in a temporary sample project.
";
const TYPED: &str = "Every line that starts with $ is a command that you can run.\n";

const EXAMPLES: &str = "\
Examples:
  trimtab demo                    show the whole demo in this terminal
  trimtab demo --web              try it yourself in a browser
  trimtab demo --sample ./greet   create only the sample project";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demo {
    /// Run the demo in the terminal UI, to try it yourself
    #[arg(long, conflicts_with = "web")]
    tui: bool,
    /// Run the demo in a browser, to try it yourself
    #[arg(long)]
    web: bool,
    /// Create only the sample project in this new folder
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["tui", "web"])]
    sample: Option<PathBuf>,
}

impl Demo {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        if self.tui && !tui::is_there() {
            return Err(Problem::new(ProblemKind::Usage, "The demo needs a terminal.")
                .hint("`trimtab demo` without --tui shows it in plain text."));
        }
        if let Some(folder) = self.sample {
            stage::put_sample(&folder)?;
            let say = format!("trimtab run --model replay/demo --mode plan \"{REQUEST}\"");
            let folder = folder.display();
            print(&format!("The sample project is in {folder}. Try it:\n\n  cd {folder}\n  {say}\n"))?;
            return Ok(CliOutcome::Done);
        }
        let theatre = Theatre { stage: DemoFolder::build()?, slowly: StdStream::Out.is_terminal() };
        for title in TASKS {
            theatre.quietly(&["tasks", "add", title]).await?;
        }
        if self.tui {
            theatre.on_screen().await
        } else if self.web {
            theatre.in_browser().await
        } else {
            theatre.tell().await
        }
    }
}

fn after() -> String {
    let keys = config::key_variables();
    format!(
        "
To try it yourself, run `trimtab demo --tui` (terminal) or `trimtab demo --web`
(browser). To use your own model, start Ollama, or set one of these keys:
{keys}.
Then run `trimtab` in your project folder. `trimtab doctor` checks your setup.
"
    )
}

/// Where the story is played, and how.
struct Theatre {
    stage: DemoFolder,
    slowly: bool,
}

impl Theatre {
    async fn tell(&self) -> Result<CliOutcome, Problem> {
        print(&format!("{BEFORE}{TYPED}"))?;
        for (number, scene) in STORY.iter().enumerate() {
            self.wait().await;
            let says: String = scene.says.lines().map(|line| format!("   {line}\n")).collect();
            print(&format!("\n{:>2}{}", number + 1, &says[2..]))?;
            for act in scene.acts {
                match act {
                    Act::Run(words) => {
                        print(&format!("\n$ trimtab {}\n", typed(words)))?;
                        let ended = self.start(words)?.wait().await.map_err(broken)?;
                        check(words, ended)?;
                    }
                    Act::Killed(words) => self.kill(words).await?,
                }
            }
        }
        print(&after())?;
        Ok(CliOutcome::Done)
    }

    async fn wait(&self) {
        if self.slowly {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The program itself, at home on the stage. Nobody types at it, so whatever asks stays open.
    fn program(&self, words: &[&str]) -> Result<Command, Problem> {
        let itself = std::env::current_exe().map_err(broken)?;
        #[expect(clippy::disallowed_methods, reason = "it is this program, with the words that are shown")]
        let mut command = Command::from(std::process::Command::new(itself));
        // What the person has set for their own work is not meant for this.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRIMTAB_")) {
            command.env_remove(name);
        }
        command.args(words).env("TRIMTAB_HOME", self.stage.data()).env("TRIMTAB_MODEL", "replay/demo");
        command.current_dir(self.stage.project()).stdin(Stdio::null()).kill_on_drop(true);
        Ok(command)
    }

    fn start(&self, words: &[&str]) -> Result<tokio::process::Child, Problem> {
        self.program(words)?.spawn().map_err(broken)
    }

    async fn quietly(&self, words: &[&str]) -> Result<(), Problem> {
        let ended = self.program(words)?.stdout(Stdio::null()).status().await.map_err(broken)?;
        check(words, ended)
    }

    /// Kills it while the model answers, with no chance to say goodbye.
    async fn kill(&self, words: &[&str]) -> Result<(), Problem> {
        print(&format!("\n$ trimtab {}\n", typed(words)))?;
        let client = Client::open(&self.profile()?)?;
        let mut child = self.start(words)?;
        for _ in 0..LOOKS {
            let is_meant = |job: &trimtab_host::JobRow| words.contains(&job.text.as_str());
            if client.requests().list(false).await?.iter().any(is_meant) {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        tokio::time::sleep(HEARD).await;
        child.kill().await.map_err(broken)?;
        print("\n(killed)\n")
    }

    fn profile(&self) -> Result<Profile, Problem> {
        let data = self.stage.data().display().to_string();
        let model = Flag { path: "model", option: "--model", value: "replay/demo".into() };
        // Sub-tasks need a place for their copies, which is deleted with the rest.
        let cache = self.stage.data().with_file_name("cache").display().to_string();
        let places = [("TRIMTAB_HOME".to_owned(), data), ("XDG_CACHE_HOME".to_owned(), cache)];
        config::load_from(&BTreeMap::from(places), &[model])
    }

    /// The same in the terminal UI; what to say first is written already.
    async fn on_screen(&self) -> Result<CliOutcome, Problem> {
        let wanted = StartOptions {
            mode: Mode::Plan,
            draft: Some(REQUEST.to_owned()),
            passing: true,
            ..StartOptions::default()
        };
        let ended = tui::run(self.profile()?, self.stage.project().display().to_string(), wanted).await?;
        print("The sample project is deleted. Run `trimtab` in your own folder to start.\n")?;
        Ok(ended.map_or(CliOutcome::Done, CliOutcome::Left))
    }

    /// The same in a browser, until the server is told to end.
    async fn in_browser(&self) -> Result<CliOutcome, Problem> {
        print(&format!(
            "{BEFORE}\nIn the browser, click “{REQUEST}” and send it.\nThen click “New session” and “{SUBTASKS}”. Trimtab asks how to run the sub-tasks.\nThe sample tasks are in Tasks, under Backlog. Press Ctrl-C to stop.\n\n"
        ))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(broken)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(broken)?;
        let outlives = ignores_hang_up();
        let mut hang_up = signal(SignalKind::hangup()).map_err(broken)?;
        let words = ["serve", "--addr", "127.0.0.1:0", "--open"];
        // In a group of its own, so that a signal reaches it once, whoever it was sent to: Ctrl-C is sent to all
        // processes of a terminal, `kill` to one.
        let mut server = self.program(&words)?.process_group(0).spawn().map_err(broken)?;
        let mut told = 0;
        loop {
            let number = tokio::select! {
                ended = server.wait() => {
                    let ended = ended.map_err(broken)?;
                    return match told {
                        0 => check(&["serve"], ended).map(|()| CliOutcome::Done),
                        2 if ended.success() => Ok(CliOutcome::Done),
                        number => Ok(CliOutcome::Left(number)),
                    };
                }
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = hang_up.recv(), if !outlives => 1,
            };
            told = number;
            // The first lets it end, the second ends it at once. That it has ended by itself is seen above.
            if let Some(server) = server.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
                let _ = rustix::process::kill_process(server, Signal::TERM);
            }
        }
    }
}

/// The words as one would type them.
fn typed(words: &[&str]) -> String {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What waits for a person ends with 3, which is what the story is about.
fn check(words: &[&str], ended: ExitStatus) -> Result<(), Problem> {
    match ended.code() {
        Some(0 | 3) => Ok(()),
        _ => Err(Problem::new(ProblemKind::Internal, format!("`trimtab {}` failed: {ended}.", typed(words)))
            .hint("This is a bug in the demo. Its files are in a temporary folder and will be deleted.")),
    }
}

fn broken(error: std::io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("The demo failed: {error}."))
}
