//! What is written is read again: random reports of all value types, through file, memory and cache.

use std::fs;
use std::sync::Arc;

use cubex::{
    Cache, Cells, CellsRef, Cnode, CnodeId, DataType, ErrorKind, Expression, Group, Location,
    LocationId, Meta, MetaBuilder, Metric, MetricId, MetricKind, OpenOptions, Owner, Parameter,
    Region, Report, ReportWriter, Row, Rows, SystemNode, UnfinishedReport,
};

use crate::support::{self, Content, Random, Taste, random_report, real_reports, zeros};

const ANY: Taste = Taste { pycubexr: false, dense_index: false };

/// Returns all metadata as lines of text.
pub(crate) fn describe(meta: &Meta) -> Vec<String> {
    let mut out = vec![format!(
        "{} {:?} {:?} {:?}",
        meta.version(),
        meta.metrics_title(),
        meta.program_title(),
        meta.system_title()
    )];
    out.extend(meta.mirrors().map(str::to_owned));
    let attributes = |owner| format!("{:?}", meta.attributes(owner).collect::<Vec<_>>());
    out.push(attributes(Owner::Report));
    for id in meta.metrics() {
        let expressions: Vec<Expression<'_>> = meta.expressions(id).collect();
        let children: Vec<_> = meta.metric_children(id).collect();
        let parent = meta.metric_parent(id);
        out.push(format!("{id} {:?} {parent:?} {children:?} {expressions:?}", meta.metric(id)));
        out.push(attributes(Owner::Metric(id)));
    }
    for id in meta.regions() {
        out.push(format!("{id} {:?} {}", meta.region(id), attributes(Owner::Region(id))));
    }
    for id in meta.cnodes() {
        let parameters: Vec<Parameter<'_>> = meta.parameters(id).collect();
        let children: Vec<_> = meta.cnode_children(id).collect();
        let parent = meta.cnode_parent(id);
        out.push(format!("{id} {:?} {parent:?} {children:?} {parameters:?}", meta.cnode(id)));
        out.push(attributes(Owner::Cnode(id)));
        let kinds = [MetricKind::Exclusive, MetricKind::Inclusive, MetricKind::Simple];
        out.push(format!("{:?}", kinds.map(|kind| meta.row_numbers(kind).get(id))));
    }
    for id in meta.system_nodes() {
        let children: Vec<_> = meta.system_node_children(id).collect();
        let groups: Vec<_> = meta.groups_of(id).collect();
        let parent = meta.system_node_parent(id);
        out.push(format!("{id} {:?} {parent:?} {children:?} {groups:?}", meta.system_node(id)));
        out.push(attributes(Owner::SystemNode(id)));
    }
    for id in meta.groups() {
        let locations: Vec<_> = meta.locations_of(id).collect();
        out.push(format!("{id} {:?} {:?} {locations:?}", meta.group(id), meta.node_of_group(id)));
        out.push(attributes(Owner::Group(id)));
    }
    for id in meta.locations() {
        out.push(format!("{id} {:?} {:?}", meta.location(id), meta.group_of_location(id)));
        out.push(attributes(Owner::Location(id)));
    }
    for id in meta.topologies() {
        out.push(format!("{:?} {:?}", meta.topology(id), meta.coordinates(id).collect::<Vec<_>>()));
    }
    out
}

/// Compares all metadata of two reports. XML turns tabs in attributes into blanks, so tabs count as blanks.
fn described_equal(a: &Meta, b: &Meta) {
    let plain = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().map(|line| line.replace("\\t", " ")).collect()
    };
    for (a, b) in plain(describe(a)).iter().zip(&plain(describe(b))) {
        assert_eq!(a, b);
    }
    assert_eq!(describe(a).len(), describe(b).len());
}

