//! pyCubexR, the reader that hatchet and Extra-P use, reads the same as we do: every value of our own
//! reports, and of those by Score-P and Scalasca.
//!
//! Both sides print what they read, line by line, floating-point numbers as their bits. The test needs
//! a Python with `pycubexr`: `python3`, or the one that `DWELL_PYTHON` names. Without it the test says
//! that it is skipped and passes, unless `DWELL_REQUIRE_PYCUBEXR=1`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cubex::{Cells, DataType, Meta, MetricId, Owner, Report, Row, SystemNodeId, Values};

use crate::support::{self, Taste, python, random_report, real_reports, zeros};

fn text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

/// Returns a row as words, in the same form as `dump.py`.
fn words(cells: &Cells) -> String {
    let mut out = String::new();
    let mut bits = |number: f64| write!(out, " {:016x}", number.to_bits()).unwrap();
    match cells {
        Cells::Double(values) | Cells::Doubles { values, .. } => {
            values.iter().for_each(|&value| bits(value));
        }
        Cells::Tau(values) => {
            for tau in values {
                write!(out, " {}", tau.count).unwrap();
                for number in [tau.min, tau.max, tau.sum, tau.sum_of_squares] {
                    write!(out, " {:016x}", number.to_bits()).unwrap();
                }
            }
        }
        Cells::Unsigned(values) => values.iter().for_each(|it| write!(out, " {it}").unwrap()),
        Cells::Signed(values) => values.iter().for_each(|it| write!(out, " {it}").unwrap()),
        other => panic!("{other:?}"),
    }
    out
}

fn dump_metric(report: &Report, id: MetricId, out: &mut String) {
    let meta = report.meta();
    let metric = meta.metric(id).unwrap();
    let (name, dtype) = (text(metric.uniq_name), text(metric.dtype));
    writeln!(out, "metric {id} {} {name} {dtype}", metric.kind.name()).unwrap();
    let children: Vec<u32> = meta.metric_children(id).map(|id| id.0).collect();
    let [display, url, descr] = [metric.disp_name, metric.url, metric.descr].map(text);
    writeln!(out, "metric|{id}|{display}|{}|{url}|{descr}|{children:?}", metric.uom).unwrap();
    let values: Values<'_> = report.values(id).unwrap();
    if values.is_empty() {
        // An index of no rows is there or it is not; pyCubexR fails on both.
        let what = if values.byte_order().is_none() { "missing" } else { "empty" };
        writeln!(out, "values {id} {what}").unwrap();
        return;
    }
    let dtype = metric.data_type().unwrap();
    let locations = meta.locations().len();
    let cells = |row: Option<Row>| row.map_or(zeros(dtype, locations), |row| row.cells().clone());
    for cnode in meta.cnodes() {
        let row = cells(values.row(cnode).unwrap());
        writeln!(out, "row {id} {cnode}{}", words(&row)).unwrap();
        if !matches!(dtype, DataType::Uint64 | DataType::Double) {
            continue;
        }
        let converted = [
            ("inclusive", values.inclusive(cnode).unwrap()),
            ("exclusive", values.exclusive(cnode).unwrap()),
        ];
        for (name, row) in converted {
            match cells(row) {
                Cells::Double(values) => {
                    let values: String = values.iter().map(|value| format!(" {value:?}")).collect();
                    writeln!(out, "near {name} {id} {cnode}{values}").unwrap();
                }
                cells => writeln!(out, "{name} {id} {cnode}{}", words(&cells)).unwrap(),
            }
        }
    }
}

fn dump_node(meta: &Meta, id: SystemNodeId, out: &mut String) {
    let node = meta.system_node(id).unwrap();
    let groups: Vec<u32> = meta.groups_of(id).map(|id| id.0).collect();
    let children: Vec<u32> = meta.system_node_children(id).map(|id| id.0).collect();
    let mut attributes: Vec<String> = meta
        .attributes(Owner::SystemNode(id))
        .map(|it| format!("('{}', '{}')", it.key, it.value))
        .collect();
    attributes.sort();
    let attributes = attributes.join(", ");
    let name = text(node.name);
    writeln!(out, "node|{id}|{name}|{groups:?}|{children:?}|[{attributes}]").unwrap();
    for group_id in meta.groups_of(id) {
        let group = meta.group(group_id).unwrap();
        writeln!(out, "group|{group_id}|{}|{}|{}", text(group.name), group.rank, group.kind)
            .unwrap();
        for id in meta.locations_of(group_id) {
            let it = meta.location(id).unwrap();
            writeln!(out, "location|{id}|{}|{}|{}", text(it.name), it.rank, it.kind).unwrap();
        }
    }
    meta.system_node_children(id).for_each(|child| dump_node(meta, child, out));
}

fn dump(path: &Path, out: &mut String) {
    writeln!(out, "report {}", path.display()).unwrap();
    let report = Report::open(path).unwrap();
    let meta = report.meta();
    meta.metrics().for_each(|id| dump_metric(&report, id, out));
    for id in meta.regions() {
        let it = meta.region(id).unwrap();
        let fields =
            [it.name, it.mangled_name, it.paradigm, it.role, it.url, it.descr, it.file].map(text);
        let line = |line: Option<u32>| line.map_or(-1, i64::from);
        let (begin, end) = (line(it.begin), line(it.end));
        writeln!(out, "region|{id}|{}|{begin}|{end}", fields.join("|")).unwrap();
    }
    for id in meta.cnodes() {
        let children: Vec<u32> = meta.cnode_children(id).map(|id| id.0).collect();
        let parameters: Vec<String> =
            meta.parameters(id).map(|it| format!("{}={}", text(it.key), text(it.value))).collect();
        let (region, parameters) = (meta.cnode(id).unwrap().region, parameters.join(";"));
        writeln!(out, "cnode|{id}|{region}|{children:?}|{parameters}").unwrap();
    }
    meta.root_system_nodes().for_each(|root| dump_node(meta, root, out));
}

