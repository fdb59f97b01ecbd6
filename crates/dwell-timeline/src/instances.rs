//! The worst instances of each finding.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use dwell_model::varint::{put, take};
use dwell_model::waits::Wait;

use crate::ids::{CallPath, Location};
use crate::slices::Instance;
use crate::span::{Span, Time};

/// Greatest number of instances that are kept for a finding.
pub const MOST_INSTANCES: usize = 1000;

/// A finding: a kind of wait on a call path.
pub(crate) type Finding = (CallPath, Wait);

/// Order of instances: the longest first, then the earliest, then by location.
type Rank = (u64, Reverse<(Time, Location)>);

/// The worst instances of all findings, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    findings: BTreeMap<Finding, Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    count: u64,
    /// The best of those that are kept is at the top.
    heap: BinaryHeap<Reverse<(Rank, Fields)>>,
}

/// Other fields of an instance, in any order that is fixed.
type Fields = (u64, u64, u64, u32);

fn key(it: &Instance) -> (Rank, Fields) {
    let rank = (it.nanoseconds, Reverse((it.span.from, it.location)));
    (rank, (it.call.from.0, it.call.to.0, it.span.to.0, it.culprit.0))
}

fn instance((rank, fields): (Rank, Fields)) -> Instance {
    let (nanoseconds, Reverse((from, location))) = rank;
    let (call_from, call_to, to, culprit) = fields;
    Instance {
        location,
        call: Span { from: Time(call_from), to: Time(call_to) },
        span: Span { from, to: Time(to) },
        nanoseconds,
        culprit: Location(culprit),
    }
}

/// The instances of one finding, which is a kind of wait on a call path. An instance is the wait of one call, with all its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instances {
    /// Number of calls that waited.
    pub count: u64,
    /// The worst of them, at most [`MOST_INSTANCES`], the worst first.
    pub worst: Vec<Instance>,
}

impl Keeper {
    pub(crate) fn add(&mut self, finding: Finding, instance: &Instance) {
        let kept = self.findings.entry(finding).or_default();
        kept.count += 1;
        kept.keep(instance);
    }

    pub(crate) fn join(&mut self, finding: Finding, more: &Instances) {
        let kept = self.findings.entry(finding).or_default();
        kept.count += more.count;
        more.worst.iter().for_each(|it| kept.keep(it));
    }

    /// Returns the findings in the order of their call paths.
    pub(crate) fn finish(self) -> BTreeMap<Finding, Instances> {
        let of = |kept: Kept| {
            let list = kept.heap.into_sorted_vec();
            Instances {
                count: kept.count,
                worst: list.into_iter().map(|it| instance(it.0)).collect(),
            }
        };
        self.findings.into_iter().map(|(finding, kept)| (finding, of(kept))).collect()
    }
}

impl Kept {
    fn keep(&mut self, instance: &Instance) {
        let key = Reverse(key(instance));
        if self.heap.len() < MOST_INSTANCES {
            self.heap.push(key);
        } else if self.heap.peek().is_some_and(|least| key < *least) {
            self.heap.pop();
            self.heap.push(key);
        }
    }
}

/// Appends the instances of all findings.
pub(crate) fn encode(findings: &BTreeMap<Finding, Instances>, to: &mut Vec<u8>) {
    put(to, findings.len() as u64);
    for (&(path, what), instances) in findings {
        put(to, path.0.into());
        put(to, what as u64);
        put(to, instances.count);
        put(to, instances.worst.len() as u64);
        for it in &instances.worst {
            let numbers = [
                u64::from(it.location.0),
                it.call.from.0,
                it.call.to.0,
                it.span.from.0,
                it.span.to.0,
                it.nanoseconds,
                it.culprit.0.into(),
            ];
            numbers.into_iter().for_each(|it| put(to, it));
        }
    }
}

/// Reads the instances of all findings. Returns `None` if they are damaged.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<BTreeMap<Finding, Instances>> {
    let mut findings = BTreeMap::new();
    for _ in 0..take(bytes)? {
        let path = CallPath(u32::try_from(take(bytes)?).ok()?);
        let what = *Wait::ALL.get(usize::try_from(take(bytes)?).ok()?)?;
        let (count, kept) = (take(bytes)?, take(bytes)?);
        let mut worst = Vec::new();
        for _ in 0..kept {
            let location = Location(u32::try_from(take(bytes)?).ok()?);
            let mut time = || take(bytes).map(Time);
            let call = Span { from: time()?, to: time()? };
            let span = Span { from: time()?, to: time()? };
            let nanoseconds = take(bytes)?;
            let culprit = Location(u32::try_from(take(bytes)?).ok()?);
            worst.push(Instance { location, call, span, nanoseconds, culprit });
        }
        findings.insert((path, what), Instances { count, worst });
    }
    Some(findings)
}
