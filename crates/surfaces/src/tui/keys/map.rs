//! Which key means which action, at first and as a person wants it.

use std::collections::BTreeMap;

use trimtab_vocab::{Problem, ProblemKind};

use super::action::{KeyAction, KeyGroup, ROWS};
use super::input::{Chord, Key};

/// The file beside the settings in which a person assigns keys.
pub const KEYMAP_FILE: &str = "keymap.toml";

/// The keys of every action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    actions: BTreeMap<Chord, KeyAction>,
    keys: BTreeMap<KeyAction, Vec<Chord>>,
}

/// A line of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpRow {
    /// Where it belongs.
    pub group: KeyGroup,
    /// The action's name in settings.
    pub name: &'static str,
    /// Its keys, the first one first; none if a person took them all away.
    pub keys: String,
    /// What it does.
    pub help: &'static str,
}

impl Default for KeyMap {
    fn default() -> Self {
        let keys = ROWS.iter().map(|row| {
            (row.action, row.keys.iter().map(|key| key.parse().expect("a key; a test reads them all")).collect())
        });
        Self::new(keys.collect())
    }
}

impl KeyMap {
    fn new(keys: BTreeMap<KeyAction, Vec<Chord>>) -> Self {
        let pairs = keys.iter().flat_map(|(action, chords)| chords.iter().map(|chord| (*chord, *action)));
        Self { actions: pairs.collect(), keys }
    }

    /// The keys as a person wants them: for each action the keys that mean it, with commas between them; an
    /// empty text takes them all away. A key that is given to one action is lost to those that had it at first.
    pub fn with(wanted: &BTreeMap<String, String>) -> Result<Self, Problem> {
        let mut keys = Self::default().keys;
        let mut given: BTreeMap<Chord, KeyAction> = BTreeMap::new();
        for (name, text) in wanted {
            let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| unknown_action(name))?;
            let chords: Vec<Chord> = split(text)
                .iter()
                .map(|key| key.parse().map_err(|_| unknown_key(name, key)))
                .collect::<Result<_, _>>()?;
            for chord in &chords {
                if let Some(other) = given.insert(*chord, row.action).filter(|other| *other != row.action) {
                    let message = format!("keys.{} and keys.{name} are both {chord}.", other.name());
                    return Err(wrong(message).hint("Assign another key to one of them."));
                }
            }
            keys.insert(row.action, chords);
        }
        for (action, chords) in &mut keys {
            chords.retain(|chord| given.get(chord).is_none_or(|owner| owner == action));
        }
        if keys.get(&KeyAction::Quit).is_none_or(Vec::is_empty) {
            return Err(wrong("No key is left for keys.quit.".to_owned())
                .hint("You could not quit without it. Assign a key, for example quit = \"ctrl-c\"."));
        }
        Ok(Self::new(keys))
    }

    /// The keys of the settings, with those of the keymap file over them. What is wrong in that file is left out
    /// and reported, so that a mistyped line loses no other key.
    pub fn with_file(
        settings: &BTreeMap<String, String>,
        file: &BTreeMap<String, String>,
    ) -> Result<(Self, Vec<Problem>), Problem> {
        let mut map = Self::with(settings)?;
        let (mut wanted, mut wrong) = (settings.clone(), Vec::new());
        for (name, keys) in file {
            let before = wanted.insert(name.clone(), keys.clone());
            match Self::with(&wanted) {
                Ok(with) => map = with,
                Err(problem) => {
                    wrong.push(Problem { message: format!("{KEYMAP_FILE}: {}", problem.message), ..problem });
                    match before {
                        Some(before) => wanted.insert(name.clone(), before),
                        None => wanted.remove(name),
                    };
                }
            }
        }
        Ok((map, wrong))
    }

    /// What a key means.
    pub fn action(&self, chord: Chord) -> Option<KeyAction> {
        self.actions.get(&chord).copied()
    }

    /// The keys that mean an action.
    pub fn keys(&self, action: KeyAction) -> &[Chord] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The key to name where an action is offered; empty if it has none.
    pub fn key(&self, action: KeyAction) -> String {
        self.keys(action).first().map(ToString::to_string).unwrap_or_default()
    }

    /// Every action with its keys, for people.
    pub fn help(&self) -> Vec<HelpRow> {
        let keys = |action| self.keys(action).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        ROWS.iter()
            .map(|row| HelpRow { group: row.group, name: row.name, keys: keys(row.action), help: row.help })
            .collect()
    }
}

