//! Clocks of different nodes: how far apart they are, measured through the program's own runtime.
//!
//! Processes form the tree of unification. Each asks the process above it for the time, again and again,
//! and keeps the answer that took the least: the reading was made half-way there, give or take half of
//! the round trip. What lies between that process and rank 0 it is told. On one node there is one
//! clock, and nothing is asked.
//!
//! This is done when recording begins and when it ends. In between a clock is taken to drift evenly. The
//! archive has the result as clock offsets, which every reader of OTF2 applies, and states how far wrong
//! they may be.

use std::io;

use crate::clock::monotonic;
use crate::unify::{Upcalls, rounds};

/// How often the time is asked for.
const TRIES: u32 = 16;

/// How far the clock of this process is from that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Distance {
    /// When it was measured, by the clock of this process.
    pub(crate) monotonic: u64,
    /// What has to be added to the clock of this process, nanoseconds.
    pub(crate) offset: i64,
    /// How far wrong that may be, at most: half of each round trip on the way to rank 0.
    pub(crate) residual: u64,
    /// Half of the shortest round trip to the process above, if that is on another node.
    pub(crate) half: Option<u64>,
}

/// Measures how far the clock of each process is from that of rank 0. All processes do so together.
/// `node` tells one clock from another.
///
/// # Errors
/// If the communication fails.
pub(crate) fn measure(up: &mut impl Upcalls, node: &str) -> io::Result<Distance> {
    let (rank, size) = (up.rank(), up.size());
    let mut own = Distance { monotonic: monotonic(), offset: 0, residual: 0, half: None };
    if rank != 0 {
        own = ask(up, rank & (rank - 1), node)?;
    }
    let below = if rank == 0 { rounds(size) } else { rank.trailing_zeros() };
    for round in (0..below).rev() {
        let child = rank + (1 << round);
        if child < size {
            answer(up, child, node, own)?;
        }
    }
    Ok(own)
}

/// Asks the process above.
fn ask(up: &mut impl Upcalls, above: u64, node: &str) -> io::Result<Distance> {
    up.send(above, node.as_bytes())?;
    let told = up.receive(above)?;
    let [offset, residual, same] = numbers(&told)?;
    let above_it =
        Distance { monotonic: monotonic(), offset: offset.cast_signed(), residual, half: None };
    if same != 0 {
        return Ok(above_it);
    }
    let mut best: Option<(u64, i64, u64)> = None;
    for _ in 0..TRIES {
        let before = monotonic();
        up.send(above, &[])?;
        let [there] = numbers(&up.receive(above)?)?;
        let after = monotonic();
        let half = after.saturating_sub(before) / 2;
        let here = before + half;
        if best.is_none_or(|known| half < known.0) {
            best = Some((half, there.wrapping_sub(here).cast_signed(), here));
        }
    }
    let Some((half, offset, here)) = best else { return Ok(above_it) };
    Ok(Distance {
        monotonic: here,
        offset: above_it.offset.wrapping_add(offset),
        // The reading itself takes a nanosecond or two of rounding.
        residual: above_it.residual.saturating_add(half).saturating_add(2),
        half: Some(half),
    })
}

/// Answers a process below.
fn answer(up: &mut impl Upcalls, child: u64, node: &str, own: Distance) -> io::Result<()> {
    let same = up.receive(child)? == node.as_bytes();
    let told = [own.offset.cast_unsigned(), own.residual, u64::from(same)];
    up.send(child, &told.map(u64::to_le_bytes).concat())?;
    if !same {
        for _ in 0..TRIES {
            up.receive(child)?;
            up.send(child, &monotonic().to_le_bytes())?;
        }
    }
    Ok(())
}

fn numbers<const N: usize>(bytes: &[u8]) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    let damaged = || io::Error::other("a message about the time was damaged");
    let words = bytes.as_chunks::<8>().0;
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = u64::from_le_bytes(*words.get(place).ok_or_else(damaged)?);
    }
    Ok(numbers)
}

/// How far a clock is from that of rank 0 at some time, from what was measured at others: on the line
/// through the first and the last, which are apart by more than chance.
pub(crate) fn offset_at(measured: &[Distance], time: u64) -> i64 {
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else { return 0 };
    let span = i128::from(last.monotonic) - i128::from(first.monotonic);
    if span <= 0 {
        return first.offset;
    }
    let since = i128::from(time) - i128::from(first.monotonic);
    let drift = i128::from(last.offset) - i128::from(first.offset);
    first.offset.wrapping_add((drift * since / span) as i64)
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

        fn barrier(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Threads have one clock, so whatever is measured between them is an error.
    #[test]
    fn nobody_is_further_off_than_is_said() {
        for size in [1, 2, 3, 7, 16] {
            let queues = (0..size * size).map(|_| VecDeque::new()).collect();
            let mail: Mail = Arc::new((Mutex::new(queues), Condvar::new()));
            let threads: Vec<_> = (0..size)
                .map(|rank| {
                    let mut up = Threads { rank, size, mail: Arc::clone(&mail) };
                    // Two processes a node.
                    std::thread::spawn(move || {
                        measure(&mut up, &format!("node {}", rank / 2)).unwrap()
                    })
                })
                .collect();
            let all: Vec<Distance> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            for (rank, it) in all.iter().enumerate() {
                assert!(it.offset.unsigned_abs() <= it.residual, "{size}: {rank}: {it:?}");
                let above = rank & rank.wrapping_sub(1);
                assert_eq!(it.half.is_some(), rank > 0 && above / 2 != rank / 2, "{rank}");
            }
        }
    }

    #[test]
    fn clocks_drift_evenly() {
        let at = |monotonic, offset| Distance { monotonic, offset, residual: 0, half: None };
        let measured = [at(1_000, 50), at(2_000, -50)];
        let cases = [(0, 150), (1_000, 50), (1_500, 0), (2_000, -50), (3_000, -150)];
        for (time, offset) in cases {
            assert_eq!(offset_at(&measured, time), offset, "{time}");
        }
        assert_eq!(offset_at(&measured[..1], 5_000), 50);
        assert_eq!(offset_at(&[], 5_000), 0);
    }
}
