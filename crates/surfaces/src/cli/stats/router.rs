//! `trimtab stats router`: where requests were sent, how sure the router was, and what became of them.
//! For whoever wants to know whether its borders are set well.

use std::collections::BTreeMap;

use serde_json::json;
use trimtab_vocab::event::{ChangeFact, ModelFact, ProposalFact, RequestFact, RouteDecision, RouteFact, Status};
use trimtab_vocab::{AskPurpose, Fact, Purpose, RequestId};

/// What became of one request.
#[derive(Debug, Default)]
struct RoutedRequest {
    decision: Option<RouteDecision>,
    confidence: f64,
    reason: String,
    looked_at: bool,
    applied: u64,
    status: Option<Status>,
    /// It is about the person's tasks.
    of_tasks: bool,
}

/// Decisions and what became of them.
#[derive(Debug, Default)]
pub(super) struct Decisions(BTreeMap<RequestId, RoutedRequest>);

/// One kind of decision.
#[derive(Debug, Default)]
struct RouterRow {
    requests: u64,
    completed: u64,
    applied: u64,
}

impl Decisions {
    pub(super) fn add(&mut self, request: Option<&RequestId>, fact: &Fact) {
        let Some(request) = request else { return };
        let outcome = self.0.entry(request.clone()).or_default();
        match fact {
            Fact::Route(RouteFact { decision, confidence, reason, categories, .. }) => {
                // A person who has chosen tells nothing about how sure the router was.
                let chosen = outcome.of_tasks && outcome.decision == Some(RouteDecision::Clarify);
                let confidence = if chosen { outcome.confidence } else { *confidence };
                (outcome.decision, outcome.confidence) = (Some(*decision), confidence);
                outcome.of_tasks = *categories == ["tasks"];
                outcome.reason.clone_from(reason);
            }
            Fact::Model(ModelFact::Called { purpose, .. }) => {
                outcome.looked_at |= matches!(purpose, Purpose::Route | Purpose::Ask(AskPurpose::Route));
            }
            Fact::Change(ChangeFact::Applied { .. }) => outcome.applied += 1,
            Fact::Proposal(ProposalFact::Resolved { verdict, .. }) if outcome.of_tasks && verdict == "applied" => {
                outcome.applied += 1;
            }
            Fact::Request(RequestFact::Finished { status, .. }) => outcome.status = Some(*status),
            _ => {}
        }
    }

    fn band(outcome: &RoutedRequest) -> &'static str {
        match outcome.confidence {
            _ if !outcome.looked_at => "by rules",
            sure if sure < 0.45 => "below 0.45",
            sure if sure <= 0.70 => "0.45 to 0.70",
            _ => "above 0.70",
        }
    }

    fn rows(&self) -> BTreeMap<(String, &'static str), RouterRow> {
        let mut rows: BTreeMap<(String, &'static str), RouterRow> = BTreeMap::new();
        for outcome in self.0.values() {
            let Some(decision) = outcome.decision else { continue };
            let name = serde_json::to_value(decision).ok().and_then(|name| name.as_str().map(str::to_owned));
            let name = format!("{}{}", if outcome.of_tasks { "tasks/" } else { "" }, name.unwrap_or_default());
            let row = rows.entry((name, Self::band(outcome))).or_default();
            row.requests += 1;
            row.completed += u64::from(outcome.status == Some(Status::Completed));
            row.applied += u64::from(outcome.applied > 0);
        }
        rows
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let row = |((decision, band), row): ((String, &str), RouterRow)| json!({"decision": decision, "confidence": band, "requests": row.requests, "completed": row.completed, "applied": row.applied});
        let fallbacks = self.0.values().filter(|outcome| outcome.reason.starts_with("the router failed")).count();
        json!({"decisions": self.rows().into_iter().map(row).collect::<Vec<_>>(), "fallbacks": fallbacks,
               "looks": self.0.values().filter(|outcome| outcome.looked_at).count()})
    }

    pub(super) fn words(&self) -> String {
        let rows = self.rows();
        if rows.is_empty() {
            return "No request has been routed yet.\n".to_owned();
        }
        let mut text =
            format!("{:<13} {:<13} {:>8} {:>10} {:>8}\n", "decision", "confidence", "requests", "completed", "applied");
        for ((decision, band), row) in rows {
            text +=
                &format!("{decision:<13} {band:<13} {:>8} {:>10} {:>8}\n", row.requests, row.completed, row.applied);
        }
        let looks = self.0.values().filter(|outcome| outcome.looked_at).count();
        text += &format!("{looks} of {} requests were routed by a model.\n", self.0.len());
        text
    }
}
