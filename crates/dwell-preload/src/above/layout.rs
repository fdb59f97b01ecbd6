//! How compilers and libraries lay out what they pass by address: arrays of gfortran, references into them,
//! blocks and vectors of ARMCI.

use core::ffi::{c_int, c_void};

/// An array as gfortran describes it, since version 8.
#[repr(C)]
struct Descriptor {
    base: *mut c_void,
    offset: usize,
    element: usize,
    version: i32,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
    dimensions: [Dimension; 15],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Dimension {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// A subscript of one dimension: a list of indices, or from, to and step.
#[repr(C)]
#[derive(Clone, Copy)]
struct Subscript {
    listed: usize,
    words: [isize; 3],
}

/// Elements from one index to another.
fn extent(from: isize, to: isize, step: isize) -> u64 {
    match to.checked_sub(from).and_then(|width| width.checked_div(step)) {
        Some(steps) if steps >= 0 => steps.cast_unsigned() as u64 + 1,
        _ => 0,
    }
}

/// Elements of an array, with lists of subscripts or without.
///
/// # Safety
/// Both are addresses of what they are said to be, or null.
unsafe fn elements(descriptor: *const Descriptor, vector: *const Subscript) -> u64 {
    // SAFETY: there are as many dimensions as the rank says, and a subscript for each.
    unsafe {
        let rank = usize::try_from((*descriptor).rank).unwrap_or(0).min(15);
        let dimensions = (&raw const (*descriptor).dimensions).cast::<Dimension>();
        (0..rank)
            .map(|at| {
                let Dimension { lower, upper, .. } = dimensions.add(at).read_unaligned();
                if vector.is_null() {
                    return extent(lower, upper, 1);
                }
                match vector.add(at).read_unaligned() {
                    Subscript { listed: 0, words: [from, to, step] } => extent(from, to, step),
                    Subscript { listed, .. } => listed as u64,
                }
            })
            .fold(1, u64::saturating_mul)
    }
}

/// Bytes of a section.
///
/// # Safety
/// As [`elements`].
pub(crate) unsafe fn section(descriptor: usize, vector: usize) -> u64 {
    let descriptor = descriptor as *const Descriptor;
    if descriptor.is_null() {
        return 0;
    }
    // SAFETY: as promised.
    unsafe {
        let size = (&raw const (*descriptor).element).read_unaligned() as u64;
        elements(descriptor, vector as *const Subscript).saturating_mul(size)
    }
}

/// One link of the chain from a coarray to a part of it.
#[repr(C)]
struct Reference {
    next: *const Reference,
    kind: c_int,
    item: usize,
    modes: [u8; 15],
    static_kind: c_int,
    dimensions: [[isize; 3]; 15],
}

const COMPONENT: c_int = 0;
/// How a dimension is referred to.
const NONE: u8 = 0;
const LISTED: u8 = 1;
const RANGE: u8 = 3;
const SINGLE: u8 = 4;

/// Bytes that a chain of references leads to. Where it says "all", only the target knows how many
/// elements that are; the array on this side has as many.
///
/// # Safety
/// Both are addresses of what they are said to be, or null.
pub(crate) unsafe fn referenced(chain: usize, descriptor: usize) -> u64 {
    let (mut link, mut known, mut item) = (chain as *const Reference, Some(1_u64), 0);
    // SAFETY: each link leads to the next, and the last to none; a component has no dimensions.
    unsafe {
        while !link.is_null() {
            item = (*link).item as u64;
            if (*link).kind != COMPONENT {
                let modes = (*link).modes.iter().zip(&(*link).dimensions);
                for (mode, [first, second, third]) in modes.take_while(|(mode, _)| **mode != NONE) {
                    let here = match *mode {
                        SINGLE => Some(1),
                        RANGE => Some(extent(*first, *second, *third)),
                        LISTED => Some(second.cast_unsigned() as u64),
                        _ => None,
                    };
                    known = known.zip(here).map(|(all, here)| all.saturating_mul(here));
                }
            }
            link = (*link).next;
        }
        let descriptor = descriptor as *const Descriptor;
        let count = match known {
            Some(count) => count,
            None if descriptor.is_null() => 0,
            None => elements(descriptor, core::ptr::null()),
        };
        count.saturating_mul(item)
    }
}

/// Bytes of a block of several dimensions.
///
/// # Safety
/// There is a list of `levels + 1` numbers at the address, or it is null.
pub(crate) unsafe fn block(counts: usize, levels: c_int) -> u64 {
    let counts = counts as *const c_int;
    if counts.is_null() {
        return 0;
    }
    (0..=usize::try_from(levels).unwrap_or(0))
        // SAFETY: as promised.
        .map(|at| u64::try_from(unsafe { counts.add(at).read_unaligned() }).unwrap_or(0))
        .fold(1, u64::saturating_mul)
}

/// One vector of ARMCI: as many pieces of so many bytes.
#[repr(C)]
struct Vector {
    sources: *const usize,
    destinations: *const usize,
    bytes: c_int,
    pieces: c_int,
}

/// Bytes of a list of vectors.
///
/// # Safety
/// There are that many at the address, or it is null.
pub(crate) unsafe fn vectors(list: usize, length: c_int) -> u64 {
    let list = list as *const Vector;
    if list.is_null() {
        return 0;
    }
    let number = |of: c_int| u64::try_from(of).unwrap_or(0);
    (0..usize::try_from(length).unwrap_or(0))
        // SAFETY: as promised.
        .map(|at| unsafe { list.add(at).read_unaligned() })
        .map(|vector| number(vector.bytes).saturating_mul(number(vector.pieces)))
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn array(rank: i8, dimensions: &[(isize, isize)]) -> Descriptor {
        let mut all = [Dimension { stride: 1, lower: 0, upper: 0 }; 15];
        for (place, (lower, upper)) in all.iter_mut().zip(dimensions) {
            (place.lower, place.upper) = (*lower, *upper);
        }
        let base = core::ptr::null_mut();
        let (offset, element, version, kind, attribute, span) = (0, 8, 0, 3, 0, 8);
        Descriptor { base, offset, element, version, rank, kind, attribute, span, dimensions: all }
    }

    #[test]
    fn sizes_of_sections() {
        let matrix = array(2, &[(1, 10), (0, 2)]);
        let at = (&raw const matrix) as usize;
        let subscripts =
            [Subscript { listed: 4, words: [0; 3] }, Subscript { listed: 0, words: [0, 2, 2] }];
        let scalar = array(0, &[]);
        let empty = array(1, &[(1, 0)]);
        // SAFETY: all are what they are said to be.
        unsafe {
            assert_eq!(section(at, 0), 240);
            assert_eq!(section(at, subscripts.as_ptr() as usize), 64);
            assert_eq!(section((&raw const scalar) as usize, 0), 8);
            assert_eq!(section((&raw const empty) as usize, 0), 0);
            assert_eq!(section(0, 0), 0);
        }
    }

    #[test]
    fn sizes_of_references() {
        let link = |kind, modes: &[u8], dimensions: [[isize; 3]; 2]| {
            let mut all = ([NONE; 15], [[0; 3]; 15]);
            all.0[..modes.len()].copy_from_slice(modes);
            all.1[..2].copy_from_slice(&dimensions);
            let next = core::ptr::null();
            let (item, static_kind) = (4, 0);
            Reference { next, kind, item, modes: all.0, static_kind, dimensions: all.1 }
        };
        let mut range = link(1, &[RANGE, SINGLE], [[1, 9, 2], [3, 3, 1]]);
        let component = link(COMPONENT, &[], [[0; 3]; 2]);
        let all = link(1, &[2], [[0; 3]; 2]);
        range.next = &raw const component;
        let other = array(1, &[(1, 7)]);
        // SAFETY: all are what they are said to be.
        unsafe {
            assert_eq!(referenced((&raw const range) as usize, 0), 20);
            let other = (&raw const other) as usize;
            assert_eq!(referenced((&raw const all) as usize, other), 28);
            assert_eq!(referenced((&raw const all) as usize, 0), 0);
        }
        assert_eq!(core::mem::size_of::<Reference>(), 408);
        assert_eq!(core::mem::offset_of!(Reference, dimensions), 48);
        assert_eq!(core::mem::size_of::<Subscript>(), 32);
        assert_eq!(core::mem::offset_of!(Descriptor, dimensions), 40);
    }

    #[test]
    fn blocks_and_vectors() {
        let counts: [c_int; 3] = [8, 5, 2];
        // SAFETY: as many as is said.
        unsafe {
            assert_eq!(block(counts.as_ptr() as usize, 2), 80);
            assert_eq!(block(counts.as_ptr() as usize, 0), 8);
            assert_eq!(block(0, 2), 0);
        }
        let none = core::ptr::null();
        let one = |bytes, pieces| Vector { sources: none, destinations: none, bytes, pieces };
        let list = [one(8, 3), one(4, 2)];
        // SAFETY: as many as is said.
        unsafe {
            assert_eq!(vectors(list.as_ptr() as usize, 2), 32);
            assert_eq!(vectors(list.as_ptr() as usize, -1), 0);
        }
    }
}
