//! The call tree of a location, with the quantities booked on each path.
//!
//! A path is a sequence of regions, each with the call site if the archive has it. Every location has a tree of its own
//! during the replay, so that threads do not wait for each other; at the end all trees become one.
//!
//! A step may also be a parameter of the program with one of its values.

use std::collections::HashMap;

use dwell_log::quantity::Quantity;
use dwell_model::profile::VALUES;
use dwell_trace::contexts::Contexts;
use dwell_trace::counters::Number;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::names::Setting;
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use otf2::id::{CallingContextRef, MetricRef, ParameterRef, RegionRef};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::{Account, Calls, ExpectedTimes, Histogram, OperationEnd, Sort};
use crate::engine::hash::Mixed;
use crate::engine::instances::WaitingCalls;
use crate::engine::recent_calls::RecentCalls;
use crate::engine::regions::Span;
use crate::engine::sequences::{Sequence, SequenceCounts};

/// Number of a path at its location.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub(crate) struct Path(pub(crate) u32);

impl Path {
    /// The root, which is the parent of all outermost calls.
    pub(crate) const TOP: Self = Self(0);
}

/// Sums over the values of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counted {
    pub(crate) counter: MetricRef,
    pub(crate) values: u64,
    pub(crate) sum: Number,
    pub(crate) least: Number,
    pub(crate) largest: Number,
}

impl Counted {
    /// Adds more values of the same counter.
    pub(crate) fn add(&mut self, more: &Self) {
        self.values += more.values;
        self.sum = self.sum.plus(more.sum);
        if more.least.to_f64() < self.least.to_f64() {
            self.least = more.least;
        }
        if more.largest.to_f64() > self.largest.to_f64() {
            self.largest = more.largest;
        }
    }
}

/// A path with everything booked on it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) parent: Path,
    pub(crate) region: RegionRef,
    pub(crate) site: CallingContextRef,
    /// The parameter, if this is not a call.
    pub(crate) setting: Option<Setting>,
    /// The child that was used last, and the two siblings that followed this path last: calls often repeat in the same
    /// order, and a loop ends differently from how it goes on.
    recent: u32,
    followers: [u32; 2],
    /// Number of the account that was used last, or 0.
    account: u32,
    pub(crate) visits: u64,
    /// Exclusive time in nanoseconds.
    pub(crate) time: Duration,
    /// Operations and bytes, which every call that communicates changes.
    counts: [u64; COUNTS.len()],
    /// Lower bound of the excess of the longest call over others of its class, without waits.
    pub(crate) longest: Duration,
    /// Hash of the path that is equal at every location, whatever the order of its calls.
    pub(crate) signature: u64,
    /// All other quantities.
    rest: Vec<(Quantity, u64)>,
    /// Counters that had values on this path.
    pub(crate) counted: Vec<Counted>,
}

/// Quantities that are stored in an array of their own.
const COUNTS: [Quantity; 5] =
    [Quantity::Puts, Quantity::Gets, Quantity::Atomics, Quantity::BytesPut, Quantity::BytesGet];

