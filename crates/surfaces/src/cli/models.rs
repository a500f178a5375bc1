//! `trimtab models`: who could be asked.

mod test;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::{ModelNotes, config};
use trimtab_vocab::event::Status;
use trimtab_vocab::{AnswerProtocol, ModelFacts, Problem, ProblemKind};

use super::CliOutcome;
use super::output::{note, print, print_json, problem, sanitize};

const EXAMPLES: &str = "\
Examples:
  trimtab models                                 list the models of every configured provider
  trimtab models anthropic                       list the models of one provider
  trimtab models test ollama/qwen2.5-coder:1.5b  find the protocol that suits a model best
  trimtab run --model ollama/qwen3 \"Hello\"       use a model for one request";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct ModelsArgs {
    #[command(subcommand)]
    command: Option<ModelsCommand>,
    /// Provider to list [default: every configured provider]
    provider: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Try every protocol on a few small tasks and store the best one
    Test(test::ModelTest),
}

impl ModelsArgs {
    pub(super) async fn execute(mut self) -> Result<CliOutcome, Problem> {
        if let Some(ModelsCommand::Test(test)) = self.command.take() {
            return test.execute().await;
        }
        let profile = config::load(&[])?;
        let notes = ModelNotes::new(&profile.data);
        if let Some(name) = &self.provider
            && !profile.providers.contains_key(name)
        {
            let known: Vec<&str> = profile.providers.keys().map(String::as_str).collect();
            return Err(Problem::new(ProblemKind::Usage, format!("Unknown provider `{name}`."))
                .hint(format!("The providers are {}.", known.join(", "))));
        }
        let (mut failed, mut found) = (false, false);
        for name in profile.providers.keys() {
            let wanted = match &self.provider {
                Some(wanted) => wanted == name,
                None => profile.is_set_up(name),
            };
            if !wanted {
                continue;
            }
            if name == "replay" {
                print("replay/demo  the recording of `trimtab demo`\nreplay/FILE  your own recording\n")?;
                return Ok(CliOutcome::Done);
            }
            match trimtab_host::list_models(&profile, name).await {
                Ok(listed) => {
                    found = true;
                    for model in listed {
                        let full = format!("{name}/{}", model.name);
                        let mut facts = profile.facts(&full);
                        facts.window = model.window.unwrap_or(facts.window);
                        if let Some(protocol) = notes.protocol(&profile, &full) {
                            facts = facts.with_protocol(protocol);
                        }
                        self.show(&full, &facts)?;
                    }
                }
                // Nobody has set up what is only looked for in case it runs.
                Err(trouble)
                    if self.provider.is_none()
                        && trouble.kind == ProblemKind::Network
                        && profile.providers.get(name).is_some_and(|provider| provider.key.is_none()) =>
                {
                    note(&format!("note: {name} is not running here."));
                }
                Err(trouble) => {
                    failed = true;
                    problem(&Problem { message: format!("{name}: {}", trouble.message), ..trouble });
                }
            }
        }
        if !failed && !found {
            profile.ready_model()?;
        }
        Ok(if failed { CliOutcome::Finished(Status::Failed) } else { CliOutcome::Done })
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
        for (is, word) in [(facts.tools, "tools"), (facts.images, "images"), (facts.thinking, "thinking")] {
            if is {
                able.push(word);
            }
        }
        let protocol = match facts.answer_protocol() {
            AnswerProtocol::NativeTools => String::new(),
            other => format!("; answers by {}", other.name()),
        };
        let line = format!("{name}  {}k tokens, {prices}; {}{protocol}", facts.window / 1_000, able.join(", "));
        print(&format!("{}\n", sanitize(&line)))
    }
}
