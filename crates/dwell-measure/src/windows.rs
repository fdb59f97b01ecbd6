//! Windows: groups of processes with their contexts, and the handles that name them.
//!
//! Also counts collectives: the number of each on its window is what matches it with its
//! counterparts at the other processes.

use std::sync::atomic::{AtomicU32, Ordering};

use dwell_unify::facts::STATIC_DATA;

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
    /// Part of this group, given by ranks in it.
    #[must_use]
    pub(crate) const fn part(self, start: u32, stride: u32, size: u32) -> Self {
        Self {
            start: self.start.wrapping_add(start.wrapping_mul(self.stride)),
            stride: self.stride.wrapping_mul(stride),
            size,
        }
    }

    /// The rank in this group of a process of the world, if it is a member.
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
    /// The window of the static data of the same group and context.
    #[must_use]
    pub(crate) const fn of_static_data(self) -> Self {
        Self { context: self.context | STATIC_DATA, ..self }
    }
}

/// Windows that are kept apart; operations on any others are booked on the first.
const WINDOWS: usize = 1024;
/// Handles known at one time.
const HANDLES: usize = 1024;

/// All windows of a process, and what handles stand for.
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
    handles: [(usize, u32); HANDLES],
}

impl Windows {
    pub(crate) fn new() -> Self {
        let tables = Tables { windows: [None; WINDOWS], beyond: 0, handles: [(0, 0); HANDLES] };
        Self { tables: Lock::new(tables), edition: AtomicU32::new(0) }
    }

    /// The number of a window. `define` writes it down when it is new, before anyone uses it.
    pub(crate) fn number(&self, window: Window, define: impl FnOnce(u32)) -> u32 {
        self.tables.with(|tables| {
            for (place, known) in (0..).zip(&mut tables.windows) {
                match known {
                    Some((known, _)) if *known == window => return place,
                    Some(_) => {}
                    None => {
                        *known = Some((window, 0));
                        define(place);
                        return place;
                    }
                }
            }
            0
        })
    }

    /// A number for a window that is kept elsewhere.
    pub(crate) fn reserve(&self, define: impl FnOnce(u32)) -> u32 {
        self.tables.with(|tables| {
            let free = (0..).zip(&mut tables.windows).find(|(_, window)| window.is_none());
            let number = match free {
                Some((number, place)) => {
                    // Nobody, in a context that is this one's: equal to no other.
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
            define(number);
            number
        })
    }

    /// Gives a number that was reserved to a window. `false` if it has it already.
    pub(crate) fn claim(&self, number: u32, window: Window) -> bool {
        self.tables.with(|tables| match tables.windows.get_mut(number as usize) {
            Some(Some((known, _))) if *known != window => {
                *known = window;
                true
            }
            _ => false,
        })
    }

    /// The number of a window, if it has one.
    pub(crate) fn find(&self, window: Window) -> Option<u32> {
        let is = |known: &Option<(Window, u64)>| known.is_some_and(|(known, _)| known == window);
        self.tables.with(|tables| tables.windows.iter().position(is)).map(|place| place as u32)
    }

    /// Returns the window with this id.
    pub(crate) fn get(&self, number: u32) -> Option<Window> {
        self.tables
            .with(|tables| tables.windows.get(number as usize).copied().flatten())
            .map(|(window, _)| window)
    }

    /// Counts a collective on a window and returns its sequence number, from 0 on.
    pub(crate) fn count(&self, number: u32) -> u64 {
        self.tables.with(|tables| match tables.windows.get_mut(number as usize) {
            Some(Some((_, counted))) => {
                *counted += 1;
                *counted - 1
            }
            _ => 0,
        })
    }

    /// Returns the id of the window that a handle stands for. Unknown handles mean the default of the world: constants
    /// of the runtime never pass through a call that makes them.
    pub(crate) fn of_handle(&self, handle: usize) -> u32 {
        if handle == 0 {
            return 0;
        }
        self.tables.with(|tables| {
            tables.handles.iter().find(|known| known.0 == handle).map_or(0, |known| known.1)
        })
    }

    /// Returns the edition of the handles. Results that were looked up in an earlier edition may be wrong.
    #[inline]
    pub(crate) fn edition(&self) -> u32 {
        self.edition.load(Ordering::Acquire)
    }

    /// Remembers what a handle stands for.
    pub(crate) fn remember(&self, handle: usize, number: u32) {
        self.tables.with(|tables| {
            if let Some(place) = tables.handles.iter_mut().find(|known| known.0 == 0) {
                *place = (handle, number);
            }
        });
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// Forgets a handle that the program gave back.
    pub(crate) fn forget(&self, handle: usize) {
        self.tables.with(|tables| {
            tables.handles.iter_mut().filter(|known| known.0 == handle).for_each(|k| *k = (0, 0));
        });
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// The least number that no living context of this group has.
    pub(crate) fn free_context(&self, paradigm: u8, group: Strided) -> u32 {
        self.tables.with(|tables| {
            let living = |context: u32| {
                tables.handles.iter().filter(|known| known.0 != 0).any(|known| {
                    let window = tables.windows.get(known.1 as usize).copied().flatten();
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
            assert_eq!(windows.number(window(wanted, 0), |id| defined.push(id)), expected);
        }
        assert_eq!(defined, [0, 1]);
        assert_eq!([windows.count(1), windows.count(0), windows.count(1)], [0, 0, 1]);
        assert_eq!(windows.get(1), Some(window(odd, 0)));
        assert_eq!(windows.get(2), None);
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
        assert_eq!([windows.of_handle(100), windows.of_handle(200)], [1, 2]);
        windows.forget(100);
        assert_eq!(windows.of_handle(100), 0);
        assert_eq!(make(300), 1);
        assert_eq!(windows.of_handle(300), 1);
    }

    #[test]
    fn parts_of_parts() {
        let odd = WORLD.part(1, 2, 4);
        let part = odd.part(1, 2, 2);
        assert_eq!(part, Strided { start: 3, stride: 4, size: 2 });
        assert_eq!([3, 7, 5, 11, 0].map(|p| part.rank(p)), [Some(0), Some(1), None, None, None]);
    }
}
