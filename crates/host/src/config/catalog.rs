//! What is known about models, and what users know better.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use trimtab_vocab::{ModelFacts, Prices, Problem, ProblemKind};

const BUILT_IN: &str = include_str!("catalog.toml");

/// Facts by model; a name stands for every longer name that begins with it.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: BTreeMap<String, CatalogEntry>,
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
        let mut entries: BTreeMap<String, CatalogEntry> =
            toml::from_str(BUILT_IN).expect("the built-in catalogue is TOML; a test reads it");
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
                        let message = format!("The prices of {name} in {} cannot be.", file.display());
                        return Err(Problem::new(ProblemKind::Settings, message).hint("A price is a number from 0 on."));
                    }
                    entries.insert(name, entry);
                }
            }
        }
        Ok(Self { entries })
    }

    /// What is known about `provider/name`.
    pub fn facts(&self, model: &str) -> ModelFacts {
        let mut facts = ModelFacts::default();
        // From the shortest name that fits to the longest: the more exact one has the last word.
        for (_, entry) in self.entries.iter().filter(|(name, _)| self.stands_for(name, model)) {
            facts.window = entry.window.unwrap_or(facts.window);
            facts.max_output = entry.max_output.unwrap_or(facts.max_output);
            facts.tools = entry.tools.unwrap_or(facts.tools);
            facts.images = entry.images.unwrap_or(facts.images);
            facts.thinking = entry.thinking.unwrap_or(facts.thinking);
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

    /// Dollars that one picture of a model costs, if anybody has said so.
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
                goes_on(inner) || (inner.starts_with("anthropic/") && goes_on(&inner.replace('.', "-")))
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
        let catalog = catalog("").expect("reads");
        let sonnet = catalog.facts("anthropic/claude-sonnet-4-5-20250929");
        assert_eq!((sonnet.window, sonnet.max_output, sonnet.images), (200_000, 64_000, true));
        assert_eq!(catalog.facts("openai/gpt-5-mini").prices.map(|prices| prices.output), Some(2.0));
        assert_eq!(catalog.facts("openai/gpt-5").prices.map(|prices| prices.output), Some(10.0));
        assert_eq!(
            catalog.facts("openrouter/anthropic/claude-sonnet-4.5").prices.map(|prices| prices.input),
            Some(3.0)
        );
        assert_eq!(catalog.facts("anthropic/claude-opus-4-8").prices.map(|prices| prices.output), Some(25.0));
        assert_eq!(catalog.facts("anthropic/claude-opus-4-1").prices.map(|prices| prices.output), Some(75.0));
        assert_eq!(catalog.facts("openai/gpt-5.9").prices, None, "another version has another price");
        assert_eq!(catalog.facts("openrouter/openai/gpt-5.9").prices, None);
        assert_eq!(catalog.facts("ollama/qwen3:8b").prices.map(|prices| prices.input), Some(0.0));
    }

    #[test]
    fn an_unknown_model_has_careful_values_and_no_price() {
        let facts = catalog("").expect("reads").facts("mine/brand-new");
        assert_eq!(facts, ModelFacts::default());
        assert_eq!(facts.prices, None);
    }

    #[test]
    fn users_know_better() {
        let own =
            "[\"anthropic/claude-sonnet-4-5\"]\nmax_output = 9\n\n[\"mine/\"]\nprices = { input = 1, output = 2 }\n";
        let catalog = catalog(own).expect("reads");
        let sonnet = catalog.facts("anthropic/claude-sonnet-4-5");
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
