//! Divides the time of a location into slices: computing, calls, and the parts of calls that are waits.
//!
//! The dependency log says which call path a location was in at every time, and which stretches of its calls were waits
//! for others. A slice is a stretch of time in which neither changes. Slices follow each other without gaps.
//!
//! A wait is drawn from the time since which a location waited to the time at which another one ended the wait, as far as
//! that lies in the call. Where waits of one call overlap, the one that ends last has the time. Waits without a known culprit are no
//! edges of the log, so that they are part of their call here.

use dwell_model::waits::Wait;

use crate::ids::{CallPath, Location};
use crate::span::{Span, Time};

/// A stretch of time in which a location did one thing: it was in one call path, and either waited or did not. Slices of a location
/// follow each other without gaps, from its first event to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Span of time of the slice, which is not empty.
    pub span: Span,
    /// Call path, or `None` outside of all regions.
    pub path: Option<CallPath>,
    /// The wait in the slice, if there is one.
    pub wait: Option<Waiting>,
}

/// The kind of a wait, and the location that the waiting one waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Kind of the wait, such as a wait at a barrier.
    pub what: Wait,
    /// Location that ended the wait.
    pub culprit: Location,
}

/// A segment of the dependency log, with the number of its call path in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) span: Span,
    pub(crate) path: Option<CallPath>,
    /// True for calls at which waits are judged.
    pub(crate) is_judged: bool,
}

/// A wait of the dependency log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) span: Span,
    pub(crate) waiting: Waiting,
    /// Upper bound of the wait in nanoseconds.
    pub(crate) high: u64,
}

/// One wait of one call: all pieces of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Location whose call waited.
    pub location: Location,
    /// Span of the call that waited.
    pub call: Span,
    /// From the begin of the first piece to the end of the last.
    pub span: Span,
    /// Upper bound of the wait in nanoseconds.
    pub nanoseconds: u64,
    /// Location that ended the longest piece.
    pub culprit: Location,
}

/// Receives what [`divide`] finds, the last first.
pub(crate) trait Receiver {
    fn slice(&mut self, slice: Slice);
    fn instance(&mut self, path: Option<CallPath>, what: Wait, instance: Instance);
}

/// Divides the time of a location. Segments come with the last first, and so do waits, by their ends.
pub(crate) fn divide<E>(
    location: Location,
    segments: impl Iterator<Item = Result<Segment, E>>,
    pieces: impl Iterator<Item = Result<Piece, E>>,
    to: &mut impl Receiver,
) -> Result<(), E> {
    let mut pieces = pieces.peekable();
    // Waits of the current call by kind, and the length of the longest piece of each.
    let mut waits: Vec<(Wait, Instance, u64)> = Vec::new();
    for segment in segments {
        let Segment { span, path, is_judged } = segment?;
        let mut end = span.to;
        let mut give = |from: Time, to_: Time, wait: Option<Waiting>| {
            if from < to_ {
                to.slice(Slice { span: Span { from, to: to_ }, path, wait });
            }
        };
        while let Some(piece) =
            pieces.next_if(|it| it.as_ref().map_or(true, |it| it.span.to > span.from))
        {
            let Piece { span: at, waiting, high } = piece?;
            if !is_judged || at.to > span.to {
                continue;
            }
            let length = at.length();
            match waits.iter_mut().find(|it| it.0 == waiting.what) {
                Some((_, instance, longest)) => {
                    instance.span.from = instance.span.from.min(at.from);
                    instance.nanoseconds = instance.nanoseconds.saturating_add(high);
                    if length > *longest {
                        (*longest, instance.culprit) = (length, waiting.culprit);
                    }
                }
                None => {
                    let culprit = waiting.culprit;
                    let instance =
                        Instance { location, call: span, span: at, nanoseconds: high, culprit };
                    waits.push((waiting.what, instance, length));
                }
            }
            let (from, until) = (at.from.max(span.from), at.to.min(end));
            if from < until {
                give(until, end, None);
                give(from, until, Some(waiting));
                end = from;
            }
        }
        give(span.from, end, None);
        for (what, instance, _) in waits.drain(..) {
            if instance.nanoseconds > 0 {
                to.instance(path, what, instance);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct All {
        slices: Vec<Slice>,
        instances: Vec<Instance>,
    }

    impl Receiver for All {
        fn slice(&mut self, slice: Slice) {
            self.slices.push(slice);
        }

        fn instance(&mut self, _: Option<CallPath>, _: Wait, instance: Instance) {
            self.instances.push(instance);
        }
    }

    fn span(from: u64, to: u64) -> Span {
        Span { from: Time(from), to: Time(to) }
    }

    #[test]
    fn waits_are_cut_out_of_calls() {
        let call =
            |from, to| Segment { span: span(from, to), path: Some(CallPath(3)), is_judged: true };
        let own = |from, to| Segment { span: span(from, to), path: None, is_judged: false };
        let piece = |from, to, culprit| Piece {
            span: span(from, to),
            waiting: Waiting { what: Wait::ALL[0], culprit: Location(culprit) },
            high: to - from,
        };
        let segments = [own(90, 100), call(50, 90), call(50, 50), own(20, 50), call(10, 20)];
        // The second overlaps the first, the third lies outside of calls, the last begins before its call.
        let pieces = [piece(70, 80, 1), piece(60, 75, 2), piece(30, 40, 1), piece(5, 15, 4)];
        let mut all = All::default();
        divide(
            Location(9),
            segments.into_iter().map(Ok::<_, ()>),
            pieces.into_iter().map(Ok),
            &mut all,
        )
        .unwrap();
        let said: Vec<(u64, u64, Option<u32>)> = all
            .slices
            .iter()
            .map(|it| (it.span.from.0, it.span.to.0, it.wait.map(|it| it.culprit.0)))
            .collect();
        assert_eq!(
            said,
            [
                (90, 100, None),
                (80, 90, None),
                (70, 80, Some(1)),
                (60, 70, Some(2)),
                (50, 60, None),
                (20, 50, None),
                (15, 20, None),
                (10, 15, Some(4)),
            ]
        );
        let [first, second] = all.instances.as_slice() else { panic!("{:?}", all.instances) };
        assert_eq!((first.span, first.nanoseconds, first.culprit), (span(60, 80), 25, Location(2)));
        assert_eq!((second.call, second.span), (span(10, 20), span(5, 15)));
    }
}
