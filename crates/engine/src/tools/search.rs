//! Search over short texts by BM25: how rare a word is counts more than how often it stands there.

use std::collections::BTreeMap;

/// How soon more of the same word stops counting.
const SATURATION: f64 = 1.2;
/// How much a long text has to say to count as much as a short one.
const LENGTH: f64 = 0.75;

/// The words of some texts.
pub(super) struct ToolIndex {
    /// Each text's words, and how often each stands there.
    texts: Vec<(BTreeMap<String, u32>, f64)>,
    average: f64,
}

impl ToolIndex {
    pub(super) fn new(texts: &[String]) -> Self {
        let texts: Vec<_> = texts
            .iter()
            .map(|text| {
                let mut counts = BTreeMap::new();
                words(text).for_each(|word| *counts.entry(word).or_insert(0) += 1);
                let length: u32 = counts.values().sum();
                (counts, f64::from(length))
            })
            .collect();
        let total: f64 = texts.iter().map(|(_, length)| length).sum();
        let average = (total / (texts.len().max(1) as f64)).max(1.0);
        Self { texts, average }
    }

    /// The texts that fit a query, the best first.
    pub(super) fn search(&self, query: &str, most: usize) -> Vec<usize> {
        let mut scores: Vec<(f64, usize)> = (0..self.texts.len()).map(|at| (0.0, at)).collect();
        for word in words(query) {
            let having = self.texts.iter().filter(|(counts, _)| counts.contains_key(&word)).count() as f64;
            let all = self.texts.len() as f64;
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (score, at) in &mut scores {
                let (counts, length) = &self.texts[*at];
                let count = f64::from(counts.get(&word).copied().unwrap_or(0));
                let room = SATURATION * (1.0 - LENGTH + LENGTH * length / self.average);
                *score += rarity * count * (SATURATION + 1.0) / (count + room);
            }
        }
        scores.retain(|(score, _)| *score > 0.0);
        scores.sort_by(|(one, at), (other, behind)| other.total_cmp(one).then(at.cmp(behind)));
        scores.into_iter().take(most).map(|(_, at)| at).collect()
    }
}

/// Words in lower case; `createIssue` and `create_issue` are two words each. A plural counts as its singular.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut apart = String::with_capacity(text.len() + 8);
    let mut was_lower = false;
    for c in text.chars() {
        if c.is_uppercase() && was_lower {
            apart.push(' ');
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        apart.extend(c.to_lowercase());
    }
    let singular = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned();
    let all: Vec<String> =
        apart.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(singular).collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_count_more_than_frequent_ones() {
        let texts = [
            "create an issue in a repository",
            "list all files in a folder",
            "createPullRequest: open a pull request",
            "read a file in a folder",
        ];
        let index = ToolIndex::new(&texts.map(str::to_owned));
        assert_eq!(index.search("open a new issue", 2).first(), Some(&0));
        assert_eq!(index.search("pull requests", 1), [2]);
        assert_eq!(index.search("list files", 1), [1]);
        assert!(index.search("weather", 3).is_empty() && index.search("", 3).is_empty());
        assert!(ToolIndex::new(&[]).search("a", 3).is_empty());
    }
}
