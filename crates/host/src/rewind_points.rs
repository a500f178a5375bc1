//! Going back to an earlier message: the files as they were before it, the conversation as it was before it, or both.
//!
//! Nothing is taken out of a log. The files move along the change history, which can move again, and the conversation
//! continues in a fork that ends before the message, so the original keeps every word. A fork cannot move the changes
//! that it has from its parent, so each change is moved in the session that owns it.

use std::collections::HashMap;
use std::sync::Arc;

use trimtab_vocab::event::{ChangeFact, Conflict, RequestFact, SessionFact};
use trimtab_vocab::{
    ChangeSetId, Control, Fact, FileRewind, FileWrite, OnConflict, Problem, ProblemKind, RequestId, RewindScope,
    SessionId, Time,
};

use crate::client::{check_session, store_problem};
use crate::handles::Sessions;
use crate::history::{History, HistoryReader, Set};

/// Facts that are read at once.
const PAGE: u32 = 1000;
/// Forks of forks that are followed to the owner of a change.
const GENERATIONS: usize = 64;

/// A message that the user can go back to.
#[derive(Debug, Clone)]
pub struct RewindPoint {
    /// The fact that recorded it.
    pub seq: u64,
    pub request: RequestId,
    pub time: Time,
    /// The message. A long one is a preview.
    pub text: String,
    /// How many change sets were made between it and the next message.
    pub changes: usize,
    /// The change sets that were in force before it.
    sets: Arc<Vec<ChangeSetId>>,
}

/// What going back to a message would do.
#[derive(Debug, Clone)]
pub struct RewindPlan {
    /// The message; absent: the last rewind is undone.
    pub point: Option<RewindPoint>,
    /// What happens to each file: from how Trimtab left it to how it was then.
    pub writes: Vec<FileWrite>,
    /// Why the files cannot go back.
    pub blocked: Option<String>,
    /// Changes that were undone and replaced since, and that stay undone.
    pub lost: usize,
    moves: Vec<PlannedMove>,
    /// The session that is open afterwards, if that one exists.
    target: Option<SessionId>,
}

/// A move of a history, and where the plan found that history: how many of its change sets are in force. A move by so many
/// steps means something else from another place.
#[derive(Debug, Clone)]
struct PlannedMove {
    moved: FileRewind,
    from: usize,
}

impl RewindPlan {
    /// The session that undoing a rewind goes back to.
    pub fn target(&self) -> Option<&SessionId> {
        self.target.as_ref()
    }

    /// The number of change sets that are undone, and of those that are redone.
    pub fn counts(&self) -> (u64, u64) {
        let sum = |undone: bool| {
            let moves = self.moves.iter().map(|planned| planned.moved.by);
            moves.filter(|by| (*by < 0) == undone).map(i64::unsigned_abs).sum()
        };
        (sum(true), sum(false))
    }
}

/// What came of going back.
#[derive(Debug, Clone)]
pub struct RewindDone {
    /// The session in which the conversation continues.
    pub session: SessionId,
    /// The message, to be edited and sent again.
    pub text: Option<String>,
    /// What happened to each file.
    pub writes: Vec<FileWrite>,
    /// Why nothing happened.
    pub refused: Option<(String, Vec<Conflict>)>,
}

/// What is known of a session that is about to go back.
struct RewindState {
    history: History,
    points: Vec<RewindPoint>,
    is_busy: bool,
    /// The session was made by going back: from where, and what moved for it.
    origin: Option<(SessionId, Vec<FileRewind>)>,
}

/// A change set that has to move, with the session that can move it.
struct OwnedSet {
    set: Set,
    owner: SessionId,
}

