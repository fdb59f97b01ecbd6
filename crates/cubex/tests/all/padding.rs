//! The 512-byte trap: whatever the sizes of members, readers of both rules see all of them.
//!
//! cubelib skips `(size / 512 + 1) * 512` bytes after a header, all other tools skip to the next multiple of
//! 512. A small reader of the first kind is here; Python's `tarfile` is of the second.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cubex::{
    Cnode, Group, Location, MetaBuilder, Metric, Region, Report, ReportWriter, Rows, SystemNode,
};

use crate::support::{Random, archive, python};

/// Returns the members as a reader with cubelib's padding rule sees them. Its behaviour after an empty member is not
/// known for certain, so the parameter selects one of two.
fn cubelib(bytes: &[u8], block_after_nothing: bool) -> BTreeMap<String, Vec<u8>> {
    let mut members = BTreeMap::new();
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + 512).filter(|header| header[0] != 0) {
        let text = |field: &[u8]| {
            let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
            String::from_utf8(field[..end].to_vec()).unwrap()
        };
        let size = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        members.insert(text(&header[..100]), bytes[at + 512..at + 512 + size].to_vec());
        let skipped = if size == 0 && !block_after_nothing { 0 } else { (size / 512 + 1) * 512 };
        at += 512 + skipped;
    }
    members
}

/// Returns a random size, often one at which padding rules differ.
fn size(random: &mut Random) -> usize {
    match random.below(3) {
        0 => 512 * random.below(5) as usize,
        1 => (512 * (1 + random.below(4)) as usize + 1).saturating_sub(random.below(3) as usize),
        _ => random.below(3000) as usize,
    }
}

/// Writes a report with extra members of these sizes and with narrow values, and returns its contents.
fn report(
    path: &Path,
    sizes: &[usize],
    locations: u32,
    filler: usize,
) -> BTreeMap<String, Vec<u8>> {
    let mut b = MetaBuilder::new();
    // The name makes the document longer by one byte at a time, over all sizes modulo 512.
    b.metric(
        None,
        Metric { uniq_name: &"m".repeat(filler + 1), dtype: "UINT8", ..Metric::default() },
    );
    b.metric(None, Metric { uniq_name: "second", dtype: "UINT16", ..Metric::default() });
    let region = b.region(Region::default());
    let root = b.cnode(None, Cnode { region, ..Cnode::default() });
    let machine = b.system_node(None, SystemNode::default());
    let group = b.group(machine, Group::default());
    for _ in 0..locations {
        b.location(group, Location::default());
    }
    let meta = Arc::new(b.finish().unwrap());
    let writer = ReportWriter::create(path, Arc::clone(&meta)).unwrap();
    let mut expected = BTreeMap::new();
    for (id, bytes) in meta.metrics().zip([1, 2]) {
        let rows = if filler.is_multiple_of(2) { Rows::All } else { Rows::Spooled };
        let row: Vec<u64> = (0..u64::from(locations)).map(|at| at % 251).collect();
        writer.metric(id, rows).unwrap().write(root, &row).unwrap();
        let cells = row.iter().flat_map(|value| value.to_le_bytes()[..bytes].to_vec());
        expected.insert(format!("{id}.data"), b"CUBEX.DATA".iter().copied().chain(cells).collect());
        let index = b"CUBEX.INDEX\x01\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0".to_vec();
        expected.insert(format!("{id}.index"), index);
    }
    for (at, &size) in sizes.iter().enumerate() {
        let name = format!("extra{at}");
        let bytes: Vec<u8> = (0..size).map(|byte| (byte * 7 + at) as u8).collect();
        writer.extra(&name, size as u64, bytes.as_slice()).unwrap();
        expected.insert(name, bytes);
    }
    writer.finish().unwrap();
    expected
}

#[test]
fn readers_of_both_rules_see_every_member() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(512);
    let mut all = Vec::new();
    let mut anchors = std::collections::BTreeSet::new();
    for filler in 0..640 {
        let path = directory.path().join(format!("{filler:03}.cubex"));
        let sizes: Vec<_> = (0..random.below(5)).map(|_| size(&mut random)).collect();
        // 502 locations of one byte and 251 of two give data members of 512 bytes.
        let others = random.pick(&[251, 1014, 507, 1, 3, 246]);
        let locations = if filler < 512 { 502 } else { others };
        let mut expected = report(&path, &sizes, locations, filler);
        let bytes = fs::read(&path).unwrap();
        let read = Report::open(&path).unwrap();
        let anchor = read.read_member(read.member("anchor.xml").unwrap()).unwrap();
        if filler < 512 {
            anchors.insert(anchor.len() % 512);
        }
        expected.insert("anchor.xml".into(), anchor);
        let sums = read.read_member(read.member("cubex-checksums").unwrap()).unwrap();
        expected.insert("cubex-checksums".into(), sums);
        for block_after_nothing in [false, true] {
            let mut seen = cubelib(&bytes, block_after_nothing);
            seen.retain(|name, _| !name.starts_with("cubex-pad."));
            assert!(seen == expected, "{filler}: cubelib sees {:?}", seen.keys());
        }
        let ours: BTreeMap<_, _> = read
            .members()
            .map(|member| (member.name().to_owned(), read.read_member(member).unwrap()))
            .collect();
        assert!(ours == expected, "{filler}: we see {:?}", ours.keys());
        all.push((path, expected));
    }
    // Every size modulo 512 came up but the one that is avoided.
    assert_eq!(anchors.len(), 511);
    assert!(!anchors.contains(&0));
    python_sees_all(directory.path(), &all);
}

