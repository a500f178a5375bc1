//! `trimtab models test`: tries every protocol on a few small tasks, in a folder that goes away, through the real
//! pipeline. The winner is how the model works from then on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use trimtab_host::config::{self, Flag};
use trimtab_host::{Client, Manner, ModelNotes, RequestDraft, SendTo, TestedProtocol};
use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::{AnswerProtocol, Approve, Fact, Problem, ProblemKind};

use super::super::CliOutcome;
use super::super::number::whole;
use super::super::output::{note, print, print_json};

/// A task that a model is tried on.
struct ProtocolTrial {
    name: &'static str,
    request: &'static str,
    files: &'static [(&'static str, &'static str)],
    is_done: fn(&Path) -> bool,
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

const TRIALS: [ProtocolTrial; 5] = [
    ProtocolTrial {
        name: "create a file",
        request: "Create a file hello.py that prints Hello, World!",
        files: &[],
        is_done: |folder| text(folder, "hello.py").contains("print(") && text(folder, "hello.py").contains("Hello"),
    },
    ProtocolTrial {
        name: "fix a function",
        request: "The function add in calc.py is wrong: it must return the sum of a and b. Fix it.",
        files: &[("calc.py", "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n")],
        is_done: |folder| {
            let calc = text(folder, "calc.py");
            calc.contains("return a + b") && !calc.contains("return a - b") && calc.contains("def double")
        },
    },
    ProtocolTrial {
        name: "change a setting",
        request: "Change the port in config.toml to 9090.",
        files: &[("config.toml", "host = \"localhost\"\nport = 8080\ndebug = false\n")],
        is_done: |folder| {
            let settings = text(folder, "config.toml");
            settings.contains("port = 9090") && settings.contains("debug = false")
        },
    },
    ProtocolTrial {
        name: "rename a function",
        request: "Rename the function greet in greet.py to welcome, where it is defined and where it is called.",
        files: &[("greet.py", "def greet(name):\n    return f\"Hello, {name}\"\n\n\nprint(greet(\"Ada\"))\n")],
        is_done: |folder| {
            let greet = text(folder, "greet.py");
            greet.contains("def welcome(") && greet.contains("print(welcome(") && !greet.contains("greet(")
        },
    },
    ProtocolTrial {
        name: "only answer",
        request: "What does the function area in shape.py compute? Do not change anything.",
        files: &[("shape.py", "def area(width, height):\n    return width * height\n")],
        is_done: |folder| text(folder, "shape.py") == "def area(width, height):\n    return width * height\n",
    },
];

#[derive(Debug, Args)]
pub(super) struct ModelTest {
    /// Model to test, as PROVIDER/NAME
    model: String,
    /// Limit each task to this many seconds
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = whole::<u64>)]
    timeout: u64,
    /// Show the results without storing the winner
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per protocol
    #[arg(long)]
    json: bool,
}

/// What one protocol came to.
struct ProtocolResult {
    protocol: AnswerProtocol,
    solved: Vec<(&'static str, bool)>,
    took: Duration,
}

impl ProtocolResult {
    fn count(&self) -> u32 {
        u32::try_from(self.solved.iter().filter(|(_, solved)| *solved).count()).unwrap_or(0)
    }
}

impl ModelTest {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let profile = config::load(&[])?;
        let mut results = Vec::new();
        for protocol in AnswerProtocol::ALL {
            let result = self.try_protocol(protocol).await?;
            self.show(&result)?;
            results.push(result);
        }
        let winner = winner(&results);
        let tested: BTreeMap<String, TestedProtocol> = results
            .iter()
            .map(|result| {
                let tasks = u32::try_from(result.solved.len()).unwrap_or(0);
                (result.protocol.name().to_owned(), TestedProtocol { solved: result.count(), tasks })
            })
            .collect();
        if !self.dry_run {
            ModelNotes::new(&profile.data).keep_test(&self.model, tested, winner);
        }
        let stored = if self.dry_run { "Not stored (--dry-run)." } else { "Stored for this model." };
        match winner {
            _ if self.json => {
                print_json(&json!({"model": self.model, "winner": winner, "stored": !self.dry_run}))?;
            }
            Some(winner) => {
                print(&format!("\nBest protocol for {}: {}. {stored}\n", self.model, winner.name()))?;
            }
            None => note("No protocol solved a task. The model keeps its default."),
        }
        Ok(if winner.is_some() { CliOutcome::Done } else { CliOutcome::Finished(Status::Failed) })
    }

    async fn try_protocol(&self, protocol: AnswerProtocol) -> Result<ProtocolResult, Problem> {
        let begun = Instant::now();
        let mut solved = Vec::new();
        for trial in &TRIALS {
            solved.push((trial.name, self.try_task(protocol, trial).await?));
        }
        Ok(ProtocolResult { protocol, solved, took: begun.elapsed() })
    }

