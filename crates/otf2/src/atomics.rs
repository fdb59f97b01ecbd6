//! The atomics of [`commit`](crate::commit), which a model replaces by those of `loom`.

pub(crate) use core::sync::atomic::{AtomicU8, Ordering};
