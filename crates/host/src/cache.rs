//! The reply cache: only if `limits.cache_s` is set, only for exactly the same prompt, and only for that time. A
//! cached reply costs nothing.

use serde::{Deserialize, Serialize};
use trimtab_engine::Input;
use trimtab_vocab::{RefKey, Reply, SessionId, Time, Usage};
use trimtab_world::store::{NewInput, StoreError};

use crate::client::ActorContext;
use crate::effects::{ModelCall, written};

#[derive(Serialize, Deserialize)]
struct CachedReply {
    time: Time,
    reply: Reply,
}

/// The name of a prompt by all that is in it.
fn key(order: &ModelCall) -> Option<RefKey> {
    let hash = trimtab_world::store::hash(format!("{:?}", order.prompt).as_bytes());
    format!("cache-{}", &hash[..40]).parse().ok()
}

/// The input that a kept reply makes, if there is one that is young enough.
pub(crate) async fn find(deps: &ActorContext, order: &ModelCall) -> Result<Option<NewInput>, StoreError> {
    if order.cache_s == 0 {
        return Ok(None);
    }
    let Some(key) = key(order) else { return Ok(None) };
    let Some(bytes) = deps.world.store.bytes(None, &key).await? else { return Ok(None) };
    let Ok(CachedReply { time, mut reply }) = serde_json::from_slice(&bytes) else { return Ok(None) };
    let age = deps.world.clock.now().millis().saturating_sub(time.millis());
    if !(0..=i64::try_from(order.cache_s).unwrap_or(i64::MAX).saturating_mul(1_000)).contains(&age) {
        return Ok(None);
    }
    reply.usage = Usage::default();
    let warnings = vec![format!("This reply comes from the cache (limits.cache_s). It is {} s old.", age / 1_000)];
    let input = Input::Replied { call: order.call.clone(), reply, raw: None, warnings };
    Ok(Some(NewInput { payload: written(&input), ..NewInput::default() }))
}

/// Keeps a whole reply.
pub(crate) async fn keep(
    deps: &ActorContext,
    session: &SessionId,
    order: &ModelCall,
    input: &NewInput,
) -> Result<(), StoreError> {
    if order.cache_s == 0 {
        return Ok(());
    }
    let (Some(key), Ok(Input::Replied { reply, .. })) = (key(order), serde_json::from_str(&input.payload)) else {
        return Ok(());
    };
    let kept = serde_json::to_vec(&CachedReply { time: deps.world.clock.now(), reply }).unwrap_or_default();
    deps.world.store.keep(session, &key, kept).await
}
