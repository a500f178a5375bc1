//! The parent of a session, and the sessions that continue it.

use std::collections::BTreeMap;

use trimtab_vocab::event::SessionFact;
use trimtab_vocab::{ChangeSetId, SessionId, Usage};

use super::WorkerRole;

/// The parent of a session, and the sessions that continue it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lineage {
    /// The session that was handed off to this one, or that it was forked from.
    pub parent: Option<SessionId>,
    /// The initial text of the input line, until the first request.
    pub prefill: Option<String>,
    /// The sessions that it was handed off to, the latest last. One that was deleted is not among them.
    pub children: Vec<SessionId>,
    /// How often it was handed off.
    pub handoffs: u32,
    /// How many documents it has beside the first.
    pub extensions: u32,
    /// It was forked from its parent.
    pub is_fork: bool,
    /// Change sets that only another session can move, and which one: a child, or the session that this one was
    /// forked from.
    pub lent: BTreeMap<ChangeSetId, SessionId>,
    /// Dollars that the sessions before it have cost.
    pub spent_usd: f64,
    /// The budget of the request that was handed over to it.
    pub budget_usd: Option<f64>,
    /// How many workers it has started.
    pub workers: u32,
    /// It was stopped before it got its request.
    pub is_dismissed: bool,
    /// The last reported cost of each worker, with its model.
    pub reported_cost: BTreeMap<SessionId, (Usage, String)>,
    /// For whom it works, if it is a worker's.
    pub role: Option<WorkerRole>,
}

impl Lineage {
    /// A worker has spent more than it had reported.
    pub(super) fn count_cost(&mut self, worker: &SessionId, usage: Usage) {
        self.reported_cost.get_mut(worker).into_iter().for_each(|(reported, _)| *reported += usage);
    }

    pub(super) fn fold(&mut self, fact: &SessionFact) {
        match fact {
            SessionFact::Opened { parent_session_id, .. } => self.parent.clone_from(parent_session_id),
            SessionFact::Inherited { prefill, spent_usd, budget_usd, .. } => {
                self.prefill.clone_from(prefill);
                self.spent_usd = spent_usd.unwrap_or(0.0);
                self.budget_usd = *budget_usd;
            }
            SessionFact::Forked { from, .. } => {
                self.parent = Some(from.clone());
                self.is_fork = true;
                // Those that its parent was handed off to are not told of by this one, and do not tell it anything.
                self.children.clear();
            }
            SessionFact::Handoff { child, change_sets, .. } => {
                self.handoffs += 1;
                self.children.push(child.clone());
                self.lent.extend(change_sets.iter().map(|set| (set.clone(), child.clone())));
            }
            SessionFact::Reclaimed { child, handed_on } => {
                self.children.retain(|known| known != child);
                for heir in handed_on.values() {
                    if !self.children.contains(heir) {
                        self.children.push(heir.clone());
                    }
                }
                self.lent.retain(|set, borrower| {
                    if borrower == child {
                        let Some(heir) = handed_on.get(set) else { return false };
                        borrower.clone_from(heir);
                    }
                    true
                });
            }
            SessionFact::Extended { .. } => self.extensions += 1,
            SessionFact::Dismissed {} => self.is_dismissed = true,
            SessionFact::Worker { .. } => self.role = WorkerRole::of(fact),
            SessionFact::Titled { .. } | SessionFact::Autonomy { .. } | SessionFact::Refused { .. } => {}
        }
    }
}
