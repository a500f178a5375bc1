//! Settings as written, each with its origin, before they are interpreted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::Value;
use trimtab_engine::flow::intent;
use trimtab_vocab::{Problem, ProblemKind};

use super::extras;
use super::keys::{self, KEYS, PROVIDER_KEYS, SettingKind};
use super::lines::Lines;
use super::rules;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Not set.
    Default,
    /// A file, and which of its lines.
    File(PathBuf, Option<usize>),
    /// An environment variable.
    Environment(String),
    /// An option of the command.
    Flag(String),
    /// An argument of the command.
    CommandLine,
    /// Another setting that stands for several.
    Setting(String),
    /// One of these, under another name for the setting.
    Alias(Box<Origin>, String),
}

impl Origin {
    /// Whether it was set for this run, and so overrides all files.
    pub(super) fn is_of_this_run(&self) -> bool {
        match self {
            Self::Environment(_) | Self::Flag(_) | Self::CommandLine => true,
            Self::Alias(origin, _) => origin.is_of_this_run(),
            Self::Default | Self::File(..) | Self::Setting(_) => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, None) => write!(f, "{}", path.display()),
            Self::File(path, Some(line)) => write!(f, "{}, line {line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "option {name}"),
            Self::CommandLine => f.write_str("command line"),
            Self::Setting(name) => write!(f, "setting {name}"),
            Self::Alias(origin, name) => write!(f, "{origin}, as {name}"),
        }
    }
}

/// Values by their full names, each checked for its kind, with where it comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RawSettings {
    values: BTreeMap<String, (Value, Origin)>,
    /// Environment variables that look like settings but are not.
    pub(super) stray: Vec<String>,
}

impl RawSettings {
    /// Sets a value that is known to be good; a later one wins.
    pub(super) fn set(&mut self, path: impl Into<String>, value: Value, origin: Origin) {
        self.values.insert(path.into(), (value, origin));
    }

    pub(super) fn get(&self, path: &str) -> Option<&(Value, Origin)> {
        self.values.get(path)
    }

