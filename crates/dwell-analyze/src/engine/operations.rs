//! Operations that a location issues and completes, outside of the fast path.

use dwell_log::class::Class;
use dwell_log::quantity::Quantity;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::roles::{Traits, is_numbered};
use dwell_trace::time::{Duration, Time};
use otf2::id::{MatchingId, RmaWinRef};
use otf2::{Attribute, List};

use crate::engine::accounts::{self, OperationEnd};
use crate::engine::call::Issued;
use crate::engine::event::EventKind;
use crate::engine::exchange::Asking;
use crate::engine::fast_path::Issue;
use crate::engine::location::Frame;
use crate::engine::matrix::Kind;
use crate::engine::outstanding::Op;
use crate::engine::paths::Path;
use crate::engine::pattern::Pattern;
use crate::engine::player::Player;

impl<P: Pattern> Player<'_, P> {
    #[inline(always)]
    pub(crate) fn operation(&mut self, issue: Issue, attributes: List<'_, Attribute>) {
        let needed = P::needs_operations(self.here.world, issue.kind);
        if !self.fold_issue(issue, needed) {
            self.issue_apart(attributes);
        }
    }

    #[cold]
    #[inline(never)]
    fn issue_apart(&mut self, attributes: List<'_, Attribute>) {
        let issue = self.leaf.issue;
        self.issue(&issue, attributes);
    }

    #[inline(always)]
    pub(crate) fn completion(&mut self, win: RmaWinRef, id: u64) {
        if !self.fold_complete(win, id) {
            self.unfold();
            self.complete(win, id);
        }
    }

    /// Counts an operation on a path, and the call with its time if it has ended. The communication matrix covers one
    /// layer only: `in_matrix` is the time to add there, or `None` for operations inside a judged call, which are part
    /// of its implementation. Returns the target and the number of the account that the path used last, or `None` if
    /// the target is not defined.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        path: Path,
        issue: &Issue,
        call: Option<Duration>,
        in_matrix: Option<Duration>,
    ) -> Option<(ProcessNumber, u32)> {
        let Issue { kind, sent, received, .. } = *issue;
        let Some(context) = self.here.context(issue.window) else {
            if let Some(length) = call {
                self.here.location.paths.visit(path, length);
            }
            return None;
        };
        let target = self.here.process_of(context, issue.remote);
        let count = match kind {
            Kind::Put => Quantity::Puts,
            Kind::Get => Quantity::Gets,
            _ => Quantity::Atomics,
        };
        let recent = self.here.location.paths.count(path, count, (sent, received), call);
        let to = self.here.world.system.party(target?);
        if let Some(time) = in_matrix
            && let Some(cell) = self.here.matrix.cell(self.here.row, to, kind)
        {
            cell.operations += 1;
            cell.bytes += sent + received;
            cell.time += time.0;
        }
        target.map(|target| (target, recent))
    }

    #[inline(never)]
    pub(crate) fn issue(&mut self, issue: &Issue, attributes: List<'_, Attribute>) {
        let Issue { kind, window, id, sent, received, .. } = *issue;
        let Some(&frame) = self.here.location.stack.last() else { return };
        let counted = self.count(frame.path, issue, None, frame.counts().then_some(Duration::ZERO));
        let Some((target, _)) = counted else { return };
        let far = self.here.distance(target);
        let Some(frame) = self.here.location.stack.last_mut() else { return };
        if frame.counts() {
            frame.first = frame.first.or(Some((kind, target)));
        }
        if !frame.judged {
            return;
        }
        let layer = self.here.world.roles.layer(frame.region);
        let moved = &mut self.here.location.moved;
        if moved.class.is_none() {
            let memory = self.here.location.window.map_or(u16::MAX, |(_, _, memory)| memory);
            moved.class = Some(accounts::class(layer, kind, memory));
        }
        moved.add(sent + received, far);
        if frame.traits.has(Traits::MESSAGE) {
            return;
        }
        self.here.process.moved = self.here.process.moved.saturating_add(sent + received);
        let itself = target == self.here.process.index;
        if frame.traits.has(Traits::TOUCHES) && !itself {
            frame.noted = true;
            self.here.location.touched.push((window, target));
        }
        if !frame.issued && frame.traits.has(Traits::ONE_SIDED) {
            self.here.process.certain_or_possible(frame, itself);
            if itself {
                self.here.process.forget_entry(frame.enter, self.here.location.number);
            }
        }
        frame.issued = true;
        let issued = Issued { kind, layer, window, target, sent, frame: *frame, attributes };
        let mut out = Asking { own: self.own, shared: self.shared };
        self.patterns.on_issue(&mut self.here, &issued, &mut out);
        if !itself {
            let moved = sent.max(received);
            let class = Class::of(layer, kind, self.here.memory(), moved);
            self.here.process.outstanding.add(Op {
                serial: 0,
                id,
                location: self.here.location.number,
                window,
                target,
                start: issued.frame.enter,
                class,
                bytes: u32::try_from(moved).unwrap_or(u32::MAX),
                returns: issue.returns,
                learned: false,
            });
        }
    }

    #[inline(never)]
    pub(crate) fn complete(&mut self, window: RmaWinRef, id: u64) {
        let Some(&Frame { judged, traits, .. }) = self.here.location.stack.last() else { return };
        if !judged {
            return;
        }
        self.here.location.moved.end = OperationEnd::InCall;
        while let Some(op) =
            self.here.process.outstanding.take(self.here.location.number, window, id)
        {
            if op.returns {
                let known = self.here.process.outstanding.known(&op);
                self.here.location.done.push(op.done(known));
            } else {
                let at_origin = self.here.process.outstanding.done_at_origin(&op);
                self.here.location.at_origin.push(at_origin);
                self.here.process.outstanding.last(op);
            }
            // Other tools may give many operations one number.
            if traits.has(Traits::STATED)
                || self.here.process.alone && self.here.process.outstanding.are_distinct()
            {
                return;
            }
        }
    }

    /// Records that operations are complete at their targets.
    pub(crate) fn complete_remote(&mut self, time: Time, win: RmaWinRef, id: MatchingId) {
        let Some(frame) = self.here.judged_call() else { return };
        self.ops.clear();
        let layer = self.here.world.roles.get(frame.region).layer();
        let outstanding = &mut self.here.process.outstanding;
        if layer.is_some_and(is_numbered) {
            outstanding.take_numbered(self.here.location.number, win, id.0, self.ops);
        } else {
            outstanding.take_all(Some(win), self.ops);
        }
        self.finish_ops();
        self.emit(time, EventKind::CompletedAtTarget { window: win });
    }

    /// Adds the operations in the scratch space to those that the open call completed.
    pub(crate) fn finish_ops(&mut self) {
        let outstanding = &mut self.here.process.outstanding;
        let done = self.ops.drain(..).map(|op| {
            let known = outstanding.known(&op);
            op.done(known)
        });
        self.here.location.done.extend(done);
    }
}
