//! What a change of a setting does to what Trimtab does without asking.
//!
//! A surface that cannot be sure who uses it, such as a page in a browser, changes preferences freely and makes guarded
//! settings stricter. Anything else needs more from the user. A setting that this file does not name is guarded, and
//! every change of it counts as looser: a new setting is safe before somebody thinks about it.

use toml::Value;
use trimtab_vocab::Problem;

use super::keys;
use super::raw::{self, Origin, RawSettings};
use super::resolve::Profile;
use super::set_value::parsed;

/// Who can change a setting where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingGuard {
    /// It decides nothing about permissions, money, or data.
    Preference,
    /// It can be made stricter anywhere, and looser only with the user's confirmation.
    Guarded,
    /// It names programs, addresses, keys, or files. It is changed on the machine itself.
    Terminal,
}

/// What a change of a setting would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeEffect {
    Harmless,
    Stricter,
    /// Looser, or not known to be stricter.
    Looser,
    /// Only for the command line or the file.
    Refused,
}

/// How the values of a guarded setting compare.
#[derive(Debug, Clone, Copy)]
enum ValueOrder {
    /// From the strictest to the loosest. Values in one group cannot be compared.
    Ranks(&'static [&'static [&'static str]]),
    /// The strict one of the two.
    Strict(bool),
    /// Less is stricter.
    Lower,
    /// Less is stricter, and 0 is no limit.
    LowerZeroUnlimited,
    /// More is stricter.
    Higher,
    /// More is stricter, and 0 is no limit.
    HigherZeroUnlimited,
    /// Fewer entries are stricter.
    Fewer,
    /// Fewer entries are stricter, and an empty list stands for a built-in one.
    FewerEmptyBuiltIn,
    /// More entries are stricter.
    More,
}

/// Settings that decide nothing about permissions, money, or data. Any message can name its own model and effort.
const PREFERENCES: &[&str] = &[
    "model",
    "models.fast",
    "models.fallback",
    "models.vision",
    "models.image",
    "subtasks.simple",
    "subtasks.reasoning",
    "subtasks.review",
    "subtasks.build_folders",
    "answer.protocol",
    "image.batch",
    "image.detect",
    "temperature",
    "effort",
    "output.thinking",
    "permissions.dialog",
    "copilot.synthesis",
    "copilot.intelligent_routing",
    "copilot.pause_enabled",
    "repair.max_attempts",
    "tui.theme",
    "tui.status",
    "tui.plain",
    "tui.vim",
    "tui.mouse",
    "tui.notify",
    "message.while_running",
    "context.handoff_at",
    "context.strategy",
    "context.session_mb",
    "context.input_tokens",
    "tasks.timezone",
    "tasks.keys",
    "server.heartbeat_s",
    "memory.recall_bytes",
    "assistant.auto_mode",
    "assistant.clarify_below",
    "assistant.plan_above",
    "assistant.keyword_rules",
    "assistant.suggest_changes",
    "assistant.max_options",
    "assistant.inline_options",
    "assistant.strict_schema",
    "assistant.remember_scope_min",
    "limits.thinking_tokens",
    "limits.api_timeout_s",
    "limits.cache_s",
    "limits.retries",
];

/// Settings that name programs, addresses, keys, or files; and the keys of the terminal, because a key can approve.
const ON_THE_MACHINE: &[&str] = &[
    "checks.commands",
    "search.provider",
    "search.url",
    "search.api_key_env",
    "record",
    "store.url",
    "keys",
    "tui.status_command",
];

const ORDERS: &[(&str, ValueOrder)] = &[
    ("autonomy", ValueOrder::Ranks(&[&["careful"], &["standard"], &["trusting"]])),
    ("apply.auto", ValueOrder::Strict(false)),
    ("apply.files", ValueOrder::Ranks(&[&["ask"], &["auto"]])),
    ("apply.confirm_deletes", ValueOrder::Strict(true)),
    ("apply.commands", ValueOrder::Ranks(&[&["ask"], &["auto"]])),
    ("checks.mode", ValueOrder::Ranks(&[&["off"], &["ask"], &["on"]])),
    ("apply.tasks", ValueOrder::Ranks(&[&["ask"], &["auto"]])),
    ("subtasks.parallel", ValueOrder::Lower),
    ("subtasks.offer", ValueOrder::Ranks(&[&["off"], &["ask"], &["auto"]])),
    ("subtasks.auto_usd", ValueOrder::Lower),
    ("history.keep_days", ValueOrder::HigherZeroUnlimited),
    ("history.max_mb", ValueOrder::HigherZeroUnlimited),
    ("history.snapshot_files", ValueOrder::Higher),
    ("history.snapshot_mb", ValueOrder::Higher),
    ("commands.allow", ValueOrder::FewerEmptyBuiltIn),
    ("commands.ask", ValueOrder::More),
    ("commands.deny", ValueOrder::More),
    ("commands.match", ValueOrder::Ranks(&[&["safe_prefix"], &["plain_prefix"]])),
    ("commands.timeout_s", ValueOrder::Lower),
    ("commands.longest_s", ValueOrder::Lower),
    ("commands.memory_mb", ValueOrder::LowerZeroUnlimited),
    ("commands.processes", ValueOrder::LowerZeroUnlimited),
    ("commands.cpu_s", ValueOrder::LowerZeroUnlimited),
    ("commands.file_mb", ValueOrder::LowerZeroUnlimited),
    ("commands.sandbox", ValueOrder::Ranks(&[&["read-only"], &["workspace"], &["off"]])),
    ("commands.network", ValueOrder::Ranks(&[&["off"], &["ask"], &["on"]])),
    ("permissions.remember_deletes", ValueOrder::Strict(false)),
    ("folders.trusted", ValueOrder::Fewer),
    ("output.archive", ValueOrder::Strict(true)),
    ("output.archive_mb", ValueOrder::Higher),
    ("copilot.approval_mode", ValueOrder::Ranks(&[&["both"], &["before_step", "after_step"], &["none"]])),
    ("copilot.enable_planning", ValueOrder::Strict(true)),
    ("copilot.plan_approval", ValueOrder::Strict(true)),
    ("copilot.auto_approve_simple", ValueOrder::Strict(false)),
    ("copilot.conversational", ValueOrder::Strict(true)),
    ("copilot.allow_execution_transition", ValueOrder::Strict(false)),
    ("copilot.pace", ValueOrder::Ranks(&[&["single"], &["incremental"], &["autonomous"]])),
    ("copilot.auto_continue", ValueOrder::Strict(false)),
    ("truncation.on_max_tokens", ValueOrder::Ranks(&[&["stop"], &["ask"], &["auto_continue"]])),
    ("truncation.allow_recovered_changes", ValueOrder::Strict(false)),
    ("truncation.heuristics", ValueOrder::Ranks(&[&["strict"], &["normal"]])),
    ("diff.noop", ValueOrder::Ranks(&[&["block"], &["classify"], &["skip"]])),
    ("tasks.warn_deletes", ValueOrder::Lower),
    ("tasks.warn_updates", ValueOrder::Lower),
    ("memory.ingest", ValueOrder::Ranks(&[&["off"], &["durable"], &["all"]])),
    ("assistant.max_operations", ValueOrder::Lower),
    ("assistant.audit_raw", ValueOrder::Ranks(&[&["full"], &["truncated"], &["off"]])),
    ("limits.steps", ValueOrder::Lower),
    ("limits.jobs", ValueOrder::Lower),
    ("limits.max_output_tokens", ValueOrder::Lower),
    ("limits.budget_usd", ValueOrder::LowerZeroUnlimited),
];

/// Settings that a running program reads only once.
const READ_AT_START: &[&str] =
    &["limits.jobs", "commands.memory_mb", "commands.processes", "commands.cpu_s", "commands.file_mb"];

/// Who can change a setting where.
pub fn guard_of(path: &str) -> SettingGuard {
    if PREFERENCES.contains(&path) {
        return SettingGuard::Preference;
    }
    let is_section = path.starts_with("providers.") || path.starts_with("mcp.");
    if is_section || ON_THE_MACHINE.contains(&path) { SettingGuard::Terminal } else { SettingGuard::Guarded }
}

/// Whether a running server has to be started again for a change to count.
pub fn needs_restart(path: &str) -> bool {
    READ_AT_START.contains(&path) || path.starts_with("search.")
}

/// What overrides the settings file for one setting, if anything does: a variable, or an option.
pub fn overriding(profile: &Profile, path: &str) -> Option<String> {
    profile.raw.get(path).filter(|(_, origin)| origin.is_of_this_run()).map(|(_, origin)| origin.to_string())
}

/// Whether the settings file sets this setting under its own name, so that it can be removed there.
pub fn is_in_file(profile: &Profile, path: &str) -> bool {
    profile.raw.get(path).is_some_and(|(_, origin)| matches!(origin, Origin::File(..)))
}

/// What a change of a setting would do. The value is written as for [`super::set_value`]; none resets it to its default.
pub fn effect_of(profile: &Profile, path: &str, text: Option<&str>) -> Result<ChangeEffect, Problem> {
    let key = keys::find(path).ok_or_else(|| raw::unknown(path, &Origin::CommandLine))?;
    let after = text.map(|text| parsed(path, key.kind, text)).transpose()?;
    match guard_of(path) {
        SettingGuard::Preference => return Ok(ChangeEffect::Harmless),
        SettingGuard::Terminal => return Ok(ChangeEffect::Refused),
        SettingGuard::Guarded => {}
    }
    let defaults = RawSettings::defaults();
    let default = defaults.get(path).map(|(value, _)| value);
    let before = profile.raw.get(path).map(|(value, _)| value).or(default);
    let order = ORDERS.iter().find(|(known, _)| *known == path).map(|(_, order)| *order);
    let (Some(before), Some(order)) = (before, order) else { return Ok(ChangeEffect::Looser) };
    let is_stricter = match (&after, default) {
        // What is set counts more than a default of the same value: nothing that only fills gaps changes it.
        (Some(after), _) => order.is_stricter(before, after) || order.is_strictest(after),
        // A preset fills what nobody sets, so a default of these may be looser than it looks.
        (None, Some(default)) => !path.starts_with("copilot.") && order.is_stricter(before, default),
        (None, None) => false,
    };
    Ok(if is_stricter { ChangeEffect::Stricter } else { ChangeEffect::Looser })
}

impl ValueOrder {
    fn is_stricter(self, before: &Value, after: &Value) -> bool {
        let compare = |order: fn(f64, f64) -> bool, zero: f64| {
            let number = |value: &Value| number(value).map(|number| if number == 0.0 { zero } else { number });
            number(before).zip(number(after)).is_some_and(|(before, after)| order(after, before))
        };
        match self {
            Self::Ranks(ranks) => {
                let rank = |value: &Value| {
                    let text = value.as_str()?;
                    ranks.iter().position(|group| group.contains(&text))
                };
                rank(before).zip(rank(after)).is_some_and(|(before, after)| after < before)
            }
            Self::Strict(strict) => before.as_bool() == Some(!strict) && after.as_bool() == Some(strict),
            Self::Lower => compare(|after, before| after < before, 0.0),
            Self::LowerZeroUnlimited => compare(|after, before| after < before, f64::INFINITY),
            Self::Higher => compare(|after, before| after > before, 0.0),
            Self::HigherZeroUnlimited => compare(|after, before| after > before, f64::INFINITY),
            Self::Fewer => is_part(after, before),
            Self::FewerEmptyBuiltIn => is_part(after, before) && !is_empty(after),
            Self::More => is_part(before, after),
        }
    }

    /// Whether no value is stricter.
    fn is_strictest(self, value: &Value) -> bool {
        match self {
            Self::Ranks(ranks) => {
                ranks.first().is_some_and(|first| value.as_str().is_some_and(|text| first.contains(&text)))
            }
            Self::Strict(strict) => value.as_bool() == Some(strict),
            _ => false,
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "settings have no numbers that large")]
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_none_or(Vec::is_empty)
}

/// Whether every entry of a list is in the other, which has more.
fn is_part(part: &Value, whole: &Value) -> bool {
    let (Some(part), Some(whole)) = (part.as_array(), whole.as_array()) else { return false };
    part.len() < whole.len() && part.iter().all(|entry| whole.contains(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{KEYS, load_from, tests::environment};

    fn effect(file: &str, path: &str, text: Option<&str>) -> ChangeEffect {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("config.toml"), file).expect("written");
        let profile = load_from(&environment(home.path(), &[]), &[]).expect("loads");
        effect_of(&profile, path, text).expect("valid")
    }

    #[test]
    fn what_a_change_does_follows_from_both_values() {
        use ChangeEffect::{Harmless, Looser, Refused, Stricter};
        for (file, path, text, expected) in [
            ("", "tui.theme", Some("dark"), Harmless),
            ("", "model", Some("a/b"), Harmless),
            ("", "commands.sandbox", Some("read-only"), Stricter),
            ("", "commands.sandbox", Some("off"), Looser),
            ("commands.sandbox = \"off\"", "commands.sandbox", None, Stricter),
            ("commands.sandbox = \"read-only\"", "commands.sandbox", None, Looser),
            // Whether the user has set it counts as well: a model that is not in the catalog asks only by default.
            ("", "apply.files", Some("auto"), Looser),
            ("", "apply.files", Some("ask"), Stricter),
            ("", "apply.commands", Some("ask"), Stricter),
            ("apply.commands = \"ask\"", "apply.commands", None, Looser),
            ("", "apply.auto", Some("false"), Stricter),
            ("apply.auto = false", "apply.auto", Some("true"), Looser),
            ("", "limits.budget_usd", Some("5"), Stricter),
            ("limits.budget_usd = 5.0", "limits.budget_usd", Some("0"), Looser),
            ("limits.budget_usd = 5.0", "limits.budget_usd", Some("4.5"), Stricter),
            ("", "history.keep_days", Some("0"), Stricter),
            ("", "history.keep_days", Some("1"), Looser),
            ("", "history.snapshot_files", Some("0"), Looser),
            ("", "limits.steps", Some("26"), Looser),
            ("", "commands.deny", Some("git push"), Stricter),
            ("commands.deny = [\"git push\"]", "commands.deny", Some("[]"), Looser),
            ("commands.deny = [\"git push\"]", "commands.deny", Some("npm publish"), Looser),
            ("commands.allow = [\"ls\", \"make\"]", "commands.allow", Some("ls"), Stricter),
            ("commands.allow = [\"make\"]", "commands.allow", Some("[]"), Looser),
            ("", "commands.allow", Some("make"), Looser),
            ("folders.trusted = [\"/a\"]", "folders.trusted", Some("[]"), Stricter),
            ("folders.trusted = [\"/a\"]", "folders.trusted", Some("/"), Looser),
            ("", "copilot.flow", Some("simple"), Looser),
            // It is a part of the answers to approval prompts.
            ("", "copilot.name", Some("Ada"), Looser),
            ("copilot.approval_mode = \"before_step\"", "copilot.approval_mode", Some("after_step"), Looser),
            ("copilot.plan_approval = false", "copilot.plan_approval", None, Looser),
            ("", "context.files", Some("/etc/passwd"), Looser),
            ("", "providers.openai.base_url", Some("https://elsewhere.example"), Refused),
            ("", "mcp.tool.command", Some("[\"sh\"]"), Refused),
            ("", "record", Some("/tmp/everything"), Refused),
        ] {
            assert_eq!(effect(file, path, text), expected, "{file} {path} {text:?}");
        }
    }

    #[test]
    fn every_list_names_settings_that_exist_once_and_with_values_that_they_take() {
        let known = |path: &&str| KEYS.iter().any(|key| key.path == *path);
        let ordered: Vec<&str> = ORDERS.iter().map(|(path, _)| *path).collect();
        let all: Vec<&str> = [PREFERENCES, ON_THE_MACHINE, &ordered].concat();
        assert!(all.iter().chain(READ_AT_START).all(known));
        let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        for (path, order) in ORDERS {
            let keys::SettingKind::Choice(choices) = keys::find(path).expect("known").kind else { continue };
            let ValueOrder::Ranks(ranks) = order else { panic!("{path} has choices") };
            let mut ranked: Vec<&str> = ranks.concat();
            let mut choices = choices.to_vec();
            ranked.sort_unstable();
            choices.sort_unstable();
            assert_eq!(ranked, choices, "{path}");
        }
    }

    #[test]
    fn a_setting_that_is_not_known_here_is_guarded_and_never_stricter() {
        assert_eq!(guard_of("commands.new_setting"), SettingGuard::Guarded);
        for key in KEYS.iter().filter(|key| guard_of(key.path) == SettingGuard::Guarded) {
            let is_ordered = ORDERS.iter().any(|(path, _)| *path == key.path);
            if !is_ordered {
                assert_eq!(effect("", key.path, None), ChangeEffect::Looser, "{}", key.path);
            }
        }
    }
}
