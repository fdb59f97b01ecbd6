//! Effect of a change of the run on each call path of a location.

use std::hash::Hasher;

use dwell_log::read::{PathStep, Step};
use dwell_model::waits::Wait;
use otf2::id::{CallingContextRef, RegionRef};

use crate::engine::hash::Mixer;

/// A set of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits(u64);

impl Waits {
    pub(crate) fn add(&mut self, wait: Wait) {
        self.0 |= 1 << wait as u32;
    }

    pub(crate) fn join(&mut self, more: Self) {
        self.0 |= more.0;
    }

    pub(crate) fn has(self, wait: Wait) -> bool {
        self.0 & 1 << wait as u32 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Wait> for Waits {
    fn from_iter<I: IntoIterator<Item = Wait>>(list: I) -> Self {
        let mut set = Self::default();
        list.into_iter().for_each(|wait| set.add(wait));
        set
    }
}

/// Returns the signature of a call path, given that of its caller. Parameters are not part of it.
pub(crate) fn signature(caller: u64, region: RegionRef, site: Option<CallingContextRef>) -> u64 {
    let mut mixer = Mixer::default();
    mixer.write_u64(caller);
    mixer.write_u64(u64::from(region.0) << 32 | u64::from(site.map_or(u32::MAX, |it| it.0)));
    // 0 is the root.
    mixer.finish().max(1)
}

/// Changes of the time of a location on one call path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathRule {
    /// True for calls at which waits are judged.
    pub(crate) is_call: bool,
    /// True for calls in which the process progresses operations of other processes.
    pub(crate) serves: bool,
    /// True for paths inside a call that starts or ends a runtime, such as `MPI_Init`.
    pub(crate) is_outside: bool,
    /// Hash of the regions and call sites of the path. It is the same at all locations, for all values of parameters
    /// and for all copies of a call.
    pub(crate) signature: u64,
    /// Factor by which the time on the path, not counting waits, is multiplied.
    pub(crate) factor: f64,
    /// Waits that are removed.
    pub(crate) without: Waits,
    /// Number of calls that are merged into one.
    pub(crate) joined: u64,
    /// Number of locks into which a lock is split.
    pub(crate) split: u64,
}

impl PathRule {
    /// Returns rules that change nothing for the paths of a location. `is_outside` returns `true` for regions that
    /// start or end a runtime, and `in_source` the site that stands for all copies of a call.
    pub(crate) fn list(
        paths: &[PathStep],
        is_outside: impl Fn(RegionRef) -> bool,
        in_source: impl Fn(CallingContextRef) -> CallingContextRef,
    ) -> Vec<Self> {
        let mut list: Vec<Self> = Vec::with_capacity(paths.len());
        for path in paths {
            let above = list.get(path.caller);
            let above = (above.map_or(0, |it| it.signature), above.is_some_and(|it| it.is_outside));
            let outside = matches!(path.step, Step::Region(region, _) if is_outside(region));
            list.push(Self {
                is_call: path.is_judged,
                serves: path.serves,
                is_outside: above.1 || outside,
                signature: match path.step {
                    Step::Root => 0,
                    Step::Region(region, site) => signature(above.0, region, site.map(&in_source)),
                    Step::Parameter(..) => above.0,
                },
                factor: 1.0,
                without: Waits::default(),
                joined: 1,
                split: 1,
            });
        }
        list
    }
}
