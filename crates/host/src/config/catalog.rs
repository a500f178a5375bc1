//! The catalog of known models, with the user's corrections.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::Deserialize;
use trimtab_vocab::{AnswerProtocol, ModelFacts, Prices, Problem, ProblemKind};

use crate::model_notes::OwnEntry;

/// The provider that replays what a test or the demo has recorded.
const REPLAY: &str = "replay/";
const BUILT_IN: &str = include_str!("catalog.toml");

/// The table that `scripts/catalog` makes from a public one, with its date.
static DATA: LazyLock<CatalogData> = LazyLock::new(|| CatalogData::split(include_str!("catalog_data.toml")));

#[derive(Debug)]
struct CatalogData {
    head: CatalogHead,
    /// One entry per line.
    models: Vec<(&'static str, TableEntry)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogHead {
    date: String,
    source: String,
    /// The general model of each provider.
    general: BTreeMap<String, String>,
    /// The model of each provider that makes pictures.
    pictures: BTreeMap<String, String>,
}

/// An entry of the table, read when it is first needed: every start has the whole table, and few need more than one
/// of its models.
#[derive(Debug)]
struct TableEntry {
    text: &'static str,
    read: OnceLock<CatalogEntry>,
}

impl CatalogData {
    fn split(text: &'static str) -> Self {
        let (head, models) = text.split_once("[models]\n").expect("the table has models; a test reads it");
        let head = toml::from_str(head).expect("the table is TOML; a test reads it");
        let entry = |line: &'static str| {
            let (name, text) = line.strip_prefix('"')?.split_once("\" = ")?;
            Some((name, TableEntry { text, read: OnceLock::new() }))
        };
        Self { head, models: models.lines().filter_map(entry).collect() }
    }
}

impl TableEntry {
    fn read(&self) -> &CatalogEntry {
        #[derive(Deserialize)]
        struct EntryLine {
            entry: CatalogEntry,
        }
        self.read.get_or_init(|| {
            let line: EntryLine =
                toml::from_str(&format!("entry = {}", self.text)).expect("the table is TOML; a test reads it");
            line.entry
        })
    }
}

/// The general model of a provider, as `PROVIDER/NAME`.
pub(super) fn general_model(provider: &str) -> Option<String> {
    DATA.head.general.get(provider).map(|name| format!("{provider}/{name}"))
}

/// The model of a provider that makes pictures, as `PROVIDER/NAME`.
pub(super) fn picture_model(provider: &str) -> Option<String> {
    DATA.head.pictures.get(provider).map(|name| format!("{provider}/{name}"))
}

/// The source of the table: `litellm 1.2.3, 2026-11-16`.
pub fn catalog_source() -> String {
    format!("{}, {}", DATA.head.source, DATA.head.date)
}

/// Facts by model; a name also matches longer names that begin with it.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: Arc<BTreeMap<Cow<'static, str>, KnownEntry>>,
    /// The entries that the user has made.
    own: BTreeSet<String>,
}

#[derive(Debug)]
enum KnownEntry {
    Table(&'static TableEntry),
    Given(CatalogEntry),
}

impl KnownEntry {
    /// Whether it is not of the table, whose entries are better not read in vain.
    fn is_given(&self) -> bool {
        matches!(self, Self::Given(_))
    }
}

impl std::ops::Deref for KnownEntry {
    type Target = CatalogEntry;

