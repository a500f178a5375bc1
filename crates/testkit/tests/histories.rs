//! Random histories of changes, a person's own edits, rewinds, forwards, parts taken back, restarts and
//! kills, with the real engine, the real comparison and the real writer on a real folder, against a model
//! of a few lines: a map of files and a list of sets.
//!
//! `TRIMTAB_HISTORY_STEPS` makes it more than the steps of an ordinary run, `TRIMTAB_HISTORY_SEED` another
//! history: `TRIMTAB_HISTORY_STEPS=100000 cargo test --profile sim -p trimtab-testkit --test histories`.

#![allow(clippy::disallowed_methods, reason = "the person of the test edits files by hand")]

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::json;
use trimtab_engine::merge::{self, File, Prefer};
use trimtab_engine::{Effect, Input, Interrupted, Output, Prepared, Session, step};
use trimtab_host::RealHands;
use trimtab_testkit::dice::Dice;
use trimtab_testkit::memory_store::{Disk, MemoryStore};
use trimtab_vocab::event::{ChangeFact, Fact};
use trimtab_vocab::{
    Approve, CallId, ChangePart, Control, FilePlan, FileState, FileWrite, Message, OnConflict, Part, RefKey, Reply,
    Request, RequestId, Role, RunSettings, SessionId, StopReason, ToolCall, Usage,
};
use trimtab_world::workspace::{Folder, write};

const NAMES: [&str; 8] = ["a", "b", "c.txt", "d/e", "d/f", "g/h/i", "g/h/j", "k/l"];
/// After so many steps a new session begins in the same folder: conversations must not grow for ever.
const SESSION: u64 = 40;
const MODE: u32 = 0o644;

type Files = BTreeMap<String, String>;

/// One file of a set as the model keeps it: its name, without the set, with it.
type Write = (String, Option<String>, Option<String>);

/// What must be true.
#[derive(Default, Clone)]
struct Model {
    files: Files,
    sets: Vec<Vec<Write>>,
    in_force: usize,
}

impl Model {
    fn put(&mut self, name: &str, text: Option<String>) {
        match text {
            Some(text) => drop(self.files.insert(name.to_owned(), text)),
            None => drop(self.files.remove(name)),
        }
    }

    fn applied(&mut self, set: Vec<Write>) {
        self.sets.truncate(self.in_force);
        for (name, _, after) in &set {
            self.put(name, after.clone());
        }
        self.sets.push(set);
        self.in_force = self.sets.len();
    }

    /// Takes one file from one side of a set to the other: what it was, and what it is then.
    fn walk(&mut self, name: &str, from: &Option<String>, to: &Option<String>, prefer: Prefer) -> Option<Write> {
        let now = self.files.get(name).cloned();
        fn side(text: &Option<String>) -> Option<File<'_>> {
            text.as_ref().map(|text| File { bytes: text.as_bytes(), mode: MODE })
        }
        let merged = merge::merge_files(side(from), side(&now), side(to), prefer).ok()?;
        let merged = merged.map(|(bytes, _)| String::from_utf8(bytes).expect("a text"));
        self.put(name, merged.clone());
        Some((name.to_owned(), now, merged))
    }

    /// Moves the history, one set after the other, or not at all.
    fn moved(&mut self, by: i64, prefer: Prefer) -> bool {
        let to = (self.in_force as i64 + by).clamp(0, self.sets.len() as i64) as usize;
        let mut next = self.clone();
        while next.in_force != to {
            let back = to < next.in_force;
            let at = if back { next.in_force - 1 } else { next.in_force };
            for (n, (name, before, after)) in next.sets[at].clone().into_iter().enumerate() {
                let (from, into) = if back { (after, before) } else { (before, after) };
                let Some((name, now, merged)) = next.walk(&name, &from, &into, prefer) else { return false };
                next.sets[at][n] = if back { (name, merged, now) } else { (name, now, merged) };
            }
            next.in_force = if back { at } else { at + 1 };
        }
        let is_moved = to != self.in_force;
        *self = next;
        is_moved
    }

    /// Takes back parts of a set, by a new one.
    fn undone(&mut self, at: usize, parts: &[ChangePart], prefer: Prefer) -> bool {
        if at >= self.in_force || self.in_force < self.sets.len() {
            return false;
        }
        let (mut next, mut made) = (self.clone(), Vec::new());
        for part in parts {
            let Some((name, before, after)) = self.sets[at].iter().find(|(name, ..)| *name == part.path) else {
                return false;
            };
            let bytes = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
            let (old, new) = (bytes(before), bytes(after));
            let all = merge::hunks(&old, &new).len() as u32;
            let wanted = match merge::without(&old, &new, &part.hunks) {
                Err(_) => return false,
                Ok(_) if part.hunks.is_empty() || (1..=all).all(|n| part.hunks.contains(&n)) => before.clone(),
                Ok(text) => Some(String::from_utf8(text).expect("a text")),
            };
            let Some(write) = next.walk(name, after, &wanted, prefer) else { return false };
            made.extend((write.1 != write.2).then_some(write));
        }
        let is_something = !made.is_empty();
        if is_something {
            self.applied(made);
        }
        is_something
    }
}

