//! Writes the result as a Cube report.
//!
//! The tree of metrics follows Scalasca: below `time` are the layers, below a layer the classes of calls, and below a
//! class the waits. The names for MPI are Scalasca's; other layers have the same names after their own prefix. Values
//! of a metric contain those of the metrics below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use cubex::{
    Cnode, CnodeId, MetaBuilder, Metric, MetricId, MetricWriter, Owner, Region, RegionId,
    ReportWriter, Rows, ValuesPlace,
};
use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_model::waits::{Class, TREE, Wait};
use dwell_trace::counters::Counters;
use dwell_trace::ids::{CallPathNumber, Ordinal};
use dwell_trace::names;
use dwell_trace::names::Setting;
use dwell_trace::world::World;
use otf2::id::MetricRef;
use otf2::read::Definitions;

use crate::engine::paths::{Counted, Node};
use crate::output::tree::{Branch, Totals, Tree};
use crate::output::{system_tree, topologies};

/// Source of the values of a metric.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// All time, the time of a layer, or the time of some of its classes.
    Time(Option<Layer>, &'static [Class]),
    /// Number of calls.
    Visits,
    /// The shortest and the longest call, where they are known.
    Shortest,
    Longest,
    /// A wait in nanoseconds, on paths of a layer and some classes.
    Wait(Layer, &'static [Class], Wait),
    /// A sum of times in nanoseconds, on paths of a layer.
    Sum(Layer, &'static [Q]),
    /// A sum of times in nanoseconds, on any path.
    AnySum(&'static [Q]),
    /// A count, on paths of a layer.
    Count(Layer, Q),
    /// A statistic over the values of a counter.
    Counter(MetricRef, Counting),
}

/// Statistic over the values of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    Sum,
    Values,
    Least,
    Largest,
}

/// A metric of the report.
struct Row {
    name: String,
    title: String,
    description: &'static str,
    unit: String,
    parent: Option<usize>,
    source: Source,
}

/// End of the name of the metric with the upper bounds of waits for progress.
const UPPER_BOUND: &str = "wait_for_progress_upper_bound";

/// A metric outside the tree of time: its name, title and description, and the quantities that it sums up.
type BesideRow = (&'static str, &'static str, &'static str, &'static [Q]);

/// Metrics outside the tree of time: transfer, unexplained time, bounds, and waits that are in doubt.
const BESIDE: &[BesideRow] = &[
    (
        "transfer",
        "Transfer",
        "Time that calls take when nothing holds them up: what is left of a call without its waits, but no more than the \
         fastest tenth of the calls of its class leaves",
        &[Q::Transfer],
    ),
    (
        "unexplained",
        "Unexplained",
        "Time of calls beyond their waits and their transfer. Waits, transfer and unexplained time add up to the time of a \
         call path",
        &[Q::Unexplained],
    ),
    (
        "unexplained_too_few",
        "Unexplained, too few to compare",
        "The part of the unexplained time that belongs to calls of which there are too few to say how long they take",
        &[Q::TooFew],
    ),
    (
        UPPER_BOUND,
        "Wait for Progress, upper bound",
        "Waits for progress of one or several targets, if all that may be a wait is one",
        &[
            Q::Wait(Wait::WaitForProgress),
            Q::Margin(Wait::WaitForProgress),
            Q::Wait(Wait::WaitForProgressMulti),
            Q::Margin(Wait::WaitForProgressMulti),
        ],
    ),
    (
        "wait_for_progress_unconfirmed",
        "Wait for Progress, unconfirmed",
        "Time in operations during which their targets were in no call that progresses, although operations of the same \
         class were seen to need no help of their targets",
        &[Q::Unconfirmed(Wait::WaitForProgress), Q::Unconfirmed(Wait::WaitForProgressMulti)],
    ),
    (
        "late_signal_inferred",
        "Late Signal, inferred",
        "Waits for a signal where it is not recorded which address was waited on",
        &[Q::Inferred(Wait::LateSignal)],
    ),
    (
        "late_reply_inferred",
        "Late Reply, inferred",
        "Waits for a reply in calls in which several handlers ran, so that it is not recorded which one was waited for",
        &[Q::Inferred(Wait::LateReply)],
    ),
    (
        "polling",
        "Polling loops",
        "Time from the first to the last call of loops that test again and again. The process computes meanwhile",
        &[Q::PollingTime],
    ),
    (
        "lock_competition_inferred",
        "Lock Contention, inferred",
        "Lock contention where it is not recorded when the lock was obtained",
        &[Q::Inferred(Wait::LockContention)],
    ),
];

/// Metrics about causes of waits: the place of the metric above among them, and the rest as for [`BESIDE`].
const CAUSES: &[(Option<usize>, BesideRow)] = &[
    (
        None,
        (
            "delay_costs",
            "Delay costs",
            "Waits of other processes that what was done on this call path caused, by lower bounds",
            &[Q::DelayDirect, Q::DelayPropagated],
        ),
    ),
    (
        Some(0),
        (
            "delay_costs_direct",
            "Direct delay costs",
            "Waits of other processes for this one",
            &[Q::DelayDirect],
        ),
    ),
    (
        Some(0),
        (
            "delay_costs_propagated",
            "Propagated delay costs",
            "Waits for processes that waited for this one and passed its delay on",
            &[Q::DelayPropagated],
        ),
    ),
    (
        None,
        (
            "delay_costs_margin",
            "Delay costs, margin",
            "Time by which waits of other processes for this one may be longer than their lower bounds",
            &[Q::DelayMargin],
        ),
    ),
    (
        None,
        (
            "critical_path",
            "Critical path",
            "Time on the path through all processes that determines the length of the run. The sum over all processes is \
             that length",
            &[Q::CriticalPath],
        ),
    ),
];

/// Metrics of counts and volumes.
const COUNTS: &[(&str, &str, &str, Q)] = &[
    ("comms_rma_puts", "Put operations", "occ", Q::Puts),
    ("comms_rma_gets", "Get operations", "occ", Q::Gets),
    ("comms_rma_atomics", "Atomic operations", "occ", Q::Atomics),
    ("bytes_put", "Bytes put", "bytes", Q::BytesPut),
    ("bytes_get", "Bytes fetched", "bytes", Q::BytesGet),
    ("comms_send", "Messages sent", "occ", Q::Sends),
    ("comms_recv", "Messages received", "occ", Q::Receives),
    ("bytes_sent", "Bytes of messages sent", "bytes", Q::BytesSent),
    ("bytes_rcvd", "Bytes of messages received", "bytes", Q::BytesReceived),
    ("comms_coll", "Collective operations", "occ", Q::Collectives),
    ("polling_calls", "Calls in polling loops", "occ", Q::PollingCalls),
];

/// Metrics of counters: the beginning of the name, the end of the title, and the statistic.
const COUNTERS: [(&str, &str, Counting); 4] = [
    ("counter:", "", Counting::Sum),
    ("counter_values:", ", number of values", Counting::Values),
    ("counter_least:", ", the least", Counting::Least),
    ("counter_largest:", ", the largest", Counting::Largest),
];

fn rows(layers: &[Layer], counters: &Counters) -> Vec<Row> {
    let mut rows = vec![Row {
        name: "time".into(),
        title: "Time".into(),
        description: "",
        unit: "sec".into(),
        parent: None,
        source: Source::Time(None, Class::ALL),
    }];
    for &layer in layers {
        let (prefix, of) = (layer.name(), layer.title());
        let mut above = vec![0];
        let mut push = |depth: usize, name: &str, title: &str, source| {
            above.truncate(depth + 1);
            let parent = above.last().copied();
            above.push(rows.len());
            rows.push(Row {
                name: if name.is_empty() { prefix.into() } else { format!("{prefix}_{name}") },
                title: format!("{of} {title}").trim_end().into(),
                description: "",
                unit: "sec".into(),
                parent,
                source,
            });
        };
        for group in TREE {
            let source = Source::Time(Some(layer), group.classes);
            push(group.depth, group.metric, group.title, source);
            for (depth, wait, place) in group.waits() {
                let source = Source::Wait(layer, place.classes, wait);
                push(depth, place.metric, place.title, source);
            }
        }
    }
    let beside = |name: String, title: String, unit: &str, source| {
        let (unit, parent, description) = (unit.into(), None, "");
        Row { name, title, description, unit, parent, source }
    };
    rows.push(beside("visits".into(), "Visits".into(), "occ", Source::Visits));
    rows.push(beside("min_time".into(), "Shortest call".into(), "sec", Source::Shortest));
    rows.push(beside("max_time".into(), "Longest call".into(), "sec", Source::Longest));
    for &layer in layers {
        let (prefix, of) = (layer.name(), layer.title());
        for &(name, title, description, sum) in BESIDE {
            let source = Source::Sum(layer, sum);
            let (name, title) = (format!("{prefix}_{name}"), format!("{of} {title}"));
            rows.push(Row { description, ..beside(name, title, "sec", source) });
        }
        for &(name, title, unit, what) in COUNTS {
            // The names of Scalasca are those of MPI.
            let name = match layer.has_messages() {
                true => name.to_owned(),
                false => format!("{prefix}_{name}"),
            };
            rows.push(beside(name, format!("{of} {title}"), unit, Source::Count(layer, what)));
        }
    }
    let first = rows.len();
    for &(above, (name, title, description, sum)) in CAUSES {
        let row = beside(name.into(), title.into(), "sec", Source::AnySum(sum));
        rows.push(Row { description, parent: above.map(|above| first + above), ..row });
    }
    let source = Source::AnySum(&[Q::MessageDelay]);
    let row = beside("message_delay".into(), "Delay of active messages".into(), "sec", source);
    let description = "Time from the calls that sent active messages to the begin of their handlers, on the call paths of \
                       the handlers. Nobody need have waited meanwhile";
    rows.push(Row { description, ..row });
    let mut names = BTreeSet::new();
    for counter in counters.iter() {
        // Counters of one name that differ in their units or types are told apart.
        let mut of = counter.name.clone();
        while !names.insert(of.clone()) {
            of.push('\'');
        }
        for (prefix, end, what) in COUNTERS {
            let unit = if what == Counting::Values { "occ" } else { counter.unit.as_str() };
            let source = Source::Counter(counter.id, what);
            rows.push(beside(format!("{prefix}{of}"), format!("{of}{end}"), unit, source));
        }
    }
    rows
}

impl Source {
    /// Returns `true` if a path of this class can have values of the metric.
    fn applies(self, class: Option<(Layer, Class)>, own: Option<Layer>) -> bool {
        match self {
            Self::Time(None, _)
            | Self::Visits
            | Self::Shortest
            | Self::Longest
            | Self::AnySum(_)
            | Self::Counter(..) => true,
            Self::Time(Some(layer), classes) | Self::Wait(layer, classes, _) => {
                class.is_some_and(|(of, class)| of == layer && classes.contains(&class))
            }
            Self::Sum(layer, _) => class.is_some_and(|(of, _)| of == layer),
            Self::Count(layer, _) => own == Some(layer),
        }
    }

    /// Returns `true` if a path has a value at any location, by the sums over all of them.
    pub(crate) fn is_in(self, totals: &Totals) -> bool {
        match self {
            Self::Time(..) => totals.time > 0,
            Self::Visits => totals.visits > 0,
            Self::Wait(_, _, wait) => totals.get(Q::Wait(wait)) > 0,
            Self::Sum(_, all) | Self::AnySum(all) => all.iter().any(|&what| totals.get(what) > 0),
            Self::Count(_, what) => totals.get(what) > 0,
            Self::Shortest | Self::Longest => false,
            Self::Counter(id, _) => totals.has_counter(id),
        }
    }

    /// Returns the value of a path at a location as the file has it.
    pub(crate) fn cell(self, node: &Node) -> [u8; CELL as usize] {
        match self {
            Self::Counter(..) => {
                self.counted(&node.counted).unwrap_or(self.uncounted()).to_le_bytes()
            }
            _ => self.encoded(self.value(node)),
        }
    }

    /// Returns what the file has for a path that a location does not have.
    pub(crate) fn none(self) -> [u8; CELL as usize] {
        match self {
            Self::Counter(..) => self.uncounted().to_le_bytes(),
            _ => self.encoded(self.nothing()),
        }
    }

    /// Encodes a number, or a time in nanoseconds.
    fn encoded(self, value: u64) -> [u8; CELL as usize] {
        match self.is_count() {
            true => value.to_le_bytes(),
            false => seconds(value).to_le_bytes(),
        }
    }

    /// Returns the statistic over the values of a counter, or `None` if it had none.
    pub(crate) fn counted(self, all: &[Counted]) -> Option<f64> {
        let Self::Counter(id, what) = self else { return None };
        let it = all.iter().find(|it| it.counter == id)?;
        Some(match what {
            Counting::Sum => it.sum.to_f64(),
            Counting::Values => it.values as f64,
            Counting::Least => it.least.to_f64(),
            Counting::Largest => it.largest.to_f64(),
        })
    }

    /// Returns the value that is written for a counter without values.
    pub(crate) fn uncounted(self) -> f64 {
        match self {
            Self::Counter(_, Counting::Least) => f64::MAX,
            Self::Counter(_, Counting::Largest) => f64::MIN,
            _ => 0.0,
        }
    }

    /// Returns `true` if a viewer would read a missing row as a value.
    fn needs_all_rows(self) -> bool {
        use Counting::{Largest, Least};
        matches!(self, Self::Shortest | Self::Counter(_, Least | Largest))
    }

    fn value(self, node: &Node) -> u64 {
        match self {
            Self::Time(..) => node.time.0,
            Self::Visits => node.visits,
            Self::Wait(_, _, wait) => node.get(Q::Wait(wait)),
            Self::Sum(_, all) | Self::AnySum(all) => all.iter().map(|&what| node.get(what)).sum(),
            Self::Count(_, what) => node.get(what),
            // Shortest and longest calls come from profiles; counters are not in nanoseconds or calls.
            Self::Shortest | Self::Longest | Self::Counter(..) => self.nothing(),
        }
    }

    /// Returns the value that is written if there are no calls. The shortest of no calls is longer than anything.
    pub(crate) fn nothing(self) -> u64 {
        if matches!(self, Self::Shortest) { u64::MAX } else { 0 }
    }

    fn dtype(self) -> &'static str {
        match self {
            Self::Shortest | Self::Counter(_, Counting::Least) => "MINDOUBLE",
            Self::Longest | Self::Counter(_, Counting::Largest) => "MAXDOUBLE",
            _ if self.is_count() => "UINT64",
            _ => "DOUBLE",
        }
    }

    fn is_count(self) -> bool {
        matches!(self, Self::Visits | Self::Count(..))
    }
}

/// Everything that a report is made from except its values.
pub(crate) struct Input<'a> {
    pub(crate) defs: &'a Definitions,
    pub(crate) world: &'a World,
    pub(crate) tree: &'a Tree,
    pub(crate) notes: &'a [String],
}

