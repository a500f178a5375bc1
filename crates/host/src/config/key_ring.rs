//! Keys in the system's keyring, under the service `trimtab` and the provider's name.

/// The key of a provider from the keyring. None if the program was built without the feature `keyring`, or if there
/// is no unlocked keyring, as in a session without a desktop.
#[cfg(feature = "keyring")]
pub(super) fn find(provider: &str) -> Option<String> {
    let provider = provider.to_owned();
    // The keyring library runs its own event loop, which must not be started inside ours.
    std::thread::spawn(move || keyring::Entry::new("trimtab", &provider).ok()?.get_password().ok()).join().ok()?
}

/// Without the feature `keyring`, there is no key.
#[cfg(not(feature = "keyring"))]
pub(super) fn find(_: &str) -> Option<String> {
    None
}