    /// Whether the model does the task, within its time and without a person.
    async fn try_task(&self, protocol: AnswerProtocol, trial: &ProtocolTrial) -> Result<bool, Problem> {
        let place = TrialFolder::build(trial)?;
        let flag = Flag { path: "answer.protocol", option: "--protocol", value: protocol.name().into() };
        let mut profile = config::load(&[flag])?;
        profile.data = place.0.path().join("data");
        let client = Client::open(&profile)?;
        let folder = place.project().display().to_string();
        let manner =
            Manner { trust: true, approve: Approve::Auto, model: Some(self.model.clone()), ..Manner::default() };
        let composed = client.compose(&profile, &folder, RequestDraft::new(trial.request, manner)).await?;
        let sent = client.send(SendTo::New { folder }, composed).await?;
        let mut watch = client.watch(&sent.session, 0);
        let ends = async {
            loop {
                if let Fact::Request(RequestFact::Finished { status, error, .. }) = watch.next().await?.fact {
                    return Ok::<_, Problem>((status, error));
                }
            }
        };
        match tokio::time::timeout(Duration::from_secs(self.timeout), ends).await {
            Err(_) => Ok(false),
            Ok(ended) => {
                let (status, error) = ended?;
                // Without a server or a key, every protocol would fail alike, and say nothing about the model.
                let unreachable = error.filter(|problem| {
                    matches!(
                        problem.kind,
                        ProblemKind::Network | ProblemKind::NoKey | ProblemKind::Auth | ProblemKind::NotFound
                    )
                });
                match unreachable {
                    Some(problem) => Err(problem),
                    None => Ok(status == Status::Completed && (trial.is_done)(&place.project())),
                }
            }
        }
    }

    fn show(&self, result: &ProtocolResult) -> Result<(), Problem> {
        let seconds = result.took.as_secs();
        if self.json {
            let tasks: BTreeMap<&str, bool> = result.solved.iter().copied().collect();
            return print_json(&json!({
                "model": self.model, "protocol": result.protocol, "solved": result.count(),
                "tasks": tasks, "seconds": seconds,
            }));
        }
        let name = result.protocol.name();
        let line = format!("{name:<16} {} of {} solved, {seconds} s\n", result.count(), result.solved.len());
        let tasks = result.solved.iter().map(|(task, solved)| {
            let mark = if *solved { "solved" } else { "not solved" };
            format!("  {task:<20} {mark}\n")
        });
        print(&format!("{line}{}", tasks.collect::<String>()))
    }
}

/// The protocol that solved most; of equals, the earlier one, which can do more.
fn winner(results: &[ProtocolResult]) -> Option<AnswerProtocol> {
    let most = results.iter().map(ProtocolResult::count).max().filter(|most| *most > 0)?;
    // A model that only left everything as it was has solved nothing.
    let is_best =
        |result: &&ProtocolResult| result.count() == most && result.solved.iter().take(4).any(|(_, done)| *done);
    results.iter().find(is_best).map(|result| result.protocol)
}

/// A folder for one task, which goes away with it.
struct TrialFolder(tempfile::TempDir);

impl TrialFolder {
    fn build(trial: &ProtocolTrial) -> Result<Self, Problem> {
        let refused = |error: std::io::Error| {
            Problem::new(ProblemKind::Store, format!("The test needs a temporary folder: {error}."))
                .hint("Set TMPDIR to a writable folder.")
        };
        let place = Self(tempfile::tempdir().map_err(refused)?);
        std::fs::create_dir(place.project()).map_err(refused)?;
        for (name, text) in trial.files {
            #[expect(clippy::disallowed_methods, reason = "the task is put into a folder that was just made")]
            std::fs::write(place.project().join(name), text).map_err(refused)?;
        }
        Ok(place)
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(protocol: AnswerProtocol, solved: [bool; 5]) -> ProtocolResult {
        let solved = TRIALS.iter().zip(solved).map(|(trial, solved)| (trial.name, solved)).collect();
        ProtocolResult { protocol, solved, took: Duration::ZERO }
    }

    #[test]
    fn the_protocol_that_solves_most_wins_and_of_equals_the_first() {
        let [native, json, blocks] = AnswerProtocol::ALL;
        let nothing = [false, false, false, false, true];
        let some = [true, false, true, false, true];
        assert_eq!(winner(&[result(native, nothing), result(json, some), result(blocks, some)]), Some(json));
        assert_eq!(winner(&[result(native, nothing), result(json, nothing)]), None, "it only left everything alone");
    }

    #[test]
    fn no_task_is_solved_before_anything_is_done_except_the_one_that_wants_nothing_done() {
        for trial in &TRIALS {
            let place = TrialFolder::build(trial).expect("a folder");
            assert_eq!((trial.is_done)(&place.project()), trial.name == "only answer", "{}", trial.name);
        }
    }
}
