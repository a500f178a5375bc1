//! `trimtab` without a command: the terminal UI.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use trimtab_host::config::{self, Flag};
use trimtab_vocab::{Autonomy, Problem, ProblemKind, SessionId};

use super::run::read_prompt;
use super::{CliOutcome, lines, place};
use crate::tui::{self, StartOptions};

#[derive(Debug, Default, Args)]
pub(super) struct ScreenArgs {
    /// Continue this session
    #[arg(long, value_name = "ID", conflicts_with = "continue_latest")]
    session: Option<SessionId>,
    /// Continue the latest session in this folder
    #[arg(long = "continue")]
    continue_latest: bool,
    /// Use this model
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Set how much the session does without asking
    #[arg(long, value_name = "LEVEL", value_parser = ["careful", "standard", "trusting"])]
    autonomy: Option<String>,
    /// Print plain lines instead of drawing a screen (for screen readers)
    #[arg(long)]
    plain: bool,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// The request to begin with.
    #[arg(skip)]
    request: Option<OsString>,
}

/// Whether there is a person at a terminal.
pub(super) fn is_there() -> bool {
    tui::is_there()
}

/// Whether the terminal says that it can only print.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

impl ScreenArgs {
    pub(super) fn with_request(request: Option<OsString>) -> Self {
        Self { request, ..Self::default() }
    }

    pub(super) fn begin_with(&mut self, request: Option<OsString>) {
        self.request = request;
    }

    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        if !is_there() {
            return Err(Problem::new(ProblemKind::Usage, "Trimtab needs a terminal.").hint(
                "`trimtab run \"…\"` runs one request without a terminal. `trimtab --help` lists all commands.",
            ));
        }
        let folder = place::folder(self.dir.as_deref())?;
        let request = self.request.map(read_prompt).transpose()?;
        let flag = self.model.map(|value| Flag { path: "model", option: "--model", value });
        let profile = config::load(flag.as_slice())?;
        let autonomy = self.autonomy.as_deref().and_then(Autonomy::named);
        if profile.tui.plain || self.plain || is_dumb() {
            return lines::talk(profile, folder, self.session, request, autonomy).await;
        }
        let (session, latest) = (self.session, self.continue_latest);
        let wanted = StartOptions { session, latest, request, autonomy, ..StartOptions::default() };
        let ended = tui::run(profile, folder, wanted).await?;
        Ok(ended.map_or(CliOutcome::Done, CliOutcome::Left))
    }
}
