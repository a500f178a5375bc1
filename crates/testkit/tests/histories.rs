//! Random histories of changes, a person's own edits, rewinds and forwards, with the real engine and the
//! real writer on a real folder, against a model of a few lines: a map of files and a list of sets.
//!
//! `TRIMTAB_HISTORY_STEPS` makes it more than the few thousand steps of an ordinary run,
//! `TRIMTAB_HISTORY_SEED` another history.

#![allow(clippy::disallowed_methods, reason = "the person of the test edits files by hand")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::json;
use trimtab_engine::{Effect, Input, Interrupted, Output, Prepared, Session, step};
use trimtab_testkit::dice::Dice;
use trimtab_vocab::event::{ChangeFact, Fact};
use trimtab_vocab::{
    CallId, Control, FilePlan, FileState, FileWrite, Message, Mode, Part, Reply, Request, RequestId, Role, RunSettings,
    StopReason, ToolCall, Usage,
};
use trimtab_world::workspace::{Folder, write};

const NAMES: [&str; 8] = ["a", "b", "c.txt", "d/e", "d/f", "g/h/i", "g/h/j", "k/l"];
const TEXTS: [&str; 5] = ["one\n", "two\n", "three\n", "", "no line end"];
/// After so many steps a new session begins in the same folder: conversations must not grow for ever.
const SESSION: u64 = 40;

type Files = BTreeMap<String, String>;

/// One file of a set as the model keeps it: its name, before, after.
type Write = (String, Option<String>, Option<String>);

/// What must be true.
#[derive(Default)]
struct Model {
    files: Files,
    sets: Vec<Vec<Write>>,
    in_force: usize,
}

impl Model {
    fn applied(&mut self, set: Vec<Write>) {
        self.sets.truncate(self.in_force);
        self.put(set.iter().map(|(name, _, after)| (name.clone(), after.clone())));
        self.sets.push(set);
        self.in_force = self.sets.len();
    }

    fn put(&mut self, files: impl Iterator<Item = (String, Option<String>)>) {
        for (name, text) in files {
            match text {
                Some(text) => drop(self.files.insert(name, text)),
                None => drop(self.files.remove(&name)),
            }
        }
    }

    /// Moves the history by so many sets; whether it can be.
    fn moved(&mut self, by: i64) -> bool {
        let to = (self.in_force as i64 + by).clamp(0, self.sets.len() as i64) as usize;
        if to == self.in_force {
            return false;
        }
        // What all sets between here and there come to: each file as it was first and as it is last.
        let mut net: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
        for (name, before, after) in self.sets[to.min(self.in_force)..to.max(self.in_force)].iter().flatten() {
            net.entry(name.clone()).or_insert_with(|| (before.clone(), None)).1 = after.clone();
        }
        let back = to < self.in_force;
        let net = net.into_iter().filter(|(_, (first, last))| first != last);
        let net: Vec<_> =
            net.map(|(name, (first, last))| if back { (name, last, first) } else { (name, first, last) }).collect();
        let now = |name: &str| self.files.get(name).cloned();
        if net.iter().all(|(name, from, into)| now(name) == *from || now(name) == *into) {
            self.put(net.into_iter().map(|(name, _, into)| (name, into)));
            self.in_force = to;
            return true;
        }
        // Nothing moves. A file that is already as it should have become is put back with the others: it
        // cannot be told from one that a killed run had written.
        let early: Vec<_> = net.into_iter().filter(|(name, _, into)| now(name) == *into).collect();
        self.put(early.into_iter().map(|(name, from, _)| (name, from)));
        false
    }
}

/// The real thing.
struct Rig {
    base: tempfile::TempDir,
    folder: Folder,
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    contents: HashMap<String, Vec<u8>>,
    requests: u64,
    /// Moves are killed after the files were written, now and then.
    dice: Dice,
    kills: u64,
}

