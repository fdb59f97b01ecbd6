//! Inlined and generic functions, methods and closures.
use std::ffi::{CStr, c_char};
use std::hint::black_box;

unsafe extern "C" {
    safe fn probe(label: *const c_char);
}

const INLINED: &CStr = c"inlined";
const GENERIC: &CStr = c"generic";

mod grid {
    #[inline(always)]
    pub fn inner() {
        crate::probe(crate::INLINED.as_ptr()); // @inner
        std::hint::black_box(1);
    }

    #[inline(always)]
    pub fn middle() {
        inner(); // @middle
        std::hint::black_box(2);
    }
}

#[inline(never)]
fn outer() {
    grid::middle(); // @outer
    black_box(3);
}

struct Halo<T>(T);

impl<T> Halo<T> {
    #[inline(never)]
    fn exchange(&self) {
        probe(GENERIC.as_ptr()); // @exchange
        black_box(4);
    }
}

fn main() {
    outer();
    Halo(black_box(1.5_f64)).exchange();
}