impl Sessions<'_> {
    /// The messages that the user can go back to, oldest first, and whether the last rewind can be undone.
    pub async fn rewind_points(self, session: &SessionId) -> Result<(Vec<RewindPoint>, bool), Problem> {
        let state = self.rewind_state(session).await?;
        Ok((state.points, state.origin.is_some()))
    }

    /// What going back to before a message would do. Without a message: what undoing the last rewind would do.
    pub async fn rewind_plan(self, session: &SessionId, before: Option<u64>) -> Result<RewindPlan, Problem> {
        let state = self.rewind_state(session).await?;
        match before {
            Some(seq) => self.plan_back(session, state, seq).await,
            None => self.plan_undo(session, state).await,
        }
    }

    /// Goes back. Files come first, because only they can be refused; then the conversation.
    pub async fn rewind_to(
        self,
        session: &SessionId,
        before: Option<u64>,
        scope: RewindScope,
        on_conflict: OnConflict,
    ) -> Result<RewindDone, Problem> {
        check_session(session)?;
        self.0.changes().settled_history(session).await?;
        let state = self.rewind_state(session).await?;
        if state.is_busy {
            return Err(Problem::new(ProblemKind::Busy, "A request is running in this session.")
                .hint("Stop it first, then go back."));
        }
        let plan = match before {
            Some(seq) => self.plan_back(session, state, seq).await?,
            None => self.plan_undo(session, state).await?,
        };
        let RewindPlan { point, mut writes, blocked, moves, target, .. } = plan;
        let text = point.as_ref().map(|point| point.text.clone());
        let mut done = RewindDone { session: session.clone(), text, writes: Vec::new(), refused: None };
        if scope.has_files() {
            let refused = match blocked {
                Some(reason) => Some((reason, Vec::new())),
                None => self.move_all(&moves, on_conflict).await?,
            };
            if refused.is_some() {
                return Ok(RewindDone { refused, ..done });
            }
            done.writes = std::mem::take(&mut writes);
        }
        if scope.has_conversation() {
            let moves = if scope.has_files() { moves } else { Vec::new() };
            let moved = moves.into_iter().map(|planned| planned.moved).collect();
            done.session = match (point, target) {
                (Some(point), _) => self.fork_rewound(session, point.seq.saturating_sub(1), moved).await?,
                (None, Some(target)) => target,
                (None, None) => done.session,
            };
        }
        Ok(done)
    }

    async fn rewind_state(self, session: &SessionId) -> Result<RewindState, Problem> {
        let mut reader = HistoryReader::default();
        let (mut points, mut origin): (Vec<RewindPoint>, _) = (Vec::new(), None);
        let mut sets: Arc<Vec<ChangeSetId>> = Arc::default();
        loop {
            let page = self.0.store().events(session, reader.last, PAGE).await.map_err(store_problem)?;
            if page.is_empty() {
                break;
            }
            for event in page {
                if let (Some(seq), Some(request), Fact::Request(RequestFact::Received { text, .. })) =
                    (event.seq, &event.request, &event.fact)
                {
                    let (request, text, sets) = (request.clone(), text.clone(), Arc::clone(&sets));
                    points.push(RewindPoint { seq, request, time: event.time, text, changes: 0, sets });
                }
                if let Fact::Session(SessionFact::Forked { from, rewound, .. }) = &event.fact {
                    origin = rewound.clone().map(|moved| (from.clone(), moved));
                }
                let is_change = matches!(event.fact, Fact::Change(_));
                if let (Fact::Change(ChangeFact::Applied(_)), Some(point)) = (&event.fact, points.last_mut()) {
                    point.changes += 1;
                }
                reader.read(event);
                if is_change {
                    let applied = reader.session.history().iter().take(reader.session.in_force());
                    sets = Arc::new(applied.map(|set| set.id.clone()).collect());
                }
            }
        }
        let is_busy = reader.session.active().is_some();
        Ok(RewindState { history: reader.finish(), points, is_busy, origin })
    }

    async fn plan_back(self, session: &SessionId, state: RewindState, seq: u64) -> Result<RewindPlan, Problem> {
        let point = state.points.into_iter().find(|point| point.seq == seq).ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("Event {seq} of session {session} is not a message."))
                .hint("`trimtab rewind --messages` lists the messages.")
        })?;
        let mut moving = HistoryMoves::new(self);
        moving.histories.insert(session.clone(), state.history);
        let (moves, writes, lost, blocked) = match moving.back_to(session, &point.sets).await? {
            Ok(lost) => (moving.moves, moving.writes, lost, None),
            Err(reason) => (Vec::new(), Vec::new(), 0, Some(reason)),
        };
        Ok(RewindPlan { point: Some(point), writes: net(writes), blocked, lost, moves, target: None })
    }

    async fn plan_undo(self, session: &SessionId, state: RewindState) -> Result<RewindPlan, Problem> {
        let Some((from, moved)) = state.origin else {
            return Err(Problem::new(ProblemKind::Usage, "This session does not begin with a rewind.")
                .hint("`trimtab forward` redoes changes that were undone."));
        };
        self.get(&from).await?;
        let mut moving = HistoryMoves::new(self);
        moving.histories.insert(session.clone(), state.history);
        let blocked = moving.undo(session, &moved).await?.err();
        let (moves, writes) = if blocked.is_some() { Default::default() } else { (moving.moves, moving.writes) };
        Ok(RewindPlan { point: None, writes: net(writes), blocked, lost: 0, moves, target: Some(from) })
    }

    /// Makes all of these moves or none of them: where one is refused, those before it are taken back.
    async fn move_all(
        self,
        moves: &[PlannedMove],
        on_conflict: OnConflict,
    ) -> Result<Option<(String, Vec<Conflict>)>, Problem> {
        for (at, PlannedMove { moved, from }) in moves.iter().enumerate() {
            if let Some((reason, conflicts)) = self.move_one(moved, Some(*from), on_conflict).await? {
                for PlannedMove { moved: done, .. } in moves[..at].iter().rev() {
                    let left = self.move_one(&done.reversed(), None, OnConflict::DiscardMine).await?;
                    if let Some((why, conflicts)) = left {
                        let session = &done.session;
                        let reason = format!("{reason} The changes of session {session} could not be restored: {why}");
                        return Ok(Some((reason, conflicts)));
                    }
                }
                return Ok(Some((reason, conflicts)));
            }
        }
        Ok(None)
    }

    /// `from`: where the history must be, if the move was planned.
    async fn move_one(
        self,
        moved: &FileRewind,
        from: Option<usize>,
        on_conflict: OnConflict,
    ) -> Result<Option<(String, Vec<Conflict>)>, Problem> {
        let steps = u32::try_from(moved.by.unsigned_abs()).unwrap_or(u32::MAX);
        let control = match moved.by {
            0 => return Ok(None),
            by if by < 0 => Control::Rewind { steps, on_conflict },
            _ => Control::Forward { steps, on_conflict },
        };
        let changes = self.0.changes();
        let (history, _) = changes.settled_history(&moved.session).await?;
        if from.is_some_and(|from| from != history.in_force) {
            let reason = "Other changes were undone or made at the same time. Nothing was changed.".to_owned();
            return Ok(Some((reason, Vec::new())));
        }
        Ok(changes.move_history(&moved.session, history.last, control).await?.refused)
    }
}

