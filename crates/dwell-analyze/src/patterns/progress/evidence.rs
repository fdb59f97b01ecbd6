//! Evidence that the network performs operations without help of their targets, and its consequences.
//!
//! An operation that moved at least one byte to or from another process, and that lies entirely inside an interval in
//! which its target was in no call that progresses, was performed by the network alone. That is evidence for operations
//! of its [`Class`] between the same two processes, and for no others: static data may need the target where the
//! symmetric heap does not, and large operations where small ones do not.
//!
//! Counter-evidence are operations that ended so soon after their target arrived that chance does not explain it
//! ([`aligned`](crate::patterns::progress::answers)). A class *depends on arrivals* if such operations have at least 80 % of
//! the time during which the targets of its operations were away, and if the sum of their unlikelihood is at least
//! [`UNLIKELY`].
//!
//! | evidence | depends on arrivals | operations that ended with an arrival | all others |
//! |---|---|---|---|
//! | none | yes | exact: the upper bound | both bounds |
//! | none | no | both bounds | both bounds |
//! | some | yes | exact if they outnumber the evidence; from 0 to the upper bound if they are more than a tenth of it; otherwise unexplained | unexplained |
//! | some | no | unexplained | unexplained |
//!
//! Calls that need not wait for any target, such as local flushes and flushes without operations, are classes of their own
//! ([`Class::needs_arrivals`]). They are no waits unless they depend on arrivals, for which half of the time suffices, and
//! otherwise their time is not unexplained for that reason.
//!
//! A pair of processes without evidence of its own, and without an operation that ended with an arrival, takes the
//! evidence of other pairs of processes on the same two nodes.
//!
//! Evidence is found at the target and counted at the origin, where waits are kept as sums for each call path,
//! target and class until all events have been read. Then each class is judged. So a verdict depends neither
//! on the order of events nor on windows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_log::class::Class;
use dwell_log::edge::{Ruling, Verdict};
use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, NodeNumber, Ordinal, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::hash::Mixed;
use crate::engine::instances::{Longest, NOTHING, WaitingCalls};
use crate::engine::message::{Message, Outbox};
use crate::engine::pattern::{Conclusion, Facts};
use crate::engine::regions::Span;
use crate::engine::transport::{Error, Transport};
use crate::protocol::progress_wait::Waited;

/// Greatest number of partners of a process that are judged one by one. Beyond it, partners are judged by node.
const MOST_PARTNERS: usize = 1024;

/// Number of operations of a class from one process to another that needed no help, as a message to the origin.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) origin: ProcessNumber,
    target: ProcessNumber,
    class: Class,
    count: u64,
}

impl Message for Evidence {}

/// Evidence that was found in a window.
#[derive(Debug, Default)]
pub(crate) struct Found {
    counts: HashMap<(ProcessNumber, ProcessNumber, Class), u64, Mixed>,
    /// Processes, and times at which operations of others were there.
    pub(crate) served: Vec<(ProcessNumber, Span)>,
}

impl Found {
    /// Counts an operation that no call of its target can have served.
    #[inline(never)]
    pub(crate) fn add(&mut self, origin: ProcessNumber, target: ProcessNumber, class: Class) {
        *self.counts.entry((origin, target, class)).or_default() += 1;
    }

    /// Adds evidence that another worker found.
    pub(crate) fn append(&mut self, other: Self) {
        for (key, count) in other.counts {
            *self.counts.entry(key).or_default() += count;
        }
        self.served.extend(other.served);
    }

    /// Sends all evidence to the origins.
    pub(crate) fn send(&mut self, out: &mut Outbox<Evidence>) {
        for ((origin, target, class), count) in self.counts.drain() {
            out.send(origin, Evidence { origin, target, class, count });
        }
    }
}

/// Identifies waits that are summed up together: the account, the target and the class of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) target: ProcessNumber,
    pub(crate) class: Class,
    /// True if the call waited for several targets; `target` is the one that arrived last.
    pub(crate) multi: bool,
}