/// What somebody could make of a file.
fn edited(dice: &mut Dice, text: Option<&String>) -> Option<String> {
    let Some(text) = text else {
        let lines = dice.below(16);
        return Some((0..lines).map(|n| format!("line {n}\n")).collect());
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    match dice.below(16) {
        0 | 1 => return None,
        2 => return Some("no line end".into()),
        3 => lines.clear(),
        _ => {}
    }
    for _ in 0..=dice.below(2) {
        let at = dice.below(lines.len() as u64 + 1) as usize;
        let new = format!("edit {}\n", dice.below(1000));
        match dice.below(3) {
            0 => lines.insert(at, new),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = new,
            _ => lines.push(new),
        }
    }
    Some(lines.concat())
}

/// The real thing.
struct Rig {
    runtime: tokio::runtime::Runtime,
    base: tempfile::TempDir,
    folder: Folder,
    hands: RealHands,
    store: MemoryStore,
    disk: Disk,
    id: SessionId,
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    requests: u64,
    /// Moves are killed before they are decided and after the files were written, now and then.
    dice: Dice,
    kills: u64,
}

impl Rig {
    fn new(seed: u64) -> Self {
        // In memory if there is such a place: the disk's own pace is not what is tested.
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.expect("a folder");
        let folder = Folder::open(base.path()).expect("a folder");
        let disk = Disk::default();
        let mut rig = Self {
            runtime: tokio::runtime::Builder::new_current_thread().build().expect("a runtime"),
            base,
            folder,
            hands: RealHands::new([], &[]),
            store: disk.process(seed, None, 0),
            disk,
            id: "s1".parse().expect("an id"),
            session: Session::default(),
            log: Vec::new(),
            requests: 0,
            dice: Dice::new(seed),
            kills: 0,
        };
        rig.begin();
        rig
    }

    fn begin(&mut self) {
        (self.session, self.log) = (Session::default(), Vec::new());
        self.disk.state().bytes.clear();
        let folder = self.folder.path().display().to_string();
        self.drive(Input::Opened { folder }, &[]);
    }

    /// Another process takes over.
    fn restart(&mut self) {
        self.session = self.folded();
    }

    fn state(&mut self, text: &str) -> FileState {
        let hash = trimtab_world::store::hash(text.as_bytes());
        self.disk.state().bytes.insert(RefKey::file_of(&self.id, &hash), text.into());
        FileState { hash, mode: MODE }
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
        let settings = RunSettings { trusted: true, approve: Approve::Auto, ..RunSettings::default() };
        let request = Box::new(Request::new(id, "Change it", settings));
        self.drive(Input::Said { request }, &writes);
    }

    /// Why it was refused, if it was.
    fn travel(&mut self, action: Control) -> Option<String> {
        let from = self.log.len();
        self.drive(Input::Controlled { request: None, action }, &[]);
        self.log[from..].iter().find_map(|(_, fact)| match fact {
            Fact::Change(ChangeFact::Refused { reason, .. }) => Some(reason.clone()),
            _ => None,
        })
    }

    /// Killed before anybody was told: a new owner folds the log and does it again.
    fn killed(&mut self) -> Option<Input> {
        self.kills += 1;
        self.restart();
        Some(Input::Woke { interrupted: vec![Interrupted { call: CallId::history(), partial: None }] })
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
                    Output::Keep { .. } | Output::KeepOnly { .. } | Output::Child(_) => continue,
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
                    Effect::Compare { ways, on_conflict } => {
                        let folder = self.folder.path().display().to_string();
                        let compare =
                            trimtab_host::walk(&self.store, &self.hands, &self.id, &folder, ways, on_conflict);
                        let compared = self.runtime.block_on(compare).expect("a store");
                        if self.dice.once_in(9) { self.killed() } else { Some(Input::Compared { compared }) }
                    }
                    Effect::Restore { plan } => {
                        let problem = self.write(&plan);
                        let is_killed = problem.is_none() && self.dice.once_in(5);
                        if is_killed { self.killed() } else { Some(Input::Restored { problem }) }
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
        let find = |hash: &str| self.disk.state().bytes.get(&RefKey::file_of(&self.id, hash)).cloned();
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
    let (seed, steps) = (number("TRIMTAB_HISTORY_SEED", 3), number("TRIMTAB_HISTORY_STEPS", 1_500));
    let mut dice = Dice::new(seed);
    let mut rig = Rig::new(seed ^ 1);
    let mut model = Model::default();
    let (mut applied, mut moved, mut undone, mut refused, mut edits) = (0, 0, 0, 0, 0);
    for at in 0..steps {
        if at % SESSION == SESSION - 1 {
            rig.begin();
            model = Model { files: model.files, ..Model::default() };
        }
        let place = format!("seed {seed}, step {at}");
        let (on_conflict, prefer) = match dice.below(6) {
            0 => (OnConflict::KeepMine, Prefer::Left),
            1 => (OnConflict::DiscardMine, Prefer::Right),
            _ => (OnConflict::Refuse, Prefer::Neither),
        };
        match dice.below(11) {
            0..=3 => {
                let mut set: Vec<Write> = Vec::new();
                for _ in 0..=dice.below(4) {
                    let name = NAMES[dice.below(8) as usize];
                    let before = model.files.get(name).cloned();
                    let after = edited(&mut dice, before.as_ref());
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
                edits += 1;
                let name = NAMES[dice.below(8) as usize];
                let path = rig.base.path().join(name);
                let text = edited(&mut dice, model.files.get(name));
                match &text {
                    None => std::fs::remove_file(&path).expect("a file"),
                    Some(text) => {
                        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                        std::fs::write(&path, text).expect("a file");
                    }
                }
                model.put(name, text);
            }
            6 => rig.restart(),
            7 if !model.sets.is_empty() => {
                let nth = dice.below(model.sets.len() as u64) as usize;
                let mut parts: Vec<ChangePart> = Vec::new();
                for (name, ..) in &model.sets[nth] {
                    if dice.once_in(2) {
                        let hunks = (0..dice.below(3)).map(|_| 1 + dice.below(2) as u32).collect();
                        parts.push(ChangePart { path: name.clone(), hunks });
                    }
                }
                let change_set = rig.session.history()[nth].id.clone();
                let answer = rig.travel(Control::UndoPart { change_set, parts: parts.clone(), on_conflict });
                let wanted = model.undone(nth, &parts, prefer);
                assert_eq!(answer.is_none(), wanted, "{place}: a part of {nth}: {answer:?}");
                *(if wanted { &mut undone } else { &mut refused }) += 1;
            }
            _ => {
                let steps = 1 + dice.below(4) as u32;
                let back = dice.once_in(2);
                let answer = rig.travel(match back {
                    true => Control::Rewind { steps, on_conflict },
                    false => Control::Forward { steps, on_conflict },
                });
                let wanted = model.moved(if back { -i64::from(steps) } else { steps.into() }, prefer);
                assert_eq!(answer.is_none(), wanted, "{place}: by {steps}, back {back}: {answer:?}");
                *(if wanted { &mut moved } else { &mut refused }) += 1;
            }
        }
        assert_eq!(rig.files(), model.files, "{place}");
        let history = (rig.session.history().len(), rig.session.in_force());
        assert_eq!(history, (model.sets.len(), model.in_force), "{place}");
    }
    println!(
        "{steps} steps: {applied} applied, {edits} edits, {moved} moves, {undone} parts undone, {} kills, {refused} refused",
        rig.kills
    );
    assert!(rig.session == rig.folded(), "replay equals live");
    assert!(applied > 0 && moved > 0 && undone > 0 && refused > 0 && edits > 0 && rig.kills > 0);
}
