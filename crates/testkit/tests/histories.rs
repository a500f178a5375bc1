//! Random histories of changes, a person's own edits, rewinds, forwards, parts taken back, handoffs, deleted
//! sessions, restarts and kills, with the real engine, the real comparison and the real writer on a real
//! folder, against a model of a few lines: a map of files and a list of sets for each session.
//!
//! `TRIMTAB_HISTORY_STEPS` makes it more than the steps of an ordinary run, `TRIMTAB_HISTORY_SEED` another
//! history: `TRIMTAB_HISTORY_STEPS=100000 cargo test --profile sim -p trimtab-testkit --test histories`.

#![allow(clippy::disallowed_methods, reason = "the person of the test edits files by hand")]

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::json;
use trimtab_engine::handoff::Child;
use trimtab_engine::merge::{self, File, Prefer};
use trimtab_engine::{Effect, Input, Interrupted, Output, Prepared, Session, step};
use trimtab_host::LocalWorkspace;
use trimtab_testkit::dice::Dice;
use trimtab_testkit::memory_store::{Disk, MemoryStore};
use trimtab_vocab::event::{ChangeFact, CheckpointFact, Fact};
use trimtab_vocab::{
    Approve, CallId, ChangePart, CheckpointId, Control, FilePlan, FileState, FileWrite, FolderTrust, Message,
    OnConflict, Part, RefKey, Reply, Request, RequestId, Role, RunSettings, SessionId, StopReason, ToolCall, Usage,
};
use trimtab_world::workspace::{Folder, write};

const NAMES: [&str; 8] = ["a", "b", "c.txt", "d/e", "d/f", "g/h/i", "g/h/j", "k/l"];
/// After so many steps new sessions begin in the same folder: conversations must not grow for ever.
const FAMILY: u64 = 60;
const MODE: u32 = 0o644;

type Files = BTreeMap<String, String>;

/// One file of a set as the model keeps it: its name, without the set, with it.
type Write = (String, Option<String>, Option<String>);

/// What must come of a wish.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Done,
    Refused,
    /// Refused because another session has the set.
    Elsewhere,
}

impl Outcome {
    /// What to count it as.
    fn named(self, done: &'static str) -> &'static str {
        match self {
            Outcome::Done => done,
            Outcome::Refused => "refused",
            Outcome::Elsewhere => "refused as elsewhere",
        }
    }
}

/// A session as the model keeps it. Sets have numbers of their own, which copies of them keep.
#[derive(Default, Clone)]
struct Told {
    sets: Vec<(u64, Vec<Write>)>,
    in_force: usize,
    parent: Option<usize>,
    lent: BTreeMap<u64, usize>,
    has_requests: bool,
}

/// What must be true. Sessions keep their place when they are deleted.
#[derive(Default, Clone)]
struct Model {
    files: Files,
    sessions: Vec<Option<Told>>,
    at: usize,
    made: u64,
}

impl Model {
    fn new(files: Files) -> Self {
        Self { files, sessions: vec![Some(Told::default())], ..Self::default() }
    }

    fn here(&self) -> &Told {
        self.sessions[self.at].as_ref().expect("a session")
    }

    fn here_mut(&mut self) -> &mut Told {
        self.sessions[self.at].as_mut().expect("a session")
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.sessions.len()).filter(|at| self.sessions[*at].is_some()).collect()
    }

    fn put(&mut self, name: &str, text: Option<String>) {
        match text {
            Some(text) => drop(self.files.insert(name.to_owned(), text)),
            None => drop(self.files.remove(name)),
        }
    }

