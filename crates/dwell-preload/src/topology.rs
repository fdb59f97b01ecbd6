//! Topologies that the program describes, as `dwell.h` and `dwell.f90` document.

use core::ffi::{c_char, c_int};

use dwell_measure::guard::{Entry, guarded};
use dwell_measure::process::{self, DIMENSIONS, Dimension};

use crate::user::text;

/// Defines a Cartesian topology of `count` dimensions, and the coordinates of this process in it.
///
/// # Safety
/// `name` is null or the address of a string that ends in zero. The others are addresses of `count` numbers.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_topology(
    name: *const c_char,
    count: c_int,
    sizes: *const c_int,
    periodic: *const c_int,
    coordinates: *const c_int,
) {
    let Some(process) = process::current() else { return };
    let count = usize::try_from(count).unwrap_or(0).min(DIMENSIONS);
    if sizes.is_null() || periodic.is_null() || coordinates.is_null() {
        return;
    }
    guarded(Entry::User, || {
        // SAFETY: as promised.
        let Some(name) = (unsafe { text(name) }) else { return };
        let (mut grid, mut place) = ([Dimension::default(); DIMENSIONS], [0; DIMENSIONS]);
        for (at, (it, here)) in grid.iter_mut().zip(&mut place).enumerate().take(count) {
            // SAFETY: each list has `count` numbers, as promised.
            let (size, period, coordinate) = unsafe {
                (sizes.add(at).read(), periodic.add(at).read(), coordinates.add(at).read())
            };
            it.size = u32::try_from(size).unwrap_or(0);
            it.is_periodic = period != 0;
            *here = u32::try_from(coordinate).unwrap_or(u32::MAX);
        }
        let place = place.get(..count).unwrap_or_default();
        process.grid_of_program(name, grid.get(..count).unwrap_or_default(), place);
    });
}