/// Returns `true` if two lines are equal, or close to each other where they may differ.
fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let numbers = |line: &str| -> Vec<f64> {
        line.split(' ').skip(4).map(|word| word.parse().unwrap()).collect()
    };
    let (first, second) = (numbers(a), numbers(b));
    a.starts_with("near")
        && b.starts_with("near")
        && first.len() == second.len()
        && first.iter().zip(&second).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(1e6)))
}

/// Compares the dumps of reports by both libraries, and returns the number of lines.
fn compare(python: &Path, reports: &[PathBuf]) -> usize {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pycubexr/dump.py");
    let output = Command::new(python).arg(script).args(reports).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = String::from_utf8(output.stdout).unwrap();
    let mut ours = String::new();
    reports.iter().for_each(|path| dump(path, &mut ours));
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert!(same(ours, theirs), "\nours   {ours}\ntheirs {theirs}");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
    ours.lines().count()
}

#[test]
fn our_reports_read_equal() {
    let Some(python) = python("pycubexr") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut reports = Vec::new();
    for seed in 0..40 {
        let path = directory.path().join(format!("{seed:02}.cubex"));
        random_report(&path, seed, Taste { pycubexr: true, dense_index: false });
        reports.push(path);
    }
    let lines = compare(&python, &reports);
    assert!(lines > 5_000, "{lines}");
}

#[test]
fn reports_of_other_tools_read_equal() {
    let Some(python) = python("pycubexr") else { return };
    let reports = real_reports();
    let lines = compare(&python, &reports);
    assert!(lines > 1_000 * reports.len(), "{lines}");
}

/// Swaps the bytes of values and index.
fn to_big_endian(dtype: DataType, index: &mut [u8], data: &mut [u8]) {
    index[11..15].reverse();
    index[18..].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let parts: &[usize] = match dtype {
        DataType::TauAtomic => &[4, 8, 8, 8, 8],
        other => &[other.size().min(8) as usize],
    };
    let mut rest = &mut data[10..];
    for &part in parts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (cell, after) = rest.split_at_mut(part);
        cell.reverse();
        rest = after;
    }
}

/// Compresses values row by row.
fn to_packed(row_bytes: usize, data: &[u8], big: bool) -> Vec<u8> {
    let word = |word: usize| {
        let mut bytes = (word as u64).to_le_bytes();
        if big {
            bytes.reverse();
        }
        bytes
    };
    let rows: Vec<_> = data[10..].chunks(row_bytes).map(packed_row).collect();
    let mut out = b"ZCUBEX.DATA".to_vec();
    out.extend(word(rows.len()));
    let mut start = 0;
    for (at, row) in rows.iter().enumerate() {
        out.extend([word(at * row_bytes), word(start), word(row.len())].concat());
        start += row.len();
    }
    out.extend(rows.concat());
    out
}

fn packed_row(row: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, row).unwrap();
    encoder.finish().unwrap()
}

/// Reads what this crate does not write itself: compressed and big-endian values, a compressed document.
#[test]
fn other_forms_read_equal() {
    let Some(python) = python("pycubexr") else { return };
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain.cubex");
    let mut reports = Vec::new();
    for seed in 0..24 {
        random_report(&plain, seed, Taste { pycubexr: true, dense_index: false });
        let report = Report::open(&plain).unwrap();
        let meta = report.meta();
        let (big, packed) = (seed % 2 == 0, seed % 3 != 0);
        let mut members = Vec::new();
        for id in meta.metrics() {
            let dtype = meta.metric(id).unwrap().data_type().unwrap();
            let read = |name: &str| report.read_member(report.member(name).unwrap()).unwrap();
            let mut index = read(&format!("{id}.index"));
            let mut data = read(&format!("{id}.data"));
            if big {
                to_big_endian(dtype, &mut index, &mut data);
            }
            if packed {
                let row_bytes = dtype.size() as usize * meta.locations().len();
                data = to_packed(row_bytes, &data, big);
            }
            members.push((format!("{id}.data"), data));
            members.push((format!("{id}.index"), index));
        }
        let anchor = report.read_member(report.member("anchor.xml").unwrap()).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, &anchor).unwrap();
        members.push(("anchor.xml".into(), encoder.finish().unwrap()));
        let members: Vec<_> = members.iter().map(|it| (it.0.as_str(), it.1.as_slice())).collect();
        let path = directory.path().join(format!("{seed:02}.cubex"));
        std::fs::write(&path, support::archive(&members, false)).unwrap();
        // The same values as in the plain form, and as pyCubexR sees them.
        let (mut ours, mut other) = (String::new(), String::new());
        dump(&plain, &mut ours);
        dump(&path, &mut other);
        assert!(ours.lines().skip(1).eq(other.lines().skip(1)), "seed {seed}");
        reports.push(path);
    }
    compare(&python, &reports);
}
