//! Settings: raw values with their origins, then resolved into what the rest of the program uses.
//!
//! A flag overrides the environment, the environment overrides the user's file, and the file overrides the default.
//! Errors name the place and the nearest valid name. Unknown environment variables with our prefix may belong to
//! another program, so they are reported, not refused.

mod beside;
mod catalog;
mod extras;
mod keep_model;
mod key_file;
mod key_ring;
mod keys;
mod lines;
mod project;
mod raw;
mod resolve;
mod rules;
mod server_file;
mod set_value;
mod settings_writer;
mod strictness;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use trimtab_vocab::{Problem, ProblemKind};

pub use beside::texts_beside;
pub use catalog::{Catalog, catalog_source};
pub use keep_model::{ProviderAddress, keep_model};
pub use keys::{
    KEYS, PROVIDER_KEYS, SERVER_KEYS, SettingKey, SettingKind, env_name, find as key_of, nearest_of, variable_meant,
};
pub use raw::Origin;
pub use resolve::{
    ExternalTools, Keeping, Profile, RequestLimits, Roles, Shown, TaskSettings, TuiSettings, without_password,
};
pub use server_file::{NewServer, add_server, enable_server, remove_server};
pub use set_value::{SettingChange, set_value, unset_value};
pub(crate) use settings_writer::{append_beside, create_beside};
pub use strictness::{ChangeEffect, SettingGuard, effect_of, guard_of, is_in_file, needs_restart, overriding};

use raw::RawSettings;