    /// Every value with its name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.values.iter().map(|(path, (value, origin))| (path.as_str(), value, origin))
    }

    /// Sets values that are not set, for a setting that stands for several.
    pub(super) fn fill(&mut self, values: &[(&str, &str)], by: &str) {
        for (path, value) in values {
            if self.get(path).is_none_or(|(_, origin)| *origin == Origin::Default) {
                self.set(*path, parse_default(value), Origin::Setting(by.to_owned()));
            }
        }
    }

    /// The default of every setting.
    pub(super) fn defaults() -> Self {
        let mut raw = Self::default();
        for key in KEYS {
            raw.set(key.path, parse_default(key.default), Origin::Default);
        }
        for (name, kind, base_url, key) in super::BUILT_IN {
            raw.set(format!("providers.{name}.kind"), Value::String((*kind).into()), Origin::Default);
            if *kind == "openai" {
                raw.set(format!("providers.{name}.api"), Value::String("auto".into()), Origin::Default);
            }
            raw.set(format!("providers.{name}.base_url"), Value::String((*base_url).into()), Origin::Default);
            raw.set(format!("providers.{name}.api_key_env"), Value::String((*key).into()), Origin::Default);
        }
        raw
    }

    /// Adds a file's text.
    pub(super) fn add_file(&mut self, text: &str, path: &Path) -> Result<(), Problem> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let place = error.span().map_or(String::new(), |span| {
                let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
                format!(", line {line}")
            });
            wrong(format!("{}{place}: {}", path.display(), error.message()))
                .hint("Settings are written in TOML, for example: model = \"anthropic/claude-sonnet-5-5\"")
        })?;
        self.add_table("", table, path, &Lines::new(text))
    }

    fn add_table(&mut self, prefix: &str, table: toml::Table, file: &Path, lines: &Lines) -> Result<(), Problem> {
        for (name, value) in table {
            let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            let origin = &Origin::File(file.to_owned(), lines.line(&path));
            if let Some(meant) = keys::meant(&path) {
                self.add_alias(&path, meant, value, origin)?;
                continue;
            }
            match (keys::find(&path), value) {
                (Some(_), value) if self.is_set_by(&path, origin) => return Err(twice(&path, &value, origin)),
                (Some(key), value) => {
                    check(&path, key.kind, &value, origin)?;
                    self.set(path, value, origin.clone());
                }
                (None, Value::Table(inner)) if is_section(&path) => self.add_table(&path, inner, file, lines)?,
                (None, _) => return Err(unknown(&path, origin)),
            }
        }
        Ok(())
    }

    /// Adds a value under another name: yes and no are words in some of the settings that they mean.
    fn add_alias(&mut self, name: &str, meant: &str, value: Value, origin: &Origin) -> Result<(), Problem> {
        let Some(key) = keys::find(meant) else { return Err(unknown(name, origin)) };
        let value = match (key.kind, value) {
            (SettingKind::Choice(choices), Value::Boolean(yes)) if choices.contains(&"auto") => {
                Value::String(if yes { "auto" } else { "ask" }.into())
            }
            // Where these names come from there is one provider, and models are called without it.
            (_, Value::String(model)) if meant.starts_with("models.") && !model.is_empty() && !model.contains('/') => {
                Value::String(format!("xai/{model}"))
            }
            (_, value) => value,
        };
        if self.is_set_by(meant, origin) {
            return Err(twice(meant, &value, origin));
        }
        check(name, key.kind, &value, origin)?;
        let alias = Origin::Alias(Box::new(origin.clone()), name.to_owned());
        self.set(meant, value, alias);
        Ok(())
    }

    /// Whether this origin already sets the value, under any of its names.
    fn is_set_by(&self, path: &str, origin: &Origin) -> bool {
        self.get(path).is_some_and(|(_, set)| {
            let set = if let Origin::Alias(inner, _) = set { inner } else { set };
            match (set, origin) {
                (Origin::File(set, _), Origin::File(file, _)) => set == file,
                (set, origin) => set == origin,
            }
        })
    }

    /// Adds the environment's names for settings, and the names that providers' own tools use.
    pub(super) fn add_environment(&mut self, variables: &BTreeMap<String, String>) -> Result<(), Problem> {
        for (name, text) in variables {
            let origin = Origin::Environment(name.clone());
            match name.as_str() {
                "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" if !text.is_empty() => {
                    let provider = if name == "OPENAI_BASE_URL" { "openai" } else { "anthropic" };
                    self.set(format!("providers.{provider}.base_url"), Value::String(text.clone()), origin);
                }
                "GOOGLE_GEMINI_BASE_URL" if !text.is_empty() => {
                    self.set("providers.gemini.base_url", Value::String(text.clone()), origin);
                }
                "OLLAMA_HOST" if !text.is_empty() => {
                    self.set("providers.ollama.base_url", Value::String(ollama_address(text)), origin);
                }
                // Any value but "false" leaves it on, as documented.
                "ASSISTANT_AUTO_MODE_ENABLED" if !text.is_empty() => {
                    let enabled = !text.trim().eq_ignore_ascii_case("false");
                    self.set("assistant.auto_mode", Value::Boolean(enabled), origin);
                }
                // Only "true" is true, as documented; unset, it says nothing.
                "AUTONOMOUS_LOOP" if !text.is_empty() => {
                    let pace = if text == "true" { "autonomous" } else { "single" };
                    self.set("copilot.pace", Value::String(pace.into()), origin);
                }
                name if let Some((alias, meant)) = alias_of_variable(name) => {
                    let yes_or_no = text.trim().parse().map(Value::Boolean);
                    let list = || Value::Array(text.split(',').map(|item| Value::String(item.trim().into())).collect());
                    let value = match keys::find(meant).map(|key| key.kind) {
                        Some(SettingKind::Rules) => list(),
                        Some(SettingKind::Int(..)) => {
                            text.trim().parse().map_or_else(|_| Value::String(text.clone()), Value::Integer)
                        }
                        _ => yes_or_no.unwrap_or_else(|_| Value::String(text.clone())),
                    };
                    self.add_alias(alias, meant, value, &origin)?;
                }
                name if name.starts_with("TRIMTAB_") => match path_of_variable(name) {
                    Some((path, kind)) => self.add_text(&path, kind, text, origin)?,
                    None if matches!(name, "TRIMTAB_HOME" | "TRIMTAB_CONFIG") => {}
                    None => self.stray.push(name.to_owned()),
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the values fit each other, once all of them are there.
    pub(super) fn check_together(&self) -> Result<(), Problem> {
        let (unsure, sure) = ("copilot.unsure_below", "copilot.sure_above");
        let (Some((low, low_origin)), Some((high, high_origin))) = (self.get(unsure), self.get(sure)) else {
            return Ok(());
        };
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64));
        match (number(low), number(high)) {
            (Some(below), Some(above)) if below > above => {
                Err(wrong(format!("{unsure} = {low} ({low_origin}) is larger than {sure} = {high} ({high_origin})."))
                    .hint(format!("Set {unsure} to at most {sure}.")))
            }
            _ => Ok(()),
        }
    }

    /// Adds a value written as plain text, as flags and variables are.
    pub(super) fn add_text(
        &mut self,
        path: &str,
        kind: SettingKind,
        text: &str,
        origin: Origin,
    ) -> Result<(), Problem> {
        let value = match kind {
            SettingKind::Float(..) => text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Float),
            SettingKind::Int(..) => text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Integer),
            SettingKind::Bool => text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Boolean),
            SettingKind::Numbers(..) => {
                let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
                let number =
                    |text: &str| text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Integer);
                let pair = |pair: &str| {
                    let (name, value) = pair.rsplit_once('=').unwrap_or((pair, ""));
                    (name.trim().to_owned(), number(value))
                };
                Value::Table(pairs.map(pair).collect())
            }
            SettingKind::Fields => {
                serde_json::from_str::<toml::Table>(text).map_or_else(|_| Value::String(text.into()), Value::Table)
            }
            SettingKind::Texts | SettingKind::Headers => {
                let pairs = text.split(';').map(str::trim).filter(|pair| !pair.is_empty());
                let pair = |pair: &str| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (name.trim().to_owned(), Value::String(value.trim().into()))
                };
                Value::Table(pairs.map(pair).collect())
            }
            SettingKind::Text | SettingKind::Choice(_) => Value::String(text.into()),
            SettingKind::List | SettingKind::Phrases | SettingKind::Rules => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::Array(items.map(|item| Value::String(item.into())).collect())
            }
        };
        self.add_value(path, kind, value, origin)
    }

    /// Adds a value, if it is one that the setting takes.
    pub(super) fn add_value(
        &mut self,
        path: &str,
        kind: SettingKind,
        value: Value,
        origin: Origin,
    ) -> Result<(), Problem> {
        check(path, kind, &value, &origin)?;
        self.set(path, value, origin);
        Ok(())
    }
}

