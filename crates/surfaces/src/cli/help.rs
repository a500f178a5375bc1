//! `trimtab --help` with its commands in groups, and `trimtab help TOPIC`: a command, or a page about a concept.

use std::fmt::Write;

use clap::{Args, Command, CommandFactory};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::print_exact;
use super::{CliArgs, CliOutcome};

/// The groups of `trimtab --help`, each with its commands in order.
const GROUPS: &[(&str, &[&str])] = &[
    ("Work", &["run", "resume", "checkpoints", "answer", "control", "subtasks", "pills"]),
    ("Review", &["review", "changes", "diff", "rewind", "forward"]),
    ("Sessions", &["sessions", "jobs", "ps", "stop-command", "handoff", "extend", "memory"]),
    ("Permissions", &["trust", "rules"]),
    ("Tasks", &["tasks", "ask"]),
    ("Images", &["images"]),
    ("Server", &["serve", "acp", "token"]),
    (
        "Setup",
        &[
            "demo",
            "doctor",
            "config",
            "models",
            "mcp",
            "hooks",
            "checks",
            "extensions",
            "import",
            "completions",
            "manual",
            "help",
        ],
    ),
    ("Advanced", &["check-command", "apply-edit", "recover", "ref", "audit", "stats"]),
];

/// The pages about concepts.
const TOPICS: &[(&str, &str)] = &[
    ("permissions", include_str!("help/permissions.txt")),
    ("autonomy", include_str!("help/autonomy.txt")),
    ("sandbox", include_str!("help/sandbox.txt")),
    ("undo", include_str!("help/undo.txt")),
    ("sessions", include_str!("help/sessions.txt")),
    ("models", include_str!("help/models.txt")),
    ("budgets", include_str!("help/budgets.txt")),
];

#[derive(Debug, Args)]
pub(super) struct HelpArgs {
    /// Command, or a topic: permissions, autonomy, sandbox, undo, sessions, models, budgets
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

impl HelpArgs {
    pub(super) fn execute(self) -> Result<CliOutcome, Problem> {
        print_exact(&self.text()?)?;
        Ok(CliOutcome::Done)
    }

    /// A command and a topic may share a name: both are shown then.
    fn text(&self) -> Result<String, Problem> {
        let page = match self.topic.as_slice() {
            [topic] => TOPICS.iter().find(|(name, _)| name == topic).map(|(_, page)| *page),
            _ => None,
        };
        let mut command = grouped(CliArgs::command());
        command.build();
        let found = self.topic.iter().try_fold(&mut command, |command, name| command.find_subcommand_mut(name));
        match (page, found) {
            (Some(page), Some(command)) => Ok(format!("{page}\n{}", command.render_long_help())),
            (Some(page), None) => Ok(page.to_owned()),
            (None, Some(command)) => Ok(command.render_long_help().to_string()),
            (None, None) => Err(unknown(&self.topic.join(" "))),
        }
    }
}

fn unknown(topic: &str) -> Problem {
    let topics: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
    Problem::new(ProblemKind::Usage, format!("There is no command or topic \"{topic}\"."))
        .hint(format!("Topics: {}. `trimtab --help` lists the commands.", topics.join(", ")))
}

/// The command with its subcommands listed by group.
pub(super) fn grouped(command: Command) -> Command {
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{group}:");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name:<14} {about}");
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_exactly_one_group() {
        let command = CliArgs::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut commands: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        listed.sort_unstable();
        commands.sort_unstable();
        assert_eq!(listed, commands);
    }

    #[test]
    fn help_knows_topics_commands_and_commands_of_commands() {
        let text = |words: &[&str]| HelpArgs { topic: words.iter().map(|word| (*word).to_owned()).collect() }.text();
        assert!(text(&["undo"]).expect("a page").contains("trimtab rewind"));
        assert!(text(&["tasks", "add"]).expect("a command").contains("--repeat"));
        let both = text(&["models"]).expect("both");
        assert!(both.contains("context window") && both.contains("Usage: trimtab models"), "{both}");
        assert!(text(&[]).expect("everything").contains("Permissions:"));
        let problem = text(&["unheard-of"]).expect_err("unknown");
        assert!(problem.hint.is_some_and(|hint| hint.contains("permissions, autonomy, sandbox")));
    }
}
