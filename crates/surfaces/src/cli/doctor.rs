//! `trimtab doctor`: is everything as it should be?

use clap::Args;
use trimtab_host::Client;
use trimtab_host::config::{self, Profile};
use trimtab_vocab::event::Status;
use trimtab_vocab::{Problem, ProblemKind};

use super::Outcome;
use super::output::{calm, print};

#[derive(Debug, Args)]
pub(super) struct Doctor {}

struct Report {
    troubles: u32,
}

impl Report {
    fn good(&self, line: &str) -> Result<(), Problem> {
        print(&format!("ok       {}\n", calm(line)))
    }

    fn note(&self, line: &str) -> Result<(), Problem> {
        print(&format!("note     {}\n", calm(line)))
    }

    fn bad(&mut self, problem: &Problem) -> Result<(), Problem> {
        self.troubles += 1;
        let hint = problem.hint.as_ref().map(|hint| format!("\n         {hint}")).unwrap_or_default();
        print(&format!("problem  {}{}\n", calm(&problem.message), calm(&hint)))
    }
}

impl Doctor {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let mut report = Report { troubles: 0 };
        report.good(&format!("trimtab {}", env!("CARGO_PKG_VERSION")))?;
        match config::load(&[]) {
            Err(problem) => report.bad(&problem)?,
            Ok(profile) => {
                let found = if profile.file.exists() { "" } else { " (not there; defaults are used)" };
                report.good(&format!("settings: {}{found}", profile.file.display()))?;
                for name in profile.stray_variables() {
                    report.note(&format!("the environment variable {name} sets nothing"))?;
                }
                check_models(&profile, &mut report)?;
                check_store(&profile, &mut report).await?;
            }
        }
        match report.troubles {
            0 => Ok(Outcome::Done),
            _ => Ok(Outcome::Finished(Status::Failed)),
        }
    }
}

fn check_models(profile: &Profile, report: &mut Report) -> Result<(), Problem> {
    for (name, provider) in &profile.providers {
        let place = if provider.base_url.is_empty() { String::new() } else { format!(" at {}", provider.base_url) };
        match (&provider.key_env, &provider.key) {
            (Some(variable), None) => {
                report.note(&format!("provider {name}{place}: no key ({variable} is not set)"))?
            }
            (Some(variable), Some(_)) => report.good(&format!("provider {name}{place}: key found in {variable}"))?,
            (None, _) => report.good(&format!("provider {name}{place}: needs no key"))?,
        }
    }
    match profile.run_settings() {
        Ok(settings) => report.good(&format!("model: {}", settings.model)),
        Err(problem) => report.bad(&problem),
    }
}

async fn check_store(profile: &Profile, report: &mut Report) -> Result<(), Problem> {
    let client = match Client::open(profile) {
        Ok(client) => client,
        Err(problem) => return report.bad(&problem),
    };
    match client.check().await {
        Err(problem) => report.bad(&problem),
        Ok(damage) if damage.is_empty() => report.good(&format!("data folder: {}, undamaged", profile.data.display())),
        Ok(damage) => {
            let hint = format!("Copy {} before anything else.", profile.data.display());
            report.bad(&Problem::new(ProblemKind::Store, damage.join("; ")).hint(hint))
        }
    }
}
