//! Clocks of different nodes: how far apart they are, measured through the program's own runtime.
//!
//! Processes form the tree of unification. Each asks the process above it for the time, again and again,
//! and keeps the answer that took the least: the reading was made half-way there, give or take half of
//! the round trip. What lies between that process and rank 0 it is told. On one node there is one
//! clock, and only the round trip counts: no request is faster, whatever it asks for.
//!
//! This is done when recording begins, when it ends, and [now and then](crate::meet) between. From one
//! measurement to the next a clock is taken to drift evenly; how far it is from doing so shows in how far
//! each measurement is from the line between its neighbours. The archive has the result as clock offsets,
//! which every reader of OTF2 applies, and states how far wrong they may be.

use std::io;

use crate::clock::monotonic;
use crate::together::numbers;
use crate::unify::{Upcalls, above, below, rounds};

/// How often a process asks for the time at most.
const TRIES: u32 = 16;

/// A process stops asking when this many answers in a row were no better than the best one before them by a tenth.
const NO_BETTER: u32 = 4;

/// For how long a process asks another one on its node at most, and one on another node at least, in nanoseconds.
/// Processes that share a core take milliseconds to answer.
const BRIEF: u64 = 500_000;

/// What takes longer on one node was not the way of a message, nanoseconds.
const AT_MOST_NEAR: u64 = 100_000;

/// What is told with a question: whether there is another one.
const AGAIN: u64 = 1;

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
    /// The same, if that is on the same node.
    pub(crate) near: Option<u64>,
}

/// Measures how far the clock of each process is from that of rank 0. All processes do so together.
/// `node` tells one clock from another, and `budget` is how many nanoseconds the whole measurement should take at most.
///
/// # Errors
/// If the communication fails.
pub(crate) fn measure(up: &mut impl Upcalls, node: &str, budget: u64) -> io::Result<Distance> {
    let (rank, size) = (up.rank(), up.size());
    let mut own =
        Distance { monotonic: monotonic(), offset: 0, residual: 0, half: None, near: None };
    if let Some(above) = above(rank) {
        // A process of the last level waits for all above it, each of which answers its own children one by one.
        let levels = u64::from(rounds(size));
        let share = budget / (levels * (levels + 1) / 2).max(1);
        own = ask(up, above, node, share)?;
    }
    for child in below(rank, size).rev() {
        answer(up, child, node, own)?;
    }
    Ok(own)
}

/// Asks the process above.
fn ask(up: &mut impl Upcalls, above: u64, node: &str, share: u64) -> io::Result<Distance> {
    up.send(above, node.as_bytes())?;
    let told = up.receive(above)?;
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
        up.tell(above, if last { 0 } else { AGAIN })?;
        let there = up.hear(above)?;
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
    // What the process above knows of itself is a little old.
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

/// A clock gains or loses at most one part in so many: what Linux lets an adjusted clock do.
const DRIFT: u64 = 2000;

/// Answers a process below.
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

/// How a clock went against that of rank 0, from what was measured at some moments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// At rising times.
    points: Vec<Distance>,
}

impl Course {
    /// Of measurements that contradict each other the better one is believed.
    pub(crate) fn of(measured: &[Distance]) -> Self {
        let mut points: Vec<Distance> = Vec::with_capacity(measured.len());
        for point in measured {
            let mut wanted = true;
            while let Some(last) = points.last() {
                let apart = last.offset.abs_diff(point.offset);
                let time = point.monotonic.saturating_sub(last.monotonic);
                // No clock is that fast or slow. Following it, times would go back.
                if apart < time / 2 {
                    break;
                }
                if point.residual >= last.residual {
                    wanted = false;
                    break;
                }
                points.pop();
            }
            if wanted {
                points.push(*point);
            }
        }
        let mut course = Self { points };
        course.drop_disturbed();
        course
    }