fn check(report: &Report, content: &Content) {
    let meta = report.meta();
    described_equal(&content.meta, meta);
    let locations = meta.locations().len();
    for id in meta.metrics() {
        let metric = meta.metric(id).unwrap();
        if metric.kind.is_derived() {
            assert!(matches!(report.values(id).unwrap_err().kind(), ErrorKind::Unsupported(_)));
            continue;
        }
        let values = report.values(id).unwrap();
        assert_eq!(values.is_empty(), !content.begun.contains(&id));
        let dtype = metric.data_type().unwrap();
        let first = values.row(CnodeId(0)).unwrap();
        let Some(mut reused) = first.or_else(|| any_row(report)) else {
            assert!(content.rows.is_empty());
            continue;
        };
        for cnode in meta.cnodes() {
            let expected = content.rows.get(&(id, cnode));
            let row = values.row(cnode).unwrap();
            assert_eq!(values.read_row(cnode, &mut reused).unwrap(), row.is_some());
            match (&row, expected) {
                (Some(row), Some(cells)) => assert_eq!(row.cells(), cells, "{metric:?} {cnode}"),
                // Listed or filled up, but not written.
                (Some(row), None) => assert_eq!(row.cells(), &zeros(dtype, locations)),
                (None, None) => continue,
                (None, Some(_)) => panic!("the row of {cnode} in {metric:?} is lost"),
            }
            let row = row.unwrap();
            assert_eq!(reused, row);
            let last = LocationId(locations as u32 - 1);
            let cell = values.cell(cnode, last).unwrap().unwrap();
            assert_eq!(cell.len(), 1);
            let (a, b) = (cell.number(LocationId(0)), row.number(last));
            assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        }
        assert!(values.cell(CnodeId(0), LocationId(locations as u32)).is_err());
        assert!(values.row(CnodeId(meta.cnodes().len() as u32)).unwrap().is_none());
    }
    let extras: Vec<_> = report
        .extras()
        .map(|member| (member.name().to_owned(), report.read_member(member).unwrap()))
        .collect();
    assert_eq!(extras, content.extras);
}

/// Returns any row of the report, or `None` if it has none.
fn any_row(report: &Report) -> Option<Row> {
    let meta = report.meta();
    meta.metrics()
        .filter_map(|id| report.values(id).ok())
        .flat_map(|values| meta.cnodes().filter_map(move |id| values.row(id).ok().flatten()))
        .next()
}

#[test]
fn random_reports() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let path = directory.path().join(format!("{seed}.cubex"));
        let taste = Taste { dense_index: seed % 3 == 0, ..ANY };
        let content = random_report(&path, seed, taste);
        check(&Report::open(&path).unwrap(), &content);
        check(&Report::from_bytes(fs::read(&path).unwrap()).unwrap(), &content);
        let again = directory.path().join("again.cubex");
        random_report(&again, seed, taste);
        assert!(fs::read(&path).unwrap() == fs::read(&again).unwrap(), "seed {seed}: other bytes");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), seed as usize + 2);
    }
}

#[test]
fn the_cache_gives_the_same_and_is_renewed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let cache = directory.path().join("cache");
    let open = || OpenOptions::new().cache(Cache::At(cache.clone())).open(&path).unwrap();
    for seed in 0..20 {
        let content = random_report(&path, seed, ANY);
        check(&open(), &content);
        let bytes = fs::read(&cache).unwrap();
        check(&open(), &content);
        assert!(bytes == fs::read(&cache).unwrap());
        // Any damage of the cache is found, and the cache is made anew.
        let mut random = Random::new(seed);
        for _ in 0..20 {
            let mut damaged = bytes.clone();
            let at = random.below(damaged.len() as u64) as usize;
            if random.one_in(2) {
                damaged.truncate(at);
            } else {
                damaged[at] ^= 1 << random.below(8);
            }
            fs::write(&cache, damaged).unwrap();
            check(&open(), &content);
            assert!(bytes == fs::read(&cache).unwrap());
        }
    }
    // A small document gets no cache beside the report, and a place that cannot be written is fine.
    OpenOptions::new().cache(Cache::Beside).open(&path).unwrap();
    assert!(!directory.path().join("a.cubex.dwell-cache").exists());
    let nowhere = directory.path().join("no/such/place");
    OpenOptions::new().cache(Cache::At(nowhere)).open(&path).unwrap();
}

