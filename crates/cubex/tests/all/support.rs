//! What the tests share: seeded random reports, archives made by hand, a Python interpreter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cubex::{
    Cells, CellsRef, Cnode, CnodeId, DataType, Dimension, Expression, ExpressionKind, Group,
    GroupId, Location, LocationId, Meta, MetaBuilder, Metric, MetricId, MetricKind, Owner,
    Parameter, ParameterKind, Place, Region, RegionId, ReportWriter, Rows, SystemNode,
    SystemNodeId, TauAtomic, Topology, VizType, WriteOptions,
};

use crate::needs;

/// Random numbers that depend on a seed alone, so that a failure can be repeated.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Returns a random number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn number(&mut self) -> f64 {
        (self.below(2_000_001) as f64 - 1e6) / 128.0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// The spellings of all types of values that tests write, as `anchor.xml` has them.
pub(crate) const TYPES: &[&str] = &[
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "DOUBLE",
    "FLOAT",
    "MINDOUBLE",
    "MAXDOUBLE",
    "TAU_ATOMIC",
    "RATE",
    "COMPLEX",
    "SCALE_FUNC",
    "HISTOGRAM(5)",
    "NDOUBLES(3)",
    "INTEGER",
    "UNSIGNED INTEGER",
];

/// Names with all characters that must be escaped.
const NAMES: &[&str] = &[
    "main",
    "foo<int>::bar(int&, \"x\")",
    "it's",
    "a & b",
    "größe",
    "loop\tbody",
    "",
    "日本",
    "%d\\",
];

/// Options that restrict the contents of a random report.
#[derive(Clone, Copy)]
pub(crate) struct Taste {
    /// `true` if the report must be readable by pyCubexR: one root, no derived or simple metrics, known types only.
    pub(crate) pycubexr: bool,
    pub(crate) dense_index: bool,
}

/// The contents that a random report should have when it is read back.
pub(crate) struct Content {
    pub(crate) meta: std::sync::Arc<Meta>,
    pub(crate) rows: BTreeMap<(MetricId, CnodeId), Cells>,
    pub(crate) begun: Vec<MetricId>,
    pub(crate) extras: Vec<(String, Vec<u8>)>,
}

pub(crate) fn random_meta(random: &mut Random, taste: Taste) -> Meta {
    let mut b = MetaBuilder::new();
    b.attribute(Owner::Report, "CubePL Version", "1.1");
    b.attribute(Owner::Report, "Creator", random.pick(NAMES));
    if random.one_in(2) {
        b.mirror("http://example.org/a?b=1&c=2");
        b.titles("metrics <here>", "", "the \"system\"");
    }
    for id in 0..3 + random.below(12) as u32 {
        let parent = (id > 0 && random.one_in(3)).then(|| MetricId(random.below(id.into()) as u32));
        let kinds = [MetricKind::Exclusive, MetricKind::Inclusive, MetricKind::Simple];
        let mut kind = kinds[random.below(if taste.pycubexr { 2 } else { 3 }) as usize];
        let dtype = loop {
            let dtype = random.pick(TYPES);
            if !(taste.pycubexr && ["SCALE_FUNC", "HISTOGRAM(5)"].contains(&dtype)) {
                break dtype;
            }
        };
        if ["MINDOUBLE", "MAXDOUBLE", "TAU_ATOMIC"].contains(&dtype) {
            kind = MetricKind::Exclusive;
        }
        let ghost = !taste.pycubexr && random.one_in(5);
        let metric = b.metric(
            parent,
            Metric {
                uniq_name: &format!("metric_{id}"),
                disp_name: random.pick(NAMES),
                dtype,
                uom: "sec",
                val: if random.one_in(4) { "VOID" } else { "" },
                url: "@mirror@page.html#x",
                descr: random.pick(NAMES),
                kind,
                viz: if ghost { VizType::Ghost } else { VizType::Normal },
                convertible: !random.one_in(4),
                cacheable: !random.one_in(4),
            },
        );
        if random.one_in(3) {
            b.attribute(Owner::Metric(metric), "key", random.pick(NAMES));
        }
    }
    if !taste.pycubexr {
        derived(&mut b);
    }
    for _ in 0..1 + random.below(6) {
        let region = b.region(Region {
            name: random.pick(NAMES),
            mangled_name: "_ZN",
            paradigm: "mpi",
            role: "barrier",
            file: random.pick(NAMES),
            begin: random.one_in(2).then_some(12),
            end: random.one_in(2).then_some(40),
            ..Region::default()
        });
        if random.one_in(3) {
            b.attribute(Owner::Region(region), "<k>", "v");
        }
        random_tree(random, &mut b, taste, region);
    }
    random_system(random, &mut b, taste);
    b.finish().unwrap()
}