/// The address behind what Ollama's own tools take: with or without a scheme, a port, a host. The
/// address that a server listens on everywhere is reached here.
fn ollama_address(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (place, path) = rest.split_once('/').map_or((rest, String::new()), |(place, path)| (place, format!("/{path}")));
    let (host, port) = match place.rsplit_once(':') {
        // A colon inside brackets belongs to the address.
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (place, if text.contains("://") { if scheme == "https" { "443" } else { "80" } } else { "11434" }),
    };
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    format!("{scheme}://{host}:{port}{path}")
}

fn parse_default(text: &str) -> Value {
    // Every start reads them all, and TOML's parser would take most of that time for texts and numbers.
    let is_plain = |words: &&str| !words.contains(['"', '\\']);
    if let Some(words) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(is_plain) {
        return Value::String(words.to_owned());
    }
    if let Some(number) = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())) {
        return Value::Integer(number);
    }
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => parse_toml(text),
    }
}

fn parse_toml(text: &str) -> Value {
    let table: toml::Table = format!("v = {text}").parse().expect("defaults are TOML; a test reads them all");
    table.get("v").cloned().expect("the one value of the table")
}

fn is_section(path: &str) -> bool {
    let inside = format!("{path}.");
    path == "providers"
        || path.strip_prefix("providers.").is_some_and(|name| !name.contains('.'))
        || path == "mcp"
        || path.strip_prefix("mcp.").is_some_and(|name| !name.contains('.'))
        || path == "grok"
        || keys::ALIASES.iter().any(|(alias, _)| alias.starts_with(&inside))
        || KEYS.iter().any(|key| key.path.starts_with(&inside))
}

fn alias_of_variable(name: &str) -> Option<(&'static str, &'static str)> {
    keys::ALIASES.iter().find(|(alias, _)| keys::alias_variable(alias) == name).copied()
}

