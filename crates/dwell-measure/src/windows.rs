//! Windows: groups of processes with their contexts, and the handles that name them.
//!
//! Also counts collectives: the sequence number of a collective on its window matches it with its counterparts at the
//! other processes.

use std::sync::atomic::{AtomicU32, Ordering};

use dwell_unify::facts::STATIC_DATA;
use otf2::id::RmaWinRef;

use crate::lock::Lock;

/// A group of processes: every `stride`-th process from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    /// Rank of the first member.
    pub(crate) start: u32,
    /// Distance between members.
    pub(crate) stride: u32,
    /// Number of members.
    pub(crate) size: u32,
}

impl Strided {
    /// Returns a part of this group, given by ranks in it.
    #[must_use]
    pub(crate) const fn part(self, start: u32, stride: u32, size: u32) -> Self {
        Self {
            start: self.start.wrapping_add(start.wrapping_mul(self.stride)),
            stride: self.stride.wrapping_mul(stride),
            size,
        }
    }

    /// Returns the rank in this group of a process of the world, or `None` if it is not a member.
    pub(crate) const fn rank(self, process: u32) -> Option<u32> {
        let Some(distance) = process.checked_sub(self.start) else { return None };
        let stride = if self.stride == 0 { 1 } else { self.stride };
        let rank = distance / stride;
        if distance.is_multiple_of(stride) && rank < self.size { Some(rank) } else { None }
    }
}

/// A window: a group and one of its contexts. Context 0 is the default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) paradigm: u8,
    pub(crate) group: Strided,
    pub(crate) context: u32,
}

impl Window {
    /// Returns the window of the static data of the same group and context.
    #[must_use]
    pub(crate) const fn of_static_data(self) -> Self {
        Self { context: self.context | STATIC_DATA, ..self }
    }
}

/// Largest number of windows; operations on any further ones are recorded on the first.
const WINDOWS: usize = 1024;
/// Largest number of handles that are known at one time.
const HANDLES: usize = 1024;

/// All windows of a process, and the handles that refer to them.
#[derive(Debug)]
pub(crate) struct Windows {
    tables: Lock<Tables>,
    /// Counter that increases when a handle changes its meaning, so that threads can cache what they looked up.
    edition: AtomicU32,
}

#[derive(Debug)]
struct Tables {
    windows: [Option<(Window, u64)>; WINDOWS],
    /// Numbers that were given to windows kept elsewhere when there was no place left.
    beyond: u32,
    handles: [(usize, RmaWinRef); HANDLES],
}

impl Windows {
    pub(crate) fn new() -> Self {
        let handles = [(0, RmaWinRef(0)); HANDLES];
        let tables = Tables { windows: [None; WINDOWS], beyond: 0, handles };
        Self { tables: Lock::new(tables), edition: AtomicU32::new(0) }
    }

    /// Returns the id of a window. If the window is new, `define` defines it before any thread can use the id.
    pub(crate) fn number(&self, window: Window, define: impl FnOnce(RmaWinRef)) -> RmaWinRef {
        self.tables.with(|tables| {
            for (place, known) in (0..).zip(&mut tables.windows) {
                match known {
                    Some((known, _)) if *known == window => return RmaWinRef(place),
                    Some(_) => {}
                    None => {
                        *known = Some((window, 0));
                        define(RmaWinRef(place));
                        return RmaWinRef(place);
                    }
                }
            }
            RmaWinRef(0)
        })
    }

    /// Reserves the id of a window that is kept elsewhere, and defines the window.
    pub(crate) fn reserve(&self, define: impl FnOnce(RmaWinRef)) -> RmaWinRef {
        self.tables.with(|tables| {
            let free = (0..).zip(&mut tables.windows).find(|(_, window)| window.is_none());
            let number = match free {
                Some((number, place)) => {
                    // An empty group with a context of its own differs from all other windows.
                    let group = Strided { start: 0, stride: 0, size: 0 };
                    let window = Window { paradigm: 0, group, context: number };
                    *place = Some((window, 0));
                    number
                }
                None => {
                    tables.beyond += 1;
                    WINDOWS as u32 + tables.beyond - 1
                }
            };
            define(RmaWinRef(number));
            RmaWinRef(number)
        })
    }

    /// Gives a reserved id to a window. Returns `false` if the window has it already.
    pub(crate) fn claim(&self, id: RmaWinRef, window: Window) -> bool {
        self.tables.with(|tables| match tables.windows.get_mut(id.0 as usize) {
            Some(Some((known, _))) if *known != window => {
                *known = window;
                true
            }
            _ => false,
        })
    }

