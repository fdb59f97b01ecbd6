//! Correction of the clock of a process to that of rank 0, computed from measurements at some moments.
//!
//! Between two measurements a clock is assumed to drift evenly; the distance of each measurement from the line between
//! its neighbours shows how far that is from the truth. The archive has the result as clock offsets, which every reader
//! of OTF2 applies, and a bound on their error. The recorder makes the measurements.

/// One measurement of the offset between the clock of this process and that of rank 0. All times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// Time of the measurement on the clock of this process.
    pub monotonic: u64,
    /// Value to add to the clock of this process to get that of rank 0.
    pub offset: i64,
    /// Bound on the error of the offset: the sum of half of each round trip on the path to rank 0.
    pub residual: u64,
    /// Half of the shortest round trip to the parent in the tree, if the parent is on another node.
    pub half: Option<u64>,
    /// Half of the shortest round trip to the parent in the tree, if the parent is on the same node.
    pub near: Option<u64>,
}

/// Offset of a clock from that of rank 0 as a function of time, interpolated between measurements.
#[derive(Clone, Debug, Default)]
pub struct ClockCorrection {
    /// Measurements at ascending times.
    points: Vec<Distance>,
}

impl ClockCorrection {
    /// Makes a correction from measurements in the order of time. Of two measurements that contradict each other, because
    /// no clock drifts as fast as they say, only the one with the smaller error bound is kept. Measurements that are
    /// far less exact than their neighbours and agree with them are dropped too.
    pub fn of(measured: &[Distance]) -> Self {
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
        let mut correction = Self { points };
        correction.drop_disturbed();
        correction
    }

    /// Drops measurements that are far less exact than both neighbours and do not contradict them.
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

    /// Returns the times of the measurements that were kept, ascending, on the clock of this process.
    pub fn times(&self) -> impl Iterator<Item = u64> {
        self.points.iter().map(|point| point.monotonic)
    }

    /// Returns the value to add to the clock of this process at `time` to get that of rank 0. Before the first
    /// measurement and after the last, the clock is assumed to drift as it did from the first to the last on average.
    /// Without measurements the result is 0.
    pub fn offset_at(&self, time: u64) -> i64 {
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

    /// Returns a bound, in nanoseconds, on the error of [`offset_at`](Self::offset_at) between the first measurement
    /// and the last. Each measurement contributes its own error, and each interval the bend that the neighbouring
    /// measurements reveal.
    ///
    /// The bound does not cover the time before the first measurement, which is the beginning of the call that started
    /// the runtime.
    pub fn residual(&self) -> u64 {
        let own = self.points.iter().map(|point| point.residual).max().unwrap_or(0);
        let between = self.points.windows(2).enumerate().map(|(at, pair)| {
            pair.iter().map(|it| it.residual).max().unwrap_or(0).saturating_add(self.bend(at))
        });
        between.max().unwrap_or(own)
    }

    /// Estimates how far the clock may be from the line between measurement `at` and the next. If the drift changes
    /// once in between, each end is off the line from the other end to a measurement beyond; the distance to that
    /// measurement tells which part of the bend shows there.
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
    /// Returns the time between two measurements.
    fn apart(&self, other: &Self) -> u64 {
        self.monotonic.abs_diff(other.monotonic)
    }

    /// Returns the distance of the offset of `middle` from the line between this measurement and `beyond`.
    fn off(&self, middle: &Self, beyond: &Self) -> u64 {
        let (begin, end) =
            if self.monotonic <= beyond.monotonic { (self, beyond) } else { (beyond, self) };
        begin.towards(end, begin, middle.monotonic).abs_diff(middle.offset)
    }

    /// Estimates how far the clock may be from the line between this measurement and `end`, judged by a measurement
    /// beyond `end`.
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

    /// Returns the offset at `time` on the line through `from` whose slope is that from this measurement to `other`.
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
    use super::*;

    fn at(monotonic: u64, offset: i64, residual: u64) -> Distance {
        Distance { monotonic, offset, residual, half: None, near: None }
    }

    #[test]
    fn clocks_drift_evenly_between_measurements() {
        let points = [at(1_000, 50, 0), at(2_000, -50, 0), at(4_000, -50, 0)];
        let two = ClockCorrection::of(&points[..2]);
        for (time, offset) in [(0, 150), (1_000, 50), (1_500, 0), (2_000, -50), (3_000, -150)] {
            assert_eq!(two.offset_at(time), offset, "{time}");
        }
        let three = ClockCorrection::of(&points);
        // Outside, by the whole.
        for (time, offset) in [(400, 70), (1_500, 0), (3_000, -50), (4_300, -60)] {
            assert_eq!(three.offset_at(time), offset, "{time}");
        }
        assert_eq!(ClockCorrection::of(&points[..1]).offset_at(5_000), 50);
        assert_eq!(ClockCorrection::of(&[]).offset_at(5_000), 0);
    }

    #[test]
    fn a_contradiction_is_settled_for_the_better_measurement() {
        let correction =
            ClockCorrection::of(&[at(1_000, 0, 10), at(1_100, -900, 500), at(9_000, 8, 10)]);
        assert_eq!(correction.times().collect::<Vec<_>>(), [1_000, 9_000]);
        let correction =
            ClockCorrection::of(&[at(1_000, 0, 500), at(1_100, -900, 10), at(9_000, -908, 10)]);
        assert_eq!(correction.times().collect::<Vec<_>>(), [1_100, 9_000]);
        // Disturbed, and nothing new; precise, and something new.
        let correction =
            ClockCorrection::of(&[at(0, 0, 10), at(50_000, 90, 100), at(100_000, 0, 10)]);
        assert_eq!(correction.times().count(), 2);
        let correction =
            ClockCorrection::of(&[at(0, 0, 10), at(50_000, 90, 30), at(100_000, 0, 10)]);
        assert_eq!(correction.times().count(), 3);
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
            let worst = |correction: &ClockCorrection| {
                let times = (0..=span).step_by(100_000);
                times
                    .map(|time| correction.offset_at(time).abs_diff(truth(time)))
                    .max()
                    .unwrap_or(0)
            };
            for steps in [3, 4, 9] {
                let times = (0..=steps).map(|at| at * span / steps);
                let points: Vec<_> = times.map(|time| at(time, truth(time), 3)).collect();
                let correction = ClockCorrection::of(&points);
                let (worst, residual) = (worst(&correction), correction.residual());
                assert!(worst <= residual, "{turn}, {steps}: {worst} and {residual}");
                assert!(residual <= 2 * span / steps / 300 + 6, "{turn}, {steps}: {residual}");
            }
            let ends = ClockCorrection::of(&[at(0, truth(0), 3), at(span, truth(span), 3)]);
            let inside = (10_000_000..70_000_000).contains(&turn);
            assert!(!inside || worst(&ends) > 10 * ends.residual(), "{turn}");
        }
    }
}