/// Adds a few call paths, each below a random one of those that exist.
fn random_tree(random: &mut Random, b: &mut MetaBuilder, taste: Taste, newest: RegionId) {
    let known = |b: &MetaBuilder| b.clone().finish().map_or(0, |meta| meta.cnodes().len() as u32);
    for _ in 0..1 + random.below(7) {
        let count = known(b);
        let root = count == 0 || (!taste.pycubexr && random.one_in(12));
        let parent = (!root).then(|| CnodeId(random.below(count.into()) as u32));
        let region = RegionId(random.below(u64::from(newest.0) + 1) as u32);
        let line = random.one_in(3).then_some(7);
        let cnode =
            b.cnode(parent, Cnode { region, file: if line.is_some() { "a.c" } else { "" }, line });
        if random.one_in(3) {
            let kind = ParameterKind::Numeric;
            b.parameter(cnode, Parameter { kind, key: "iteration", value: "17" });
            let kind = ParameterKind::Text;
            b.parameter(cnode, Parameter { kind, key: "a&b", value: random.pick(NAMES) });
            b.attribute(Owner::Cnode(cnode), "k", "v");
        }
    }
}

fn derived(b: &mut MetaBuilder) {
    let kinds =
        [MetricKind::Postderived, MetricKind::PrederivedExclusive, MetricKind::PrederivedInclusive];
    for kind in kinds {
        let name = format!("derived_{}", kind.name());
        let id =
            b.metric(None, Metric { uniq_name: &name, dtype: "DOUBLE", kind, ..Metric::default() });
        let mut add = |kind, attributes, text| {
            b.expression(id, Expression { kind, attributes, text });
        };
        add(ExpressionKind::Value, "rowwise=false", "metric::a() / metric::b() < 3 && 1");
        add(ExpressionKind::Init, "", "{ global(x); }");
        add(ExpressionKind::AggregatePlus, "", "arg1 + arg2");
        add(ExpressionKind::AggregateMinus, "", "arg1 - arg2");
        add(ExpressionKind::AggregateLocations, "", "max(arg1, arg2)");
    }
}

fn random_system(random: &mut Random, b: &mut MetaBuilder, taste: Taste) {
    let roots = if taste.pycubexr { 1 } else { 1 + random.below(2) };
    let mut groups = 0;
    let mut locations = 0;
    for _ in 0..roots {
        let machine = SystemNode { name: "machine", class: "machine", descr: random.pick(NAMES) };
        let mut node = b.system_node(None, machine);
        b.attribute(Owner::SystemNode(node), "platform", "Linux");
        for depth in 0..random.below(4) {
            fill(random, b, node, &mut groups, &mut locations);
            let name = format!("node {depth}");
            node = b.system_node(Some(node), SystemNode { name: &name, class: "node", descr: "" });
        }
        fill(random, b, node, &mut groups, &mut locations);
    }
    if random.one_in(2) {
        let dimension = |name, size| Dimension { name, size, periodic: name.is_empty() };
        let dimensions = vec![dimension("Process", 1000), dimension("", 1)];
        let grid = b.topology(&Topology { name: "Process x Thread", dimensions });
        for location in 0..locations {
            b.coordinate(grid, Place::Location(LocationId(location)), &[location, 0]);
        }
        let line = b.topology(&Topology { name: "", dimensions: vec![dimension("x", 9)] });
        b.coordinate(line, Place::Group(GroupId(0)), &[8]);
        b.coordinate(line, Place::SystemNode(SystemNodeId(0)), &[0]);
    }
}

fn fill(
    random: &mut Random,
    b: &mut MetaBuilder,
    node: SystemNodeId,
    groups: &mut u32,
    locations: &mut u32,
) {
    for _ in 0..1 + random.below(3) {
        let name = format!("MPI Rank {groups}");
        let group = b.group(node, Group { name: &name, rank: *groups, kind: "process" });
        *groups += 1;
        for rank in 0..1 + random.below(3) as u32 {
            let name = if rank == 0 { "Master thread" } else { "OMP thread" };
            let location = b.location(group, Location { name, rank, kind: "thread" });
            *locations += 1;
            if random.one_in(4) {
                b.attribute(Owner::Location(location), "core", "3");
            }
        }
        b.attribute(Owner::Group(group), "pid", "4711");
    }
}

/// Returns random values of a type, one for each location.
pub(crate) fn random_cells(random: &mut Random, dtype: DataType, locations: usize) -> Cells {
    let bits = 8 * dtype.size().min(8);
    let mut unsigned = || random.next() >> (64 - bits) >> random.below(bits.into());
    match dtype {
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64 => {
            Cells::Unsigned((0..locations).map(|_| unsigned()).collect())
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            let signed = |_| (random.next().cast_signed()) >> (64 - bits);
            Cells::Signed((0..locations).map(signed).collect())
        }
        DataType::Double | DataType::MinDouble | DataType::MaxDouble => {
            Cells::Double((0..locations).map(|_| random.number()).collect())
        }
        DataType::TauAtomic => Cells::Tau(
            (0..locations)
                .map(|_| TauAtomic {
                    count: random.below(1 << 32) as u32,
                    min: random.number(),
                    max: random.number(),
                    sum: random.number(),
                    sum_of_squares: random.number(),
                })
                .collect(),
        ),
        other => {
            let width = other.size() as usize / 8;
            let values = (0..width * locations).map(|_| random.number()).collect();
            Cells::Doubles { width, values }
        }
    }
}