    /// Returns the id of a window, if it has one.
    pub(crate) fn find(&self, window: Window) -> Option<RmaWinRef> {
        let is = |known: &Option<(Window, u64)>| known.is_some_and(|(known, _)| known == window);
        let place = self.tables.with(|tables| tables.windows.iter().position(is));
        place.map(|place| RmaWinRef(place as u32))
    }

    /// Returns the window with this id.
    pub(crate) fn get(&self, id: RmaWinRef) -> Option<Window> {
        self.tables
            .with(|tables| tables.windows.get(id.0 as usize).copied().flatten())
            .map(|(window, _)| window)
    }

    /// Counts a collective on a window and returns its sequence number, from 0 on.
    pub(crate) fn count(&self, id: RmaWinRef) -> u64 {
        self.tables.with(|tables| match tables.windows.get_mut(id.0 as usize) {
            Some(Some((_, counted))) => {
                *counted += 1;
                *counted - 1
            }
            _ => 0,
        })
    }

    /// Returns the id of the window that a handle stands for. Unknown handles mean the default of the world: constants
    /// of the runtime never pass through a call that makes them.
    pub(crate) fn of_handle(&self, handle: usize) -> RmaWinRef {
        if handle == 0 {
            return RmaWinRef(0);
        }
        self.tables.with(|tables| {
            let found = tables.handles.iter().find(|known| known.0 == handle);
            found.map_or(RmaWinRef(0), |known| known.1)
        })
    }

    /// Returns the edition of the handles. Results that were looked up in an earlier edition may be wrong.
    #[inline]
    pub(crate) fn edition(&self) -> u32 {
        self.edition.load(Ordering::Acquire)
    }

    /// Registers the window of a handle.
    pub(crate) fn remember(&self, handle: usize, window: RmaWinRef) {
        self.tables.with(|tables| {
            if let Some(place) = tables.handles.iter_mut().find(|known| known.0 == 0) {
                *place = (handle, window);
            }
        });
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// Forgets a handle that the program has freed.
    pub(crate) fn forget(&self, handle: usize) {
        self.tables.with(|tables| {
            for known in tables.handles.iter_mut().filter(|known| known.0 == handle) {
                *known = (0, RmaWinRef(0));
            }
        });
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// Returns the smallest number that no existing context of this group has.
    pub(crate) fn free_context(&self, paradigm: u8, group: Strided) -> u32 {
        self.tables.with(|tables| {
            let living = |context: u32| {
                tables.handles.iter().filter(|known| known.0 != 0).any(|known| {
                    let window = tables.windows.get(known.1.0 as usize).copied().flatten();
                    window.is_some_and(|(window, _)| window == Window { paradigm, group, context })
                })
            };
            (1..).find(|context| !living(*context)).unwrap_or(u32::MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: Strided = Strided { start: 0, stride: 1, size: 8 };

    fn window(group: Strided, context: u32) -> Window {
        Window { paradigm: 13, group, context }
    }

    #[test]
    fn windows_are_numbered_and_counted() {
        let windows = Windows::new();
        let mut defined = Vec::new();
        let odd = WORLD.part(1, 2, 4);
        for (wanted, expected) in [(WORLD, 0), (odd, 1), (WORLD, 0), (odd, 1)] {
            let id = windows.number(window(wanted, 0), |id| defined.push(id.0));
            assert_eq!(id, RmaWinRef(expected));
        }
        assert_eq!(defined, [0, 1]);
        assert_eq!([1, 0, 1].map(|id| windows.count(RmaWinRef(id))), [0, 0, 1]);
        assert_eq!(windows.get(RmaWinRef(1)), Some(window(odd, 0)));
        assert_eq!(windows.get(RmaWinRef(2)), None);
    }

    #[test]
    fn contexts_are_used_again() {
        let windows = Windows::new();
        windows.number(window(WORLD, 0), |_| ());
        let make = |handle| {
            let context = windows.free_context(13, WORLD);
            windows.remember(handle, windows.number(window(WORLD, context), |_| ()));
            context
        };
        assert_eq!([make(100), make(200)], [1, 2]);
        assert_eq!([100, 200].map(|handle| windows.of_handle(handle).0), [1, 2]);
        windows.forget(100);
        assert_eq!(windows.of_handle(100), RmaWinRef(0));
        assert_eq!(make(300), 1);
        assert_eq!(windows.of_handle(300), RmaWinRef(1));
    }

    #[test]
    fn parts_of_parts() {
        let odd = WORLD.part(1, 2, 4);
        let part = odd.part(1, 2, 2);
        assert_eq!(part, Strided { start: 3, stride: 4, size: 2 });
        assert_eq!([3, 7, 5, 11, 0].map(|p| part.rank(p)), [Some(0), Some(1), None, None, None]);
    }
}