/// Sums over waits: their bounds, and the time of their calls that other waits do not explain.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    /// Number of calls, which is less if some waits are further parts of others.
    calls: u64,
    low: Duration,
    high: Duration,
    left: Duration,
    /// Upper bound and start of the longest wait; of several that are equal, the first.
    longest: Duration,
    begin: Time,
}

impl Sum {
    fn add(&mut self, more: &Self) {
        self.count += more.count;
        self.calls += more.calls;
        self.low += more.low;
        self.high += more.high;
        self.left += more.left;
    }

    /// Returns the calls that waited for a process.
    fn calls(&self, partner: ProcessNumber, class: Class) -> WaitingCalls {
        let Self { calls: count, longest: amount, begin, .. } = *self;
        let window = class.memory().unwrap_or(NOTHING);
        match count {
            0 => WaitingCalls::NONE,
            count => WaitingCalls { count, longest: Longest { amount, begin, partner, window } },
        }
    }
}

/// Waits that are not judged yet.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    /// Waits that ended with an arrival of their target, and the sum of their unlikelihood.
    aligned: Sum,
    unlikely: u64,
    others: Sum,
}

impl Waits {
    fn add(&mut self, more: &Self) {
        self.aligned.add(&more.aligned);
        self.unlikely += more.unlikely;
        self.others.add(&more.others);
    }

    /// Returns `true` if the ends of operations of the class follow the arrivals of their targets. Where only that shows a
    /// wait, half of the time suffices: by chance it would be a twentieth.
    fn depends(&self, class: Class) -> bool {
        let all = u128::from(self.aligned.high.0) + u128::from(self.others.high.0);
        let part = if class.needs_arrivals() { 5 } else { 8 };
        10 * u128::from(self.aligned.high.0) >= part * all && self.unlikely >= UNLIKELY
    }
}

/// Least sum of unlikelihood: operations end with arrivals by chance with a probability of less than 1 %. The value is
/// the natural logarithm in thousandths.
const UNLIKELY: u64 = 4_600;

/// Waits of a process for the progress of others, and the evidence about their classes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    waits: HashMap<Key, Waits, Mixed>,
    evidence: HashMap<(ProcessNumber, Class), u64, Mixed>,
}

impl Ledger {
    /// Keeps a wait until its class is judged.
    #[inline]
    pub(crate) fn wait(&mut self, key: Key, waited: &Waited) {
        let Waited { enter: begin, low, high, left, aligned: unlikely, goes_on, .. } = *waited;
        let waits = self.waits.entry(key).or_default();
        let sum = match unlikely {
            0 => &mut waits.others,
            _ => {
                waits.unlikely += u64::from(unlikely);
                &mut waits.aligned
            }
        };
        sum.count += 1;
        sum.calls += u64::from(!goes_on);
        sum.low += low;
        sum.high += high;
        sum.left += left;
        if high > sum.longest || high == sum.longest && begin < sum.begin {
            (sum.longest, sum.begin) = (high, begin);
        }
    }

    /// Counts evidence.
    pub(crate) fn learn(&mut self, evidence: &Evidence) {
        let Evidence { target, class, count, .. } = *evidence;
        *self.evidence.entry((target, class)).or_default() += count;
    }

    /// Returns the memory in bytes that waits and evidence take.
    pub(crate) fn bytes(&self) -> usize {
        self.waits.capacity() * size_of::<(Key, Waits)>()
            + self.evidence.capacity() * size_of::<((ProcessNumber, Class), u64)>()
    }
}

/// A class of operations between two nodes for which some process has evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct NodePair {
    from: NodeNumber,
    to: NodeNumber,
    class: Class,
}

/// Classes of operations between nodes that were seen to need no help of their targets.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Nodes of the processes of some shards, or of a rank.
    own: BTreeSet<NodeNumber>,
    /// Classes of operations from these nodes.
    classes: BTreeSet<NodePair>,
    /// Number of pairs of nodes with evidence, over all ranks.
    pairs: u64,
}