/// Returns a row of zeros of a type, as readers take rows that are not stored.
pub(crate) fn zeros(dtype: DataType, locations: usize) -> Cells {
    match dtype {
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64 => {
            Cells::Unsigned(vec![0; locations])
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            Cells::Signed(vec![0; locations])
        }
        DataType::Double | DataType::MinDouble | DataType::MaxDouble => {
            Cells::Double(vec![0.0; locations])
        }
        DataType::TauAtomic => Cells::Tau(vec![TauAtomic::default(); locations]),
        other => {
            let width = other.size() as usize / 8;
            Cells::Doubles { width, values: vec![0.0; width * locations] }
        }
    }
}

/// Writes a random report and returns the contents that it should have. The same seed gives the same report.
pub(crate) fn random_report(path: &Path, seed: u64, taste: Taste) -> Content {
    let mut random = Random::new(seed);
    let meta = std::sync::Arc::new(random_meta(&mut random, taste));
    let mut options = WriteOptions::default();
    options.dense_index = taste.dense_index;
    let writer = ReportWriter::create_with(path, std::sync::Arc::clone(&meta), options).unwrap();
    let mut content = Content {
        meta: std::sync::Arc::clone(&meta),
        rows: BTreeMap::new(),
        begun: Vec::new(),
        extras: Vec::new(),
    };
    let locations = meta.locations().len();
    let mut open = Vec::new();
    let mut work = Vec::new();
    for id in meta.metrics() {
        let metric = meta.metric(id).unwrap();
        if metric.kind.is_derived() || (!taste.pycubexr && random.one_in(6)) {
            continue;
        }
        let dtype = metric.data_type().unwrap();
        // Rows of these are of no use to pyCubexR unless all are there.
        let full = taste.pycubexr && metric.dtype.starts_with("NDOUBLES");
        let cnodes: Vec<_> = meta.cnodes().filter(|_| full || !random.one_in(3)).collect();
        let rows = match random.below(3) {
            0 => Rows::All,
            1 => Rows::Listed(&cnodes),
            _ => Rows::Spooled,
        };
        open.push(writer.metric(id, rows).unwrap());
        content.begun.push(id);
        for cnode in cnodes {
            let mut cells = random_cells(&mut random, dtype, locations);
            if let (Cells::Unsigned(cells), MetricKind::Exclusive, true) =
                (&mut cells, metric.kind, taste.pycubexr)
            {
                // Sums of 64-bit values wrap there and saturate here: keep away from both.
                cells.iter_mut().for_each(|cell| *cell &= (1 << 56) - 1);
            }
            work.push((open.len() - 1, cnode, cells));
        }
    }
    for i in (1..work.len()).rev() {
        work.swap(i, random.below(i as u64 + 1) as usize);
    }
    for (at, cnode, cells) in work {
        open[at].write(cnode, CellsRef::from(&cells)).unwrap();
        content.rows.insert((open[at].metric(), cnode), cells);
    }
    for extra in 0..random.below(3) {
        let name = format!("extra {extra}.txt");
        let size = if random.one_in(2) { 512 * random.below(4) } else { random.below(2000) };
        let bytes: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        writer.extra(&name, size, bytes.as_slice()).unwrap();
        content.extras.push((name, bytes));
    }
    writer.finish().unwrap();
    content
}

/// Makes a tar archive of these members, as any tar program writes it. With `extra_block`, members whose size is a
/// multiple of 512 bytes are followed by one block more, as cubew writes them.
pub(crate) fn archive(members: &[(&str, &[u8])], extra_block: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in members {
        out.extend_from_slice(&tar_header(name, bytes.len() as u64, b'0'));
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
        if extra_block && !bytes.is_empty() && bytes.len().is_multiple_of(512) {
            out.extend_from_slice(&[0; 512]);
        }
    }
    out.extend_from_slice(&[0; 1024]);
    out
}

pub(crate) fn tar_header(name: &str, size: u64, kind: u8) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Returns the Python interpreter for the tests, or `None` with a message if it cannot import `module`. `DWELL_PYTHON`
/// names another interpreter than `python3`.
///
/// # Panics
/// Panics if the module cannot be imported although `DWELL_REQUIRE_PYCUBEXR` is 1.
pub(crate) fn python(module: &str) -> Option<PathBuf> {
    let python = std::env::var_os("DWELL_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if found {
        return Some(python.into());
    }
    needs::missing("PYCUBEXR", &format!("{} cannot import {module}", python.display()));
    None
}

/// Returns the paths of the reference reports that Score-P and Scalasca made.
pub(crate) fn real_reports() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data).unwrap().flatten() {
        for file in std::fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "cubex") {
                found.push(file.path());
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}
