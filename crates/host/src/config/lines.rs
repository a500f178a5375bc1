//! The line of each setting in a file, for error messages.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// The line of every key of a file, by its name with dots.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The lines of a text. A text that is not TOML has none.
    pub(super) fn new(text: &str) -> Self {
        let mut lines = Self::default();
        let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        if let Ok(table) = DeTable::parse(text) {
            lines.note("", table.get_ref(), &starts);
        }
        lines
    }

    /// The line of a key, from 1.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        self.0.get(path).copied()
    }

    fn note(&mut self, prefix: &str, table: &DeTable<'_>, starts: &[usize]) {
        for (name, value) in table {
            let path =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let line = starts.partition_point(|start| *start < name.span().start) + 1;
            if let DeValue::Table(inner) = value.get_ref() {
                self.note(&path, inner, starts);
            }
            self.0.entry(path).or_insert(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_its_line_however_its_table_is_written() {
        let lines =
            Lines::new("model = \"a/b\"\n\n[limits] # bounds\nsteps = 3\nkeys = { a = 1,\n  b = 2 }\n[p.q]\r\nr = 1\n");
        for (path, line) in [
            ("model", Some(1)),
            ("limits", Some(3)),
            ("limits.steps", Some(4)),
            ("limits.keys.b", Some(6)),
            ("p.q", Some(7)),
            ("p.q.r", Some(8)),
            ("nothing", None),
        ] {
            assert_eq!(lines.line(path), line, "{path}");
        }
        assert_eq!(Lines::new("[limits").line("limits"), None);
    }
}
