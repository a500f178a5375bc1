//! Work on many items, shared among the processors.

use std::sync::LazyLock;

/// Fewer are done sooner by one thread.
const MANY: usize = 256;
const MOST_THREADS: usize = 8;

/// To find out takes several files, so it is found out once.
static THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS));

/// Does the same to all items, and returns when it is done.
pub(crate) fn for_each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Sync) {
    if items.len() < MANY || *THREADS < 2 {
        return items.iter_mut().for_each(work);
    }
    let (share, work) = (items.len().div_ceil(*THREADS), &work);
    let (own, others) = items.split_at_mut(share);
    std::thread::scope(|scope| {
        for part in others.chunks_mut(share) {
            scope.spawn(move || part.iter_mut().for_each(work));
        }
        own.iter_mut().for_each(work);
    });
}