impl Node {
    fn new(parent: Path, region: RegionRef, site: CallingContextRef, signature: u64) -> Self {
        Self {
            parent,
            region,
            site,
            setting: None,
            recent: 0,
            followers: [0; 2],
            account: 0,
            visits: 0,
            time: Duration::ZERO,
            counts: [0; COUNTS.len()],
            longest: Duration::ZERO,
            signature,
            rest: Vec::new(),
            counted: Vec::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, what: Quantity, amount: u64) {
        if let Some(sum) = self.counts.get_mut(what.index()) {
            *sum += amount;
        }
    }

    /// Returns the sum of a quantity on this path.
    pub(crate) fn get(&self, what: Quantity) -> u64 {
        match self.counts.get(what.index()) {
            Some(sum) => *sum,
            None => self.rest.iter().find(|booked| booked.0 == what).map_or(0, |booked| booked.1),
        }
    }

    /// Returns all quantities with a sum above 0.
    pub(crate) fn booked(&self) -> impl Iterator<Item = (Quantity, u64)> {
        let counts = COUNTS.into_iter().zip(self.counts).filter(|count| count.1 > 0);
        counts.chain(self.rest.iter().copied())
    }
}

/// Number of call sites whose callers are found without a look-up.
const RECENT_WAYS: usize = 8;

/// The call tree of a location.
#[derive(Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    /// Accounts of runtime calls, by path and sort.
    accounts: Vec<Calls>,
    recent_calls: RecentCalls,
    /// Number of waits that were longer than the time left in their calls. It must be 0.
    pub(crate) excess: u64,
    children: HashMap<(Path, RegionRef, CallingContextRef), u32, Mixed>,
    settings: HashMap<(Path, Setting), Path, Mixed>,
    /// First begin and last end of each instance of a phase.
    instances: HashMap<Path, Span, Mixed>,
    /// End of the sequence of functions that leads to a call, by its beginning and the call site.
    ways: HashMap<(Path, CallingContextRef), Path, Mixed>,
    /// Some of these, by the last bits of the call site: a loop has few call sites.
    recent_ways: [Option<(Path, CallingContextRef, Path)>; RECENT_WAYS],
    /// Calls that waited, by path and kind of wait.
    waiting: Vec<Vec<(Quantity, WaitingCalls)>>,
    /// Number of parameter values that are kept apart.
    values: usize,
    /// Operations since the location last synchronised.
    pub(crate) sequence: Sequence,
}

impl Default for Paths {
    fn default() -> Self {
        let (region, site) = (RegionRef::UNDEFINED, CallingContextRef::UNDEFINED);
        let top = Node::new(Path::TOP, region, site, 0);
        let (children, settings, ways) = Default::default();
        Self {
            nodes: vec![top],
            accounts: Vec::new(),
            recent_calls: RecentCalls::default(),
            excess: 0,
            children,
            settings,
            instances: HashMap::default(),
            ways,
            recent_ways: [None; RECENT_WAYS],
            waiting: Vec::new(),
            values: 0,
            sequence: Sequence::default(),
        }
    }
}

#[cold]
#[inline(never)]
fn book_first(node: &mut Node, what: Quantity, amount: u64) {
    node.rest.push((what, amount));
}

/// Adds the time of a call to its account, now or when its waits are known.
#[inline(always)]
fn add(recent: &mut RecentCalls, account: Account, calls: &mut Calls, time: Duration) {
    if !recent.keep(account.0, time) {
        calls.rests.add(time);
    }
}

