//! The checksums of reports: no changed byte passes silently, damage stays where it is, and reports without checksums
//! are read as before.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cubex::{
    Cells, Cnode, CnodeId, Error, ErrorKind, Group, Location, LocationId, MetaBuilder, Metric,
    Region, Report, ReportWriter, Result, Rows, SystemNode, UnfinishedReport,
};

use crate::round_trip::describe;
use crate::support::{Random, Taste, archive, random_report};

/// Name of the member with the checksums.
const NAME: &str = "cubex-checksums";

/// Everything that can be read from a report.
#[derive(Debug, PartialEq)]
struct Contents {
    meta: Vec<String>,
    rows: BTreeMap<(u32, u32), Option<Cells>>,
    extras: BTreeMap<String, Vec<u8>>,
}

fn contents(bytes: &[u8]) -> Result<Contents> {
    let report = Report::from_bytes(bytes)?;
    let meta = report.meta();
    let mut rows = BTreeMap::new();
    for id in meta.metrics().filter(|&id| !meta.metric(id).unwrap().kind.is_derived()) {
        let values = report.values(id)?;
        for cnode in meta.cnodes() {
            let row = values.row(cnode)?.map(|row| row.cells().clone());
            rows.insert((id.0, cnode.0), row);
        }
    }
    let mut extras = BTreeMap::new();
    for member in report.extras() {
        extras.insert(member.name().to_owned(), report.read_member(member)?);
    }
    Ok(Contents { meta: describe(meta), rows, extras })
}

/// Returns the bytes of the smallest of some random reports with extra members.
fn small() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let bytes = (0..40).filter_map(|seed| {
        let content = random_report(&path, seed, Taste { pycubexr: true, dense_index: false });
        (!content.extras.is_empty()).then(|| std::fs::read(&path).unwrap())
    });
    bytes.min_by_key(Vec::len).unwrap()
}