fn path_of_variable(name: &str) -> Option<(String, SettingKind)> {
    if let Some(key) = KEYS.iter().find(|key| keys::env_name(key.path) == name) {
        return Some((key.path.to_owned(), key.kind));
    }
    let rest = name.strip_prefix("TRIMTAB_PROVIDERS_")?;
    PROVIDER_KEYS.iter().find_map(|key| {
        let provider = rest.strip_suffix(&format!("_{}", key.path.to_uppercase()))?;
        Some((format!("providers.{}.{}", provider.to_lowercase(), key.path), key.kind))
    })
}

fn check(path: &str, kind: SettingKind, value: &Value, origin: &Origin) -> Result<(), Problem> {
    let is_good = match (kind, value) {
        (SettingKind::Rules, value) => return rules::read(path, value, origin).map(drop),
        (SettingKind::Text, Value::String(_)) | (SettingKind::Bool, Value::Boolean(_)) => true,
        (SettingKind::Choice(choices), Value::String(text)) => choices.contains(&text.as_str()),
        (SettingKind::Int(least, most), Value::Integer(n)) => (least..=most).contains(n),
        (SettingKind::Float(least, most), Value::Float(n)) => (least..=most).contains(n),
        (SettingKind::Float(least, most), Value::Integer(n)) => (least..=most).contains(&(*n as f64)),
        (SettingKind::List, Value::Array(items)) => items.iter().all(Value::is_str),
        (SettingKind::Phrases, Value::Array(items)) => items.iter().all(is_phrase),
        (SettingKind::Numbers(least, most), Value::Table(items)) => {
            items.values().all(|item| item.as_integer().is_some_and(|n| (least..=most).contains(&n)))
        }
        (SettingKind::Texts, Value::Table(items)) => items.values().all(Value::is_str),
        (SettingKind::Headers, Value::Table(items)) => {
            items.iter().all(|(name, value)| extras::is_header(name) && value.is_str())
        }
        (SettingKind::Fields, Value::Table(_)) => true,
        _ => false,
    };
    if is_good {
        return Ok(());
    }
    let is_hidden = matches!(kind, SettingKind::Headers | SettingKind::Fields) || path.ends_with(".query");
    let value = if is_hidden { "…".to_owned() } else { value.to_string() };
    let problem = wrong(format!("Invalid value {value} for {path} ({origin})."));
    Err(problem.hint(format!("Expected {}.", kind.takes())))
}

fn is_phrase(value: &Value) -> bool {
    value.as_str().is_some_and(intent::can_trigger)
}

fn twice(path: &str, value: &Value, origin: &Origin) -> Problem {
    wrong(format!("{path} = {value} ({origin}) is set there under another name, too."))
        .hint("They are the same setting; keep one of the two.")
}

pub(super) fn unknown(path: &str, origin: &Origin) -> Problem {
    if is_section(path) {
        let inside = KEYS.iter().find_map(|key| key.path.strip_prefix(&format!("{path}.")));
        let example = inside.map_or(String::new(), |key| format!(", for example [{path}] and below it {key} = …"));
        return wrong(format!("{path} ({origin}) is a group of settings and takes no value."))
            .hint(format!("Set one of its settings{example}. `trimtab config {path}` lists them."));
    }
    let problem = wrong(format!("Unknown setting {path} ({origin})."));
    if let Some((_, "key" | "api_key" | "apikey" | "token")) =
        path.strip_prefix("providers.").and_then(|rest| rest.split_once('.'))
    {
        return problem.hint(
            "Do not store an API key in the settings. Put it into an environment variable, and name the variable: api_key_env = \"NAME\".",
        );
    }
    match keys::nearest(path) {
        Some(name) => problem.hint(format!("Did you mean {name}? `trimtab config` lists them all.")),
        None => problem.hint("`trimtab config` lists them all."),
    }
}