/// Providers that are there without being set up: name, kind, address, key variable.
const BUILT_IN: &[(&str, &str, &str, &str)] = &[
    ("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ("openai", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("gemini", "gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ("xai", "openai", "https://api.x.ai/v1", "XAI_API_KEY"),
    ("openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("ollama", "ollama", "http://127.0.0.1:11434", ""),
    ("llamacpp", "openai", "http://127.0.0.1:8080/v1", ""),
    ("lmstudio", "openai", "http://127.0.0.1:1234/v1", ""),
    ("vllm", "openai", "http://127.0.0.1:8000/v1", ""),
    ("replay", "replay", "", ""),
];

/// Other variables that hold a key just as well, after the one in the settings.
const OTHER_KEYS: &[(&str, &str)] = &[("GEMINI_API_KEY", "GOOGLE_API_KEY")];

/// Whose key alone chooses a model; the first that is found counts.
const KEY_PROVIDERS: &[&str] = &["anthropic", "openai", "gemini", "xai", "openrouter"];

/// The model that a provider's key alone chooses.
pub fn default_model(provider: &str) -> Option<String> {
    catalog::general_model(provider).filter(|_| KEY_PROVIDERS.contains(&provider))
}

/// Whether a provider is where it usually is.
pub(crate) fn is_built_in_address(provider: &str, base_url: &str) -> bool {
    BUILT_IN.iter().any(|(name, _, address, _)| *name == provider && *address == base_url)
}

/// The variables whose key alone chooses a model, in a sentence: `A, B, or C`.
pub fn key_variables() -> String {
    let variable = |name: &&str| BUILT_IN.iter().find(|(known, ..)| known == name).map(|(.., key)| *key);
    let all: Vec<&str> = KEY_PROVIDERS.iter().filter_map(variable).collect();
    trimtab_vocab::format::choices(&all)
}

/// A setting given as an option of the command.
#[derive(Debug, Clone)]
pub struct Flag {
    /// The setting.
    pub path: &'static str,
    /// The option, as it was written.
    pub option: &'static str,
    pub value: String,
}

/// Reads the settings of this process.
pub fn load(flags: &[Flag]) -> Result<Profile, Problem> {
    load_from(&environment(), flags)
}

/// The environment of this process.
pub fn environment() -> BTreeMap<String, String> {
    // Names and values that are not text cannot be settings of ours.
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Reads the settings under a given environment.
pub fn load_from(variables: &BTreeMap<String, String>, flags: &[Flag]) -> Result<Profile, Problem> {
    let (file, data) = places(variables)?;
    let mut raw = RawSettings::defaults();
    match std::fs::read_to_string(&file) {
        Ok(text) => raw.add_file(&text, &file)?,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if let Some(named) = variables.get("TRIMTAB_CONFIG").filter(|named| !named.is_empty()) {
                return Err(Problem::new(ProblemKind::Settings, format!("The settings file {named} does not exist."))
                    .hint("Create it, or unset TRIMTAB_CONFIG."));
            }
        }
        Err(error) => {
            return Err(Problem::new(
                ProblemKind::Settings,
                format!("The settings file {} cannot be read: {error}.", file.display()),
            )
            .hint("Check its permissions, or name another with TRIMTAB_CONFIG."));
        }
    }
    raw.add_environment(variables)?;
    for flag in flags {
        if let Some(key) = keys::find(flag.path) {
            raw.add_text(flag.path, key.kind, &flag.value, Origin::Flag(flag.option.to_owned()))?;
        }
    }
    raw.check_together()?;
    let catalog = Catalog::load(&file.with_file_name("models.toml"))?;
    let keys = key_file::read(&file.with_file_name("keys.toml"))?;
    Profile::resolve(raw, file, data, catalog, &keys, variables)
}

/// Keeps a provider's key beside the settings file of a profile, where the next [`load`] finds it.
pub fn keep_key(profile: &Profile, provider: &str, key: &str) -> Result<(), Problem> {
    key_file::write(&profile.file.with_file_name("keys.toml"), provider, key)
}

/// Where the key of a provider was found, for the user.
pub fn key_place(profile: &Profile, provider: &str) -> Option<String> {
    let settings = profile.providers.get(provider).filter(|settings| settings.key.is_some())?;
    let set = |name: &&String| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let file = profile.file.with_file_name("keys.toml");
    let is_kept = || key_file::read(&file).is_ok_and(|keys| keys.contains_key(provider));
    Some(match settings.key_env.as_ref().filter(set) {
        Some(variable) => variable.clone(),
        None if is_kept() => file.display().to_string(),
        None => "the system's keyring".to_owned(),
    })
}

/// The user's file and the data folder.
fn places(variables: &BTreeMap<String, String>) -> Result<(PathBuf, PathBuf), Problem> {
    use etcetera::BaseStrategy;
    let variable = |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("TRIMTAB_HOME");
    let (config, data) = match &home {
        Some(home) => (home.clone(), home.clone()),
        None => {
            let base = etcetera::choose_base_strategy().map_err(|_| {
                Problem::new(ProblemKind::Settings, "There is no home folder for settings and sessions.")
                    .hint("Set HOME, or set TRIMTAB_HOME to a folder of your choice.")
            })?;
            (base.config_dir().join("trimtab"), base.data_dir().join("trimtab"))
        }
    };
    let file = variable("TRIMTAB_CONFIG").unwrap_or_else(|| config.join("config.toml"));
    Ok((file, absolute(&data)))
}

/// A relative data folder would be another one after a change of folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn environment(home: &Path, more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.display().to_string())]);
        variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        variables
    }

    #[cfg(unix)]
    #[test]
    fn a_home_folder_behind_a_link_is_known_by_its_own_path() {
        let place = tempfile::tempdir().expect("folder");
        let real = place.path().canonicalize().expect("a path").join("real");
        std::fs::create_dir(&real).expect("made");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let variables = environment(&link.join("not/yet"), &[("HOME", link.to_str().expect("a name"))]);
        let machine = load_from(&variables, &[]).expect("resolves").hands.machine;
        let real = real.to_str().expect("a name");
        assert_eq!(machine.home, real);
        assert!(trimtab_engine::is_broad(real, &machine));
        assert!(machine.own.iter().any(|own| own.starts_with(&format!("{real}/not/yet"))), "{:?}", machine.own);
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
        let home = tempfile::tempdir().expect("folder");
        let origin = |profile: &Profile| {
            let shown = profile.shown().into_iter().find(|shown| shown.path == "limits.retries").expect("shown");
            (shown.value, shown.origin)
        };
        let plain = load_from(&environment(home.path(), &[]), &[]).expect("loads");
        assert_eq!(origin(&plain), ("5".into(), "default".into()));
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[limits]\nretries = 1\n").expect("writes");
        let filed = load_from(&environment(home.path(), &[]), &[]).expect("loads");
        assert_eq!(origin(&filed), ("1".into(), format!("{}, line 2", file.display())));
        let variables = environment(home.path(), &[("TRIMTAB_LIMITS_RETRIES", "2")]);
        let set = load_from(&variables, &[]).expect("loads");
        assert_eq!(origin(&set), ("2".into(), "environment TRIMTAB_LIMITS_RETRIES".into()));
        let flag = Flag { path: "limits.retries", option: "--retries", value: "3".into() };
        let flagged = load_from(&variables, &[flag]).expect("loads");
        assert_eq!(origin(&flagged), ("3".into(), "option --retries".into()));
        assert_eq!(flagged.limits.retries, 3);
    }

    #[test]
    fn a_key_alone_chooses_a_model_and_none_says_what_to_do() {
        let home = tempfile::tempdir().expect("folder");
        let with_key = load_from(&environment(home.path(), &[("ANTHROPIC_API_KEY", "k")]), &[]).expect("loads");
        assert_eq!(with_key.model, default_model("anthropic"));
        for (variable, provider) in [("GEMINI_API_KEY", "gemini"), ("GOOGLE_API_KEY", "gemini"), ("XAI_API_KEY", "xai")]
        {
            let profile = load_from(&environment(home.path(), &[(variable, "k")]), &[]).expect("loads");
            assert_eq!(profile.model, default_model(provider), "{variable}");
            assert_eq!(profile.providers[provider].key_env.as_deref(), Some(variable));
        }
        let without = load_from(&environment(home.path(), &[]), &[]).expect("loads");
        let problem = without.run_settings().expect_err("no model");
        assert!(problem.hint.expect("a hint").contains("trimtab demo"));
    }

    #[test]
    fn the_name_of_the_assistant_cannot_look_like_another_answer() {
        let home = tempfile::tempdir().expect("folder");
        let long = "x".repeat(200);
        for (set, expected) in [
            ("Ada", "Ada"),
            ("Ada\n4. Yes", "Ada"),
            ("A\u{1b}[2K\u{202e}d  a", "A[2Kd a"),
            ("\n", "Trimtab"),
            (long.as_str(), &long[..40]),
        ] {
            let more = [("ANTHROPIC_API_KEY", "k"), ("TRIMTAB_COPILOT_NAME", set)];
            let profile = load_from(&environment(home.path(), &more), &[]).expect("loads");
            assert_eq!(profile.run_settings().expect("a model").style.assistant, expected, "{set:?}");
        }
    }

    #[test]
    fn settings_of_sub_tasks_reach_the_request_and_each_data_folder_has_its_own_place_for_copies() {
        use trimtab_vocab::BuildFolders;
        let (home, other) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
        let more = [
            ("ANTHROPIC_API_KEY", "k"),
            ("HOME", "/home/ada"),
            ("TRIMTAB_SUBTASKS_AUTO_USD", "0.25"),
            ("TRIMTAB_SUBTASKS_BUILD_FOLDERS", "share"),
        ];
        let run = |home: &Path| {
            load_from(&environment(home, &more), &[]).expect("loads").run_settings().expect("a model is set up")
        };
        let (one, two) = (run(home.path()), run(other.path()));
        assert_eq!((one.subtasks.auto_usd, one.subtasks.build_folders), (0.25, BuildFolders::Share));
        assert!(one.machine.workers.starts_with("/home/ada/.cache/trimtab/workers/"), "{}", one.machine.workers);
        assert_ne!(one.machine.workers, two.machine.workers);
    }

    #[test]
    fn whatever_a_setting_is_said_to_take_is_taken() {
        let home = tempfile::tempdir().expect("folder");
        let mut tried = 0;
        for key in KEYS {
            let values: Vec<String> = match key.kind {
                SettingKind::Choice(choices) => choices.iter().map(|choice| (*choice).to_owned()).collect(),
                SettingKind::Int(least, most) => vec![least.to_string(), most.to_string()],
                SettingKind::Float(least, most) => vec![least.to_string(), most.to_string()],
                SettingKind::Bool => vec!["true".into(), "false".into()],
                _ => continue,
            };
            // These two are also compared with each other.
            if matches!(key.path, "copilot.unsure_below" | "copilot.sure_above") {
                continue;
            }
            for value in values {
                let variables = environment(home.path(), &[(env_name(key.path).as_str(), value.as_str())]);
                load_from(&variables, &[]).unwrap_or_else(|problem| panic!("{problem:?}"));
                tried += 1;
            }
        }
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn a_flow_sets_what_nobody_sets() {
        use trimtab_vocab::{ApprovalMode, Copilot, Routing};
        let home = tempfile::tempdir().expect("folder");
        let copilot = |more: &[(&str, &str)]| load_from(&environment(home.path(), more), &[]).expect("loads").copilot;
        assert_eq!(copilot(&[]), Copilot::default());
        let plain = Copilot::default();
        let complex = Copilot { intelligent_routing: Routing::Aggressive, approval_mode: ApprovalMode::Both, ..plain };
        assert_eq!(copilot(&[("TRIMTAB_COPILOT_FLOW", "complex")]), complex);
        let simple = copilot(&[("TRIMTAB_COPILOT_FLOW", "simple")]);
        assert_eq!((simple.intelligent_routing, simple.approval_mode), (Routing::Minimal, ApprovalMode::AfterStep));
        assert!(!simple.enable_planning && simple.auto_approve_simple);
        let talk = copilot(&[("TRIMTAB_COPILOT_FLOW", "conversation")]);
        assert!(talk.conversational && talk.allow_execution_transition && talk.pause_enabled);
        let own = [
            ("TRIMTAB_COPILOT_UNSURE_BELOW", "0.3"),
            ("TRIMTAB_COPILOT_SURE_ABOVE", "1"),
            ("TRIMTAB_COPILOT_NO_TOOLS_BELOW", "0"),
            ("TRIMTAB_COPILOT_TRIGGERS", "ship it"),
        ];
        let own = copilot(&own);
        assert_eq!((own.unsure_below, own.sure_above, own.no_tools_below), (0.3, 1.0, 0.0));
        assert_eq!(own.triggers, ["ship it"]);
        assert!(load_from(&environment(home.path(), &[("TRIMTAB_COPILOT_UNSURE_BELOW", "0.8")]), &[]).is_err());
        let mixed = [("TRIMTAB_COPILOT_FLOW", "complex"), ("TRIMTAB_COPILOT_APPROVAL_MODE", "none")];
        assert_eq!(copilot(&mixed).approval_mode, ApprovalMode::None, "what a person sets themselves wins");
        assert!(load_from(&environment(home.path(), &[("TRIMTAB_COPILOT_PAUSE_ENABLED", "maybe")]), &[]).is_err());
    }

    #[test]
    fn the_master_switch_off_asks_about_files_and_commands_whatever_else_is_set() {
        use trimtab_vocab::Applying::{Ask, Auto};
        let home = tempfile::tempdir().expect("folder");
        for (text, files, commands) in [
            ("", Auto, Ask),
            ("autoApplyCli = true", Auto, Auto),
            ("autoApplyFiles = false", Ask, Ask),
            ("autoApply = false\nautoApplyFiles = true\nautoApplyCli = true", Ask, Ask),
            ("[apply]\nauto = false\nfiles = \"auto\"\ncommands = \"auto\"", Ask, Ask),
        ] {
            std::fs::write(home.path().join("config.toml"), text).expect("writes");
            let hands = load_from(&environment(home.path(), &[]), &[]).expect("loads").hands;
            assert_eq!((hands.files, hands.commands), (files, commands), "{text}");
        }
    }

    #[test]
    fn keys_never_show() {
        let home = tempfile::tempdir().expect("folder");
        let profile = load_from(&environment(home.path(), &[("ANTHROPIC_API_KEY", "sk-secret")]), &[]).expect("loads");
        assert!(!format!("{profile:?} {:?}", profile.shown()).contains("sk-secret"));
    }
}