/// Size in bytes of every value in the file.
pub(crate) const CELL: u64 = 8;

/// Converts nanoseconds. The shortest of no calls stays longer than anything.
fn seconds(nanoseconds: u64) -> f64 {
    if nanoseconds == u64::MAX { f64::MAX } else { nanoseconds as f64 / 1e9 }
}

/// Returns the sources of all metrics that a report may have. Each is known by its place in this list.
pub(crate) fn metrics(world: &World) -> Vec<Source> {
    rows(&world.roles.layers(), &world.counters).into_iter().map(|row| row.source).collect()
}

/// A metric of a report that is being written.
pub(crate) struct Sheet {
    /// Place of the metric in the list of all [`metrics`].
    pub(crate) number: usize,
    pub(crate) source: Source,
    /// Paths that have rows of the metric, in order.
    pub(crate) paths: Vec<CallPathNumber>,
    metric: MetricWriter,
}

impl Sheet {
    /// Returns the place of the values in the file.
    pub(crate) fn place(&self) -> Option<ValuesPlace> {
        self.metric.place()
    }
}

/// A report that is complete except for its values.
pub(crate) struct Sheets {
    pub(crate) all: Vec<Sheet>,
    cnodes: Vec<CnodeId>,
}

impl Sheets {
    /// Returns the path with a number in the report.
    pub(crate) fn path(&self, cnode: CnodeId) -> Option<CallPathNumber> {
        let at = self.cnodes.binary_search(&cnode).ok()?;
        Some(CallPathNumber(at as u32))
    }

