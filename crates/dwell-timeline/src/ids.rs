//! Numbers of locations and call paths.

/// Number of a location, counted from 0 in the order of the report, in which the locations of a process are consecutive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u32);

/// Number of a call path, which is the same in the report that the analysis has written with the dependency log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPath(pub u32);