fn python_sees_all(directory: &Path, all: &[(std::path::PathBuf, BTreeMap<String, Vec<u8>>)]) {
    let Some(python) = python("tarfile") else { return };
    let script = r"
import glob, sys, tarfile, zlib
for path in sorted(glob.glob(sys.argv[1] + '/*.cubex')):
    with tarfile.open(path) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            if not member.name.startswith('cubex-pad.'):
                assert member.isreg() and member.mtime == 0
                data = tar.extractfile(member).read()
                print(path, member.name, len(data), zlib.adler32(data))
";
    let output = Command::new(python).args(["-c", script]).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut expected = String::new();
    for (path, members) in all {
        for (name, bytes) in members {
            let (size, sum) = (bytes.len(), adler32(bytes));
            expected.push_str(&format!("{} {name} {size} {sum}\n", path.display()));
        }
    }
    let seen = String::from_utf8(output.stdout).unwrap();
    for (seen, expected) in seen.lines().zip(expected.lines()) {
        assert_eq!(seen, expected);
    }
    assert_eq!(seen.len(), expected.len());
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    b << 16 | a
}

#[test]
fn archives_of_either_rule_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    report(&path, &[], 3, 0);
    let read = Report::open(&path).unwrap();
    let anchor = read.read_member(read.member("anchor.xml").unwrap()).unwrap();
    let mut random = Random::new(1);
    for _ in 0..200 {
        let bodies: Vec<Vec<u8>> = (0..4).map(|at| vec![at as u8 + 1; size(&mut random)]).collect();
        let names = ["a", "b", "c", "d"];
        let mut members: Vec<_> = names.into_iter().zip(bodies.iter().map(Vec::as_slice)).collect();
        members.insert(random.below(5) as usize, ("anchor.xml", &anchor));
        for extra_block in [false, true] {
            let report = Report::from_bytes(archive(&members, extra_block)).unwrap();
            assert_eq!(report.members().count(), 5);
            for (name, bytes) in &members {
                assert!(&report.read_member(report.member(name).unwrap()).unwrap() == bytes);
            }
        }
    }
}

#[test]
fn a_member_of_more_than_8_gib_has_an_extended_header() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let mut b = MetaBuilder::new();
    b.metric(None, Metric { uniq_name: "wide", dtype: "NDOUBLES(65535)", ..Metric::default() });
    let region = b.region(Region::default());
    let root = b.cnode(None, Cnode { region, ..Cnode::default() });
    let last =
        (0..20).fold(root, |parent, _| b.cnode(Some(parent), Cnode { region, ..Cnode::default() }));
    let machine = b.system_node(None, SystemNode::default());
    let group = b.group(machine, Group::default());
    for _ in 0..800 {
        b.location(group, Location::default());
    }
    let meta = Arc::new(b.finish().unwrap());
    let id = meta.find_metric("wide").unwrap();
    let writer = ReportWriter::create(&path, Arc::clone(&meta)).unwrap();
    // 21 rows of 419 MB, all but some cells of which are holes.
    drop(writer.metric(id, Rows::All).unwrap());
    writer.extra("after", 5, &b"after"[..]).unwrap();
    writer.finish().unwrap();
    let report = Report::open(&path).unwrap();
    let data = report.member("0.data").unwrap();
    assert_eq!(data.size(), 10 + 21 * 800 * 8 * 65535);
    assert!(data.size() > 8 << 30);
    assert_eq!(report.read_member(report.member("after").unwrap()).unwrap(), b"after");
    let cell = report.values(id).unwrap().cell(last, cubex::LocationId(799)).unwrap().unwrap();
    assert_eq!(cell.len(), 1);
    if let Some(python) = python("tarfile") {
        let script = "import sys, tarfile; t = tarfile.open(sys.argv[1]); \
                      print([(m.name, m.size) for m in t.getmembers()][:3])";
        let output = Command::new(python).args(["-c", script]).arg(&path).output().unwrap();
        let expected = format!("[('0.data', {}), ('0.index', 106), ('after', 5)]\n", data.size());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}