    /// Writes the values of a path at all locations in order. Times are in nanoseconds.
    pub(crate) fn write(
        &self,
        sheet: &Sheet,
        path: CallPathNumber,
        values: &[u64],
    ) -> cubex::Result<()> {
        let Some(&cnode) = self.cnodes.get(path.index()) else { return Ok(()) };
        if sheet.source.is_count() {
            return sheet.metric.write(cnode, values);
        }
        let seconds: Vec<f64> = values.iter().map(|&value| seconds(value)).collect();
        sheet.metric.write(cnode, seconds.as_slice())
    }

    /// Writes the statistic over a counter on a path at all locations in order.
    pub(crate) fn write_counted(
        &self,
        sheet: &Sheet,
        path: CallPathNumber,
        values: &[f64],
    ) -> cubex::Result<()> {
        let Some(&cnode) = self.cnodes.get(path.index()) else { return Ok(()) };
        sheet.metric.write(cnode, values)
    }
}

/// Writes a report: `has` returns whether a path has values of a metric, and `fill` writes the values. `pairs` are the
/// communicating pairs as comma-separated values.
pub(crate) fn write<E: From<cubex::Error>>(
    input: &Input<'_>,
    has: impl Fn(Source, CallPathNumber, &Branch) -> bool,
    pairs: &str,
    path: &FilePath,
    fill: impl FnOnce(&Sheets) -> Result<(), E>,
) -> Result<(), E> {
    let (writer, sheets) = begin(input, has, path)?;
    fill(&sheets)?;
    writer.extra(dwell_model::pairs::MEMBER, pairs.len() as u64, pairs.as_bytes())?;
    Ok(writer.finish()?)
}

