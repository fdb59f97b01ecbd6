//! Activities of locations.

use std::hash::Hasher;

use dwell_trace::time::Time;

use crate::engine::hash::Mixer;
use crate::engine::paths::{Path, Paths};

/// An activity of a location: a call of a runtime, or computing on a call path between two such calls.
///
/// The two calls distinguish stretches of computing in programs whose functions are not instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Activity {
    pub(crate) path: Path,
    /// Calls before and after computing. [`Path::TOP`] where there is none, and for calls.
    pub(crate) before: Path,
    pub(crate) after: Path,
}

impl Activity {
    /// Stands for the time before the first event of a location.
    pub(crate) const NOT_STARTED: Self =
        Self { path: Path(u32::MAX), before: Path::TOP, after: Path::TOP };

    /// Stands for what is not in the archive.
    pub(crate) const UNKNOWN: Self = Self { path: Path::TOP, before: Path::TOP, after: Path::TOP };

    /// Returns the activity of a call.
    pub(crate) fn call(path: Path) -> Self {
        Self { path, before: Path::TOP, after: Path::TOP }
    }
}

/// An activity by a number that is the same at every location.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct Signature(pub(crate) u64);

impl Signature {
    /// All waits together.
    pub(crate) const WAITING: Self = Self(0);
    const NOT_STARTED: Self = Self(1);
}

/// A stretch of time with one activity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) begin: Time,
    pub(crate) end: Time,
    pub(crate) activity: Activity,
}

/// Call paths of a location, as far as activities need them.
#[derive(Debug)]
pub(crate) struct KnownPaths {
    /// For each path its signature, and whether waits are judged at it.
    list: Vec<(u64, bool)>,
}

impl KnownPaths {
    /// Takes what is needed of the paths of a location. `is_judged` says which of them are calls, by their place.
    pub(crate) fn new(paths: &Paths, is_judged: impl Fn(usize) -> bool) -> Self {
        let of = |place: usize| {
            let node = paths.get(Path(place as u32));
            (node.map_or(0, |node| node.signature), is_judged(place))
        };
        Self { list: (0..paths.len()).map(of).collect() }
    }

    /// Returns `true` if waits are judged at a path.
    pub(crate) fn is_call(&self, path: Path) -> bool {
        self.list.get(path.0 as usize).is_some_and(|it| it.1)
    }

    /// Returns the signature of a path.
    pub(crate) fn of_path(&self, path: Path) -> u64 {
        self.list.get(path.0 as usize).map_or(0, |it| it.0)
    }

    /// Returns the signature of an activity.
    pub(crate) fn signature(&self, of: Activity) -> Signature {
        if of == Activity::NOT_STARTED {
            return Signature::NOT_STARTED;
        }
        let mut mixer = Mixer::default();
        for path in [of.path, of.before, of.after] {
            mixer.write_u64(self.of_path(path));
        }
        mixer.write_u8(u8::from(self.is_call(of.path)));
        // The numbers below are taken.
        Signature(mixer.finish().max(2))
    }
}