    /// Leaves out what was measured far worse than its neighbours, and does not contradict them.
    fn drop_disturbed(&mut self) {
        let mut at = 1;
        while let Some([before, it, after]) = self.points.get(at - 1..at + 2) {
            let line = before.residual.saturating_add(after.residual);
            if it.residual / 2 > line && before.off(it, after) <= it.residual {
                self.points.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// When there were measurements, by the clock of this process.
    pub(crate) fn times(&self) -> impl Iterator<Item = u64> {
        self.points.iter().map(|point| point.monotonic)
    }

    /// What has to be added to the clock at a time. Before the first measurement and after the last it is
    /// taken to drift as it did on the whole.
    pub(crate) fn offset_at(&self, time: u64) -> i64 {
        let points = self.points.as_slice();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0 };
        if time <= first.monotonic {
            return first.towards(last, first, time);
        }
        let next = points.partition_point(|point| point.monotonic < time);
        match points.get(next) {
            Some(next_one) => {
                let before = points.get(next.saturating_sub(1)).unwrap_or(first);
                before.towards(next_one, before, time)
            }
            None => first.towards(last, last, time),
        }
    }

    /// How far wrong that may be at most, from the first measurement to the last: each has its own doubt, and
    /// between two there is the bend that the neighbours show.
    ///
    /// Only the beginning of the call that started the runtime lies outside.
    pub(crate) fn residual(&self) -> u64 {
        let own = self.points.iter().map(|point| point.residual).max().unwrap_or(0);
        let between = self.points.windows(2).enumerate().map(|(at, pair)| {
            pair.iter().map(|it| it.residual).max().unwrap_or(0).saturating_add(self.bend(at))
        });
        between.max().unwrap_or(own)
    }

    /// How far a clock may be from the line between a measurement and the next. If what bends it happens once,
    /// then each end is off the line from the other to a measurement beyond, by a part of that which depends on
    /// how far beyond.
    fn bend(&self, at: usize) -> u64 {
        let points = self.points.as_slice();
        let (Some(begin), Some(end)) = (points.get(at), points.get(at + 1)) else { return 0 };
        let length = begin.apart(end);
        // One that is much nearer than the line is long cannot tell a bend from chance.
        let far = |end: &Distance, point: &&Distance| 2 * point.apart(end) >= length;
        let before = points.get(..at).unwrap_or_default();
        let before = before.iter().rfind(|it| far(begin, it)).or(before.first());
        let after = points.get(at + 2..).unwrap_or_default();
        let after = after.iter().find(|it| far(end, it)).or(after.last());
        let before = before.map(|it| (far(begin, &it), end.bend_seen(begin, it)));
        let after = after.map(|it| (far(end, &it), begin.bend_seen(end, it)));
        match (before, after) {
            (Some((one_far, one)), Some((other_far, other))) if one_far == other_far => {
                one.min(other)
            }
            (Some((true, bend)), _) | (_, Some((true, bend))) => bend,
            (Some((_, bend)), _) | (_, Some((_, bend))) => bend,
            (None, None) => 0,
        }
    }
}

impl Distance {
    /// Time from one to another.
    fn apart(&self, other: &Self) -> u64 {
        self.monotonic.abs_diff(other.monotonic)
    }

    /// How far `middle` is from the line from here to `beyond`.
    fn off(&self, middle: &Self, beyond: &Self) -> u64 {
        let (begin, end) =
            if self.monotonic <= beyond.monotonic { (self, beyond) } else { (beyond, self) };
        begin.towards(end, begin, middle.monotonic).abs_diff(middle.offset)
    }

    /// How far a clock may be from the line from here to `end`, by what is seen from a point beyond `end`.
    fn bend_seen(&self, end: &Self, beyond: &Self) -> u64 {
        let (length, more) = (self.apart(end), end.apart(beyond).max(1));
        let off = self.off(end, beyond);
        let whole =
            |off: u64| u128::from(off) * (u128::from(length) + u128::from(more)) / u128::from(more);
        let bend = if 2 * more >= length {
            whole(off)
        } else {
            // From so near, only what is more than chance counts for so much.
            let chance = end.residual.saturating_add(self.residual.max(beyond.residual));
            whole(off.saturating_sub(chance)).max(3 * u128::from(off))
        };
        u64::try_from(bend).unwrap_or(u64::MAX)
    }

    /// The offset at a time on the line through `from` that is parallel to the one from here to `other`.
    fn towards(&self, other: &Self, from: &Self, time: u64) -> i64 {
        let span = i128::from(other.monotonic) - i128::from(self.monotonic);
        if span <= 0 {
            return from.offset;
        }
        let since = i128::from(time) - i128::from(from.monotonic);
        let drift = i128::from(other.offset) - i128::from(self.offset);
        from.offset.wrapping_add((drift * since / span) as i64)
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
                let above = rank & rank.wrapping_sub(1);
                assert_eq!(it.half.is_some(), rank > 0 && above / 2 != rank / 2, "{rank}");
                assert!(it.near.is_none() || rank > 0 && above / 2 == rank / 2, "{rank}");
            }
            near += all.iter().filter(|it| it.near.is_some()).count();
        }
        assert!(near > 0, "no message on a node was fast enough to tell how long it takes");
    }

