//! Memory layouts of what compilers and libraries pass by address: array descriptors of gfortran, references into
//! arrays, and blocks and vectors of ARMCI.

use core::ffi::{c_int, c_void};

/// Array descriptor of gfortran since version 8.
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

/// Subscript of one dimension: a list of indices if `listed` is not 0, otherwise first, last and step.
#[repr(C)]
#[derive(Clone, Copy)]
struct Subscript {
    listed: usize,
    words: [isize; 3],
}

/// Returns the number of elements from one index to another, or 0 for an empty range or a step of 0.
fn extent(from: isize, to: isize, step: isize) -> u64 {
    match to.checked_sub(from).and_then(|width| width.checked_div(step)) {
        Some(steps) if steps >= 0 => steps.cast_unsigned() as u64 + 1,
        _ => 0,
    }
}

/// Returns the number of elements of an array section, with subscripts for each dimension or, if `vector` is null,
/// without.
///
/// # Safety
/// `descriptor` points to a descriptor. `vector` is null or points to a subscript for each dimension.
unsafe fn elements(descriptor: *const Descriptor, vector: *const Subscript) -> u64 {
    // SAFETY: the caller promises a descriptor, which has `rank` dimensions, and a subscript for each of them.
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

/// Returns the number of bytes of an array section, or 0 if there is no descriptor.
///
/// # Safety
/// `descriptor` is null or the address of a descriptor. `vector` is null or the address of a subscript for each
/// dimension.
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

/// One link of the chain of references that leads from a coarray to a part of it.
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
/// Kinds of subscripts in a reference, as the library numbers them.
const NONE: u8 = 0;
const LISTED: u8 = 1;
const RANGE: u8 = 3;
const SINGLE: u8 = 4;

/// Returns the number of bytes to which a chain of references leads. Where a reference means all elements of a
/// dimension, only the target knows how many those are; the array on this side has the same number.
///
/// # Safety
/// `chain` is null or the address of the first link of a chain, and `descriptor` is null or the address of a
/// descriptor.
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

/// Returns the number of bytes of a block with several dimensions: the product of its counts.
///
/// # Safety
/// `counts` is null or the address of `levels + 1` numbers.
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

/// Vector of ARMCI: a number of pieces of equal size.
#[repr(C)]
struct Vector {
    sources: *const usize,
    destinations: *const usize,
    bytes: c_int,
    pieces: c_int,
}

/// Returns the number of bytes of a list of vectors.
///
/// # Safety
/// `list` is null or the address of `length` vectors.
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
        // SAFETY: all addresses are those of the values above.
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
        // SAFETY: all addresses are those of the values above.
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
        // SAFETY: the lists have as many elements as is passed.
        unsafe {
            assert_eq!(block(counts.as_ptr() as usize, 2), 80);
            assert_eq!(block(counts.as_ptr() as usize, 0), 8);
            assert_eq!(block(0, 2), 0);
        }
        let none = core::ptr::null();
        let one = |bytes, pieces| Vector { sources: none, destinations: none, bytes, pieces };
        let list = [one(8, 3), one(4, 2)];
        // SAFETY: the lists have as many elements as is passed.
        unsafe {
            assert_eq!(vectors(list.as_ptr() as usize, 2), 32);
            assert_eq!(vectors(list.as_ptr() as usize, -1), 0);
        }
    }
}