    fn applied(&mut self, set: Vec<Write>) {
        for (name, _, after) in &set {
            self.put(name, after.clone());
        }
        self.made += 1;
        let made = self.made;
        let here = self.here_mut();
        here.sets.truncate(here.in_force);
        here.sets.push((made, set));
        here.in_force = here.sets.len();
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
    fn moved(&mut self, by: i64, prefer: Prefer) -> Outcome {
        let here = self.here();
        let now = here.in_force;
        let to = (now as i64 + by).clamp(0, here.sets.len() as i64) as usize;
        if to == now {
            return Outcome::Refused;
        }
        if here.sets[now.min(to)..now.max(to)].iter().any(|(set, _)| here.lent.contains_key(set)) {
            return Outcome::Elsewhere;
        }
        let mut next = self.clone();
        for n in 0..now.abs_diff(to) {
            let back = to < now;
            let at = if back { now - n - 1 } else { now + n };
            for (m, (name, before, after)) in self.here().sets[at].1.clone().into_iter().enumerate() {
                let (from, into) = if back { (after, before) } else { (before, after) };
                let Some((name, now, merged)) = next.walk(&name, &from, &into, prefer) else {
                    return Outcome::Refused;
                };
                next.here_mut().sets[at].1[m] = if back { (name, merged, now) } else { (name, now, merged) };
            }
        }
        next.here_mut().in_force = to;
        *self = next;
        Outcome::Done
    }

    /// Takes back parts of a set, by a new one.
    fn undone(&mut self, at: usize, parts: &[ChangePart], prefer: Prefer) -> Outcome {
        let here = self.here();
        let (number, set) = &here.sets[at];
        if here.lent.contains_key(number) {
            return Outcome::Elsewhere;
        }
        if at >= here.in_force || here.in_force < here.sets.len() {
            return Outcome::Refused;
        }
        let (mut next, mut made) = (self.clone(), Vec::new());
        for part in parts {
            let Some((name, before, after)) = set.iter().find(|(name, ..)| *name == part.path) else {
                return Outcome::Refused;
            };
            let bytes = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
            let (old, new) = (bytes(before), bytes(after));
            let all = merge::hunks(&old, &new).len() as u32;
            let wanted = match merge::without(&old, &new, &part.hunks) {
                Err(_) => return Outcome::Refused,
                Ok(_) if part.hunks.is_empty() || (1..=all).all(|n| part.hunks.contains(&n)) => before.clone(),
                Ok(text) => Some(String::from_utf8(text).expect("a text")),
            };
            let Some(write) = next.walk(name, after, &wanted, prefer) else { return Outcome::Refused };
            made.extend((write.1 != write.2).then_some(write));
        }
        if made.is_empty() {
            return Outcome::Refused;
        }
        self.applied(made);
        Outcome::Done
    }

    /// A new session gets all sets that no other one has.
    fn handed_off(&mut self) -> Outcome {
        let (at, child) = (self.at, self.sessions.len());
        let here = self.here_mut();
        if !here.has_requests {
            return Outcome::Refused;
        }
        let free = |(_, (set, _)): &(usize, &(u64, Vec<Write>))| !here.lent.contains_key(set);
        let free: Vec<(usize, &(u64, Vec<Write>))> = here.sets.iter().enumerate().filter(free).collect();
        let in_force = free.iter().filter(|(nth, _)| *nth < here.in_force).count();
        let sets: Vec<(u64, Vec<Write>)> = free.into_iter().map(|(_, set)| set.clone()).collect();
        here.lent.extend(sets.iter().map(|(set, _)| (*set, child)));
        self.sessions.push(Some(Told { sets, in_force, parent: Some(at), ..Told::default() }));
        Outcome::Done
    }

    /// A fork begins as a session was: it has all sets and can move none of them.
    fn forked(&mut self, was: Told) {
        let lent = was.sets.iter().map(|(set, _)| (*set, self.at)).collect();
        self.sessions.push(Some(Told { lent, parent: None, ..was }));
    }

    /// What a deleted session had goes back, unless it had handed it on.
    fn deleted(&mut self, gone: usize) {
        let Some(Told { parent, lent, .. }) = self.sessions[gone].take() else { return };
        for told in self.sessions.iter_mut().flatten().filter(|told| told.parent == Some(gone)) {
            told.parent = parent;
        }
        if let Some(parent) = parent.and_then(|at| self.sessions[at].as_mut()) {
            let place = |(set, at): (u64, usize)| {
                if at == gone { lent.get(&set).map(|at| (set, *at)) } else { Some((set, at)) }
            };
            parent.lent = std::mem::take(&mut parent.lent).into_iter().filter_map(place).collect();
        }
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

/// A session, and what its store has of it.
struct Real {
    id: SessionId,
    parent: Option<SessionId>,
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    /// It is told when somebody next uses it.
    inbox: Vec<Input>,
}

impl Real {
    fn new(id: SessionId, parent: Option<SessionId>, facts: Vec<Fact>) -> Self {
        let log: Vec<(Option<RequestId>, Fact)> = facts.into_iter().map(|fact| (None, fact)).collect();
        let mut real = Self { session: Session::default(), id, parent, log, inbox: Vec::new() };
        real.session = real.folded();
        real
    }

    fn folded(&self) -> Session {
        let mut session = Session::new(self.id.clone());
        self.log.iter().for_each(|(request, fact)| session.fold(request.as_ref(), fact));
        session
    }
}

/// The real thing.
struct Rig {
    runtime: tokio::runtime::Runtime,
    base: tempfile::TempDir,
    folder: Folder,
    plain_workspace: LocalWorkspace,
    store: MemoryStore,
    disk: Disk,
    /// In the model's order.
    sessions: Vec<Option<Real>>,
    at: usize,
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
            plain_workspace: LocalWorkspace::new([], &[]),
            store: disk.process(seed, None, 0),
            disk,
            sessions: Vec::new(),
            at: 0,
            requests: 0,
            dice: Dice::new(seed),
            kills: 0,
        };
        rig.begin();
        rig
    }

    fn begin(&mut self) {
        for real in self.sessions.drain(..).flatten() {
            assert!(real.session == real.folded(), "replay equals live");
        }
        self.disk.state().bytes.clear();
        self.sessions.push(Some(Real::new("s1".parse().expect("an id"), None, vec![])));
        self.at = 0;
        let folder = self.folder.path().display().to_string();
        self.drive(Input::Opened { folder }, &[]);
    }

    fn here(&self) -> &Real {
        self.sessions[self.at].as_ref().expect("a session")
    }

    fn here_mut(&mut self) -> &mut Real {
        self.sessions[self.at].as_mut().expect("a session")
    }

    /// Somebody uses this session from now on.
    fn enter(&mut self, at: usize) {
        self.at = at;
        for input in std::mem::take(&mut self.here_mut().inbox) {
            self.drive(input, &[]);
        }
    }

    /// Another process takes over.
    fn restart(&mut self) {
        self.here_mut().session = self.here().folded();
    }

    /// Whether it was done.
    fn hand_off(&mut self) -> bool {
        let all = self.sessions.len();
        self.drive(Input::Controlled { request: None, action: Control::Handoff }, &[]);
        self.sessions.len() > all
    }

    /// What the store does with a new session.
    fn bear(&mut self, child: Child) {
        let parent = self.here().id.clone();
        let mut state = self.disk.state();
        for hash in &child.files {
            let bytes = state.bytes.get(&RefKey::file_of(&parent, hash)).cloned().expect("the parent has it");
            state.bytes.insert(RefKey::file_of(&child.id, hash), bytes);
        }
        drop(state);
        self.sessions.push(Some(Real::new(child.id, Some(parent), child.facts)));
    }

    /// What the client does: a new session with so many facts of this one.
    fn fork(&mut self, facts: usize) {
        let id: SessionId = format!("fork{:03}", self.sessions.len()).parse().expect("an id");
        let from = self.here().id.clone();
        let mut log = self.here().log[..facts].to_vec();
        let mut session = Session::new(id.clone());
        log.iter().for_each(|(request, fact)| session.fold(request.as_ref(), fact));
        log.extend(trimtab_engine::fork(&mut session, &from, facts as u64, None));
        let mut state = self.disk.state();
        let there = format!("file-{from}-");
        let shared = |(key, bytes): (&RefKey, &Vec<u8>)| {
            key.as_str().strip_prefix(&there).map(|hash| (RefKey::file_of(&id, hash), bytes.clone()))
        };
        let shared: Vec<(RefKey, Vec<u8>)> = state.bytes.iter().filter_map(shared).collect();
        state.bytes.extend(shared);
        drop(state);
        self.sessions.push(Some(Real { id, parent: None, session, log, inbox: Vec::new() }));
    }

    /// What the client and the store do when a session is deleted.
    fn delete(&mut self, at: usize) {
        let Real { id, parent, session, .. } = self.sessions[at].take().expect("a session");
        let gone = |key: &RefKey| key.as_str().contains(id.as_str());
        self.disk.state().bytes.retain(|key, _| !gone(key));
        let mut handed_on = session.lineage().lent.clone();
        let living: Vec<SessionId> = self.sessions.iter().flatten().map(|real| real.id.clone()).collect();
        handed_on.retain(|_, heir| living.contains(heir));
        for real in self.sessions.iter_mut().flatten() {
            if real.parent.as_ref() == Some(&id) {
                real.parent.clone_from(&parent);
            }
            if Some(&real.id) == parent.as_ref() {
                real.inbox.push(Input::ChildGone { child: id.clone(), handed_on: handed_on.clone() });
            }
        }
    }

    fn state(&mut self, text: &str) -> FileState {
        let hash = trimtab_world::store::hash(text.as_bytes());
        self.disk.state().bytes.insert(RefKey::file_of(&self.here().id, &hash), text.into());
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
        let settings =
            RunSettings { trust: FolderTrust::WHOLE, attended: true, approve: Approve::Auto, ..RunSettings::default() };
        let request = Box::new(Request::new(id, "Change it", settings));
        self.drive(Input::Said { request }, &writes);
    }

    /// What came of it, and why it was refused, if it was.
    fn travel(&mut self, action: Control) -> (Outcome, Option<String>) {
        let from = self.here().log.len();
        self.drive(Input::Controlled { request: None, action }, &[]);
        let reason = self.here().log[from..].iter().find_map(|(_, fact)| match fact {
            Fact::Change(ChangeFact::Refused { reason, .. }) => Some(reason.clone()),
            _ => None,
        });
        let outcome = match &reason {
            None => Outcome::Done,
            Some(reason) if reason.contains("with --session ") => Outcome::Elsewhere,
            Some(_) => Outcome::Refused,
        };
        (outcome, reason)
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
            for output in step(&mut self.here_mut().session, input) {
                let effect = match output {
                    Output::Event { request, fact } => {
                        // Files that nobody has read are replaced only if a person says so.
                        if let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) = &fact {
                            inputs.push_back(allowed(checkpoint));
                        }
                        self.here_mut().log.push((request, fact));
                        continue;
                    }
                    Output::Child(child) => {
                        self.bear(*child);
                        continue;
                    }
                    Output::Keep { .. } | Output::KeepOnly { .. } | Output::Audit { .. } | Output::Tell { .. } => {
                        continue;
                    }
                    Output::Effect(effect) => effect,
                };
                inputs.extend(match effect {
                    Effect::Admit { request } => Some(Input::Admitted { request }),
                    Effect::Load { request, .. } => Some(Input::Loaded {
                        request,
                        files: vec![],
                        missing: vec![],
                        absent: vec![],
                        instructions: None,
                        instruction_files: Vec::new(),
                        servers: None,
                        unread: Vec::new(),
                    }),
                    Effect::CallModel { call, .. } => {
                        let reply =
                            if std::mem::replace(&mut has_worked, true) { done() } else { wish(&writes[0].path) };
                        Some(Input::Replied { call, reply, raw: None, warnings: vec![] })
                    }
                    Effect::Prepare { call, .. } => {
                        let diffs = vec![String::new(); writes.len()];
                        let prepared = Prepared::Ready {
                            writes: writes.to_vec(),
                            diffs,
                            hunks: Vec::new(),
                            versions: Vec::new(),
                            losses: Vec::new(),
                            unsaved: Vec::new(),
                        };
                        Some(Input::Prepared { call, prepared })
                    }
                    Effect::Apply { call, plan, .. } => Some(Input::Applied { call, problem: self.write(&plan) }),
                    Effect::Compare { ways, on_conflict } => {
                        let folder = self.folder.path().display().to_string();
                        let compare = trimtab_host::walk(
                            &self.store,
                            &self.plain_workspace,
                            &self.here().id,
                            &folder,
                            ways,
                            on_conflict,
                        );
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
        assert!(self.here().session.is_idle());
    }

    fn write(&self, plan: &FilePlan) -> Option<String> {
        let find = |hash: &str| self.disk.state().bytes.get(&RefKey::file_of(&self.here().id, hash)).cloned();
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

fn allowed(checkpoint: &CheckpointId) -> Input {
    Input::Answered {
        checkpoint: checkpoint.clone(),
        choice: "allow".into(),
        text: None,
        by: "user".into(),
        surface: None,
        instructions: Vec::new(),
    }
}

fn done() -> Reply {
    Reply { message: Message::assistant("Done."), stop_reason: Some(StopReason::EndTurn), usage: Usage::default() }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn any_history_is_what_a_map_and_lists_say() {
    let (seed, steps) = (number("TRIMTAB_HISTORY_SEED", 3), number("TRIMTAB_HISTORY_STEPS", 1_500));
    let mut dice = Dice::new(seed);
    let mut rig = Rig::new(seed ^ 1);
    let mut model = Model::new(Files::new());
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut count = |what| *counts.entry(what).or_default() += 1;
    // What each session was after how many facts.
    let mut past: BTreeMap<usize, Vec<(usize, Told)>> = BTreeMap::new();
    for at in 0..steps {
        if at % FAMILY == FAMILY - 1 {
            rig.begin();
            past.clear();
            model = Model::new(model.files);
        }
        let alive = model.alive();
        if dice.once_in(4) {
            model.at = alive[dice.below(alive.len() as u64) as usize];
            rig.enter(model.at);
        }
        let place = format!("seed {seed}, step {at}");
        let (on_conflict, prefer) = match dice.below(6) {
            0 => (OnConflict::KeepMine, Prefer::Left),
            1 => (OnConflict::DiscardMine, Prefer::Right),
            _ => (OnConflict::Refuse, Prefer::Neither),
        };
        let what = match dice.below(14) {
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
                if set.is_empty() {
                    continue;
                }
                rig.apply(&set);
                model.here_mut().has_requests = true;
                model.applied(set);
                "sets applied"
            }
            4..=5 => {
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
                "edits"
            }
            6 => {
                rig.restart();
                "restarts"
            }
            7 if !model.here().sets.is_empty() => {
                let nth = dice.below(model.here().sets.len() as u64) as usize;
                let mut parts: Vec<ChangePart> = Vec::new();
                for (name, ..) in &model.here().sets[nth].1 {
                    if dice.once_in(2) {
                        let hunks = (0..dice.below(3)).map(|_| 1 + dice.below(2) as u32).collect();
                        parts.push(ChangePart { path: name.clone(), hunks });
                    }
                }
                let change_set = rig.here().session.history()[nth].id.clone();
                let action = Control::UndoPart { change_set, parts: parts.clone(), on_conflict };
                let (outcome, reason) = rig.travel(action);
                assert_eq!(outcome, model.undone(nth, &parts, prefer), "{place}: a part of {nth}: {reason:?}");
                outcome.named("parts undone")
            }
            8 if alive.len() < 8 => {
                let outcome = model.handed_off();
                assert_eq!(rig.hand_off(), outcome == Outcome::Done, "{place}: a handoff");
                if outcome == Outcome::Done && dice.once_in(2) {
                    model.at = model.sessions.len() - 1;
                    rig.enter(model.at);
                }
                outcome.named("handoffs")
            }
            9 if alive.len() < 8 && past.contains_key(&model.at) => {
                let points = &past[&model.at];
                let (facts, was) = points[dice.below(points.len() as u64) as usize].clone();
                model.forked(was);
                rig.fork(facts);
                if dice.once_in(2) {
                    model.at = model.sessions.len() - 1;
                    rig.enter(model.at);
                }
                "forks"
            }
            10 if alive.len() > 1 => {
                let gone = alive[dice.below(alive.len() as u64) as usize];
                model.deleted(gone);
                rig.delete(gone);
                if gone == model.at {
                    model.at = model.alive()[0];
                }
                rig.enter(model.at);
                "deleted sessions"
            }
            _ => {
                let steps = 1 + dice.below(4) as u32;
                let back = dice.once_in(2);
                let (outcome, reason) = rig.travel(match back {
                    true => Control::Rewind { steps, on_conflict },
                    false => Control::Forward { steps, on_conflict },
                });
                let wanted = model.moved(if back { -i64::from(steps) } else { steps.into() }, prefer);
                assert_eq!(outcome, wanted, "{place}: by {steps}, back {back}: {reason:?}");
                outcome.named("moves")
            }
        };
        count(what);
        assert_eq!(rig.files(), model.files, "{place}");
        let session = &rig.here().session;
        let history = (session.history().len(), session.in_force());
        assert_eq!(history, (model.here().sets.len(), model.here().in_force), "{place}");
        past.entry(model.at).or_default().push((rig.here().log.len(), model.here().clone()));
    }
    rig.begin();
    println!("{steps} steps: {counts:?}, {} kills", rig.kills);
    let met: Vec<&str> = counts.into_keys().collect();
    let wanted =
        ["deleted sessions", "edits", "forks", "handoffs", "moves", "parts undone", "refused", "refused as elsewhere"];
    assert!(wanted.iter().all(|what| met.contains(what)) && rig.kills > 0, "too little was met: {met:?}");
}