/// Begins a report: `has` returns whether a path has values of a metric.
pub(crate) fn begin(
    input: &Input<'_>,
    has: impl Fn(Source, CallPathNumber, &Branch) -> bool,
    path: &FilePath,
) -> cubex::Result<(ReportWriter, Sheets)> {
    let Input { defs, world, tree, notes } = *input;
    let layers = world.roles.layers();
    let rows = rows(&layers, &world.counters);
    let own: Vec<Option<Layer>> =
        tree.branches.iter().map(|branch| world.roles.get(branch.region).layer()).collect();

    // Only metrics that have values, and those above them.
    let mut filled: Vec<Vec<CallPathNumber>> = Vec::with_capacity(rows.len());
    for row in &rows {
        let has = |(number, branch): &(CallPathNumber, &Branch)| {
            let of = own.get(number.index()).copied().flatten();
            row.source.applies(branch.class, of) && has(row.source, *number, branch)
        };
        let numbers = || CallPathNumber(0).and_more();
        let mut list: Vec<CallPathNumber> =
            numbers().zip(&tree.branches).filter(has).map(|(number, _)| number).collect();
        if row.source.needs_all_rows() && !list.is_empty() {
            list = numbers().take(tree.branches.len()).collect();
        }
        filled.push(list);
    }
    let mut wanted: Vec<bool> = filled.iter().map(|list| !list.is_empty()).collect();
    for at in (0..rows.len()).rev() {
        if wanted.get(at) == Some(&true)
            && let Some(parent) = rows.get(at).and_then(|row| row.parent)
            && let Some(parent) = wanted.get_mut(parent)
        {
            *parent = true;
        }
    }
    // These two are in every report.
    for (row, wanted) in rows.iter().zip(&mut wanted) {
        *wanted |= matches!(row.source, Source::Time(None, _) | Source::Visits);
    }

    let mut builder = MetaBuilder::new();
    builder.attribute(Owner::Report, "Creator", concat!("dwell ", env!("CARGO_PKG_VERSION")));
    for (number, note) in notes.iter().enumerate() {
        builder.attribute(Owner::Report, &format!("dwell::note::{number}"), note);
    }
    let mut ids: Vec<Option<MetricId>> = Vec::with_capacity(rows.len());
    for (row, wanted) in rows.iter().zip(&wanted) {
        let parent = row.parent.and_then(|parent| ids.get(parent).copied().flatten());
        ids.push(wanted.then(|| {
            builder.metric(
                parent,
                Metric {
                    uniq_name: &row.name,
                    disp_name: &row.title,
                    descr: row.description,
                    dtype: row.source.dtype(),
                    uom: &row.unit,
                    ..Metric::default()
                },
            )
        }));
    }
    let cnodes = call_tree(defs, tree, &mut builder);
    let groups = system_tree::add(defs, world, &mut builder);
    topologies::add(defs, world, &groups, &mut builder);
    let writer = ReportWriter::create(path, builder.finish()?)?;

    let mut sheets = Sheets { all: Vec::new(), cnodes };
    for (number, ((row, id), paths)) in rows.iter().zip(&ids).zip(filled).enumerate() {
        let Some(id) = *id else { continue };
        let listed: Vec<CnodeId> =
            paths.iter().filter_map(|&at| sheets.cnodes.get(at.index()).copied()).collect();
        let metric = writer.metric(id, Rows::Listed(&listed))?;
        sheets.all.push(Sheet { number, source: row.source, paths, metric });
    }
    Ok((writer, sheets))
}