#[test]
fn a_large_document_is_cached_beside_the_report() {
    use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, SystemNode};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.cubex");
    let cache = directory.path().join("large.cubex.dwell-cache");
    let mut b = MetaBuilder::new();
    let visits = b.metric(None, Metric { uniq_name: "visits", ..Metric::default() });
    let region = b.region(Region::default());
    let root = b.cnode(None, Cnode { region, ..Cnode::default() });
    let machine = b.system_node(None, SystemNode::default());
    for rank in 0..8000 {
        let name = format!("MPI Rank {rank}");
        let group = b.group(machine, Group { name: &name, rank, kind: "process" });
        b.location(group, Location { name: "Master thread", ..Location::default() });
    }
    let writer = ReportWriter::create(&path, b.finish().unwrap()).unwrap();
    let row: Vec<u64> = (0..8000).collect();
    writer.metric(visits, Rows::Spooled).unwrap().write(root, &row).unwrap();
    writer.finish().unwrap();
    let plain = Report::open(&path).unwrap();
    assert!(!cache.exists());
    let open = || OpenOptions::new().cache(Cache::Beside).open(&path).unwrap();
    for report in [open(), open()] {
        assert!(cache.exists());
        described_equal(plain.meta(), report.meta());
        let found = report.values(visits).unwrap().row(root).unwrap().unwrap();
        assert_eq!(found.cells(), &Cells::Unsigned(row.clone()));
    }
}

/// Returns the sum of the integer rows of some call paths.
fn sum(content: &Content, id: MetricId, cnodes: impl Iterator<Item = CnodeId>) -> Vec<u64> {
    let mut sum = vec![0_u64; content.meta.locations().len()];
    for cnode in cnodes {
        if let Some(Cells::Unsigned(cells)) = content.rows.get(&(id, cnode)) {
            sum.iter_mut().zip(cells).for_each(|(sum, cell)| *sum = sum.saturating_add(*cell));
        }
    }
    sum
}

#[test]
fn inclusive_and_exclusive_are_converted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let mut seen = (0, 0, 0);
    for seed in 0..40 {
        let content = random_report(&path, seed, ANY);
        let report = Report::open(&path).unwrap();
        let meta = report.meta();
        for &id in &content.begun {
            let metric = meta.metric(id).unwrap();
            let values = report.values(id).unwrap();
            let unsigned = |row: Option<Row>| match row.map(|row| row.cells().clone()) {
                Some(Cells::Unsigned(cells)) => cells,
                Some(_) => panic!("other cells"),
                None => vec![0; meta.locations().len()],
            };
            if !metric.dtype.starts_with('U') {
                let extreme = matches!(metric.dtype, "SCALE_FUNC" | "HISTOGRAM(5)");
                for cnode in meta.cnodes() {
                    let result = (values.inclusive(cnode), values.exclusive(cnode));
                    assert!(extreme || (result.0.is_ok() && result.1.is_ok()));
                }
                continue;
            }
            for cnode in meta.cnodes() {
                let stored = unsigned(values.row(cnode).unwrap());
                let (inclusive, exclusive) =
                    (values.inclusive(cnode).unwrap(), values.exclusive(cnode).unwrap());
                match metric.kind {
                    MetricKind::Exclusive => {
                        assert_eq!(unsigned(exclusive), stored);
                        assert_eq!(
                            unsigned(inclusive),
                            sum(&content, id, meta.cnodes_below(cnode))
                        );
                        seen.0 += 1;
                    }
                    MetricKind::Inclusive => {
                        assert_eq!(unsigned(inclusive), stored);
                        let below = sum(&content, id, meta.cnode_children(cnode));
                        let expected: Vec<u64> =
                            stored.iter().zip(&below).map(|(a, b)| a.saturating_sub(*b)).collect();
                        assert_eq!(unsigned(exclusive), expected);
                        seen.1 += 1;
                    }
                    _ => {
                        assert_eq!(unsigned(inclusive), stored);
                        assert_eq!(unsigned(exclusive), stored);
                        seen.2 += 1;
                    }
                }
            }
        }
    }
    assert!(seen.0 > 100 && seen.1 > 100 && seen.2 > 100, "{seen:?}");
}

