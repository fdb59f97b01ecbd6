//! Progress of a generator.

/// A callback for progress bars. Generators call it with the number of locations or metrics completed since the last
/// call, from any thread. Pass `&|_| ()` to ignore it.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);
