//! Project settings: `.trimtab/config.toml` of a trusted folder. They can only be stricter than the user's file,
//! because the author of a folder must not loosen what happens in it. Settings for one run override them.

use std::io::Read;
use std::path::Path;

use toml::Value;
use trimtab_vocab::{Applying, Autonomy, NetworkAccess, Problem, ProblemKind, Sandbox};

use super::lines::Lines;
use super::raw::Origin;
use super::resolve::Profile;
use super::rules;

/// Bytes of the file at most.
const LARGEST: u64 = 64 * 1024;

/// What a project may say.
const ALLOWED: &str = "autonomy, checks.commands, context.files, commands.ask, commands.deny, commands.network, commands.sandbox, commands.timeout_s, apply.auto, \
                       apply.files, and apply.commands";

impl Profile {
    /// The settings in force in a trusted folder.
    pub(crate) fn in_project(mut self, folder: &str) -> Result<Self, Problem> {
        let file = Path::new(folder).join(".trimtab/config.toml");
        let Some(text) = read(&file)? else { return Ok(self) };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
            let place = Origin::File(file.clone(), line);
            refused(&place, error.message()).hint("A project's settings are written in TOML, like your own.")
        })?;
        let lines = Lines::new(&text);
        let place = |path: &str| Origin::File(file.clone(), lines.line(path));
        for (section, value) in table {
            if section == "autonomy" {
                self.limit_autonomy(place(&section), value)?;
                continue;
            }
            let Value::Table(inner) = value else { return Err(foreign(&place(&section), &section)) };
            for (name, value) in inner {
                let path = format!("{section}.{name}");
                self.tighten(place(&path), &path, value)?;
            }
        }
        Ok(self)
    }

    /// The level that sessions in this folder have at most. Unlike a value, it also limits what is chosen for one run or
    /// with a key: otherwise it would be no limit.
    fn limit_autonomy(&mut self, origin: Origin, value: Value) -> Result<(), Problem> {
        let Some(limit) = value.as_str().and_then(Autonomy::named) else {
            return Err(refused(&origin, &format!("Invalid value {value} for autonomy"))
                .hint("Expected careful, standard, or trusting."));
        };
        self.hands.autonomy_limit = Some(limit);
        if self.hands.autonomy.unwrap_or_default() > limit {
            self.raw.set("autonomy", value, origin);
        }
        Ok(())
    }

    fn tighten(&mut self, origin: Origin, path: &str, value: Value) -> Result<(), Problem> {
        let looser = || {
            refused(&origin, &format!("{path} = {value} is less strict than your own setting"))
                .hint("A project can only be stricter than your own settings. Change or remove the line.")
        };
        let raw = &self.raw;
        let is_said = |path: &str| raw.get(path).is_some_and(|(_, origin)| origin.is_of_this_run());
        let is_value = matches!(
            path,
            "apply.auto"
                | "apply.files"
                | "apply.commands"
                | "commands.network"
                | "commands.sandbox"
                | "commands.timeout_s"
        );
        if is_value && is_said(path) {
            return Ok(());
        }
        let hands = &mut self.hands;
        match (path, &value) {
            ("commands.ask" | "commands.deny", _) => {
                let list = rules::read(path, &value, &origin)?;
                let all = if path == "commands.ask" { &mut hands.lists.ask } else { &mut hands.lists.deny };
                all.extend(list);
                let all = all.iter().cloned().map(Value::String).collect();
                self.raw.set(path, Value::Array(all), origin);
                return Ok(());
            }
            ("context.files", Value::Array(named)) => {
                let named: Option<Vec<&str>> = named.iter().map(Value::as_str).collect();
                let Some(named) = named else { return Err(no_list(&origin, path, &value)) };
                let all = &mut self.context.files;
                for file in named {
                    if !all.iter().any(|known| known == file) {
                        all.push(file.to_owned());
                    }
                }
                let all = all.iter().cloned().map(Value::String).collect();
                self.raw.set(path, Value::Array(all), origin);
                return Ok(());
            }
            ("context.files", _) => return Err(no_list(&origin, path, &value)),
            // They are only proposed: each runs once the user has approved it.
            ("checks.commands", Value::Array(named)) => {
                let named: Option<Vec<&str>> = named.iter().map(Value::as_str).collect();
                let Some(named) = named else { return Err(no_list(&origin, path, &value)) };
                self.external.checks.proposed = named.into_iter().map(str::to_owned).collect();
                return Ok(());
            }
            ("checks.commands", _) => return Err(no_list(&origin, path, &value)),
            ("apply.auto", Value::Boolean(false)) => {
                if !is_said("apply.files") {
                    hands.files = Applying::Ask;
                }
                if !is_said("apply.commands") {
                    (hands.commands, hands.commands_chosen) = (Applying::Ask, true);
                }
                if !is_said("checks.mode") {
                    self.external.checks.mode = self.external.checks.mode.asked();
                }
            }
            ("apply.auto", Value::Boolean(true)) => {}
            ("apply.files", Value::String(said)) if said == "ask" => hands.files = Applying::Ask,
            ("apply.commands", Value::String(said)) if said == "ask" => {
                (hands.commands, hands.commands_chosen) = (Applying::Ask, true);
                if !is_said("checks.mode") {
                    self.external.checks.mode = self.external.checks.mode.asked();
                }
            }
            ("apply.files", Value::String(said)) if said == "auto" && hands.files == Applying::Auto => {}
            ("apply.commands", Value::String(said)) if said == "auto" && hands.commands == Applying::Auto => {}
            ("commands.sandbox", Value::String(said)) => match (said.as_str(), hands.sandbox) {
                ("read-only", _) => hands.sandbox = Sandbox::ReadOnly,
                ("workspace", Sandbox::Off) => hands.sandbox = Sandbox::Workspace,
                ("workspace", Sandbox::Workspace) | ("off", Sandbox::Off) => {}
                _ => return Err(looser()),
            },
            ("commands.network", Value::String(said)) => match (said.as_str(), hands.network) {
                ("off", _) => hands.network = NetworkAccess::Off,
                ("ask", NetworkAccess::On) => hands.network = NetworkAccess::Ask,
                ("ask", NetworkAccess::Ask) | ("on", NetworkAccess::On) => {}
                _ => return Err(looser()),
            },
            ("commands.timeout_s", Value::Integer(seconds)) => match u64::try_from(*seconds) {
                Ok(seconds @ 1..) if seconds <= hands.times.timeout_s => hands.times.timeout_s = seconds,
                _ => return Err(looser()),
            },
            _ if is_value => return Err(looser()),
            _ => return Err(foreign(&origin, path)),
        }
        self.raw.set(path, value, origin);
        Ok(())
    }
}