/// Message to the rank that collects the evidence for operations from a node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum EvidenceMessage {
    /// A rank has processes on the node.
    Reader(NodeNumber, u32),
    /// A class needs no help.
    Class(NodePair),
}

impl Facts for Nodes {
    /// Brings the evidence for operations from each node to the ranks with processes on that node, by way of a rank that
    /// collects it. So no rank has the pairs of all nodes.
    fn join(transport: &Transport<'_>, parts: Vec<Self>) -> Result<Self, Error> {
        let mut all = Self::default();
        for mut part in parts {
            all.own.append(&mut part.own);
            all.classes.append(&mut part.classes);
        }
        let (rank, ranks) = transport.rank();
        let collector = |node: NodeNumber| node.index() % ranks.max(1);
        let readers =
            all.own.iter().map(|&it| (collector(it), EvidenceMessage::Reader(it, rank as u32)));
        let classes =
            all.classes.iter().map(|&it| (collector(it.from), EvidenceMessage::Class(it)));
        let mut readers_of: BTreeMap<NodeNumber, Vec<u32>> = BTreeMap::new();
        let mut collected: BTreeSet<NodePair> = BTreeSet::new();
        transport.scatter("evidence", readers.chain(classes), |message| match message {
            EvidenceMessage::Reader(node, rank) => readers_of.entry(node).or_default().push(rank),
            EvidenceMessage::Class(class) => collected.extend([class]),
        })?;
        let of_targets = collected.iter().filter(|it| !it.class.needs_arrivals());
        let pairs: BTreeSet<_> = of_targets.map(|it| (it.from, it.to)).collect();
        let pairs = transport.sum("pairs with evidence", pairs.len() as u64)?;
        let back = collected.iter().flat_map(|&class| {
            let readers = readers_of.get(&class.from).into_iter().flatten();
            readers.map(move |&rank| (rank as usize, class))
        });
        let mut classes: BTreeSet<NodePair> = BTreeSet::new();
        transport.scatter("evidence of nodes", back, |class| classes.extend([class]))?;
        Ok(Self { own: all.own, classes, pairs })
    }
}

impl Nodes {
    /// Returns the number of pairs of nodes with evidence.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs as usize
    }
}

/// Returns the classes for which some processes have evidence, by their nodes.
pub(super) fn nodes<'a>(
    world: &World,
    ledgers: impl Iterator<Item = (ProcessNumber, &'a Ledger)>,
) -> Nodes {
    let mut nodes = Nodes::default();
    for (process, ledger) in ledgers {
        let from = world.system.node(process);
        nodes.own.insert(from);
        nodes.classes.extend(ledger.evidence.keys().map(|&(target, class)| {
            let to = world.system.node(target);
            NodePair { from, to, class }
        }));
    }
    nodes
}

/// Partner for which a class of operations is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Peer {
    /// A single process.
    Process(ProcessNumber),
    /// All processes of a node, if there are too many partners.
    Node(NodeNumber),
}