#[test]
fn rows_from_many_threads_give_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let meta = Arc::new(support::random_meta(&mut Random::new(5), ANY));
    let write = |name: &str, threads: usize| {
        let path = directory.path().join(name);
        let writer = ReportWriter::create(&path, Arc::clone(&meta)).unwrap();
        let metrics: Vec<_> = meta
            .metrics()
            .filter(|&id| !meta.metric(id).unwrap().kind.is_derived())
            .enumerate()
            .map(|(at, id)| {
                writer.metric(id, if at % 2 == 0 { Rows::All } else { Rows::Spooled }).unwrap()
            })
            .collect();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (metrics, meta) = (&metrics, &meta);
                scope.spawn(move || {
                    for metric in metrics {
                        let dtype = meta.metric(metric.metric()).unwrap().data_type().unwrap();
                        for cnode in meta.cnodes().filter(|id| id.index() % threads == thread) {
                            let seed = u64::from(cnode.0) * 1000 + u64::from(metric.metric().0);
                            let locations = meta.locations().len();
                            let cells =
                                support::random_cells(&mut Random::new(seed), dtype, locations);
                            metric.write(cnode, &cells).unwrap();
                        }
                    }
                });
            }
        });
        writer.finish().unwrap();
        fs::read(path).unwrap()
    };
    assert!(write("one.cubex", 1) == write("four.cubex", 4));
}

#[test]
fn a_report_of_another_tool_is_rewritten_with_all_it_has() {
    let directory = tempfile::tempdir().unwrap();
    for path in real_reports() {
        let old = Report::open(&path).unwrap();
        let copy = directory.path().join("copy.cubex");
        let meta = old.meta();
        let writer = ReportWriter::create(&copy, Arc::clone(meta)).unwrap();
        writer.copy_extras(&old).unwrap();
        for id in meta.metrics() {
            let values = old.values(id).unwrap();
            let cnodes: Vec<_> = values.stored().collect();
            if cnodes.is_empty() {
                continue;
            }
            let metric = writer.metric(id, Rows::Listed(&cnodes)).unwrap();
            for cnode in cnodes {
                metric.write(cnode, &values.row(cnode).unwrap().unwrap()).unwrap();
            }
        }
        writer.finish().unwrap();
        let new = Report::open(&copy).unwrap();
        assert_eq!(describe(meta), describe(new.meta()));
        for id in meta.metrics() {
            for cnode in meta.cnodes() {
                let row = |report: &Report| report.values(id).unwrap().row(cnode).unwrap();
                assert_eq!(row(&old), row(&new));
            }
        }
        assert!(old.extras().any(|member| member.name() == "remapping.spec"));
        for member in old.extras() {
            let same = new.member(member.name()).unwrap();
            assert!(old.read_member(member).unwrap() == new.read_member(same).unwrap());
        }
    }
}

#[test]
fn sums_of_a_scalasca_report_are_those_it_was_filed_with() {
    let Some(path) = real_reports().into_iter().find(|path| path.ends_with("scout.cubex")) else {
        return;
    };
    let report = Report::open(path).unwrap();
    let meta = report.meta();
    let expected = [
        ("mpi_barrier_wait", 1.194610),
        ("mpi_latesender", 0.269334),
        ("mpi_latebroadcast", 0.541564),
        ("mpi_wait_nxn", 0.361190),
        ("time", 6.410902),
        ("visits", 954.0),
    ];
    for (name, expected) in expected {
        let values = report.values(meta.find_metric(name).unwrap()).unwrap();
        let rows = meta.root_cnodes().filter_map(|root| values.inclusive(root).unwrap());
        let sum: f64 =
            rows.flat_map(|row| meta.locations().filter_map(move |id| row.number(id))).sum();
        assert!((sum - expected).abs() < 1e-6, "{name}: {sum} is not {expected}");
    }
}

