//! The checks there are: the user's own, those of a trusted folder, and those that follow from its files.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trimtab_engine::proposal::command::CommandDecision;
use trimtab_vocab::{
    CheckMode, CheckSettings, CheckSource, ListedCheck, Problem, ProblemKind, Rule, RuleVerdict, RunSettings,
};
use trimtab_world::store::hash;
use trimtab_world::workspace::read_small;

use crate::client::Client;
use crate::config::Profile;
use crate::mcp::files_named_in;

/// Checks that run after one batch of edits.
const MOST_CHECKS: usize = 8;
/// Bytes of a command line.
const LONGEST_COMMAND: usize = 4 * 1024;

/// What the settings say about checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckEntries {
    pub mode: CheckMode,
    /// The user's own.
    pub own: Vec<String>,
    /// Those that the folder's settings name, which the user has to approve.
    pub proposed: Vec<String>,
    /// Folders of the search path. A check is found only if its program is in one of them.
    pub(crate) programs: Vec<PathBuf>,
}

/// A check that a session in a folder knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCheck {
    /// Its name for people: who names it, and its number.
    pub name: String,
    pub listed: ListedCheck,
}

/// Whether a check runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckStanding {
    /// Checks are off.
    Off,
    /// The user has not approved it as it is now.
    Pending,
    /// The user does not want it, or the command policy denies it, and why.
    Denied(String),
    /// It asks first, and why.
    Asks(String),
    /// It runs without a question, and why.
    Runs(String),
}

impl CheckStanding {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Pending => "pending",
            Self::Denied(_) => "denied",
            Self::Asks(_) => "asks",
            Self::Runs(_) => "runs",
        }
    }

    /// Why, if there is something to say.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Off | Self::Pending => None,
            Self::Denied(reason) | Self::Asks(reason) | Self::Runs(reason) => Some(reason),
        }
    }
}

/// The checks of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    pub mode: CheckMode,
    pub known: Vec<KnownCheck>,
    /// Entries that are not used, and why.
    pub ignored: Vec<String>,
}

impl Checks {
    /// Finds them. `folder` must be one that the user trusts: nothing of another is read. What nobody has listed is found
    /// only if checks are on, because it runs without a question then, or not at all.
    pub(crate) fn load(entries: &CheckEntries, folder: Option<&str>) -> Self {
        let mut checks = Self { mode: entries.mode, ..Self::default() };
        for command in &entries.own {
            checks.add(command, |command| Ok(ListedCheck { command, source: CheckSource::User, ..Default::default() }));
        }
        let Some(folder) = folder else { return checks };
        for command in &entries.proposed {
            checks.add(command, |command| bound(command, folder));
        }
        if checks.known.is_empty() && entries.proposed.is_empty() && entries.mode == CheckMode::On {
            for listed in found(Path::new(folder), &entries.programs) {
                checks.push(listed);
            }
        }
        checks
    }

    fn add(&mut self, command: &str, define: impl FnOnce(String) -> Result<ListedCheck, String>) {
        let command = command.trim();
        let is_runnable =
            !command.is_empty() && command.len() <= LONGEST_COMMAND && !command.contains(char::is_control);
        let listed = match is_runnable {
            true => define(command.to_owned()),
            false => Err("it is not one line that can be run".to_owned()),
        };
        match listed {
            Ok(_) if self.known.len() == MOST_CHECKS => {
                self.ignored.push(format!("{command}: only {MOST_CHECKS} checks are used"));
            }
            Ok(listed) => self.push(listed),
            Err(why) => self.ignored.push(format!("{command}: {why}")),
        }
    }

    /// Adds a check, unless the same command is there already.
    fn push(&mut self, listed: ListedCheck) {
        if self.known.iter().any(|known| known.listed.command == listed.command) {
            return;
        }
        let number = self.known.iter().filter(|known| known.listed.source == listed.source).count() + 1;
        self.known.push(KnownCheck { name: format!("{}-{number}", listed.source.name()), listed });
    }