fn wrong(message: String) -> Problem {
    Problem::new(ProblemKind::Settings, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> Result<RawSettings, Problem> {
        let mut raw = RawSettings::defaults();
        raw.add_file(text, Path::new("c.toml")).map(|()| raw)
    }

    #[test]
    fn every_default_is_a_good_value() {
        for (path, value, origin) in RawSettings::defaults().iter() {
            let key = keys::find(path).expect("known");
            check(path, key.kind, value, origin).expect(path);
        }
        for key in KEYS {
            assert_eq!(parse_default(key.default), parse_toml(key.default), "{}", key.path);
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        let problem = added("[limits]\nretrys = 3").expect_err("refused");
        assert_eq!(problem.message, "Unknown setting limits.retrys (c.toml, line 2).");
        assert_eq!(problem.hint.as_deref(), Some("Did you mean limits.retries? `trimtab config` lists them all."));
        assert!(added("[nonsense]\na = 1").is_err());
        let problem = added("limits = 3").expect_err("refused");
        assert_eq!(problem.message, "limits (c.toml, line 1) is a group of settings and takes no value.");
        assert!(problem.hint.is_some_and(|hint| hint.contains("[limits]")));
        for key in ["key", "api_key"] {
            let problem = added(&format!("[providers.x]\n{key} = \"secret\"")).expect_err("refused");
            assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains("api_key_env")), "{problem:?}");
            assert!(!format!("{problem:?}").contains("secret"), "{problem:?}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_says_what_would_do() {
        let problem = added("[limits]\nsteps = 3\n\njobs = 0").expect_err("refused");
        assert_eq!(problem.message, "Invalid value 0 for limits.jobs (c.toml, line 4).");
        assert_eq!(problem.hint.as_deref(), Some("Expected a whole number from 1 to 1000."));
        assert!(added("model = 3").is_err());
        assert!(added("[providers.x]\nkind = \"smoke\"").is_err());
    }

    #[test]
    fn broken_toml_names_its_line() {
        let problem = added("model = \"a/b\"\nlimits = [").expect_err("refused");
        assert!(problem.message.starts_with("c.toml, line 2"), "{}", problem.message);
    }

    #[test]
    fn documented_names_of_other_places_are_accepted_and_their_origin_says_so() {
        let raw = added(
            "autoApply = false\nautoApplyCli = true\ncliWhitelist = [\"ls\", \"pwd\"]\n[cli]\nmatch = \"plain_prefix\"",
        )
        .expect("good");
        let shown = |path: &str| raw.get(path).map(|(value, origin)| format!("{value} # {origin}")).unwrap_or_default();
        assert_eq!(shown("apply.auto"), "false # c.toml, line 1, as autoApply");
        assert_eq!(shown("apply.commands"), "\"auto\" # c.toml, line 2, as autoApplyCli");
        assert_eq!(shown("commands.allow"), "[\"ls\", \"pwd\"] # c.toml, line 3, as cliWhitelist");
        assert_eq!(shown("commands.match"), "\"plain_prefix\" # c.toml, line 5, as cli.match");
        let raw = added("[grok]\nautoApplyFiles = false\nmaxOutputTokens = 999\napiTimeout = 7\nmodelVision = \"grok-4\"\nmodelImageCreate = \"openai/x\"").expect("good");
        assert_eq!(raw.get("apply.files").map(|(value, _)| value.as_str()), Some(Some("ask")));
        let set = |path: &str| raw.get(path).map(|(value, _)| value.to_string()).unwrap_or_default();
        assert_eq!((set("limits.max_output_tokens"), set("limits.api_timeout_s")), ("999".into(), "7".into()));
        assert_eq!((set("models.vision"), set("models.image")), ("\"xai/grok-4\"".into(), "\"openai/x\"".into()));
        for bad in [
            "autoApplyCli = \"sometimes\"",
            "cliWhitelist = [1]",
            "autoApplyCli = true\n[apply]\ncommands = \"ask\"",
            "[grok]\nautoApplyEverything = true",
            "[grok]\nmaxOutputTokens = \"many\"",
            "[grok]\napiTimeout = 0",
        ] {
            assert!(added(bad).is_err(), "{bad}");
        }
        let mut raw = RawSettings::defaults();
        let variables = [
            ("TRIMTAB_AUTO_APPLY_CLI", "true"),
            ("TRIMTAB_CLI_WHITELIST", "git status, ls"),
            ("TRIMTAB_API_TIMEOUT", "60"),
        ];
        raw.add_environment(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()).expect("good");
        let (value, origin) = raw.get("apply.commands").expect("set");
        assert_eq!(
            (value.as_str(), origin.to_string().as_str()),
            (Some("auto"), "environment TRIMTAB_AUTO_APPLY_CLI, as autoApplyCli")
        );
        assert_eq!(raw.get("commands.allow").expect("set").0.to_string(), "[\"git status\", \"ls\"]");
        assert_eq!(raw.get("limits.api_timeout_s").expect("set").0.as_integer(), Some(60));
        assert!(raw.stray.is_empty());
    }

    #[test]
    fn ollamas_own_ways_to_name_a_server_are_understood() {
        for (given, address) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            (":5000", "http://127.0.0.1:5000"),
            ("box.local", "http://box.local:11434"),
            ("https://box.local", "https://box.local:443"),
            ("http://box.local/", "http://box.local:80"),
            ("http://box.local:1/base/", "http://box.local:1/base"),
            ("[::1]:99", "http://[::1]:99"),
            ("[::1]", "http://[::1]:11434"),
        ] {
            assert_eq!(ollama_address(given), address, "{given}");
        }
    }

    #[test]
    fn a_table_of_numbers_comes_from_a_file_or_the_environment() {
        let raw = added("[commands.timeouts]\n\"cargo test\" = 600\nmake = 90").expect("good");
        let timeouts = |raw: &RawSettings| raw.get("commands.timeouts").expect("set").0.to_string();
        assert_eq!(timeouts(&raw), r#"{ "cargo test" = 600, make = 90 }"#);
        let mut raw = RawSettings::defaults();
        let variables = |text: &str| BTreeMap::from([("TRIMTAB_COMMANDS_TIMEOUTS".to_owned(), text.to_owned())]);
        raw.add_environment(&variables("cargo test=600, make = 90")).expect("good");
        assert_eq!(timeouts(&raw), r#"{ "cargo test" = 600, make = 90 }"#);
        for bad in ["make", "make=0", "make=soon"] {
            let problem = RawSettings::defaults().add_environment(&variables(bad)).expect_err(bad);
            assert_eq!(problem.hint.as_deref(), Some("Expected a table of whole numbers from 1 to 604800."));
        }
        assert!(added("[output]\narchive = \"no\"").is_err());
    }

    #[test]
    fn the_loop_is_autonomous_unless_its_variable_says_anything_but_true() {
        let pace = |value: Option<&str>| {
            let mut raw = RawSettings::defaults();
            let name = "AUTONOMOUS_LOOP".to_owned();
            raw.add_environment(&value.map(|value| (name, value.to_owned())).into_iter().collect()).expect("good");
            raw.get("copilot.pace").and_then(|(value, _)| value.as_str().map(str::to_owned)).expect("a pace")
        };
        for on in [None, Some("true"), Some("")] {
            assert_eq!(pace(on), "autonomous", "{on:?}");
        }
        for off in ["TRUE", "1", "false", " true"] {
            assert_eq!(pace(Some(off)), "single", "{off}");
        }
    }

    #[test]
    fn auto_mode_is_on_unless_its_variable_says_false() {
        let auto = |value: Option<&str>| {
            let mut raw = RawSettings::defaults();
            let name = "ASSISTANT_AUTO_MODE_ENABLED".to_owned();
            raw.add_environment(&value.map(|value| (name, value.to_owned())).into_iter().collect()).expect("good");
            raw.get("assistant.auto_mode").and_then(|(value, _)| value.as_bool())
        };
        for on in [None, Some("true"), Some("TRUE"), Some("0"), Some("no"), Some("")] {
            assert_eq!(auto(on), Some(true), "{on:?}");
        }
        for off in ["false", "FALSE", "False"] {
            assert_eq!(auto(Some(off)), Some(false), "{off}");
        }
    }

    #[test]
    fn a_table_of_texts_comes_from_a_file_or_the_environment() {
        let raw = added("[keys]\nhistory = \"ctrl-t, f3\"\nhelp = \"\"").expect("good");
        let keys = |raw: &RawSettings| raw.get("keys").expect("set").0.to_string();
        assert_eq!(keys(&raw), r#"{ help = "", history = "ctrl-t, f3" }"#);
        let mut raw = RawSettings::defaults();
        let variables = BTreeMap::from([("TRIMTAB_KEYS".to_owned(), "history=ctrl-t, f3; help=".to_owned())]);
        raw.add_environment(&variables).expect("good");
        assert_eq!(keys(&raw), r#"{ help = "", history = "ctrl-t, f3" }"#);
        assert_eq!(
            added("keys = { a = 1 }").expect_err("refused").hint.as_deref(),
            Some("Expected a table of strings.")
        );
    }

    #[test]
    fn borders_of_the_router_lie_between_0_and_1_in_their_order() {
        let together = |text: &str| added(text).and_then(|raw| raw.check_together());
        for good in [
            "",
            "[copilot]\nunsure_below = 0\nsure_above = 1\nno_tools_below = 0.5",
            "[copilot]\nunsure_below = 0.6\nsure_above = 0.6",
        ] {
            together(good).expect(good);
        }
        let problem = together("[copilot]\nsure_above = 0.4").expect_err("crossed");
        assert_eq!(
            problem.message,
            "copilot.unsure_below = 0.45 (default) is larger than copilot.sure_above = 0.4 (c.toml, line 2)."
        );
        assert_eq!(problem.hint.as_deref(), Some("Set copilot.unsure_below to at most copilot.sure_above."));
        for bad in ["unsure_below = -0.1", "sure_above = 1.01", "no_tools_below = 2", "sure_above = nan"] {
            let problem = together(&format!("[copilot]\n{bad}")).expect_err(bad);
            assert!(problem.hint.is_some_and(|hint| hint == "Expected a number from 0 to 1."), "{bad}");
        }
    }

    #[test]
    fn triggers_are_phrases_that_can_be_heard() {
        let raw = added("[copilot]\ntriggers = [\"ship it\", \"Let's go\"]").expect("good");
        assert_eq!(raw.get("copilot.triggers").expect("set").0.to_string(), "[\"ship it\", \"Let's go\"]");
        let mut raw = added("[copilot]\ntriggers = []").expect("none is a choice");
        let variables = BTreeMap::from([("TRIMTAB_COPILOT_TRIGGERS".to_owned(), "ship it, go".to_owned())]);
        raw.add_environment(&variables).expect("good");
        assert_eq!(raw.get("copilot.triggers").expect("set").0.to_string(), "[\"ship it\", \"go\"]");
        for bad in ["[\"\"]", "[\" \"]", "[\"ship it\", \"go!?\"]", "[\"yes, go\"]", "[1]", "\"ship it\""] {
            let problem = added(&format!("[copilot]\ntriggers = {bad}")).expect_err(bad);
            assert!(problem.message.starts_with("Invalid value "), "{}", problem.message);
            assert_eq!(
                problem.hint.as_deref(),
                Some("Expected a list of short phrases without punctuation, at most 100 bytes each.")
            );
        }
    }

    #[test]
    fn the_environment_reaches_settings_and_providers() {
        let mut raw = RawSettings::defaults();
        let variables = [
            ("TRIMTAB_LIMITS_JOBS", "3"),
            ("TRIMTAB_PROVIDERS_MY_BOX_BASE_URL", "http://127.0.0.1:1"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:2"),
            ("TRIMTAB_HOME", "/x"),
            ("TRIMTAB_LIMIT_JOBS", "4"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        raw.add_environment(&variables).expect("good");
        assert_eq!(raw.get("limits.jobs").expect("set").0, Value::Integer(3));
        assert_eq!(raw.get("providers.my_box.base_url").expect("set").0.as_str(), Some("http://127.0.0.1:1"));
        let (value, origin) = raw.get("providers.anthropic.base_url").expect("set");
        assert_eq!(
            (value.as_str(), origin.to_string().as_str()),
            (Some("http://127.0.0.1:2"), "environment ANTHROPIC_BASE_URL")
        );
        assert_eq!(raw.stray, ["TRIMTAB_LIMIT_JOBS"], "told, for it sets nothing");
        for (given, meant) in [
            ("TRIMTAB_LIMIT_JOBS", Some("TRIMTAB_LIMITS_JOBS")),
            ("TRIMTAB_SANDBOX", Some("TRIMTAB_COMMANDS_SANDBOX")),
            ("TRIMTAB_WEB", None),
            ("TRIMTAB_UPDATE_DOCS", None),
        ] {
            assert_eq!(keys::variable_meant(given).as_deref(), meant, "{given}");
        }
        let bad = BTreeMap::from([("TRIMTAB_LIMITS_JOBS".to_owned(), "many".to_owned())]);
        assert!(raw.add_environment(&bad).is_err());
    }
}
