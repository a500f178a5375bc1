//! Keys in the system's keyring, under the service `trimtab` and the provider's name.

/// The key of a provider, if the program was built with the feature `keyring`, a keyring is there and
/// unlocked, and holds one. Where there is no desktop session there is none, and that is no error.
#[cfg(feature = "keyring")]
pub(super) fn find(provider: &str) -> Option<String> {
    let provider = provider.to_owned();
    // The keyring's library runs an event loop of its own, which must not meet ours.
    std::thread::spawn(move || keyring::Entry::new("trimtab", &provider).ok()?.get_password().ok()).join().ok()?
}

/// Built without the feature `keyring`, there is none.
#[cfg(not(feature = "keyring"))]
pub(super) fn find(_: &str) -> Option<String> {
    None
}
