//! Clocks of different nodes: how far apart they are, measured through the program's own runtime.
//!
//! Processes form the tree of unification. Each asks the process above it for the time, again and again,
//! and keeps the answer that took the least: the reading was made half-way there, give or take half of
//! the round trip. It receives the offset of that process from rank 0. On one node there is one
//! clock, and only the round trip counts: no request is faster, whatever it asks for.
//!
//! This is done when recording begins, when it ends, and [now and then](crate::clock_rendezvous) between. From one
//! measurement to the next a clock is taken to drift evenly; how far it is from doing so shows in how far
//! each measurement is from the line between its neighbours. The archive has the result as clock offsets,
//! which every reader of OTF2 applies, and states how far wrong they may be.

use std::io;

use dwell_unify::clock_correction::Distance;
use dwell_unify::unify::{Upcalls, below, parent, rounds};

use crate::clock::monotonic;
use crate::recorder_collectives::numbers;

/// Largest number of times that a process asks for the time.
const TRIES: u32 = 16;

/// A process stops asking when this many answers in a row were no better than the best one before them by a tenth.
const NO_BETTER: u32 = 4;

/// For how long a process asks another one on its node at most, and one on another node at least, in nanoseconds.
/// Processes that share a core take milliseconds to answer.
const BRIEF: u64 = 500_000;

/// Longest round trip on one node that counts as the latency of a message, in nanoseconds.
const AT_MOST_NEAR: u64 = 100_000;

/// Value that a question carries if another question follows.
const AGAIN: u64 = 1;

/// Measures how far the clock of each process is from that of rank 0. All processes do so together.
/// `node` identifies a clock, and `budget` is the time in nanoseconds that the whole measurement should take at most.
///
/// # Errors
/// If the communication fails.
pub(crate) fn measure(up: &mut impl Upcalls, node: &str, budget: u64) -> io::Result<Distance> {
    let (rank, size) = (up.rank(), up.size());
    let mut own =
        Distance { monotonic: monotonic(), offset: 0, residual: 0, half: None, near: None };
    if let Some(parent) = parent(rank) {
        // A process of the last level waits for all above it, each of which answers its own children one by one.
        let levels = u64::from(rounds(size));
        let share = budget / (levels * (levels + 1) / 2).max(1);
        own = ask(up, parent, node, share)?;
    }
    for child in below(rank, size).rev() {
        answer(up, child, node, own)?;
    }
    Ok(own)
}

/// Asks the parent in the tree for the time.
fn ask(up: &mut impl Upcalls, parent: u64, node: &str, share: u64) -> io::Result<Distance> {
    up.send(parent, node.as_bytes())?;
    let told = up.receive(parent)?;
    let [offset, residual, since, same] = numbers(&told)?;
    let same = same != 0;
    let above_it = Distance {
        monotonic: monotonic(),
        offset: offset.cast_signed(),
        residual,
        half: None,
        near: None,
    };
    let mut best: Option<(u64, i64, u64, u64)> = None;
    let began = monotonic();
    let share = if same { BRIEF } else { share.max(BRIEF) };
    let mut no_better = 0;
    for left in (0..TRIES).rev() {
        let before = monotonic();
        let late = before.saturating_sub(began) > share;
        let last = left == 0 || late || no_better == NO_BETTER;
        up.tell(parent, if last { 0 } else { AGAIN })?;
        let there = up.hear(parent)?;
        let after = monotonic();
        let half = after.saturating_sub(before) / 2;
        let here = before + half;
        let better = best.is_none_or(|known| half < known.0 - known.0 / 10);
        no_better = if better { 0 } else { no_better + 1 };
        if best.is_none_or(|known| half < known.0) {
            best = Some((half, there.wrapping_sub(here).cast_signed(), here, there));
        }
        if last {
            break;
        }
    }
    let Some((half, offset, here, there)) = best else { return Ok(above_it) };
    if same {
        let near = Some(half).filter(|half| *half <= AT_MOST_NEAR);
        return Ok(Distance { near, ..above_it });
    }
    // The offset that the parent has measured is a little old.
    let drifted = if residual == 0 { 0 } else { there.saturating_sub(since) / DRIFT };
    Ok(Distance {
        monotonic: here,
        offset: above_it.offset.wrapping_add(offset),
        // The reading itself takes a nanosecond or two of rounding.
        residual: residual.saturating_add(half).saturating_add(drifted).saturating_add(2),
        half: Some(half),
        near: None,
    })
}

/// Largest drift of a clock is one part in this number, the limit that Linux enforces on adjusted clocks.
const DRIFT: u64 = 2000;

/// Answers the questions of a child in the tree.
fn answer(up: &mut impl Upcalls, child: u64, node: &str, own: Distance) -> io::Result<()> {
    let same = up.receive(child)? == node.as_bytes();
    let told = [own.offset.cast_unsigned(), own.residual, own.monotonic, u64::from(same)];
    up.send(child, &told.map(u64::to_le_bytes).concat())?;
    loop {
        let again = up.hear(child)? == AGAIN;
        up.tell(child, monotonic())?;
        if !again {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Condvar, Mutex};

    use super::*;

    type Mail = Arc<(Mutex<Vec<VecDeque<Vec<u8>>>>, Condvar)>;

    /// Processes that are threads.
    struct Threads {
        rank: u64,
        size: u64,
        mail: Mail,
    }

    impl Upcalls for Threads {
        fn rank(&self) -> u64 {
            self.rank
        }

        fn size(&self) -> u64 {
            self.size
        }

        fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
            let mut all = self.mail.0.lock().unwrap();
            all[(self.rank * self.size + to) as usize].push_back(bytes.into());
            self.mail.1.notify_all();
            Ok(())
        }

        fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
            let mut all = self.mail.0.lock().unwrap();
            loop {
                if let Some(bytes) = all[(from * self.size + self.rank) as usize].pop_front() {
                    return Ok(bytes);
                }
                all = self.mail.1.wait(all).unwrap();
            }
        }
    }

    /// Threads have one clock, so whatever is measured between them is an error.
    #[test]
    fn nobody_is_further_off_than_is_said() {
        let mut near = 0;
        for size in [1, 2, 3, 7, 16] {
            let queues = (0..size * size).map(|_| VecDeque::new()).collect();
            let mail: Mail = Arc::new((Mutex::new(queues), Condvar::new()));
            let threads: Vec<_> = (0..size)
                .map(|rank| {
                    let mut up = Threads { rank, size, mail: Arc::clone(&mail) };
                    // Two processes a node.
                    std::thread::spawn(move || {
                        measure(&mut up, &format!("node {}", rank / 2), 1_000_000_000).unwrap()
                    })
                })
                .collect();
            let all: Vec<Distance> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            for (rank, it) in all.iter().enumerate() {
                assert!(it.offset.unsigned_abs() <= it.residual, "{size}: {rank}: {it:?}");
                let parent = rank & rank.wrapping_sub(1);
                assert_eq!(it.half.is_some(), rank > 0 && parent / 2 != rank / 2, "{rank}");
                assert!(it.near.is_none() || rank > 0 && parent / 2 == rank / 2, "{rank}");
            }
            near += all.iter().filter(|it| it.near.is_some()).count();
        }
        assert!(near > 0, "no message on a node was fast enough to tell how long it takes");
    }
}