    fn deref(&self) -> &CatalogEntry {
        match self {
            Self::Table(entry) => entry.read(),
            Self::Given(entry) => entry,
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CatalogEntry {
    window: Option<u64>,
    max_output: Option<u32>,
    prices: Option<EntryPrices>,
    tools: Option<bool>,
    images: Option<bool>,
    thinking: Option<bool>,
    /// Dollars for one picture.
    image_usd: Option<f64>,
    /// How it says what it wants done.
    protocol: Option<AnswerProtocol>,
    /// It is in the user's own file.
    #[serde(skip)]
    is_own: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryPrices {
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

impl Catalog {
    /// The built-in facts, overridden by those in `file` if it exists.
    pub fn load(file: &Path) -> Result<Self, Problem> {
        let mut named = BTreeSet::new();
        let own: BTreeMap<String, CatalogEntry> =
            toml::from_str(BUILT_IN).expect("the built-in catalogue is TOML; a test reads it");
        let table = DATA.models.iter().map(|(name, entry)| (Cow::Borrowed(*name), KnownEntry::Table(entry)));
        let mut entries: BTreeMap<_, _> = table.collect();
        entries.extend(own.into_iter().map(|(name, entry)| (Cow::Owned(name), KnownEntry::Given(entry))));
        match std::fs::read_to_string(file) {
            Err(_) => {}
            Ok(text) => {
                let own: BTreeMap<String, CatalogEntry> = toml::from_str(&text).map_err(|error| {
                    let message = format!("{} cannot be read: {}.", file.display(), error.message());
                    Problem::new(ProblemKind::Settings, message).hint(
                        "Entries look like this: [\"provider/name\"], then window = 128000, prices = { input = 1, output = 2 }.",
                    )
                })?;
                for (name, entry) in own {
                    let token = entry.prices.map(|prices| [prices.input, prices.output]);
                    let mut prices = token.into_iter().flatten().chain(entry.image_usd);
                    if prices.any(|price| !price.is_finite() || price < 0.0) {
                        let message = format!("Invalid prices for {name} in {}.", file.display());
                        return Err(
                            Problem::new(ProblemKind::Settings, message).hint("Expected a number of 0 or more.")
                        );
                    }
                    named.insert(name.clone());
                    entries.insert(name.into(), KnownEntry::Given(CatalogEntry { is_own: true, ..entry }));
                }
            }
        }
        Ok(Self { entries: Arc::new(entries), own: named })
    }

    /// The known models of a provider, without its name before theirs.
    pub fn names(&self, provider: &str) -> Vec<&str> {
        let inside = |name: &str| name.strip_prefix(provider).is_some_and(|rest| rest.starts_with('/'));
        let names = self.entries.iter().filter(|(name, entry)| inside(name) && entry.window.is_some());
        names
            .filter_map(|(name, _)| name.split_once('/').map(|(_, name)| name))
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// The facts about `provider/name`.
    pub fn facts(&self, model: &str) -> ModelFacts {
        let mut facts = ModelFacts { known: false, ..ModelFacts::default() };
        // From the shortest name that fits to the longest: the more exact one has the last word.
        for (name, entry) in self.entries.iter().filter(|(name, _)| self.stands_for(name, model)) {
            // A known provider says nothing about a model, unless the user does. A recording is known exactly.
            facts.known |= !name.ends_with('/') || self.own.contains(name.as_ref()) || name == REPLAY;
            facts.window = entry.window.unwrap_or(facts.window);
            facts.max_output = entry.max_output.unwrap_or(facts.max_output);
            facts.tools = entry.tools.unwrap_or(facts.tools);
            facts.images = entry.images.unwrap_or(facts.images);
            facts.thinking = entry.thinking.unwrap_or(facts.thinking);
            facts.blind = entry.images.map_or(facts.blind, |sees| !sees);
            facts = entry.protocol.map_or(facts, |protocol| facts.with_protocol(protocol));
            if let Some(prices) = entry.prices {
                facts.prices = Some(Prices {
                    input: prices.input,
                    cached: prices.cached.unwrap_or(prices.input),
                    cache_write: prices.cache_write.unwrap_or(prices.input),
                    output: prices.output,
                });
            }
        }
        facts
    }

    /// Whether anything is known about a model.
    pub(crate) fn knows(&self, model: &str) -> bool {
        self.entries.keys().any(|name| self.stands_for(name, model))
    }

    /// Whether the catalog has this very model, which a provider hosts, and the user says nothing else about it.
    pub(crate) fn is_hosted(&self, model: &str) -> bool {
        let mut is_exact = false;
        for (name, entry) in self.entries.iter().filter(|(name, _)| self.stands_for(name, model)) {
            if entry.is_given() && entry.is_own {
                return false;
            }
            is_exact |= !name.ends_with('/');
        }
        is_exact
    }

    /// What the user's own file says of a model.
    pub(crate) fn own(&self, model: &str) -> OwnEntry {
        let about = self
            .entries
            .iter()
            .filter(|(name, entry)| entry.is_given() && entry.is_own && self.stands_for(name, model));
        about.fold(OwnEntry::default(), |own, (_, entry)| OwnEntry {
            window: entry.window.or(own.window),
            max_output: entry.max_output.or(own.max_output),
            tools: entry.tools.or(own.tools),
            images: entry.images.or(own.images),
            protocol: entry.protocol.or(own.protocol),
        })
    }

    /// The price of one image in dollars, if it is known.
    pub fn picture_price(&self, model: &str) -> Option<f64> {
        let about = self.entries.iter().filter(|(name, _)| self.stands_for(name, model));
        about.filter_map(|(_, entry)| entry.image_usd).next_back()
    }

    /// Whether an entry is about a model. A broker's `openrouter/anthropic/claude-x.y` is what its maker
    /// calls `anthropic/claude-x-y`.
    fn stands_for(&self, entry: &str, model: &str) -> bool {
        let goes_on = |model: &str| {
            model.strip_prefix(entry).is_some_and(|rest| {
                // `gpt-5` says nothing about `gpt-5.6`, whose price is another.
                entry.ends_with('/') || rest.is_empty() || rest.starts_with(['-', ':', '@'])
            })
        };
        let inner = model.split_once('/').map(|(_, inner)| inner).filter(|inner| inner.contains('/'));
        goes_on(model)
            || inner.is_some_and(|inner| {
                let inner = match inner.split_once('/') {
                    Some(("anthropic", name)) => format!("anthropic/{}", name.replace('.', "-")),
                    Some(("google", name)) => format!("gemini/{name}"),
                    Some(("x-ai", name)) => format!("xai/{name}"),
                    _ => inner.to_owned(),
                };
                goes_on(&inner)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(own: &str) -> Result<Catalog, Problem> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("models.toml");
        if !own.is_empty() {
            std::fs::write(&file, own).expect("written");
        }
        Catalog::load(&file)
    }

    #[test]
    fn the_longest_name_that_fits_has_the_last_word() {
        let own = "[\"p/a\"]\nwindow = 5\nthinking = true\nprices = { input = 1, output = 2 }\n[\"p/a-mini\"]\nthinking = false\n\
                   prices = { input = 0.1, output = 0.2 }\n[\"anthropic/claude-x-1\"]\nwindow = 7\n[\"gemini/g\"]\nwindow = 8\n";
        let catalog = catalog(own).expect("reads");
        let facts = |model: &str| {
            let facts = catalog.facts(model);
            (facts.window, facts.thinking, facts.prices.map(|prices| prices.output))
        };
        assert_eq!(facts("p/a-20250929"), (5, true, Some(2.0)));
        assert_eq!(facts("p/a-mini"), (5, false, Some(0.2)));
        assert_eq!(facts("p/a.9").2, None, "another version has another price");
        assert_eq!(facts("openrouter/p/a").0, 5);
        assert_eq!(facts("openrouter/anthropic/claude-x.1").0, 7);
        assert_eq!(facts("openrouter/google/g").0, 8);
        assert_eq!(facts("ollama/qwen3:8b").2, Some(0.0));
    }

    #[test]
    fn the_table_is_dated_sorted_sane_and_has_every_default() {
        let text = include_str!("catalog_data.toml");
        let data = &*DATA;
        assert!(data.head.date.len() == 10 && data.head.date.starts_with("20"), "{}", data.head.date);
        assert!(data.head.source.starts_with("litellm "), "{}", data.head.source);
        // What is split by lines is the table that TOML has.
        let whole: toml::Table = toml::from_str(text).expect("TOML");
        let whole: Vec<&str> = whole["models"].as_table().expect("models").keys().map(String::as_str).collect();
        assert_eq!(data.models.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), whole.into_iter().collect());
        assert!(text.len() < 64 * 1024, "{} bytes", text.len());
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix('"')?.split_once('"')).map(|(name, _)| name).collect();
        assert!(names.is_sorted(), "a difference should show what changed");
        assert_eq!(names.len(), data.models.len());
        assert!(names.len() > 40, "{}", names.len());
        for (name, entry) in &data.models {
            let entry = entry.read();
            let (provider, _) = name.split_once('/').expect(name);
            assert!(super::super::BUILT_IN.iter().any(|(known, ..)| *known == provider), "{name}");
            match (entry.window, entry.prices, entry.image_usd) {
                (Some(window), Some(prices), None) => {
                    assert!((8_000..=20_000_000).contains(&window), "{name}");
                    assert!(entry.max_output.is_some_and(|most| u64::from(most) <= window && most >= 1_024), "{name}");
                    // More than this for a million tokens, and the table has dollars where cents belong.
                    assert!(prices.input > 0.0 && prices.input <= 200.0 && prices.output <= 1_000.0, "{name}");
                    assert!(prices.output >= prices.input, "{name}");
                    assert!(prices.cached.is_some_and(|cached| cached > 0.0 && cached <= prices.input), "{name}");
                    assert!(
                        prices.cache_write.is_some_and(|write| write >= prices.input && write <= 2.0 * prices.input),
                        "{name}"
                    );
                }
                (None, None, Some(price)) => assert!(price > 0.0 && price < 2.0, "{name}"),
                _ => panic!("{name}: a model that talks has a window and prices, one that draws a price: {entry:?}"),
            }
        }
        let catalog = catalog("").expect("reads");
        for provider in super::super::KEY_PROVIDERS {
            let general = general_model(provider).expect(provider);
            let facts = catalog.facts(&general);
            assert!(
                facts.prices.is_some() && facts.tools && facts.images && facts.window >= 100_000,
                "{general}: {facts:?}"
            );
        }
        for provider in ["openai", "xai"] {
            assert!(picture_model(provider).is_some_and(|model| model.starts_with(provider)));
        }
        assert!(catalog.names("anthropic").contains(&"claude-haiku-4-5"));
    }

    #[test]
    fn an_unknown_model_has_careful_values_and_no_price() {
        let facts = catalog("").expect("reads").facts("mine/brand-new");
        assert_eq!(facts, ModelFacts { known: false, ..ModelFacts::default() });
        assert_eq!(facts.prices, None);
    }

    #[test]
    fn a_model_is_known_where_an_entry_is_about_it_and_not_only_about_its_provider() {
        let built_in = catalog("").expect("reads");
        for (model, known) in [
            ("anthropic/claude-sonnet-4-5-20250929", true),
            ("openrouter/anthropic/claude-sonnet-4.5", true),
            ("replay/demo", true),
            ("llamacpp/qwen2.5-coder-1.5b", false),
            ("ollama/qwen3:8b", false),
            ("mine/brand-new", false),
        ] {
            assert_eq!(built_in.facts(model).known, known, "{model}");
        }
        let own = catalog("[\"ollama/\"]\nwindow = 8192\n\n[\"mine/x\"]\ntools = false\n").expect("reads");
        for (model, known) in [("ollama/qwen3:8b", true), ("mine/x", true), ("mine/y", false)] {
            assert_eq!(own.facts(model).known, known, "{model}");
        }
    }

    #[test]
    fn users_know_better() {
        let own =
            "[\"anthropic/claude-sonnet-9-9\"]\nmax_output = 9\n\n[\"mine/\"]\nprices = { input = 1, output = 2 }\n";
        let catalog = catalog(own).expect("reads");
        let sonnet = catalog.facts("anthropic/claude-sonnet-9-9");
        assert_eq!((sonnet.window, sonnet.max_output), (200_000, 9));
        assert_eq!(catalog.facts("mine/x").prices.map(|prices| prices.cached), Some(1.0));
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in ["[\"a/b\"]\nwindwo = 1", "[\"a/b\"]\nprices = { input = -1, output = 1 }", "nonsense"] {
            assert_eq!(catalog(bad).expect_err("refused").kind, ProblemKind::Settings, "{bad}");
        }
    }
}