/// The file's text; a link would let a folder point at other files of the user.
fn read(file: &Path) -> Result<Option<String>, Problem> {
    let refused = |why: &str| refused(&Origin::File(file.to_owned(), None), why);
    match std::fs::symlink_metadata(file) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(refused("it is not a plain file").hint("Remove it, or make it a file.")),
        Err(_) => return Ok(None),
    }
    let mut text = String::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Ok(_) if text.len() as u64 <= LARGEST => Ok(Some(text)),
        Ok(_) => Err(refused("it is larger than 64 KB").hint("Remove what does not belong there.")),
        Err(error) => Err(refused(&format!("it cannot be read: {error}")).hint("Check its permissions.")),
    }
}

fn no_list(place: &Origin, path: &str, value: &Value) -> Problem {
    refused(place, &format!("Invalid value {value} for {path}"))
        .hint(format!("{path} takes a list of strings, such as [\"docs/style.md\"]."))
}

fn foreign(place: &Origin, path: &str) -> Problem {
    refused(place, &format!("a project cannot set {path}")).hint(format!(
        "A project can set {ALLOWED}, but only more strictly than you. Put other settings into your own settings file."
    ))
}

fn refused(place: &Origin, why: &str) -> Problem {
    Problem::new(ProblemKind::Settings, format!("Invalid project settings in {place}: {why}."))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn with(user: &str, project: &str) -> Result<Profile, Problem> {
        under(None, user, project)
    }

    fn under(variable: Option<(&str, &str)>, user: &str, project: &str) -> Result<Profile, Problem> {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("config.toml"), user).expect("writes");
        std::fs::create_dir_all(home.path().join("p/.trimtab")).expect("a folder");
        std::fs::write(home.path().join("p/.trimtab/config.toml"), project).expect("writes");
        let mut variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.path().display().to_string())]);
        variables.extend(variable.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let profile = super::super::load_from(&variables, &[]).expect("loads");
        profile.in_project(&home.path().join("p").display().to_string())
    }

    #[test]
    fn a_project_can_be_stricter() {
        let project = "[apply]\nauto = false\n[commands]\ndeny = [\"git push\"]\nask = [\"npm\"]\nsandbox = \"read-only\"\ntimeout_s = 5\n";
        let profile = with("[apply]\ncommands = \"auto\"\n", project).expect("stricter");
        let hands = &profile.hands;
        assert_eq!((hands.files, hands.commands), (Applying::Ask, Applying::Ask));
        assert_eq!(
            (hands.lists.deny.as_slice(), hands.lists.ask.as_slice()),
            (["git push".to_owned()].as_slice(), ["npm".to_owned()].as_slice())
        );
        assert_eq!((hands.sandbox, hands.times.timeout_s), (Sandbox::ReadOnly, 5));
        let shown = profile.shown().into_iter().find(|shown| shown.path == "commands.deny").expect("shown");
        assert!(shown.origin.ends_with(".trimtab/config.toml, line 4"), "{shown:?}");
    }

    #[test]
    fn a_project_limits_autonomy_and_never_raises_it() {
        let levels = |variable: Option<(&str, &str)>, user: &str, project: &str| {
            let settings = under(variable, user, project).expect("no contradiction").command_settings();
            (settings.autonomy.level, settings.autonomy.limit)
        };
        let (careful, trusting) = (Some(Autonomy::Careful), Some(Autonomy::Trusting));
        assert_eq!(levels(None, "", ""), (None, None));
        assert_eq!(levels(None, "autonomy = \"trusting\"\n", "autonomy = \"careful\"\n"), (trusting, careful));
        let said = Some(("TRIMTAB_AUTONOMY", "trusting"));
        assert_eq!(levels(said, "", "autonomy = \"careful\"\n"), (trusting, careful), "it limits one run, too");
        assert_eq!(levels(None, "", "autonomy = \"trusting\"\n"), (None, trusting), "a limit is not a level");
        let problem = with("", "autonomy = \"yolo\"\n").expect_err("refused");
        assert!(problem.message.contains("autonomy"), "{}", problem.message);
        let asks = with("", "[apply]\ncommands = \"ask\"\n").expect("stricter").command_settings();
        assert!(asks.commands.apply_chosen);
    }

    #[test]
    fn the_environment_beats_a_project_and_a_project_beats_the_file() {
        let hands = |variable: Option<(&str, &str)>, project: &str| {
            let profile = under(variable, "[commands]\ntimeout_s = 40\n", project).expect("no contradiction");
            (profile.hands.files, profile.hands.sandbox, profile.hands.times.timeout_s)
        };
        let project = "[apply]\nfiles = \"ask\"\n[commands]\nsandbox = \"workspace\"\ntimeout_s = 20\n";
        assert_eq!(hands(None, project), (Applying::Ask, Sandbox::Workspace, 20));
        assert_eq!(hands(Some(("TRIMTAB_APPLY_FILES", "auto")), project), (Applying::Auto, Sandbox::Workspace, 20));
        assert_eq!(
            hands(Some(("TRIMTAB_COMMANDS_SANDBOX", "read-only")), project),
            (Applying::Ask, Sandbox::ReadOnly, 20)
        );
        assert_eq!(
            hands(Some(("TRIMTAB_COMMANDS_TIMEOUT_S", "10")), project),
            (Applying::Ask, Sandbox::Workspace, 10),
            "stricter than the project, and no reason to refuse its file"
        );
        let switched_off = hands(Some(("TRIMTAB_APPLY_FILES", "auto")), "[apply]\nauto = false");
        assert_eq!(switched_off.0, Applying::Auto);
    }

    #[test]
    fn what_would_loosen_or_belongs_elsewhere_is_refused_by_name() {
        for (project, named) in [
            ("[apply]\ncommands = \"auto\"", "apply.commands"),
            ("[commands]\nallow = [\"rm\"]", "commands.allow"),
            ("[commands]\nsandbox = \"off\"", "commands.sandbox"),
            ("[commands]\ntimeout_s = 3000", "commands.timeout_s"),
            ("[providers.x]\nbase_url = \"http://evil\"", "providers.x"),
            ("model = \"a/b\"", "model"),
            ("[folders]\ntrusted = [\"/\"]", "folders.trusted"),
            ("[permissions]\nremember_deletes = true", "permissions.remember_deletes"),
            ("[[commands]]", "commands"),
            ("nonsense", "config.toml"),
        ] {
            let problem = with("", project).expect_err(project);
            assert!(problem.message.contains(named), "{project}: {}", problem.message);
        }
    }

    #[test]
    fn without_a_file_nothing_changes() {
        let home = tempfile::tempdir().expect("a folder");
        let variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.path().display().to_string())]);
        let profile = super::super::load_from(&variables, &[]).expect("loads");
        let before = profile.hands.clone();
        assert_eq!(profile.in_project(&home.path().display().to_string()).expect("no file").hands, before);
    }
}