#[test]
fn mistakes_of_the_caller_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let content = random_report(&path, 1, Taste { pycubexr: true, dense_index: false });
    let before = fs::read(&path).unwrap();
    let meta = Arc::clone(&content.meta);
    let id = meta
        .metrics()
        .find(|&id| meta.metric(id).unwrap().data_type().unwrap().size() == 8)
        .unwrap();
    let locations = meta.locations().len();
    let writer = ReportWriter::create(&path, Arc::clone(&meta)).unwrap();
    let metric = writer.metric(id, Rows::All).unwrap();
    let dtype = meta.metric(id).unwrap().data_type().unwrap();
    let good = zeros(dtype, locations);
    metric.write(CnodeId(0), &good).unwrap();
    let twice = metric.write(CnodeId(0), &good).unwrap_err();
    assert!(twice.to_string().contains("written before"), "{twice}");
    assert_eq!(twice.path(), Some(path.as_path()));
    assert!(metric.write(CnodeId(9999), &good).is_err());
    assert!(metric.write(CnodeId(1), &zeros(dtype, locations + 1)).is_err());
    assert!(metric.write(CnodeId(1), &zeros(DataType::TauAtomic, locations)).is_err());
    assert!(writer.metric(id, Rows::All).is_err());
    assert!(writer.metric(MetricId(9999), Rows::All).is_err());
    for name in ["anchor.xml", "3.data", "ghost_12.index", "", "a\nb", "cubex-pad.1"] {
        assert!(writer.extra(name, 0, &[][..]).is_err(), "{name:?}");
    }
    writer.extra("x.data", 1, &b"x"[..]).unwrap();
    assert!(writer.extra("x.data", 1, &b"x"[..]).is_err());
    assert!(writer.extra("short", 2, &b"x"[..]).is_err());
    // Dropped without being finished: the old report stays, the part goes.
    drop(writer);
    assert!(metric.write(CnodeId(1), CellsRef::from(&good)).is_err());
    assert!(before == fs::read(&path).unwrap());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let mut orphan = cubex::MetaBuilder::new();
    orphan.cnode(Some(CnodeId(3)), cubex::Cnode::default());
    assert!(matches!(orphan.finish().unwrap_err().kind(), ErrorKind::Invalid(_)));
    let error = Report::open(directory.path().join("none.cubex")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Missing));
    assert!(Report::open(directory.path()).is_err());
}

/// A row that is refused, because it was written before or because a value does not fit, changes nothing: the first
/// row stays, and a row with other values can still be written.
#[test]
fn a_refused_row_leaves_no_trace() {
    use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, SystemNode};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("refused.cubex");
    let mut b = MetaBuilder::new();
    let metrics = ["all", "listed", "spooled"]
        .map(|uniq_name| b.metric(None, Metric { uniq_name, dtype: "UINT8", ..Metric::default() }));
    let region = b.region(Region::default());
    let root = b.cnode(None, Cnode { region, ..Cnode::default() });
    let [never, child] = [1, 2].map(|_| b.cnode(Some(root), Cnode { region, ..Cnode::default() }));
    let machine = b.system_node(None, SystemNode::default());
    // More locations than are encoded at once, so that values before the one that does not fit might be written.
    let locations = 300_000;
    let group = b.group(machine, Group { name: "process", rank: 0, kind: "process" });
    for _ in 0..locations {
        b.location(group, Location { name: "thread", ..Location::default() });
    }
    let meta = b.finish().unwrap();
    let mut wrong = vec![7_u64; locations];
    wrong[locations - 1] = 256;
    let [first, second] = [1_u64, 2].map(|value| vec![value; locations]);
    let listed = [root, never, child];
    let ways = [Rows::All, Rows::Listed(&listed), Rows::Spooled];
    let writer = ReportWriter::create(&path, meta).unwrap();
    for (id, rows) in metrics.into_iter().zip(ways) {
        let metric = writer.metric(id, rows).unwrap();
        metric.write(root, &first).unwrap();
        let twice = metric.write(root, &second).unwrap_err();
        assert!(twice.to_string().contains("written before"), "{rows:?}: {twice}");
        for cnode in [child, never] {
            let unfit = metric.write(cnode, &wrong).unwrap_err();
            assert!(unfit.to_string().contains("does not fit"), "{rows:?}: {unfit}");
        }
        metric.write(child, &second).unwrap();
    }
    writer.finish().unwrap();
    let report = Report::open(&path).unwrap();
    for id in metrics {
        let values = report.values(id).unwrap();
        let row = |cnode| values.row(cnode).unwrap().map(|row| row.cells().clone());
        assert_eq!(row(root), Some(Cells::Unsigned(first.clone())));
        assert_eq!(row(child), Some(Cells::Unsigned(second.clone())));
        let zeros = Cells::Unsigned(vec![0; locations]);
        assert!(row(never).is_none_or(|row| row == zeros));
    }
}

