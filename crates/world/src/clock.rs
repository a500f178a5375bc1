//! Time and randomness. Everything that differs from run to run comes from here, so that a simulation can replace it.

use std::time::{SystemTime, UNIX_EPOCH};

use trimtab_vocab::{MemoryId, RequestId, SessionId, Time};

/// The time and chance of the world.
pub trait Clock: Send + Sync {
    fn now(&self) -> Time;
    /// A random number.
    fn chance(&self) -> u64;
}

/// The machine's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
    fn now(&self) -> Time {
        let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            // A machine whose clock stands before 1970 still gets to work.
            Err(_) => 0,
        };
        Time::from_millis(millis)
    }

    fn chance(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without the kernel's generator the address of the stack and the time still tell two
        // processes apart; ids need no more than that, and no secret is drawn from here.
        if getrandom::fill(&mut bytes).is_err() {
            return std::process::id() as u64 ^ self.now().millis().unsigned_abs().rotate_left(20);
        }
        u64::from_le_bytes(bytes)
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Nine letters of time and seven of chance: ids sort by age, are quick to read aloud, and 35 bits
/// within one millisecond do not meet.
fn fresh(prefix: char, clock: &dyn Clock) -> String {
    let mut id = String::from(prefix);
    let time = clock.now().millis().unsigned_abs();
    for place in (0..9).rev() {
        id.push(char::from(ALPHABET[(time >> (place * 5) & 31) as usize]));
    }
    let chance = clock.chance();
    for place in 0..7 {
        id.push(char::from(ALPHABET[(chance >> (place * 5) & 31) as usize]));
    }
    id
}

/// A new session's id.
pub fn session_id(clock: &dyn Clock) -> SessionId {
    fresh('s', clock).parse().expect("letters and digits make an id")
}

/// A new request's id.
pub fn request_id(clock: &dyn Clock) -> RequestId {
    fresh('r', clock).parse().expect("letters and digits make an id")
}

/// A new name for something that is remembered.
pub fn memory_id(clock: &dyn Clock) -> MemoryId {
    fresh('m', clock).parse().expect("letters and digits make an id")
}

/// The ID of the request with this `key` in a session.
pub fn request_named(session: &SessionId, key: &str) -> RequestId {
    let named = blake3::hash(format!("{session} {key}").as_bytes()).to_hex();
    format!("rk{}", &named.as_str()[..32]).parse().expect("letters and digits make an id")
}

/// The ID of the fork with this key. It is the same for every call.
pub fn fork_named(session: &SessionId, key: &str) -> SessionId {
    let named = blake3::hash(format!("{session} {key}").as_bytes()).to_hex();
    format!("sk{}", &named.as_str()[..32]).parse().expect("letters and digits make an id")
}

/// The ID of a session that is imported from a program, where it has this name. It is the same for every call.
pub fn imported_session(program: &str, name: &str) -> SessionId {
    let named = blake3::hash(format!("{program} {name}").as_bytes()).to_hex();
    format!("si{}", &named.as_str()[..32]).parse().expect("letters and digits make an id")
}

/// A secret for access: 256 random bits in hex. None if the kernel has no generator.
pub fn secret() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(i64);
    impl Clock for At {
        fn now(&self) -> Time {
            Time::from_millis(self.0)
        }
        fn chance(&self) -> u64 {
            7
        }
    }

    #[test]
    fn ids_sort_by_age() {
        let (old, new) = (session_id(&At(1_700_000_000_000)), session_id(&At(1_700_000_000_001)));
        assert!(old < new);
        assert_eq!(old.as_str().len(), 17);
        assert_ne!(request_id(&SystemClock), request_id(&SystemClock));
    }
}
