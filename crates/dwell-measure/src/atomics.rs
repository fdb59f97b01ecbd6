//! The atomics of [`reentrancy`](crate::reentrancy) and [`slot`](crate::slot), which models replace by those of `loom`.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

pub(crate) use crate::arch::store_stack_pointer as announce;

/// Keeps the compiler from moving a load before an earlier store. The processor may do so, on x86-64 as well as on
/// AArch64; the kernel's barrier in the thread that ends the recording puts it right.
#[inline(always)]
pub(crate) fn cheap_barrier() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}