fn call_tree(defs: &Definitions, tree: &Tree, builder: &mut MetaBuilder) -> Vec<CnodeId> {
    let mut regions: BTreeMap<(u32, Option<Setting>), RegionId> = BTreeMap::new();
    let mut cnodes: Vec<CnodeId> = Vec::with_capacity(tree.branches.len());
    for branch in &tree.branches {
        let region = *regions.entry((branch.region.0, branch.setting)).or_insert_with(|| {
            let name = branch.name(defs);
            if branch.setting.is_some() {
                let (paradigm, role) = ("user", dwell_model::archive::PARAMETER);
                let mangled_name = &name;
                return builder.region(Region {
                    name: &name,
                    mangled_name,
                    paradigm,
                    role,
                    ..Region::default()
                });
            }
            let def = defs.region(branch.region);
            let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
            let file = def.map(|def| text(def.source_file)).unwrap_or_default();
            let paradigm = def.map(|def| def.paradigm.to_string().to_lowercase());
            let role = def.map(|def| def.region_role.to_string().to_lowercase());
            let line = |of: Option<u32>| of.filter(|line| *line > 0);
            builder.region(Region {
                name: &name,
                mangled_name: &name,
                paradigm: paradigm.as_deref().unwrap_or_default(),
                role: role.as_deref().unwrap_or_default(),
                file: &file,
                begin: line(def.map(|def| def.begin_line_number)),
                end: line(def.map(|def| def.end_line_number)),
                ..Region::default()
            })
        });
        let site = names::site(defs, branch.site);
        let parent = branch.parent.and_then(|at| cnodes.get(at.index()).copied());
        let line = site.as_ref().map(|site| site.line).filter(|line| *line > 0);
        // Without a file, the caller or its address distinguishes call paths with equal names.
        let file = site.as_ref().map_or("", |site| match site.file.as_str() {
            "" => site.function.as_str(),
            file => file,
        });
        cnodes.push(builder.cnode(parent, Cnode { region, file, line }));
    }
    cnodes
}

/// Returns the name of the metric that a wait on paths of some class is booked as.
pub(crate) fn name_of(layer: Layer, class: Class, wait: Wait) -> String {
    format!("{}_{}", layer.name(), wait.place(class).metric)
}

/// Returns the name of the metric that has the upper bounds of waits for progress.
pub(crate) fn upper_bound_of(layer: Layer) -> String {
    format!("{}_{UPPER_BOUND}", layer.name())
}
