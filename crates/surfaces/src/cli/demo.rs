//! `trimtab demo`: the real program with a recorded model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;
use trimtab_host::config::{self, Flag, Profile};
use trimtab_host::{Client, Say, Sent, Target};
use trimtab_vocab::event::ReplyFact;
use trimtab_vocab::{Fact, Mode, Problem, ProblemKind};

use super::Outcome;
use super::follow::{Asking, Form, follow};
use super::output::print;
use crate::tui::{self, Wanted};

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Show it in the terminal UI, to try it yourself
    #[arg(long)]
    tui: bool,
}

/// A folder that goes away with the demonstration.
struct Stage(PathBuf);

impl Stage {
    fn build() -> Result<Self, Problem> {
        let refused = |error: std::io::Error| {
            Problem::new(ProblemKind::Store, format!("The demonstration needs a folder: {error}."))
                .hint("Set TMPDIR to a folder that can be written.")
        };
        let mut number = 0;
        let stage = loop {
            let path = std::env::temp_dir().join(format!("trimtab-demo-{}-{number}", std::process::id()));
            // Made anew, never found: a folder that is there already is somebody else's.
            match std::fs::create_dir(&path) {
                Ok(()) => break Self(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(refused(error)),
            }
        };
        std::fs::create_dir(stage.project()).map_err(refused)?;
        Ok(stage)
    }

    fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Demo {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let stage = Stage::build()?;
        let profile = settings(&stage.data())?;
        let folder = stage.project().display().to_string();
        if self.tui {
            return on_screen(profile, folder).await;
        }
        print("This is the real program; only the model is a recording. No key, no network.\n\n")?;

        print("1. A request: trimtab run \"What is a trim tab?\"\n\n")?;
        let client = Client::open(&profile)?;
        let first = say(&client, Target::New { folder }, "What is a trim tab?", &profile).await?;
        let ended = follow(&client, &first, 0, Form::Text, Asking::Nobody).await?;
        if ended.code() != 0 {
            return Ok(ended);
        }

        print("\n2. A second request in the same session, and the program is cut off in mid-reply.\n\n")?;
        let question = "Is anything lost when the program is cut off?";
        let second = say(&client, Target::Session(first.session.clone()), question, &profile).await?;
        let heard = listen_a_little(&client, &second).await?;
        // Dropped without a word, as a crash would: no goodbye is written anywhere.
        drop(client);
        print(&format!("   …{heard}   <- cut off here\n"))?;

        print("\n3. Started again: trimtab resume\n\n")?;
        let client = Client::open(&profile)?;
        client.resume(&second.session);
        let ended = follow(&client, &second, 0, Form::Text, Asking::Nobody).await?;
        print("\nNext: set ANTHROPIC_API_KEY and say `trimtab run \"…\"`; `trimtab --help` has the rest.\n")?;
        Ok(ended)
    }
}

/// The same in the terminal UI; what to say first is written already.
async fn on_screen(profile: Profile, folder: String) -> Result<Outcome, Problem> {
    if !tui::is_there() {
        return Err(Problem::new(ProblemKind::Usage, "There is no terminal to show it in.")
            .hint("`trimtab demo` without --tui shows it in plain text."));
    }
    let draft = Some("What is a trim tab?".to_owned());
    let wanted = Wanted { mode: Mode::Chat, draft, ..Wanted::default() };
    let ended = tui::run(profile, folder, wanted).await?;
    Ok(ended.map_or(Outcome::Done, Outcome::Left))
}

fn settings(data: &Path) -> Result<Profile, Problem> {
    let variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), data.display().to_string())]);
    let model = Flag { path: "model", option: "--model", value: "replay/demo".into() };
    config::load_from(&variables, &[model])
}

async fn say(client: &Client, target: Target, text: &str, profile: &Profile) -> Result<Sent, Problem> {
    client.send(target, Say { mode: Mode::Chat, ..Say::new(text, profile.run_settings()?) }).await
}

/// Hears the beginning of a reply, for as long as it takes until some of it is saved.
async fn listen_a_little(client: &Client, sent: &Sent) -> Result<String, Problem> {
    let mut watch = client.watch(&sent.session, 0);
    let mut heard = String::new();
    let mut until = None;
    loop {
        let next = match until {
            None => Ok(watch.next().await),
            Some(until) => tokio::time::timeout_at(until, watch.next()).await,
        };
        let Ok(event) = next else { return Ok(heard) };
        if let Fact::Reply(ReplyFact::Delta { text, .. }) = event?.fact {
            heard.push_str(&text);
            until.get_or_insert_with(|| Instant::now() + Duration::from_millis(600));
        }
    }
}