/// Judges all classes of a process, and books its waits. Only its evidence is left in the ledger.
pub(super) fn conclude(
    at: &mut Conclusion<'_>,
    number: ProcessNumber,
    kept: &mut Ledger,
    nodes: &Nodes,
) {
    let ledger = std::mem::take(kept);
    let Conclusion { world, processes, blame, matrix, rulings } = at;
    let Some(process) = processes.get_mut(number) else { return };
    let waited = ledger.waits.keys().map(|key| key.target);
    let proven = ledger.evidence.keys().map(|&(target, _)| target);
    let partners = waited.chain(proven).collect::<BTreeSet<_>>().len();
    let peer = |target: ProcessNumber| match partners > MOST_PARTNERS {
        true => Peer::Node(world.system.node(target)),
        false => Peer::Process(target),
    };
    let mut evidence: BTreeMap<(Peer, Class), u64> = BTreeMap::new();
    for (&(target, class), count) in &ledger.evidence {
        *evidence.entry((peer(target), class)).or_default() += count;
    }
    let mut classes: BTreeMap<(Peer, Class), Waits> = BTreeMap::new();
    for (key, waits) in &ledger.waits {
        classes.entry((peer(key.target), key.class)).or_default().add(waits);
    }
    let from = world.system.node(number);
    let verdict = |target: ProcessNumber, class: Class| {
        let all = classes.get(&(peer(target), class)).copied().unwrap_or_default();
        let near = NodePair { from, to: world.system.node(target), class };
        match evidence.get(&(peer(target), class)) {
            None if all.aligned.count == 0 && nodes.classes.contains(&near) => Verdict::Independent,
            None if all.depends(class) => Verdict::Dependent,
            None if class.needs_arrivals() => Verdict::Independent,
            None => Verdict::Open,
            Some(count) if all.depends(class) && all.aligned.count > *count => Verdict::Mostly,
            Some(count) if all.depends(class) && 10 * all.aligned.count > *count => {
                Verdict::Sometimes
            }
            Some(_) => Verdict::Independent,
        }
    };
    let row = process.row;
    if let Some(rulings) = rulings {
        // Operations that never waited show how others would behave if their targets were not in a call.
        let known = ledger.evidence.keys();
        rulings.extend(known.map(|&(target, class)| {
            let verdict = verdict(target, class);
            Ruling { origin: number, target, class, verdict }
        }));
    }
    for (key, waits) in ledger.waits {
        let Key { location, account, target, class, multi } = key;
        let Some(location) = process.location_mut(location) else { continue };
        let verdict = verdict(target, class);
        if let Some(rulings) = rulings {
            rulings.push(Ruling { origin: number, target, class, verdict });
        }
        let Some(calls) = location.paths.calls_mut(account) else { continue };
        let mut give_back = |it: &Sum| calls.rests.give_back(it.count, it.left, it.high);
        if matches!(verdict, Verdict::Independent) {
            give_back(&waits.aligned);
        }
        if !matches!(verdict, Verdict::Open | Verdict::Dependent) {
            give_back(&waits.others);
        }
        let path = calls.path;
        let signature = location.paths.get(path).map_or(0, |node| node.signature);
        let (party, none) = (world.system.party(target), Duration::ZERO);
        let mut book = |what: Quantity, amount: Duration| {
            if amount > none {
                location.paths.book(path, what, amount.0);
                blame.add(signature, what, party, amount);
            }
        };
        let wait = if multi { Wait::WaitForProgressMulti } else { Wait::WaitForProgress };
        let (least, unexplained) = (Quantity::Wait(wait), Quantity::Unconfirmed(wait));
        let Waits { aligned, others, .. } = waits;
        // The lower bound, the upper bound, the part of it that follows from the rule alone, and unexplained time.
        let of = |sum: &Sum, is_aligned| verdict.bounds(is_aligned, (sum.low, sum.high));
        let (one, two) = (of(&aligned, true), of(&others, false));
        let [(low_one, high_one), (low_two, high_two)] = [one, two].map(Option::unwrap_or_default);
        let (low, high) = (low_one + low_two, high_one + high_two);
        let by_rule = match verdict {
            Verdict::Open => high,
            _ => high_two,
        };
        let other = aligned.high + others.high - high;
        book(least, low);
        book(Quantity::Margin(wait), high - low);
        book(Quantity::ByRule(wait), by_rule);
        if !class.needs_arrivals() {
            book(unexplained, other);
        }
        for (calls, is_aligned) in
            [(aligned.calls(target, class), true), (others.calls(target, class), false)]
        {
            let is_wait = verdict.bounds(is_aligned, (none, none)).is_some();
            let what = if is_wait { least } else { unexplained };
            if is_wait || !class.needs_arrivals() {
                location.paths.waited(path, what, calls);
            }
        }
        if high > none
            && let Some(cell) = matrix.cell(row, party, class.kind())
        {
            cell.wait += high.0;
        }
    }
    kept.evidence = ledger.evidence;
}