    fn at(monotonic: u64, offset: i64, residual: u64) -> Distance {
        Distance { monotonic, offset, residual, half: None, near: None }
    }

    #[test]
    fn clocks_drift_evenly_between_measurements() {
        let points = [at(1_000, 50, 0), at(2_000, -50, 0), at(4_000, -50, 0)];
        let two = Course::of(&points[..2]);
        for (time, offset) in [(0, 150), (1_000, 50), (1_500, 0), (2_000, -50), (3_000, -150)] {
            assert_eq!(two.offset_at(time), offset, "{time}");
        }
        let three = Course::of(&points);
        // Outside, by the whole.
        for (time, offset) in [(400, 70), (1_500, 0), (3_000, -50), (4_300, -60)] {
            assert_eq!(three.offset_at(time), offset, "{time}");
        }
        assert_eq!(Course::of(&points[..1]).offset_at(5_000), 50);
        assert_eq!(Course::of(&[]).offset_at(5_000), 0);
    }

    #[test]
    fn a_contradiction_is_settled_for_the_better_measurement() {
        let course = Course::of(&[at(1_000, 0, 10), at(1_100, -900, 500), at(9_000, 8, 10)]);
        assert_eq!(course.times().collect::<Vec<_>>(), [1_000, 9_000]);
        let course = Course::of(&[at(1_000, 0, 500), at(1_100, -900, 10), at(9_000, -908, 10)]);
        assert_eq!(course.times().collect::<Vec<_>>(), [1_100, 9_000]);
        // Disturbed, and nothing new; precise, and something new.
        let course = Course::of(&[at(0, 0, 10), at(50_000, 90, 100), at(100_000, 0, 10)]);
        assert_eq!(course.times().count(), 2);
        let course = Course::of(&[at(0, 0, 10), at(50_000, 90, 30), at(100_000, 0, 10)]);
        assert_eq!(course.times().count(), 3);
    }

    /// A clock whose drift changes once, anywhere, is never further off than is said; with a first and a
    /// last measurement only it is.
    #[test]
    fn a_change_of_drift_is_within_the_residual() {
        let span: u64 = 80_000_000;
        for turn in (0..=span).step_by(1_900_000) {
            let truth = |time: u64| {
                let (before, after) = (time.min(turn), time.saturating_sub(turn));
                (before / 1000).cast_signed() - (after / 500).cast_signed()
            };
            let worst = |course: &Course| {
                let times = (0..=span).step_by(100_000);
                times.map(|time| course.offset_at(time).abs_diff(truth(time))).max().unwrap_or(0)
            };
            for steps in [3, 4, 9] {
                let times = (0..=steps).map(|at| at * span / steps);
                let points: Vec<_> = times.map(|time| at(time, truth(time), 3)).collect();
                let course = Course::of(&points);
                let (worst, residual) = (worst(&course), course.residual());
                assert!(worst <= residual, "{turn}, {steps}: {worst} and {residual}");
                assert!(residual <= 2 * span / steps / 300 + 6, "{turn}, {steps}: {residual}");
            }
            let ends = Course::of(&[at(0, truth(0), 3), at(span, truth(span), 3)]);
            let inside = (10_000_000..70_000_000).contains(&turn);
            assert!(!inside || worst(&ends) > 10 * ends.residual(), "{turn}");
        }
    }
}