    pub fn named(&self, name: &str) -> Option<&KnownCheck> {
        self.known.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    pub(crate) fn settings(self) -> CheckSettings {
        let listed = self.known.into_iter().map(|known| known.listed).collect();
        match self.mode {
            CheckMode::Off => CheckSettings::default(),
            mode => CheckSettings { mode, listed },
        }
    }
}

/// A check of a folder, bound to its command and to the content of the files that this names.
fn bound(command: String, folder: &str) -> Result<ListedCheck, String> {
    let files = files_named_in(std::slice::from_ref(&command), Path::new(folder), true)?;
    let whole = json!(["check", command, files]);
    let hash = hash(whole.to_string().as_bytes());
    let files = files.into_iter().map(|(path, _)| path).collect();
    Ok(ListedCheck { command, source: CheckSource::Project, hash, files, after: Vec::new() })
}

/// The checks that follow from the files of a folder, if their programs are there.
fn found(folder: &Path, programs: &[PathBuf]) -> Vec<ListedCheck> {
    let has = |file: &str| folder.join(file).symlink_metadata().is_ok_and(|found| found.is_file());
    let runs = |program: &str| programs.iter().any(|place| place.join(program).is_file());
    let check = |command: String, after: &[&str]| ListedCheck {
        command,
        source: CheckSource::Found,
        after: after.iter().map(|end| (*end).to_owned()).collect(),
        ..ListedCheck::default()
    };
    let mut checks = Vec::new();
    if has("Cargo.toml") && runs("cargo") {
        checks.push(check("cargo check -q --message-format short".to_owned(), &[".rs", "Cargo.toml"]));
    }
    if has("go.mod") && runs("go") {
        checks.push(check("go vet ./...".to_owned(), &[".go", "go.mod"]));
    }
    let is_ruffed = || has("ruff.toml") || has(".ruff.toml") || mentions(&folder.join("pyproject.toml"), "[tool.ruff");
    if runs("ruff") && is_ruffed() {
        checks.push(check("ruff check".to_owned(), &[".py", ".pyi", "ruff.toml", "pyproject.toml"]));
    }
    // Without its packages, no script of a folder runs.
    if has("package.json") && folder.join("node_modules").is_dir() {
        const AFTER: &[&str] =
            &[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".svelte", ".vue", ".json"];
        checks.extend(of_node(folder, &has, &runs).into_iter().map(|command| check(command, AFTER)));
    }
    checks
}

/// The checks of a Node project: its own scripts, or else the compiler.
fn of_node(folder: &Path, has: &dyn Fn(&str) -> bool, runs: &dyn Fn(&str) -> bool) -> Vec<String> {
    let manager = match () {
        () if has("pnpm-lock.yaml") => "pnpm",
        () if has("yarn.lock") => "yarn",
        () => "npm",
    };
    if !runs(manager) {
        return Vec::new();
    }
    let manifest = read_small(&folder.join("package.json")).unwrap_or_default();
    let manifest: Map<String, Value> = serde_json::from_slice(&manifest).unwrap_or_default();
    let has_script = |name: &&str| manifest.get("scripts").and_then(|scripts| scripts.get(name)).is_some();
    let types = ["typecheck", "type-check", "check-types", "check"].into_iter().find(has_script);
    let lint = Some("lint").filter(has_script);
    let mut commands: Vec<String> =
        types.into_iter().chain(lint).map(|script| format!("{manager} run {script}")).collect();
    if types.is_none() && has("tsconfig.json") && folder.join("node_modules/.bin/tsc").exists() && runs("npx") {
        commands.insert(0, "npx --no-install tsc --noEmit".to_owned());
    }
    commands
}

fn mentions(file: &Path, text: &str) -> bool {
    read_small(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
}

/// The settings by which checks are judged in a folder.
fn judged_by(profile: &Profile, mode: CheckMode) -> RunSettings {
    let mut settings = profile.command_settings();
    settings.commands.checks = CheckSettings { mode, listed: Vec::new() };
    settings
}

impl KnownCheck {
    /// Whether it runs in a folder: what a session there would decide, by the same code.
    pub fn standing(&self, profile: &Profile, mode: CheckMode, folder: &str, rules: &[Rule]) -> CheckStanding {
        let has = |verdict| rules.contains(&Rule::check(folder, &self.listed, verdict));
        if mode == CheckMode::Off {
            return CheckStanding::Off;
        }
        if self.listed.source == CheckSource::Project {
            if has(RuleVerdict::Deny) {
                return CheckStanding::Denied("you do not want it".to_owned());
            }
            if !has(RuleVerdict::Allow) {
                return CheckStanding::Pending;
            }
        }
        let ruling = trimtab_engine::check_as_check(&judged_by(profile, mode), rules, folder, &self.listed);
        let led_out = ruling.is_fenced().then(|| crate::links::leads_out(&self.listed.command, folder)).flatten();
        let reason = ruling.reason.to_string();
        match (ruling.decision, led_out) {
            (CommandDecision::Auto, None) => CheckStanding::Runs(reason),
            (CommandDecision::Auto, Some(reason)) => CheckStanding::Asks(reason),
            (CommandDecision::Ask, _) => CheckStanding::Asks(reason),
            (CommandDecision::Deny, _) => CheckStanding::Denied(reason),
        }
    }
}

impl Client {
    /// The checks of a folder. `profile` must be that of the folder.
    pub async fn checks(&self, profile: &Profile, folder: &str) -> Result<Checks, Problem> {
        let trusted = self.permissions().trusts(profile, folder).await?;
        let (entries, folder) = (profile.external.checks.clone(), folder.to_owned());
        let read = move || Checks::load(&entries, trusted.then_some(folder.as_str()));
        let read = tokio::task::spawn_blocking(read).await;
        read.map_err(|error| Problem::new(ProblemKind::Internal, format!("The checks cannot be read: {error}.")))
    }

    /// Approves a check of a folder as it is now, or refuses it.
    pub async fn decide_check(&self, check: &KnownCheck, folder: &str, approve: bool) -> Result<(), Problem> {
        let (allow, deny) = (RuleVerdict::Allow, RuleVerdict::Deny);
        let (verdict, other) = if approve { (allow, deny) } else { (deny, allow) };
        let permissions = self.permissions();
        let old = Rule::check(folder, &check.listed, other);
        if permissions.rules().await?.contains(&old) {
            permissions.change_rule(&old, false).await?;
        }
        permissions.change_rule(&Rule::check(folder, &check.listed, verdict), true).await
    }
}

/// The checks of a request in a folder, with the settings in force there.
pub(crate) async fn for_request(entries: CheckEntries, folder: String, trusted: bool) -> CheckSettings {
    let may_find = trusted && (entries.mode == CheckMode::On || !entries.proposed.is_empty());
    if entries.mode == CheckMode::Off || (entries.own.is_empty() && !may_find) {
        return CheckSettings::default();
    }
    let read = move || Checks::load(&entries, trusted.then_some(folder.as_str())).settings();
    let settings = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    // Without a check, the record of a request needs no mode.
    if settings.listed.is_empty() { CheckSettings::default() } else { settings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
    }

    fn commands(checks: &Checks) -> Vec<&str> {
        checks.known.iter().map(|known| known.listed.command.as_str()).collect()
    }

    #[test]
    fn checks_follow_from_the_files_of_a_trusted_folder_only_when_they_are_on() {
        let home = tempfile::tempdir().expect("a folder");
        let (bin, folder) = (home.path().join("bin"), home.path().join("p"));
        for program in ["cargo", "go", "ruff", "npm", "npx", "pnpm"] {
            put(&bin.join(program), "");
        }
        put(&folder.join("Cargo.toml"), "");
        put(&folder.join("go.mod"), "");
        put(&folder.join("pyproject.toml"), "[tool.ruff.lint]\n");
        put(&folder.join("package.json"), r#"{"scripts": {"lint": "eslint .", "build": "vite"}}"#);
        put(&folder.join("tsconfig.json"), "{}");
        put(&folder.join("node_modules/.bin/tsc"), "");
        let place = folder.display().to_string();
        let entries = CheckEntries { mode: CheckMode::On, programs: vec![bin], ..CheckEntries::default() };
        let found = Checks::load(&entries, Some(&place));
        assert_eq!(
            commands(&found),
            [
                "cargo check -q --message-format short",
                "go vet ./...",
                "ruff check",
                "npx --no-install tsc --noEmit",
                "npm run lint"
            ]
        );
        assert!(found.known[0].listed.is_about("src/a.rs") && !found.known[0].listed.is_about("README.md"));
        put(&folder.join("package.json"), r#"{"scripts": {"typecheck": "tsc", "lint": "x"}}"#);
        put(&folder.join("pnpm-lock.yaml"), "");
        let found = Checks::load(&entries, Some(&place));
        assert_eq!(commands(&found)[3..], ["pnpm run typecheck", "pnpm run lint"]);
        // The user's own replace them, nothing is found unless checks are on, nor in a folder that is not trusted.
        let own = CheckEntries { own: vec!["make lint".into()], ..entries.clone() };
        assert_eq!(commands(&Checks::load(&own, Some(&place))), ["make lint"]);
        assert!(Checks::load(&CheckEntries { mode: CheckMode::Ask, ..entries.clone() }, Some(&place)).known.is_empty());
        assert!(Checks::load(&entries, None).known.is_empty());
        let absent = CheckEntries { programs: Vec::new(), ..entries };
        assert!(Checks::load(&absent, Some(&place)).known.is_empty(), "a program that is not there checks nothing");
    }

    #[test]
    fn an_approval_of_a_projects_check_covers_its_command_and_the_files_that_it_names() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().display().to_string();
        put(&home.path().join("lint.sh"), "one");
        let hash_of = |command: &str| bound(command.to_owned(), &folder).expect("a check").hash;
        let before = hash_of("./lint.sh");
        assert_eq!(before, hash_of("./lint.sh"));
        assert_ne!(before, hash_of("./lint.sh "));
        put(&home.path().join("lint.sh"), "two");
        assert_ne!(before, hash_of("./lint.sh"));
    }

    #[test]
    fn entries_that_cannot_be_run_are_ignored_with_the_reason() {
        let own = vec!["  ".into(), "a\nb".into(), "x".repeat(LONGEST_COMMAND + 1), "ls".into(), "ls".into()];
        let checks = Checks::load(&CheckEntries { own, ..CheckEntries::default() }, None);
        assert_eq!((commands(&checks), checks.ignored.len()), (vec!["ls"], 3));
        let own = (0..20).map(|number| format!("check {number}")).collect();
        let checks = Checks::load(&CheckEntries { own, ..CheckEntries::default() }, None);
        assert_eq!((checks.known.len(), checks.ignored.len()), (MOST_CHECKS, 20 - MOST_CHECKS));
    }
}
