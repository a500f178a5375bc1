//! `trimtab models`: who could be asked.

use clap::Args;
use serde_json::json;
use trimtab_host::config;
use trimtab_vocab::event::Status;
use trimtab_vocab::{ModelFacts, Problem, ProblemKind};

use super::Outcome;
use super::output::{calm, print, print_json, problem};

#[derive(Debug, Args)]
pub(super) struct Models {
    /// The provider to ask; without it, every provider that is set up
    provider: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

impl Models {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let profile = config::load(&[])?;
        if let Some(name) = &self.provider
            && !profile.providers.contains_key(name)
        {
            let known: Vec<&str> = profile.providers.keys().map(String::as_str).collect();
            return Err(Problem::new(ProblemKind::Usage, format!("There is no provider called `{name}`."))
                .hint(format!("Known are {}.", known.join(", "))));
        }
        let mut failed = false;
        for name in profile.providers.keys() {
            let wanted = match &self.provider {
                Some(wanted) => wanted == name,
                None => profile.is_set_up(name),
            };
            if !wanted {
                continue;
            }
            match trimtab_host::list_models(&profile, name).await {
                Ok(listed) => {
                    for model in listed {
                        let full = format!("{name}/{}", model.name);
                        let mut facts = profile.catalog.facts(&full);
                        facts.window = model.window.unwrap_or(facts.window);
                        self.show(&full, &facts)?;
                    }
                }
                Err(trouble) => {
                    failed = true;
                    problem(&Problem { message: format!("{name}: {}", trouble.message), ..trouble });
                }
            }
        }
        Ok(if failed { Outcome::Finished(Status::Failed) } else { Outcome::Done })
    }

    fn show(&self, name: &str, facts: &ModelFacts) -> Result<(), Problem> {
        if self.json {
            return print_json(&json!({"model": name, "facts": facts}));
        }
        let prices = match facts.prices {
            Some(prices) if prices.input == 0.0 && prices.output == 0.0 => "free".to_owned(),
            Some(prices) => format!("${} in, ${} out per million tokens", prices.input, prices.output),
            None => "price unknown".to_owned(),
        };
        let mut able = Vec::new();
        for (is, word) in [(facts.tools, "tools"), (facts.images, "pictures"), (facts.thinking, "thinking")] {
            if is {
                able.push(word);
            }
        }
        let line = format!("{name}  {}k tokens, {prices}; {}", facts.window / 1_000, able.join(", "));
        print(&format!("{}\n", calm(&line)))
    }
}
