//! What has become of a request after a fact that was just shown.

use trimtab_host::{Client, JobState, Sent};
use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::{Event, Fact, Problem};

/// Whether anything like that was recorded of the request after `seq`.
pub(super) async fn has_since(
    client: &Client,
    sent: &Sent,
    seq: Option<u64>,
    is_meant: impl Fn(&RequestFact) -> bool,
    others: bool,
) -> Result<bool, Problem> {
    let mut after = seq.unwrap_or(0);
    loop {
        let page = client.sessions().events(&sent.session, after).await?;
        let counts = |event: &Event| match &event.fact {
            _ if event.request.as_ref() != Some(&sent.request) => false,
            Fact::Request(fact) => is_meant(fact),
            _ => others,
        };
        if page.iter().any(counts) {
            return Ok(true);
        }
        match page.last().and_then(|event| event.seq) {
            Some(last) => after = last,
            None => return Ok(false),
        }
    }
}

/// Whether the request went on after `seq`. That it goes on under other terms does not mean that it goes on.
pub(super) async fn has_more(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    has_since(
        client,
        sent,
        seq,
        |fact| !matches!(fact, RequestFact::Adjusted { .. } | RequestFact::Relisted { .. }),
        true,
    )
    .await
}

/// Whether a request that had ended for want of a person was taken up again after `seq`.
pub(in crate::cli) async fn is_reopened(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    has_since(client, sent, seq, |fact| matches!(fact, RequestFact::Reopened {}), false).await
}

/// Whether the request has ended for want of a person.
pub(in crate::cli) async fn is_parked(client: &Client, sent: &Sent) -> Result<bool, Problem> {
    let job = client.requests().get(&sent.request).await?;
    Ok(job.is_some_and(|job| matches!(job.state, JobState::Finished(Status::NeedsUser | Status::Limit))))
}

/// Whether a request had ended for want of a person before `seq`, and nothing of that has changed.
pub(super) async fn rests_since(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    let still = |fact: &RequestFact| matches!(fact, RequestFact::Steered { .. } | RequestFact::Joined { .. });
    let moved = |fact: &RequestFact| !still(fact) && !matches!(fact, RequestFact::Relisted { .. });
    if has_since(client, sent, seq, moved, true).await? {
        return Ok(false);
    }
    Ok(client.requests().get(&sent.request).await?.is_some_and(|job| matches!(job.state, JobState::Finished(_))))
}

/// What a request is asked that is still worked on: whoever it is asked of may take as long as they like.
pub(super) async fn asked_of(client: &Client, sent: &Sent) -> Result<Option<Event>, Problem> {
    if is_parked(client, sent).await? {
        return Ok(None);
    }
    Ok(client.requests().checkpoints().await?.into_iter().find(|open| open.request.as_ref() == Some(&sent.request)))
}

/// What a request before this one is asked, while this one waits for its turn.
pub(super) async fn held_up_by(client: &Client, sent: &Sent) -> Result<Option<Event>, Problem> {
    let jobs = client.requests().list(false).await?;
    let mut waits = jobs.iter().filter(|job| job.request == sent.request && job.state == JobState::Queued);
    if waits.next().is_none() {
        return Ok(None);
    }
    let works = |open: &Event| jobs.iter().any(|job| open.request.as_ref() == Some(&job.request));
    let is_it = |open: &Event| open.session == sent.session && open.request.as_ref() != Some(&sent.request);
    Ok(client.requests().checkpoints().await?.into_iter().find(|open| is_it(open) && works(open)))
}

/// Whether nobody has answered since.
pub(super) async fn is_open(client: &Client, asked: &Event) -> Result<bool, Problem> {
    let open = client.requests().checkpoints().await?;
    Ok(open.iter().any(|open| open.session == asked.session && open.seq == asked.seq))
}