impl Rig {
    fn new(seed: u64) -> Self {
        // In memory if there is such a place: the disk's own pace is not what is tested.
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.expect("a folder");
        let folder = Folder::open(base.path()).expect("a folder");
        let mut rig = Self {
            base,
            folder,
            session: Session::default(),
            log: Vec::new(),
            contents: HashMap::new(),
            requests: 0,
            dice: Dice::new(seed),
            kills: 0,
        };
        rig.begin();
        rig
    }

    fn begin(&mut self) {
        (self.session, self.log) = (Session::default(), Vec::new());
        let folder = self.folder.path().display().to_string();
        self.drive(Input::Opened { folder }, &[]);
    }

    fn state(&mut self, text: &str) -> FileState {
        let hash = trimtab_world::store::hash(text.as_bytes());
        self.contents.insert(hash.clone(), text.into());
        FileState { hash, mode: 0o644 }
    }

    fn apply(&mut self, set: &[Write]) {
        let mut writes = Vec::new();
        for (path, before, after) in set {
            let before = before.as_deref().map(|text| self.state(text));
            let after = after.as_deref().map(|text| self.state(text));
            writes.push(FileWrite { path: path.clone(), before, after, added: 0, removed: 0, modified: 0 });
        }
        self.requests += 1;
        let id = format!("r{}", self.requests).parse().expect("an id");
        let settings = RunSettings { trusted: true, ..RunSettings::default() };
        let (refs, images, text) = (vec![], vec![], "Change it".to_owned());
        let request = Box::new(Request { id, text, refs, images, mode: Mode::Auto, settings });
        self.drive(Input::Said { request }, &writes);
    }

    /// Why it was refused, if it was.
    fn travel(&mut self, by: i64) -> Option<String> {
        let steps = u32::try_from(by.abs()).expect("is small");
        let action = if by < 0 { Control::Rewind { steps } } else { Control::Forward { steps } };
        let from = self.log.len();
        self.drive(Input::Controlled { request: None, action }, &[]);
        self.log[from..].iter().find_map(|(_, fact)| match fact {
            Fact::Change(ChangeFact::Refused { reason }) => Some(reason.clone()),
            _ => None,
        })
    }

    /// Does what the host would do until nothing is left to do.
    fn drive(&mut self, input: Input, writes: &[FileWrite]) {
        let mut inputs = VecDeque::from([input]);
        let mut has_worked = false;
        while let Some(input) = inputs.pop_front() {
            for output in step(&mut self.session, input) {
                let effect = match output {
                    Output::Event { request, fact } => {
                        self.log.push((request, fact));
                        continue;
                    }
                    Output::Keep { .. } => continue,
                    Output::Effect(effect) => effect,
                };
                inputs.extend(match effect {
                    Effect::Admit { request } => Some(Input::Admitted { request }),
                    Effect::Load { request, .. } => {
                        Some(Input::Loaded { request, files: vec![], missing: vec![], instructions: None })
                    }
                    Effect::CallModel { call, .. } => {
                        let reply =
                            if std::mem::replace(&mut has_worked, true) { done() } else { wish(&writes[0].path) };
                        Some(Input::Replied { call, reply, raw: None, warnings: vec![] })
                    }
                    Effect::Prepare { call, .. } => {
                        let diffs = vec![String::new(); writes.len()];
                        let prepared = Prepared::Ready { writes: writes.to_vec(), diffs };
                        Some(Input::Prepared { call, prepared })
                    }
                    Effect::Apply { call, plan } => Some(Input::Applied { call, problem: self.write(&plan) }),
                    Effect::Restore { plan } => {
                        let problem = self.write(&plan);
                        if problem.is_none() && self.dice.once_in(5) {
                            // Killed before anybody was told: a new owner folds the log and does it again.
                            self.kills += 1;
                            self.session = self.folded();
                            let interrupted = vec![Interrupted { call: CallId::history(), partial: None }];
                            Some(Input::Woke { interrupted })
                        } else {
                            Some(Input::Restored { problem })
                        }
                    }
                    Effect::Title { .. } | Effect::Abort { .. } => None,
                    other => panic!("nobody expects {other:?}"),
                });
            }
        }
        assert!(self.session.is_idle());
    }