/// Values that other processes write in pieces of any size, at the places that the writer tells, give the bytes of rows.
#[test]
fn pieces_at_their_places_are_the_same_bytes_as_rows() {
    let directory = tempfile::tempdir().unwrap();
    let meta = || {
        let mut builder = MetaBuilder::new();
        let metric = |name, dtype| Metric { uniq_name: name, dtype, ..Metric::default() };
        let first = builder.metric(None, metric("first", "UINT64"));
        let second = builder.metric(None, metric("second", "MINDOUBLE"));
        let region = builder.region(Region { name: "main", ..Region::default() });
        let root = builder.cnode(None, Cnode { region, ..Cnode::default() });
        let child = builder.cnode(Some(root), Cnode { region, ..Cnode::default() });
        // The number of this one is higher than that of its place in the tree.
        let other = builder.cnode(None, Cnode { region, ..Cnode::default() });
        let last = builder.cnode(Some(root), Cnode { region, ..Cnode::default() });
        let machine = builder.system_node(None, SystemNode::default());
        let process = builder.group(machine, Group::default());
        for _ in 0..3 {
            builder.location(process, Location::default());
        }
        (builder.finish().unwrap(), first, second, [root, child, other, last])
    };
    let row = |cnode: CnodeId| [1, 2, 3].map(|value: u64| value + 10 * u64::from(cnode.0));

    let by_rows = directory.path().join("rows.cubex");
    let (built, first, second, cnodes) = meta();
    let listed = [cnodes[2], cnodes[0], cnodes[3]];
    let writer = ReportWriter::create(&by_rows, built).unwrap();
    let metric = writer.metric(first, Rows::Listed(&listed)).unwrap();
    listed.iter().for_each(|&cnode| metric.write(cnode, &row(cnode)).unwrap());
    let metric = writer.metric(second, Rows::Listed(&[])).unwrap();
    cnodes.iter().for_each(|&it| metric.write(it, &row(it).map(|value| value as f64)).unwrap());
    writer.extra("more.txt", 6, &b"abcdef"[..]).unwrap();
    writer.finish().unwrap();

    let by_pieces = directory.path().join("pieces.cubex");
    let (built, first, second, _) = meta();
    let writer = ReportWriter::create(&by_pieces, built).unwrap();
    let other = UnfinishedReport::open(&by_pieces, writer.temporary_name()).unwrap();
    let listed = Rows::Listed(&listed);
    for (metric, listed, is_real) in [(first, listed, false), (second, Rows::All, true)] {
        let place = writer.metric(metric, listed).unwrap().place().unwrap();
        assert_eq!(place.row_bytes, 24);
        let cell =
            |value: u64| if is_real { (value as f64).to_le_bytes() } else { value.to_le_bytes() };
        let bytes: Vec<u8> = place.rows.iter().flat_map(|&it| row(it)).flat_map(cell).collect();
        // Pieces end within values.
        for (at, piece) in (place.offset..).step_by(13).zip(bytes.chunks(13)) {
            if at % 2 == 0 { writer.write_at(at, piece) } else { other.write_at(at, piece) }
                .unwrap();
        }
    }
    let at = writer.reserve_extra("more.txt", 6).unwrap();
    assert!(writer.reserve_extra("more.txt", 6).is_err());
    other.write_at(at + 3, b"def").unwrap();
    writer.write_at(at, b"abc").unwrap();
    writer.finish().unwrap();
    assert!(fs::read(by_rows).unwrap() == fs::read(by_pieces).unwrap());
    assert!(
        UnfinishedReport::open(directory.path().join("pieces.cubex"), "none".as_ref()).is_err()
    );
}