/// Mixes the bits of a number.
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Paths {
    /// Returns the path for a call of a region from a site inside `parent`, and creates it if it is new.
    #[inline(always)]
    pub(crate) fn child(
        &mut self,
        parent: Path,
        region: RegionRef,
        site: CallingContextRef,
    ) -> Path {
        let recent = self.nodes.get(parent.0 as usize).map_or(0, |node| node.recent);
        if recent != 0
            && let Some(node) = self.nodes.get(recent as usize)
        {
            if node.region == region && node.site == site {
                return Path(recent);
            }
            for follower in node.followers {
                if follower != 0
                    && let Some(node) = self.nodes.get(follower as usize)
                    && node.region == region
                    && node.site == site
                {
                    if let Some(parent) = self.nodes.get_mut(parent.0 as usize) {
                        parent.recent = follower;
                    }
                    return Path(follower);
                }
            }
        }
        self.search(parent, region, site)
    }

    #[cold]
    #[inline(never)]
    fn search(&mut self, parent: Path, region: RegionRef, site: CallingContextRef) -> Path {
        let next = self.nodes.len() as u32;
        let found = *self.children.entry((parent, region, site)).or_insert(next);
        if found == next {
            let step = u64::from(region.0) << 32 | u64::from(site.0);
            let signature = self.signature(parent, step.wrapping_add(1));
            self.nodes.push(Node::new(parent, region, site, signature));
        }
        let before = match self.nodes.get_mut(parent.0 as usize) {
            Some(node) => std::mem::replace(&mut node.recent, found),
            None => 0,
        };
        if before != 0
            && let Some(node) = self.nodes.get_mut(before as usize)
        {
            let [last, _] = node.followers;
            node.followers = [found, last];
        }
        Path(found)
    }

    /// Returns the path of a call from a site inside another path, with the functions that lead to the site.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        contexts: &Contexts,
        parent: Path,
        region: RegionRef,
        site: CallingContextRef,
    ) -> Path {
        if contexts.any() {
            return self.call_through(contexts, parent, region, site);
        }
        self.child(parent, region, site)
    }

    #[inline(never)]
    fn call_through(
        &mut self,
        contexts: &Contexts,
        parent: Path,
        region: RegionRef,
        site: CallingContextRef,
    ) -> Path {
        let like = contexts.like(site);
        let recent = self.recent_ways.get(like.0 as usize % RECENT_WAYS).copied().flatten();
        let caller = match recent {
            Some((from, by, caller)) if from == parent && by == like => caller,
            _ => self.way(contexts, parent, site, like),
        };
        self.child(caller, region, like)
    }

    /// Returns the end of the sequence of functions that leads to a call site, and creates it if it is new.
    #[inline(never)]
    fn way(
        &mut self,
        contexts: &Contexts,
        parent: Path,
        site: CallingContextRef,
        like: CallingContextRef,
    ) -> Path {
        let caller = match self.ways.get(&(parent, like)) {
            Some(&known) => known,
            None => {
                let way = contexts.way(site).into_iter();
                let caller =
                    way.fold(parent, |path, (region, site)| self.child(path, region, site));
                self.ways.insert((parent, like), caller);
                caller
            }
        };
        if let Some(place) = self.recent_ways.get_mut(like.0 as usize % RECENT_WAYS) {
            *place = Some((parent, like, caller));
        }
        caller
    }

    fn signature(&self, parent: Path, step: u64) -> u64 {
        let above = self.nodes.get(parent.0 as usize).map_or(0, |node| node.signature);
        mixed(above.rotate_left(17) ^ mixed(step))
    }

    /// Returns the path on which a parameter has a value. If too many values are kept apart, all others share one path,
    /// as in the recorder.
    pub(crate) fn set(&mut self, parent: Path, parameter: ParameterRef, value: u64) -> Path {
        let one = Setting { parameter, value: Some(value) };
        match self.settings.get(&(parent, one)) {
            Some(&known) => known,
            None if self.values < VALUES => {
                self.values += 1;
                self.setting(parent, one)
            }
            None => self.setting(parent, Setting { parameter, value: None }),
        }
    }

    /// Returns the path of a parameter value, regardless of the number of others.
    pub(crate) fn setting(&mut self, parent: Path, setting: Setting) -> Path {
        let next = Path(self.nodes.len() as u32);
        let found = *self.settings.entry((parent, setting)).or_insert(next);
        if found == next {
            let value = setting.value.map_or(0, |value| mixed(value.wrapping_add(2)));
            let step = (u64::from(setting.parameter.0) << 32 | 0x5e7).rotate_left(7) ^ value;
            let signature = self.signature(parent, step);
            let (region, site) = (RegionRef::UNDEFINED, CallingContextRef::UNDEFINED);
            let node =
                Node { setting: Some(setting), ..Node::new(parent, region, site, signature) };
            self.nodes.push(node);
        }
        found
    }

    /// Records that an instance of a phase begins.
    pub(crate) fn begin_instance(&mut self, path: Path, time: Time) {
        let span = Span { begin: time, end: time };
        self.instances.entry(path).or_insert(span);
    }

    /// Records that a parameter is not set any more, which ends an instance if it is one.
    pub(crate) fn end_instance(&mut self, path: Path, time: Time) {
        if let Some(span) = self.instances.get_mut(&path) {
            span.end = span.end.max(time);
        }
    }

    /// Returns the first begin and the last end of an instance of a phase.
    pub(crate) fn instance(&self, path: Path) -> Option<Span> {
        self.instances.get(&path).copied()
    }

    /// Adds values of a counter to a path.
    pub(crate) fn counted(&mut self, path: Path, it: Counted) {
        let Some(node) = self.nodes.get_mut(path.0 as usize) else { return };
        match node.counted.iter_mut().find(|known| known.counter == it.counter) {
            Some(known) => known.add(&it),
            None => node.counted.push(it),
        }
    }

    /// Adds one call with its exclusive time.
    #[inline(always)]
    pub(crate) fn visit(&mut self, path: Path, time: Duration) {
        if let Some(node) = self.nodes.get_mut(path.0 as usize) {
            node.visits += 1;
            node.time += time;
        }
    }

    /// Adds calls whose time is counted elsewhere.
    pub(crate) fn visits(&mut self, path: Path, calls: u64) {
        if let Some(node) = self.nodes.get_mut(path.0 as usize) {
            node.visits += calls;
        }
    }

    /// Adds the time of a runtime call, waits included, to an account, and returns the account.
    #[inline(always)]
    pub(crate) fn charge(&mut self, path: Path, sort: Sort, time: Duration) -> Account {
        let recent = self.nodes.get(path.0 as usize).map_or(0, |node| node.account);
        let known = self.accounts.get_mut(recent.wrapping_sub(1) as usize);
        if let Some(account) = known
            && account.sort == sort
        {
            add(&mut self.recent_calls, Account(recent), account, time);
            return Account(recent);
        }
        let account = self.account(path, sort);
        if let Some(calls) = self.accounts.get_mut(account.0.wrapping_sub(1) as usize) {
            add(&mut self.recent_calls, account, calls, time);
        }
        account
    }

    /// Adds an operation on another process, which may be in a row with others, to an account. `recent` is the account
    /// of its path that was used last.
    #[inline(always)]
    pub(crate) fn charge_operation(
        &mut self,
        (path, recent): (Path, u32),
        sort: Sort,
        when: Span,
        target: ProcessNumber,
        end: OperationEnd,
    ) -> Account {
        let known = self.accounts.get_mut(recent.wrapping_sub(1) as usize);
        if let Some(calls) = known
            && calls.sort == sort
        {
            let account = Account(recent);
            add(&mut self.recent_calls, account, calls, when.length());
            self.sequence.operation(when, account, target, end, &mut calls.in_sequence);
            return account;
        }
        self.charge_operation_apart(path, sort, when, target, end)
    }

    #[inline(never)]
    fn charge_operation_apart(
        &mut self,
        path: Path,
        sort: Sort,
        when: Span,
        target: ProcessNumber,
        end: OperationEnd,
    ) -> Account {
        let account = self.account(path, sort);
        let calls = self.accounts.get_mut(account.0.wrapping_sub(1) as usize);
        if let Some(calls) = calls {
            add(&mut self.recent_calls, account, calls, when.length());
            self.sequence.operation(when, account, target, end, &mut calls.in_sequence);
        }
        account
    }

    /// Checks whether an operation on another process that has been charged is in a row with others.
    pub(crate) fn follow(
        &mut self,
        account: Account,
        when: Span,
        target: ProcessNumber,
        end: OperationEnd,
    ) {
        let calls = self.accounts.get_mut(account.0.wrapping_sub(1) as usize);
        if let Some(calls) = calls {
            self.sequence.operation(when, account, target, end, &mut calls.in_sequence);
        }
    }

    /// Checks whether a charged call that completes operations repeats an earlier one.
    pub(crate) fn complete(&mut self, account: Account, when: Span, path: Path) {
        if self.sequence.complete(when, path)
            && let Some(calls) = self.calls_mut(account)
        {
            calls.in_sequence.again += 1;
        }
    }

    /// Ends or continues rows of operations after a call that synchronises.
    #[inline(always)]
    pub(crate) fn synchronise(&mut self, traits: Traits, account: Account, when: Span, path: Path) {
        if traits.has(Traits::INTERRUPTS) {
            self.sequence.interrupt();
        } else if traits.has(Traits::COMPLETION) {
            self.complete(account, when, path);
        } else if traits.has(Traits::TAKES_LOCK) {
            self.sequence.lock(when);
        }
    }

    /// Returns the account for calls of a path and sort, and creates it if it is new.
    #[inline(never)]
    pub(crate) fn account(&mut self, path: Path, sort: Sort) -> Account {
        let new = self.accounts.len() as u32 + 1;
        let Some(node) = self.nodes.get_mut(path.0 as usize) else { return Account::NONE };
        let recent = std::mem::replace(&mut node.account, new);
        let mut at = recent;
        while let Some(account) = self.accounts.get(at.wrapping_sub(1) as usize) {
            if account.sort == sort {
                node.account = at;
                return Account(at);
            }
            at = account.next;
            if at == recent {
                break;
            }
        }
        let before = self.accounts.get_mut(recent.wrapping_sub(1) as usize);
        let next = before.map_or(new, |before| std::mem::replace(&mut before.next, new));
        let (rests, in_sequence) = (Histogram::default(), SequenceCounts::default());
        self.accounts.push(Calls { path, sort, next, rests, in_sequence });
        Account(new)
    }

    /// Returns all accounts of the location.
    pub(crate) fn accounts(&self) -> &[Calls] {
        &self.accounts
    }

    pub(crate) fn calls(&self, account: Account) -> Option<&Calls> {
        self.accounts.get(account.0.wrapping_sub(1) as usize)
    }

    pub(crate) fn calls_mut(&mut self, account: Account) -> Option<&mut Calls> {
        self.accounts.get_mut(account.0.wrapping_sub(1) as usize)
    }

    /// Moves a wait out of the rest of a call that had `left` nanoseconds left.
    #[inline]
    pub(crate) fn take_wait(&mut self, account: Account, wait: Duration, left: Duration) {
        let is_fresh = self.recent_calls.take(account.0, left);
        if let Some(calls) = self.calls_mut(account) {
            match is_fresh {
                true => calls.rests.add(left.saturating_sub(wait)),
                false => calls.rests.take(left, wait),
            }
        }
        self.excess += u64::from(wait > left);
    }

    /// Adds the times of calls to the histograms of their accounts if this has not been done yet. The location has to do
    /// so before its next window, and before histograms are read.
    #[inline]
    pub(crate) fn settle(&mut self) {
        for (account, time) in self.recent_calls.drain() {
            if let Some(calls) = self.accounts.get_mut(account.wrapping_sub(1) as usize) {
                calls.rests.add(time);
            }
        }
    }

    /// Divides the time of all calls beyond their waits and books the parts, given the time that calls of each sort
    /// need. Shows the calls of each account with their rest and with the part of the rest that is transfer.
    pub(crate) fn divide(
        &mut self,
        times: &ExpectedTimes,
        mut show: impl FnMut(&Calls, Duration, Duration),
    ) {
        let accounts = std::mem::take(&mut self.accounts);
        for calls in &accounts {
            let expected = times.of(calls.sort);
            let parts = calls.divide(expected);
            let [(_, transfer), (_, unexplained), _] = parts;
            show(calls, transfer + unexplained, transfer);
            for (what, time) in parts {
                self.book(calls.path, what, time.0);
            }
            if let Some(node) = self.nodes.get_mut(calls.path.0 as usize) {
                node.longest =
                    node.longest.max(calls.rests.longest_beyond(expected.unwrap_or_default()));
            }
        }
    }

    /// Adds one operation, and one call if its length is given. Returns the number of the account that the path used
    /// last, or 0.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        path: Path,
        what: Quantity,
        (sent, received): (u64, u64),
        call: Option<Duration>,
    ) -> u32 {
        let Some(node) = self.nodes.get_mut(path.0 as usize) else { return 0 };
        node.add(what, 1);
        node.add(Quantity::BytesPut, sent);
        node.add(Quantity::BytesGet, received);
        if let Some(time) = call {
            node.visits += 1;
            node.time += time;
        }
        node.account
    }

    /// Adds operations that were summed up, with the bytes that they sent and received together.
    pub(crate) fn count_all(
        &mut self,
        path: Path,
        what: Quantity,
        count: u64,
        (sent, received): (u64, u64),
    ) {
        if let Some(node) = self.nodes.get_mut(path.0 as usize) {
            node.add(what, count);
            node.add(Quantity::BytesPut, sent);
            node.add(Quantity::BytesGet, received);
        }
    }

    /// Adds an amount to a quantity other than operations and bytes.
    #[inline(always)]
    pub(crate) fn book(&mut self, path: Path, what: Quantity, amount: u64) {
        if amount == 0 {
            return;
        }
        if let Some(node) = self.nodes.get_mut(path.0 as usize) {
            for (quantity, sum) in &mut node.rest {
                if *quantity == what {
                    *sum += amount;
                    return;
                }
            }
            book_first(node, what, amount);
        }
    }

    /// Counts calls that waited.
    #[inline]
    pub(crate) fn waited(&mut self, path: Path, what: Quantity, calls: WaitingCalls) {
        let known = self.waiting.get_mut(path.0 as usize);
        match known.and_then(|list| list.iter_mut().find(|it| it.0 == what)) {
            Some(known) => known.1.add(calls),
            None => self.waited_first(path, what, calls),
        }
    }

    #[cold]
    #[inline(never)]
    fn waited_first(&mut self, path: Path, what: Quantity, calls: WaitingCalls) {
        let at = path.0 as usize;
        if calls.count == 0 || at >= self.nodes.len() {
            return;
        }
        if self.waiting.len() <= at {
            self.waiting.resize_with(at + 1, Vec::new);
        }
        if let Some(list) = self.waiting.get_mut(at) {
            list.push((what, calls));
        }
    }

    /// Returns the calls of a path that waited.
    pub(crate) fn waiting(&self, path: Path, what: Quantity) -> WaitingCalls {
        let list = self.waiting.get(path.0 as usize).map_or(&[][..], Vec::as_slice);
        list.iter().find(|it| it.0 == what).map_or(WaitingCalls::NONE, |it| it.1)
    }

    /// Returns all paths except the root, parents before children, in the order of their first call.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Path, &Node)> {
        (1..).map(Path).zip(self.nodes.iter().skip(1))
    }

    /// Returns the path from which a path is called.
    pub(crate) fn parent(&self, path: Path) -> Path {
        self.get(path).map_or(Path::TOP, |node| node.parent)
    }

    pub(crate) fn get(&self, path: Path) -> Option<&Node> {
        self.nodes.get(path.0 as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_values_are_one() {
        let mut paths = Paths::default();
        let (one, other) = (ParameterRef(3), ParameterRef(4));
        let mut set = |parameter, value| paths.set(Path::TOP, parameter, value);
        let rows: Vec<Path> = (0..VALUES as u64 + 10).map(|value| set(one, value)).collect();
        let (apart, together) = rows.split_at(VALUES);
        assert!(apart.is_sorted_by(|a, b| a < b));
        assert!(together.iter().all(|path| *path == together[0] && *path > apart[VALUES - 1]));
        assert_eq!(set(one, 0), apart[0]);
        assert_ne!(set(other, 0), together[0]);
    }
}
