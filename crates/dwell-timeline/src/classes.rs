//! Sums by class of activity.

/// Number of classes of activity, waiting among them. Sums and shares have a value for each.
pub const CLASSES: usize = dwell_report::Class::ALL.len();

/// Nanoseconds of each class, in the order of [`dwell_report::Class::ALL`].
pub type Sums = [u64; CLASSES];
