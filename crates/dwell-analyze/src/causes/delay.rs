//! Costs of activities of single locations, as callers of the crate see them.

use std::collections::BTreeMap;

use dwell_trace::ids::LocationNumber;

use crate::causes::{Activity, Done};

/// Costs of an activity of one location. The numbers of paths are those of the location in the dependency log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Location that others waited for.
    pub location: LocationNumber,
    /// Call path on which it was, and `None` before its first event.
    pub path: Option<usize>,
    /// Calls before and after it, if it was computing. 0 means none.
    pub between: (usize, usize),
    /// Waits of others for the location that this caused, in nanoseconds, by their lower bounds.
    pub direct: u64,
    /// Waits for others that waited for the location, and passed on its delay.
    pub propagated: u64,
    /// Time by which the waits of others for the location may be longer than their lower bounds.
    pub margin: u64,
}

impl Delay {
    /// Returns the costs of the activities of a location.
    pub(crate) fn of(location: LocationNumber, done: &Done) -> Vec<Self> {
        let delay = |activity: Activity| Self {
            location,
            path: (activity != Activity::NOT_STARTED).then_some(activity.path.0 as usize),
            between: (activity.before.0 as usize, activity.after.0 as usize),
            direct: 0,
            propagated: 0,
            margin: 0,
        };
        let mut list: BTreeMap<Activity, Self> = BTreeMap::new();
        for (activity, _, cost) in &done.costs {
            let sum = list.entry(*activity).or_insert(delay(*activity));
            sum.direct += cost.direct;
            sum.propagated += cost.propagated;
        }
        for (activity, margin) in &done.margins {
            list.entry(*activity).or_insert(delay(*activity)).margin += margin;
        }
        list.into_values().collect()
    }
}
