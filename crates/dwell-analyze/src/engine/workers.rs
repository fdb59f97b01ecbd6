//! Worker threads of this process.
//!
//! Threads are started for each piece of work. [`on_threads`] is the only place that starts them; a panic of any of them
//! becomes a panic of the caller.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` once for every item, on at most `threads` threads. Each worker creates a workspace of its own and passes it
/// to all calls that it makes. Returns the workspaces of all workers, in no particular order, after all calls have ended.
pub(crate) fn run_on<S: Send, W: Send>(
    threads: usize,
    items: &mut [S],
    workspace: &(dyn Fn() -> W + Sync),
    work: &(dyn Fn(&mut S, &mut W) + Sync),
) -> Vec<W> {
    let workers = threads.min(items.len()).max(1);
    if workers == 1 {
        let mut space = workspace();
        items.iter_mut().for_each(|item| work(item, &mut space));
        return vec![space];
    }
    let queue = Mutex::new(items.iter_mut());
    let spaces = Mutex::new(Vec::with_capacity(workers));
    on_threads(workers, &|| {
        let mut space = workspace();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { break };
            work(item, &mut space);
        }
        spaces.lock().unwrap_or_else(PoisonError::into_inner).push(space);
    });
    spaces.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `work` once for every item, on at most `threads` threads, and returns the results in the order of the items.
pub(crate) fn map_on<S: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = S>,
    work: &(dyn Fn(S) -> R + Sync),
) -> Vec<R> {
    let mut slots: Vec<(Option<S>, Option<R>)> =
        items.into_iter().map(|item| (Some(item), None)).collect();
    run_on(threads, &mut slots, &|| (), &|(item, result), ()| *result = item.take().map(work));
    slots.into_iter().filter_map(|(_, result)| result).collect()
}

/// Returns the number of cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` once on each of `threads` threads, one of which is the caller's. This is compiled once: the code that
/// starts a thread is large, and would be repeated for every kind of item.
fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}