#[test]
fn every_changed_byte_is_noticed_or_changes_nothing() {
    let bytes = small();
    let whole = contents(&bytes).unwrap();
    let mut random = Random::new(3);
    let (mut noticed, mut nothing) = (0, 0);
    for at in 0..bytes.len() {
        // Most of an archive is filling.
        if bytes[at] == 0 && !random.one_in(8) {
            continue;
        }
        let mut changed = bytes.clone();
        changed[at] = match random.below(4) {
            0 => 0,
            1 => random.next() as u8,
            _ => changed[at] ^ 1 << random.below(8),
        };
        match contents(&changed) {
            Ok(contents) => {
                assert_eq!(contents, whole, "byte {at}");
                nothing += usize::from(changed != bytes);
            }
            Err(error) => {
                assert!(error.is_damage(), "byte {at}: {error}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 10 * nothing, "{noticed} noticed, {nothing} that change nothing");
}

#[test]
fn bytes_that_are_lost_doubled_or_exchanged_are_noticed() {
    let bytes = small();
    let whole = contents(&bytes).unwrap();
    let mut random = Random::new(5);
    for _ in 0..2_000 {
        let at = random.below(bytes.len() as u64) as usize;
        let end = (at + 1 + random.below(700) as usize).min(bytes.len());
        let mut changed = bytes.clone();
        match random.below(5) {
            0 => changed.truncate(at),
            1 => drop(changed.drain(at..end)),
            2 => changed[at..end].fill(0),
            3 => drop(changed.splice(at..at, bytes[at..end].to_vec())),
            _ => {
                let count = (end - at).min(at);
                let (before, after) = changed.split_at_mut(at);
                before[..count].swap_with_slice(&mut after[..count]);
            }
        }
        match contents(&changed) {
            Ok(contents) => assert_eq!(contents, whole, "bytes {at} to {end}"),
            Err(error) => assert!(error.is_damage(), "bytes {at} to {end}: {error}"),
        }
    }
}

/// Checksums of blocks, computed by their definition.
#[test]
fn the_member_is_as_documented() {
    let bytes = small();
    let report = Report::from_bytes(bytes.clone()).unwrap();
    let member = report.members().last().unwrap();
    assert_eq!(member.name(), NAME);
    let sums = report.read_member(member).unwrap();
    let covered = member.offset() as usize - 512;
    let blocks: Vec<&[u8]> = bytes[..covered].chunks(4096).collect();
    let table: Vec<u8> =
        blocks.iter().flat_map(|block| crc32fast::hash(block).to_le_bytes()).collect();
    let mut list = Vec::new();
    for member in report.members().filter(|it| it.name() != NAME) {
        list.extend(member.name().bytes());
        list.push(0);
        list.extend(member.offset().to_le_bytes());
        list.extend(member.size().to_le_bytes());
    }
    let mut expected = b"CUBEX.CHECKSUMS\x01".to_vec();
    expected.extend((covered as u64).to_le_bytes());
    expected.extend(crc32fast::hash(&list).to_le_bytes());
    expected.extend(table.chunks(4096).flat_map(|page| crc32fast::hash(page).to_le_bytes()));
    expected.extend(crc32fast::hash(&expected).to_le_bytes());
    expected.extend(table);
    assert_eq!(sums, expected);
    for name in ["anchor.xml", NAME] {
        let header = report.member(name).unwrap().offset() as usize - 512;
        assert_eq!(&bytes[header + 500..header + 512], b"cubex CRC-32");
    }
}

/// Writes a report with a metric of 300 rows of 100 values and returns its bytes.
fn large(path: &Path, write: impl FnOnce(&ReportWriter)) -> Vec<u8> {
    let mut b = MetaBuilder::new();
    b.metric(None, Metric { uniq_name: "m", dtype: "UINT64", ..Metric::default() });
    let region = b.region(Region { name: "main", ..Region::default() });
    let root = b.cnode(None, Cnode { region, ..Cnode::default() });
    for _ in 1..300 {
        b.cnode(Some(root), Cnode { region, ..Cnode::default() });
    }
    let machine = b.system_node(None, SystemNode::default());
    let group = b.group(machine, Group::default());
    for _ in 0..100 {
        b.location(group, Location::default());
    }
    let writer = ReportWriter::create(path, b.finish().unwrap()).unwrap();
    write(&writer);
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Returns the value at a place of the report that [`large`] makes.
fn value(row: u32, location: u32) -> u64 {
    u64::from(row * 100 + location).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn write_rows(writer: &ReportWriter) {
    let metric = writer.metric(cubex::MetricId(0), Rows::All).unwrap();
    for row in 0..300 {
        let cells: Vec<u64> = (0..100).map(|location| value(row, location)).collect();
        metric.write(CnodeId(row), &cells).unwrap();
    }
}

#[test]
fn damage_of_a_row_leaves_other_rows_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let mut bytes = large(&path, write_rows);
    let data = Report::from_bytes(bytes.clone()).unwrap().member("0.data").unwrap().offset();
    let at = data as usize + 10 + 800 * 150 + 399;
    bytes[at] ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    let report = Report::open(&path).unwrap();
    let values = report.values(cubex::MetricId(0)).unwrap();
    let mut failed = Vec::new();
    for cnode in report.meta().cnodes() {
        let cell = values.cell(cnode, LocationId(49));
        match values.row(cnode) {
            Ok(row) => {
                let right: Vec<u64> = (0..100).map(|location| value(cnode.0, location)).collect();
                assert_eq!(row.unwrap().cells(), &Cells::Unsigned(right));
                assert!(cell.is_ok());
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Checksum(_)));
                assert!(error.is_damage());
                assert_eq!((error.path(), error.member()), (Some(&*path), Some("0.data")));
                assert!(error.to_string().ends_with("is damaged"), "{error}");
                failed.push(cnode.0);
            }
        }
    }
    assert!(failed.contains(&150) && failed.len() <= 4096 / 800 + 2, "{failed:?}");
    let error = values.cell(CnodeId(150), LocationId(49)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Checksum(_)), "{error}");
}

#[test]
fn all_ways_of_writing_give_the_same_checksums() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let rows = large(&path, write_rows);
    let spooled = large(&path, |writer| {
        let metric = writer.metric(cubex::MetricId(0), Rows::Spooled).unwrap();
        for row in (0..300).rev() {
            let cells: Vec<u64> = (0..100).map(|location| value(row, location)).collect();
            metric.write(CnodeId(row), &cells).unwrap();
        }
    });
    assert!(rows == spooled);
    let pieces = large(&path, |writer| {
        let place = writer.metric(cubex::MetricId(0), Rows::All).unwrap().place().unwrap();
        let other = UnfinishedReport::open(&path, writer.temporary_name()).unwrap();
        let values = (0..300).flat_map(|row| (0..100).map(move |location| value(row, location)));
        let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        for (at, piece) in bytes.chunks(10_007).enumerate() {
            let offset = place.offset + 10_007 * at as u64;
            match at % 2 {
                0 => writer.write_at(offset, piece).unwrap(),
                _ => other.write_at(offset, piece).unwrap(),
            }
        }
    });
    assert!(rows == pieces);
}

fn damage(bytes: &[u8]) -> Error {
    let error = contents(bytes).expect_err("this is damaged");
    assert!(error.is_damage(), "{error}");
    error
}

/// Packs the members of a report as any tar program does.
fn packed_again(bytes: &[u8], without: &str) -> Vec<u8> {
    let report = Report::from_bytes(bytes).unwrap();
    let members: Vec<(String, Vec<u8>)> = report
        .members()
        .filter(|member| member.name() != without)
        .map(|member| (member.name().to_owned(), report.read_member(member).unwrap()))
        .collect();
    let members: Vec<_> = members.iter().map(|(name, bytes)| (name.as_str(), &**bytes)).collect();
    archive(&members, false)
}

#[test]
fn the_member_cannot_be_removed() {
    let bytes = small();
    let report = Report::from_bytes(bytes.clone()).unwrap();
    let [anchor, sums] =
        ["anchor.xml", NAME].map(|name| report.member(name).unwrap().offset() as usize - 512);
    let cut = damage(&bytes[..sums]);
    assert!(matches!(cut.kind(), ErrorKind::NoMember), "{cut}");
    assert_eq!(cut.member(), Some(NAME));
    let mut renamed = bytes.clone();
    renamed[sums] ^= 1;
    assert_eq!(damage(&renamed).member(), Some(NAME));
    // One mark of the two is enough.
    let value = bytes[..anchor].iter().rposition(|byte| *byte != 0).unwrap();
    for header in [anchor, sums] {
        let mut changed = bytes.clone();
        changed[header + 505] ^= 1;
        changed[value] ^= 1;
        damage(&changed);
    }
}

#[test]
fn what_other_tools_make_of_a_report_is_read_without_checksums() {
    let bytes = small();
    let whole = contents(&bytes).unwrap();
    for without in ["", NAME] {
        let mut packed = packed_again(&bytes, without);
        assert_eq!(contents(&packed).unwrap(), whole);
        // The checksums may be those of other bytes now.
        let at = packed.windows(10).position(|it| it == b"CUBEX.DATA").unwrap() + 10;
        packed[at] ^= 1;
        assert_ne!(contents(&packed).unwrap(), whole);
    }
}

#[test]
fn reports_of_earlier_versions_have_none() {
    let earlier = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/earlier/analysed");
    let bytes = std::fs::read(earlier.join("trace.cubex")).unwrap();
    assert!(Report::from_bytes(bytes.clone()).unwrap().member(NAME).is_none());
    contents(&bytes).unwrap();
}

/// A copy of a report has its own checksums.
#[test]
fn checksums_are_not_copied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let old = Report::from_bytes(large(&path, write_rows)).unwrap();
    assert_eq!(old.extras().count(), 0);
    let writer = ReportWriter::create(&path, Arc::clone(old.meta())).unwrap();
    writer.copy_extras(&old).unwrap();
    assert!(writer.extra(NAME, 0, &b""[..]).is_err());
    writer.finish().unwrap();
    contents(&std::fs::read(&path).unwrap()).unwrap();
}