/// Keys with commas between them; a comma by itself, or after a minus, is the key.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',') {
        let part = text[from..at].trim();
        if !part.is_empty() && !part.ends_with('-') {
            parts.push(part);
            from = at + 1;
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn unknown_action(name: &str) -> Problem {
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    let problem = wrong(format!("Unknown action {name} in [keys]."));
    match trimtab_host::config::nearest_of(name, &names) {
        Some(meant) => {
            problem.hint(format!("Did you mean {meant}? The guide (`docs/guide/terminal.md`) lists all actions."))
        }
        None => problem.hint("The guide (`docs/guide/terminal.md`) lists the actions."),
    }
}

fn unknown_key(action: &str, key: &str) -> Problem {
    let last = key.rsplit('-').find(|part| !part.is_empty()).unwrap_or_default();
    let names: Vec<&str> = Key::names().collect();
    let problem = wrong(format!("keys.{action} = \"{key}\": unknown key."));
    match trimtab_host::config::nearest_of(last, &names) {
        Some(meant) => problem.hint(format!("Did you mean {}{meant}?", &key[..key.len() - last.len()])),
        None => problem.hint("Write keys like ctrl-x, alt-enter, shift-tab, f2, or ?, with commas between them."),
    }
}

fn wrong(message: String) -> Problem {
    Problem::new(ProblemKind::Settings, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<KeyMap, Problem> {
        KeyMap::with(&pairs.iter().map(|(name, keys)| ((*name).to_owned(), (*keys).to_owned())).collect())
    }

    fn action(map: &KeyMap, key: &str) -> Option<KeyAction> {
        map.action(key.parse().expect("a key"))
    }

    #[test]
    fn no_two_actions_have_the_same_key_or_name_at_first() {
        let map = KeyMap::default();
        let keys: usize = ROWS.iter().map(|row| row.keys.len()).sum();
        assert_eq!(map.actions.len(), keys);
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), map.keys.len()), (ROWS.len(), ROWS.len()));
    }

    #[test]
    fn a_person_chooses_the_keys_and_a_key_that_is_given_away_is_gone_elsewhere() {
        let map = with(&[("history", "ctrl-t, f3"), ("help", "")]).expect("good");
        assert_eq!(action(&map, "ctrl-t"), Some(KeyAction::History));
        assert_eq!(action(&map, "f3"), Some(KeyAction::History));
        assert_eq!((action(&map, "ctrl-r"), action(&map, "?")), (None, None));
        assert!(map.keys(KeyAction::Steps).is_empty());
        let map = with(&[("steps", "ctrl-,,,")]).expect("good");
        assert_eq!((action(&map, "ctrl-,"), action(&map, ",")), (Some(KeyAction::Steps), Some(KeyAction::Steps)));
    }

    #[test]
    fn a_wrong_action_or_key_is_told_with_the_nearest_one() {
        let hint = |pairs: &[(&str, &str)]| with(pairs).expect_err("refused").hint.expect("a hint");
        assert_eq!(
            hint(&[("histry", "f1")]),
            "Did you mean history? The guide (`docs/guide/terminal.md`) lists all actions."
        );
        assert_eq!(hint(&[("history", "ctrl-entr")]), "Did you mean ctrl-enter?");
        assert!(hint(&[("history", "☃☃☃☃☃")]).starts_with("Write keys like"));
        assert!(hint(&[("history", "f2"), ("steps", "f2")]).starts_with("Assign another key"));
        assert!(hint(&[("quit", "")]).starts_with("You could not quit"));
        assert!(hint(&[("steps", "ctrl-c")]).starts_with("You could not quit"));
    }

    #[test]
    fn what_is_wrong_in_the_file_loses_no_other_key() {
        let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, keys)| ((*name).to_owned(), (*keys).to_owned())).collect()
        };
        let file = owned(&[("changes", "f2"), ("histry", "f3"), ("quit", ""), ("steps", "f2"), ("trace", "f4")]);
        let (map, wrong) = KeyMap::with_file(&owned(&[("trace", "f9"), ("help", "f1")]), &file).expect("keys");
        assert_eq!(action(&map, "f2"), Some(KeyAction::Changes));
        assert_eq!(action(&map, "f4"), Some(KeyAction::Trace), "the file goes over the settings");
        assert_eq!((action(&map, "f9"), action(&map, "f1")), (None, Some(KeyAction::Help)));
        assert_eq!(action(&map, "ctrl-c"), Some(KeyAction::Quit));
        assert_eq!(action(&map, "ctrl-t"), Some(KeyAction::Steps), "it keeps the key that it had");
        let messages: Vec<&str> = wrong.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "keymap.toml: Unknown action histry in [keys].",
                "keymap.toml: No key is left for keys.quit.",
                "keymap.toml: keys.changes and keys.steps are both f2.",
            ]
        );
    }

    #[test]
    fn help_names_the_keys_in_force() {
        let map = with(&[("steps", "f5")]).expect("good");
        let row = map.help().into_iter().find(|row| row.name == "steps").expect("listed");
        assert_eq!((row.keys.as_str(), row.group.title()), ("f5", "View"));
        assert_eq!(map.key(KeyAction::Send), "enter");
    }
}