    fn folded(&self) -> Session {
        let mut session = Session::default();
        self.log.iter().for_each(|(request, fact)| session.fold(request.as_ref(), fact));
        session
    }

    fn write(&self, plan: &FilePlan) -> Option<String> {
        let find = |hash: &str| self.contents.get(hash).cloned();
        write::apply(&self.folder, plan, &find).err().map(|refused| {
            assert!(refused.is_clean(), "{refused}");
            refused.to_string()
        })
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(self.base.path().join(&next)).expect("a folder").flatten() {
                let name = next.join(entry.file_name());
                match entry.file_type().expect("a kind").is_dir() {
                    true => folders.push(name),
                    false => {
                        let text = std::fs::read_to_string(entry.path()).expect("a text");
                        files.insert(name.display().to_string(), text);
                    }
                }
            }
        }
        files
    }
}

fn wish(path: &str) -> Reply {
    let input = json!({"path": path, "content": "x"});
    let call = ToolCall { id: "t".into(), name: "write_file".into(), input, broken: None };
    let message = Message { role: Role::Assistant, parts: vec![Part::ToolUse(call)] };
    Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() }
}

fn done() -> Reply {
    Reply { message: Message::assistant("Done."), stop_reason: Some(StopReason::EndTurn), usage: Usage::default() }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn any_history_is_what_a_map_and_a_list_say() {
    let (seed, steps) = (number("TRIMTAB_HISTORY_SEED", 3), number("TRIMTAB_HISTORY_STEPS", 3_000));
    let mut dice = Dice::new(seed);
    let mut rig = Rig::new(seed ^ 1);
    let mut model = Model::default();
    let (mut applied, mut moved, mut refused, mut edited) = (0, 0, 0, 0);
    for at in 0..steps {
        if at % SESSION == SESSION - 1 {
            rig.begin();
            model = Model { files: model.files, ..Model::default() };
        }
        let place = format!("seed {seed}, step {at}");
        match dice.below(10) {
            0..=3 => {
                let mut set: Vec<Write> = Vec::new();
                for _ in 0..=dice.below(4) {
                    let name = NAMES[dice.below(8) as usize];
                    let before = model.files.get(name).cloned();
                    let after = (!dice.once_in(4)).then(|| TEXTS[dice.below(5) as usize].to_owned());
                    if before != after && set.iter().all(|(known, ..)| known != name) {
                        set.push((name.to_owned(), before, after));
                    }
                }
                if !set.is_empty() {
                    applied += 1;
                    rig.apply(&set);
                    model.applied(set);
                }
            }
            4..=5 => {
                edited += 1;
                let name = NAMES[dice.below(8) as usize];
                let path = rig.base.path().join(name);
                if dice.once_in(4) {
                    let _ = std::fs::remove_file(&path);
                    model.files.remove(name);
                } else {
                    let text = TEXTS[dice.below(5) as usize];
                    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                    std::fs::write(&path, text).expect("a file");
                    model.files.insert(name.to_owned(), text.to_owned());
                }
            }
            _ => {
                let by = 1 + dice.below(4) as i64;
                let by = if dice.once_in(2) { by } else { -by };
                let answer = rig.travel(by);
                let wanted = model.moved(by);
                assert_eq!(answer.is_none(), wanted, "{place}: by {by}: {answer:?}");
                *(if wanted { &mut moved } else { &mut refused }) += 1;
            }
        }
        assert_eq!(rig.files(), model.files, "{place}");
        let history = (rig.session.history().len(), rig.session.in_force());
        assert_eq!(history, (model.sets.len(), model.in_force), "{place}");
    }
    println!(
        "{steps} steps: {applied} applied, {edited} edits, {moved} moves ({} killed), {refused} refused",
        rig.kills
    );
    assert!(rig.session == rig.folded(), "replay equals live");
    assert!(applied > 0 && moved > 0 && refused > 0 && edited > 0 && rig.kills > 0);
}