/// The moves that bring the files back, tried on the histories before any of them is made.
struct HistoryMoves<'a> {
    sessions: Sessions<'a>,
    histories: HashMap<SessionId, History>,
    moves: Vec<PlannedMove>,
    /// What happens to files, in order.
    writes: Vec<FileWrite>,
}

impl<'a> HistoryMoves<'a> {
    fn new(sessions: Sessions<'a>) -> Self {
        Self { sessions, histories: HashMap::new(), moves: Vec::new(), writes: Vec::new() }
    }

    /// From what is in force to these sets. The number of sets that cannot be redone, or why it is not possible.
    async fn back_to(&mut self, session: &SessionId, wanted: &[ChangeSetId]) -> Result<Result<usize, String>, Problem> {
        let sets = self.history(session).await?.sets.clone();
        let in_force = self.histories.get(session).map_or(0, |history| history.in_force);
        let (mut now, mut then) = (Vec::new(), Vec::new());
        for (at, set) in sets.iter().enumerate() {
            let owned = self.owned(session, set.clone()).await?;
            if wanted.contains(&set.id) {
                then.push(OwnedSet { set: owned.set.clone(), owner: owned.owner.clone() });
            }
            // Only the owner of a change knows whether it is in force.
            let applied = match owned.owner == *session {
                true => at < in_force,
                false => self.is_applied(&owned).await?,
            };
            if applied {
                now.push(owned);
            }
        }
        let kept = now.iter().zip(wanted).take_while(|(owned, wanted)| owned.set.id == **wanted).count();
        for owned in now.drain(kept..).rev() {
            if let Err(reason) = self.step(&owned, false).await? {
                return Ok(Err(reason));
            }
        }
        for (at, id) in wanted.iter().enumerate().skip(kept) {
            let redone = match then.iter().find(|owned| owned.set.id == *id) {
                Some(owned) => self.step(owned, true).await?.is_ok(),
                None => false,
            };
            if !redone {
                return Ok(Ok(wanted.len() - at));
            }
        }
        Ok(Ok(0))
    }

    /// What the session changed itself is undone, and what was undone for it is redone.
    async fn undo(&mut self, session: &SessionId, moved: &[FileRewind]) -> Result<Result<(), String>, Problem> {
        let history = self.history(session).await?;
        let own: Vec<Set> = history.sets[..history.in_force].iter().filter(|set| set.lent.is_none()).cloned().collect();
        for set in own.into_iter().rev() {
            if let Err(reason) = self.step(&OwnedSet { set, owner: session.clone() }, false).await? {
                return Ok(Err(reason));
            }
        }
        for FileRewind { session: owner, by } in moved.iter().rev().map(FileRewind::reversed) {
            for _ in 0..by.unsigned_abs() {
                let history = self.history(&owner).await?;
                let at = if by > 0 { Some(history.in_force) } else { history.in_force.checked_sub(1) };
                let Some(set) = at.and_then(|at| history.sets.get(at)).cloned() else {
                    return Ok(Err(format!(
                        "Session {owner} has changed files since, so the changes cannot be redone."
                    )));
                };
                if let Err(reason) = self.step(&OwnedSet { set, owner: owner.clone() }, by > 0).await? {
                    return Ok(Err(reason));
                }
            }
        }
        Ok(Ok(()))
    }

    async fn history(&mut self, session: &SessionId) -> Result<&History, Problem> {
        if !self.histories.contains_key(session) {
            let history = self.sessions.0.changes().history(session).await?;
            self.histories.insert(session.clone(), history);
        }
        Ok(&self.histories[session])
    }

    /// The set as its owner has it, with the owner.
    async fn owned(&mut self, session: &SessionId, set: Set) -> Result<OwnedSet, Problem> {
        let (mut set, mut owner) = (set, session.clone());
        for _ in 0..GENERATIONS {
            let Some(next) = set.lent.clone() else { break };
            if self.sessions.0.store().session(&next).await.map_err(store_problem)?.is_none() {
                break;
            }
            let Some(there) = self.history(&next).await?.sets.iter().find(|other| other.id == set.id).cloned() else {
                break;
            };
            (set, owner) = (there, next);
        }
        Ok(OwnedSet { set, owner })
    }

    async fn is_applied(&mut self, owned: &OwnedSet) -> Result<bool, Problem> {
        let history = self.history(&owned.owner).await?;
        Ok(history.sets.iter().take(history.in_force).any(|set| set.id == owned.set.id))
    }

    /// Undoes or redoes one set in the session that owns it, or says why not.
    async fn step(&mut self, owned: &OwnedSet, is_redo: bool) -> Result<Result<(), String>, Problem> {
        let OwnedSet { set, owner } = owned;
        self.history(owner).await?;
        let Some(history) = self.histories.get_mut(owner) else { return Ok(Ok(())) };
        let place = if is_redo { Some(history.in_force) } else { history.in_force.checked_sub(1) };
        let is_next = place.and_then(|at| history.sets.get(at)).is_some_and(|next| next.id == set.id);
        let paths: Vec<&str> = set.writes.iter().map(|write| write.path.as_str()).collect();
        let paths = trimtab_vocab::format::first(&paths, 3);
        if set.lent.is_some() {
            return Ok(Err(format!("The session that changed {paths} was deleted.")));
        }
        if set.expired {
            return Ok(Err(format!("The earlier contents of {paths} are no longer stored.")));
        }
        if !is_next {
            return Ok(Err(format!("Session {owner} changed files after {paths}. Undo that change there first.")));
        }
        let by = if is_redo { 1 } else { -1 };
        let from = history.in_force;
        history.in_force = history.in_force.saturating_add_signed(if is_redo { 1 } else { -1 });
        match self.moves.last_mut() {
            Some(PlannedMove { moved, .. }) if moved.session == *owner && moved.by.signum() == by => moved.by += by,
            _ => self.moves.push(PlannedMove { moved: FileRewind { session: owner.clone(), by }, from }),
        }
        let turned = |write: &FileWrite| if is_redo { write.clone() } else { reversed(write) };
        self.writes.extend(set.writes.iter().map(turned));
        Ok(Ok(()))
    }
}

fn reversed(write: &FileWrite) -> FileWrite {
    let FileWrite { path, before, after, added, removed, modified } = write.clone();
    FileWrite { path, before: after, after: before, added: removed, removed: added, modified }
}

/// The sum of these writes, one for each file that differs in the end.
fn net(writes: Vec<FileWrite>) -> Vec<FileWrite> {
    let mut files: Vec<FileWrite> = Vec::new();
    for write in writes {
        match files.iter_mut().find(|file| file.path == write.path) {
            Some(file) => {
                file.after = write.after;
                file.added += write.added;
                file.removed += write.removed;
                file.modified += write.modified;
            }
            None => files.push(write),
        }
    }
    files.retain(|file| file.before != file.after);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
