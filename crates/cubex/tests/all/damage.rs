//! Damaged and hostile reports: every truncation of the headers and many others, changed bytes, and
//! documents, indices and archives that were made to hurt.
//!
//! Whatever the bytes, reading gives what can be read and an error that says where, never a panic,
//! never an endless loop, and never more memory than stated: live memory grows by at most [`BASE`]
//! plus [`FACTOR`] times the bytes of the report. A counting allocator watches that.

use std::io::Write;
use std::sync::Arc;

use cubex::{Cache, ErrorKind, Meta, MetricKind, OpenOptions, Owner, Report, Result, Row};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::memory;
use crate::support::{Random, Taste, archive, random_report, tar_header};

/// Memory in bytes that reading may take for any report, for windows and buffers.
const BASE: usize = 1024 * 1024;
/// Memory in bytes that reading may take for each byte of the report.
const FACTOR: usize = 32;

/// Runs a step and checks the memory that it took; `bytes` is the size of the report.
fn bounded<T>(bytes: usize, step: impl FnOnce() -> T) -> T {
    let (result, most) = memory::grown(step);
    let allowed = BASE + FACTOR * bytes;
    assert!(most <= allowed, "{most} bytes of memory for {bytes} bytes, not {allowed}");
    result
}

/// Reads all metadata, checks that the trees fit together, and returns a number that depends on what was read.
fn look(meta: &Meta) -> usize {
    let mut seen = meta.version().len() + meta.mirrors().map(str::len).sum::<usize>();
    let attributes = |owner| meta.attributes(owner).map(|it| it.key.len()).sum::<usize>();
    seen += attributes(Owner::Report);
    for id in meta.metrics() {
        seen += meta.metric(id).unwrap().uniq_name.len() + meta.metric_children(id).count();
        seen += meta.expressions(id).count() + attributes(Owner::Metric(id));
    }
    for id in meta.regions() {
        seen += meta.region(id).unwrap().name.len() + attributes(Owner::Region(id));
    }
    for id in meta.cnodes() {
        seen += meta.callee(id).unwrap().name.len() + meta.parameters(id).count();
        assert_eq!(
            meta.cnode_children(id).filter(|&it| meta.cnode_parent(it) != Some(id)).count(),
            0
        );
    }
    assert_eq!(meta.cnodes_in_order().count(), meta.cnodes().len());
    for kind in [MetricKind::Exclusive, MetricKind::Inclusive, MetricKind::Simple] {
        let mut rows: Vec<_> =
            meta.cnodes().map(|id| meta.row_numbers(kind).get(id).unwrap()).collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..meta.cnodes().len() as u32));
    }
    let groups: usize = meta.system_nodes().map(|id| meta.groups_of(id).count()).sum();
    assert_eq!(groups, meta.groups().len());
    let locations: usize = meta.groups().map(|id| meta.locations_of(id).count()).sum();
    assert_eq!(locations, meta.locations().len());
    for id in meta.topologies() {
        let width = meta.topology(id).unwrap().dimensions.len();
        assert!(meta.coordinates(id).all(|coordinate| coordinate.at.len() == width));
    }
    seen
}

/// Reads the whole report and returns the first error. Every error must name the member that it concerns.
fn walk(bytes: &Arc<[u8]>) -> Result<usize> {
    let report = Report::from_bytes(Arc::clone(bytes))?;
    let meta = report.meta();
    let mut seen = look(meta);
    let mut first = None;
    for member in report.members() {
        seen += report.read_member(member)?.len();
    }
    let keep = |first: &mut Option<_>, result: Result<Option<Row>>| match result {
        Ok(row) => row.map_or(0, |row| row.len()),
        Err(error) => {
            let told =
                error.member().is_some() || matches!(error.kind(), ErrorKind::Unsupported(_));
            assert!(told, "{error}");
            first.get_or_insert(error);
            0
        }
    };
    for id in meta.metrics() {
        match report.values(id) {
            Ok(values) => {
                for cnode in meta.cnodes().take(5) {
                    seen += keep(&mut first, values.row(cnode));
                    seen += keep(&mut first, values.inclusive(cnode));
                    seen += keep(&mut first, values.exclusive(cnode));
                    if meta.locations().len() > 1 {
                        seen += keep(&mut first, values.cell(cnode, cubex::LocationId(1)));
                    }
                }
            }
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    first.map_or(Ok(seen), Err)
}

fn walk_bounded(bytes: Vec<u8>) -> Result<usize> {
    let bytes: Arc<[u8]> = bytes.into();
    bounded(bytes.len(), || walk(&bytes))
}

/// Returns the bytes of a small random report.
fn small(seed: u64) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    random_report(&path, seed, Taste { pycubexr: true, dense_index: false });
    std::fs::read(path).unwrap()
}

#[test]
fn truncations() {
    let bytes = small(7);
    walk_bounded(bytes.clone()).unwrap();
    let report = Report::from_bytes(bytes.clone()).unwrap();
    let headers: Vec<usize> = report.members().map(|it| it.offset() as usize - 512).collect();
    // Filling and the zeros at the end may go.
    let needed = report.members().map(|it| it.offset() + it.size()).max().unwrap() as usize;
    for length in 0..bytes.len() {
        let in_header = headers.iter().any(|&at| (at..at + 512).contains(&length));
        if !in_header && length % 16 != 0 {
            continue;
        }
        let result = walk_bounded(bytes[..length].to_vec());
        if length < needed {
            let error = result.expect_err("a cut report cannot be whole");
            assert!(error.is_damage(), "{length}: {error}");
        }
    }
}

#[test]
fn changed_bytes() {
    let bytes = (0..40).map(small).min_by_key(Vec::len).unwrap();
    let mut random = Random::new(7);
    for at in 0..bytes.len() {
        // Most of an archive is filling.
        if bytes[at] == 0 && !random.one_in(8) {
            continue;
        }
        let mut changed = bytes.clone();
        changed[at] = match random.below(4) {
            0 => changed[at] ^ 1 << random.below(8),
            1 => 0xff,
            2 => 0,
            _ => random.next() as u8,
        };
        let _ = walk_bounded(changed);
    }
}

/// A sound document, parts of which the tests replace.
const ANCHOR: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4">
<metrics><metric id="0" type="EXCLUSIVE"><disp_name>M</disp_name><uniq_name>m</uniq_name><dtype>UINT64</dtype><uom></uom><url></url><descr></descr></metric></metrics>
<program><region id="0" mod="" begin="-1" end="-1"><name>main</name></region>
<cnode id="0" calleeId="0"><cnode id="1" calleeId="0"></cnode><cnode id="2" calleeId="0"></cnode></cnode></program>
<system><systemtreenode Id="0"><name>n</name><class>c</class><locationgroup Id="0"><name>g</name><rank>0</rank><type>process</type>
<location Id="0"><name>a</name><rank>0</rank><type>thread</type></location><location Id="1"><name>b</name><rank>1</rank><type>thread</type></location>
</locationgroup></systemtreenode>
<topologies><cart name="t" ndims="1"><dim size="2" periodic="false"/><coord locId="1">1</coord></cart></topologies></system>
</cube>
"#;

fn index(rows: &[u32]) -> Vec<u8> {
    let mut bytes = b"CUBEX.INDEX\x01\0\0\0\0\0\x01".to_vec();
    bytes.extend((rows.len() as u32).to_le_bytes());
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    bytes
}

/// Returns plain data with the values 1, 2, 3, …
fn data(rows: u64) -> Vec<u8> {
    b"CUBEX.DATA".iter().copied().chain((1..=2 * rows).flat_map(u64::to_le_bytes)).collect()
}

fn report(anchor: &[u8], index: &[u8], data: &[u8]) -> Vec<u8> {
    archive(&[("anchor.xml", anchor), ("0.index", index), ("0.data", data)], false)
}

fn with_anchor(anchor: &str) -> Vec<u8> {
    report(anchor.as_bytes(), &index(&[0, 2]), &data(2))
}

/// Reads a hostile report and returns the error with its text.
fn error(bytes: Vec<u8>) -> (cubex::Error, String) {
    let error = walk_bounded(bytes).expect_err("this must not be read");
    let text = error.to_string();
    (error, text)
}

#[test]
fn hostile_documents() {
    walk_bounded(with_anchor(ANCHOR)).unwrap();
    let deep = |levels: usize| {
        let open = (3..3 + levels).map(|id| format!("<cnode id=\"{id}\" calleeId=\"0\">"));
        let nested = open.chain((0..levels).map(|_| "</cnode>".to_owned())).collect::<String>();
        ANCHOR.replace("</program>", &format!("{nested}</program>"))
    };
    walk_bounded(with_anchor(&deep(50_000))).unwrap();
    let cases: &[(&str, String)] = &[
        ("nested", deep(70_000)),
        ("nested", ANCHOR.replace("</program>", &"<x>".repeat(70_000))),
        ("1 MiB", ANCHOR.replace("<name>main", &format!("<name>{}", "x".repeat(2 << 20)))),
        ("1 MiB", ANCHOR.replace("mod=\"", &format!("mod=\"{}", "x".repeat(2 << 20)))),
        ("1 MiB", ANCHOR.replace("<name>main", &format!("<name>{}", "&amp;".repeat(2 << 20)))),
        (
            "1 MiB",
            ANCHOR.replace(
                "<name>main",
                &format!("<name>{}", "<![CDATA[xxxxxxxx]]>".repeat(1 << 18)),
            ),
        ),
        ("entity", ANCHOR.replace("main", "&bomb;")),
        ("not well-formed", ANCHOR.replace("mod=\"\"", "mod=\"&bomb;\"")),
        ("not well-formed", ANCHOR.replace("main", "&#x110000;")),
        ("not well-formed", ANCHOR.replace("main", "&#0;")),
        (
            "document type",
            ANCHOR.replace(
                "<cube",
                "<!DOCTYPE cube [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><cube",
            ),
        ),
        (
            "document type",
            ANCHOR.replace("<cube", "<!DOCTYPE cube SYSTEM \"file:///etc/passwd\"><cube"),
        ),
        ("root element", ANCHOR.replace("cube", "html")),
        ("root element", format!("{ANCHOR}<cube></cube>")),
        ("no `cube`", "<?xml version=\"1.0\"?>".into()),
        ("no `cube`", String::new()),
        ("not well-formed", ANCHOR.replace("</system>", "</sistem>")),
        ("not well-formed", ANCHOR.replace("</cube>", "</cube></cube>")),
        ("cut", ANCHOR.replace("</cube>", "")),
        ("same id", ANCHOR.replace("cnode id=\"2\"", "cnode id=\"1\"")),
        ("same id", ANCHOR.replace("Id=\"1\"", "Id=\"0\"")),
        ("gaps", ANCHOR.replace("location Id=\"1\"", "location Id=\"4000000000\"")),
        ("out of range", ANCHOR.replace("cnode id=\"2\"", "cnode id=\"4294967296\"")),
        ("out of range", ANCHOR.replace("cnode id=\"2\"", "cnode id=\"4294967295\"")),
        ("out of range", ANCHOR.replace("cnode id=\"2\"", "cnode id=\"-1\"")),
        ("no id", ANCHOR.replace("cnode id=\"2\"", "cnode")),
        (
            "unknown region",
            ANCHOR.replace("calleeId=\"0\"></cnode></cnode>", "calleeId=\"7\"></cnode></cnode>"),
        ),
        ("dimensions", ANCHOR.replace("ndims=\"1\"", "ndims=\"2\"")),
        ("dimensions", ANCHOR.replace("ndims=\"1\"", "ndims=\"4000000000\"")),
        (
            "dimensions",
            ANCHOR
                .replace("<coord locId=\"1\">1</coord>", "")
                .replace("ndims=\"1\"", "ndims=\"4000000000\""),
        ),
        ("belongs to nothing", ANCHOR.replace("locId=\"1\"", "locId=\"5\"")),
        ("belongs to nothing", ANCHOR.replace("locId=\"1\"", "x=\"5\"")),
        ("unknown type", ANCHOR.replace("UINT64", "STRING")),
        ("unknown type", ANCHOR.replace("UINT64", "HISTOGRAM(99999999999)")),
    ];
    for (expected, anchor) in cases {
        let (error, text) = error(with_anchor(anchor));
        assert!(text.contains(expected), "{expected}: {text}");
        if !matches!(error.kind(), ErrorKind::Unsupported(_)) {
            assert_eq!(error.member(), Some("anchor.xml"), "{text}");
        }
    }
    // Bytes that are not text.
    let mut anchor = ANCHOR.as_bytes().to_vec();
    let at = ANCHOR.find("main").unwrap();
    anchor[at] = 0xff;
    let (_, text) = error(report(&anchor, &index(&[0]), &data(1)));
    assert!(text.contains("anchor.xml: byte"), "{text}");
    // Many attributes take linear time.
    let many: String = (0..50_000).map(|at| format!(" a{at}=\"\"")).collect();
    walk_bounded(with_anchor(&ANCHOR.replace("<cube", &format!("<cube{many}")))).unwrap();
    // Ids with gaps are fine where they are not columns, and so are unknown elements.
    let gaps = ANCHOR
        .replace("region id=\"0\"", "region id=\"77\"")
        .replace("calleeId=\"0\"", "calleeId=\"77\"");
    walk_bounded(with_anchor(&gaps.replace("cnode id=\"2\"", "cnode id=\"9\""))).unwrap();
    walk_bounded(with_anchor(
        &ANCHOR.replace("<program>", "<new><metric id=\"5\"/></new><program>"),
    ))
    .unwrap();
}

/// A document of many small elements takes no more memory than [`FACTOR`] allows.
#[test]
fn many_small_elements() {
    let many = |element: &str| {
        (3..30_000).map(|at| element.replace('#', &at.to_string())).collect::<String>()
    };
    for (before, element) in [
        ("</metrics>", "<metric id=\"#\">"),
        ("<cnode id=\"0\"", "<region id=\"#\"></region>"),
        ("</program>", "<cnode id=\"#\" calleeId=\"0\">"),
        ("</program>", "<cnode id=\"#\" calleeId=\"0\"></cnode>"),
        ("<topologies>", "<systemtreenode Id=\"#\">"),
        ("</locationgroup>", "<location Id=\"#\"/>"),
        ("<locationgroup", "<locationgroup Id=\"#\"/>"),
        ("<metrics>", "<attr key=\"#\"/>"),
        ("</topologies>", "<cart ndims=\"0\"/>"),
    ] {
        let mut elements = many(element);
        if !element.contains('/') {
            let name = element[1..].split(' ').next().unwrap();
            elements += &format!("</{name}>").repeat(30_000 - 3);
        }
        let anchor = ANCHOR.replacen(before, &format!("{elements}{before}"), 1);
        // Locations 3 … without 2 have a gap: an error, but a cheap one.
        let _ = walk_bounded(with_anchor(&anchor));
    }
}

#[test]
fn compressed_documents() {
    let pack = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let packed = pack(ANCHOR.as_bytes());
    walk_bounded(report(&packed, &index(&[0, 2]), &data(2))).unwrap();
    for length in 0..packed.len() - 8 {
        error(report(&packed[..length], &index(&[0]), &data(1)));
    }
    // Hundreds of times larger than it looks, in one piece and in many: stopped before it is large.
    let spaces = " ".repeat(8 << 20);
    let elements = "<murl></murl>".repeat(1 << 20);
    for (expected, bomb) in [("1 MiB", spaces), ("larger than", elements)] {
        let anchor =
            ANCHOR.replace("<metrics>", &format!("<doc><mirrors>{bomb}</mirrors></doc><metrics>"));
        let bytes: Arc<[u8]> = report(&pack(anchor.as_bytes()), &index(&[0]), &data(1)).into();
        drop((anchor, bomb));
        let unpacked = 4 << 20;
        let (_, text) = bounded(bytes.len() * 200 + unpacked, || {
            let error = walk(&bytes).expect_err("a bomb");
            let text = error.to_string();
            (error, text)
        });
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn hostile_indices() {
    let cases: &[(&str, Vec<u8>)] = &[
        ("CUBEX.INDEX", b"XUBEX.INDEX\x01\0\0\0\0\0\x01\0\0\0\0".to_vec()),
        ("byte order", b"CUBEX.INDEX\x02\0\0\0\0\0\x01\0\0\0\0".to_vec()),
        ("version 7", b"CUBEX.INDEX\x01\0\0\0\x07\0\x01\0\0\0\0".to_vec()),
        ("format 2", b"CUBEX.INDEX\x01\0\0\0\0\0\x02\0\0\0\0".to_vec()),
        ("more rows than", b"CUBEX.INDEX\x01\0\0\0\0\0\x01\xff\xff\xff\xff".to_vec()),
        ("cut", b"CUBEX.INDEX\x01\0\0\0\0\0\x01\x03\0\0\0\0\0\0\0".to_vec()),
        ("cut", b"CUBEX.INDEX\x01\0\0\0\0\0\x01".to_vec()),
        ("cut", b"CUBEX".to_vec()),
        ("cut", Vec::new()),
        ("beyond the last", index(&[0, 3])),
        ("beyond the last", index(&[u32::MAX])),
        ("do not rise", index(&[1, 0])),
        ("do not rise", index(&[1, 1])),
    ];
    for (expected, index) in cases {
        let (error, text) = error(report(ANCHOR.as_bytes(), index, &data(3)));
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(error.member(), Some("0.index"), "{text}");
        assert!(error.offset().is_some(), "{text}");
    }
    // A dense index needs three rows.
    let dense = b"CUBEX.INDEX\x01\0\0\0\0\0\x03";
    walk_bounded(report(ANCHOR.as_bytes(), dense, &data(3))).unwrap();
    let (told, text) = error(report(ANCHOR.as_bytes(), dense, &data(2)));
    assert_eq!((told.member(), told.offset()), (Some("0.data"), Some(42)), "{text}");
    let (_, text) = error(report(ANCHOR.as_bytes(), &index(&[0]), b"nothing"));
    assert!(text.contains("0.data: byte 0"), "{text}");
    // One member of the two is missing.
    let members = [("anchor.xml", ANCHOR.as_bytes()), ("0.index", &index(&[0]))];
    assert!(matches!(error(archive(&members, false)).0.kind(), ErrorKind::NoMember));
    // Wide types with tiny data: no memory is taken for what is not there.
    for dtype in ["HISTOGRAM(65533)", "NDOUBLES(65535)"] {
        let locations: String = (2..5000).map(|at| format!("<location Id=\"{at}\"/>")).collect();
        let anchor = ANCHOR.replace("UINT64", dtype);
        let anchor = anchor.replace("</locationgroup>", &format!("{locations}</locationgroup>"));
        let bytes = report(anchor.as_bytes(), &index(&[0]), &data(1));
        let (_, text) = error(bytes);
        assert!(text.contains("cut"), "{text}");
    }
}

/// Returns compressed data with these entries, which may be false.
fn packed(entries: &[(u64, u64, u64)], streams: &[u8]) -> Vec<u8> {
    let mut bytes = b"ZCUBEX.DATA".to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    for &(plain, start, length) in entries {
        bytes.extend([plain, start, length].iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes.extend(streams);
    bytes
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_values() {
    let row = |a: u64, b: u64| [a.to_le_bytes(), b.to_le_bytes()].concat();
    let (first, second) = (zlib(&row(5, 6)), zlib(&row(7, 8)));
    let (m, n) = (first.len() as u64, second.len() as u64);
    let both = [first.clone(), second.clone()].concat();
    let read = |data: &[u8]| {
        let report = Report::from_bytes(report(ANCHOR.as_bytes(), &index(&[0, 2]), data)).unwrap();
        let values = report.values(cubex::MetricId(0)).unwrap();
        report
            .meta()
            .cnodes()
            .map(|cnode| values.row(cnode).unwrap().map(|row| row.cells().clone()))
            .collect::<Vec<_>>()
    };
    let cells = |a, b| Some(cubex::Cells::Unsigned(vec![a, b]));
    let good = packed(&[(0, 0, m), (16, m, n)], &both);
    assert_eq!(read(&good), [cells(5, 6), None, cells(7, 8)]);
    // In any order, and with a row that was never written.
    assert_eq!(read(&packed(&[(16, m, n), (0, 0, m)], &both)), [cells(5, 6), None, cells(7, 8)]);
    assert_eq!(read(&packed(&[(0, 0, m), (16, 0, 0)], &both)), [cells(5, 6), None, None]);

    let short = zlib(&row(1, 2)[..12]);
    let long = zlib(&[row(1, 2), row(3, 4)].concat());
    let mut rotten = first.clone();
    *rotten.last_mut().unwrap() ^= 1;
    let cases: &[(&str, Vec<u8>)] = &[
        ("overlap", packed(&[(0, 0, m), (16, m - 1, n)], &both)),
        ("overlap", packed(&[(0, 0, m), (16, 0, m)], &both)),
        ("beyond the end", packed(&[(0, 0, m), (16, m, n + 1)], &both)),
        ("beyond the end", packed(&[(0, u64::MAX, m)], &both)),
        ("beyond the end", packed(&[(0, m, u64::MAX)], &both)),
        ("same row", packed(&[(0, 0, m), (0, m, n)], &both)),
        ("no row", packed(&[(8, 0, m)], &both)),
        ("no row", packed(&[(32, 0, m)], &both)),
        ("no row", packed(&[(u64::MAX - 15, 0, m)], &both)),
        ("more compressed rows", packed(&[(0, 0, m), (16, m, n), (32, 0, 0)], &both)),
        ("more compressed rows", b"ZCUBEX.DATA\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()),
        ("cut", b"ZCUBEX.DATA\x02\0\0\0\0\0\0\0".to_vec()),
        ("cut", b"ZCUBEX.DATA\x02".to_vec()),
        ("makes no sense", packed(&[(0, 0, 8)], b"garbage!")),
        ("makes no sense", packed(&[(0, 0, short.len() as u64)], &short)),
        ("longer than", packed(&[(0, 0, long.len() as u64)], &long)),
        ("makes no sense", packed(&[(0, 0, m)], &rotten)),
    ];
    for (expected, data) in cases {
        let (error, text) = error(report(ANCHOR.as_bytes(), &index(&[0, 2]), data));
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(error.member(), Some("0.data"), "{text}");
    }
    for length in 0..good.len() - 1 {
        error(report(ANCHOR.as_bytes(), &index(&[0, 2]), &good[..length]));
    }
}

#[test]
fn big_endian_values() {
    let mut index = b"CUBEX.INDEX\0\0\0\x01\0\0\x01".to_vec();
    index.extend([2_u32, 0, 2].iter().flat_map(|word| word.to_be_bytes()));
    let data: Vec<u8> =
        b"CUBEX.DATA".iter().copied().chain((1_u64..=4).flat_map(u64::to_be_bytes)).collect();
    let report = Report::from_bytes(report(ANCHOR.as_bytes(), &index, &data)).unwrap();
    let values = report.values(cubex::MetricId(0)).unwrap();
    assert_eq!(values.byte_order(), Some(cubex::ByteOrder::Big));
    let row = values.row(cubex::CnodeId(2)).unwrap().unwrap();
    assert_eq!(row.cells(), &cubex::Cells::Unsigned(vec![3, 4]));
}

#[test]
fn hostile_archives() {
    let anchor = ("anchor.xml", ANCHOR.as_bytes());
    let cases: &[(&str, Vec<u8>)] = &[
        ("not a Cube report", Vec::new()),
        ("not a Cube report", b"short".to_vec()),
        ("not a Cube report", vec![0; 2048]),
        ("not a Cube report", vec![b'x'; 2048]),
        ("not a Cube report", [&[0x1f, 0x8b][..], &[7; 1000]].concat()),
        ("two members", archive(&[anchor, anchor], false)),
        ("no such member", archive(&[("other", b"x")], false)),
        ("cut", [&tar_header("anchor.xml", u64::MAX >> 31, b'0')[..], ANCHOR.as_bytes()].concat()),
        ("extended header", {
            let record = b"99 size=5\n";
            let mut bytes = tar_header("PaxHeader/x", record.len() as u64, b'x').to_vec();
            bytes.extend(record);
            bytes.resize(1024, 0);
            bytes
        }),
        ("cut", {
            let record = b"29 size=18446744073709551615\n";
            let mut bytes = tar_header("PaxHeader/x", record.len() as u64, b'x').to_vec();
            bytes.extend(record);
            bytes.resize(1024, 0);
            bytes.extend(tar_header("anchor.xml", 0, b'0'));
            bytes
        }),
        ("no header", {
            let mut bytes = archive(&[anchor], false);
            let end = bytes.len() - 1024;
            bytes[end] = b'x';
            bytes
        }),
    ];
    for (expected, bytes) in cases {
        let (error, text) = error(bytes.clone());
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(error.is_damage());
    }
    // Wrong sums, other kinds of members and a missing end are not damage.
    let mut bytes = archive(&[anchor], false);
    bytes[150] = b'7';
    bytes.truncate(bytes.len() - 1024);
    walk_bounded(bytes).unwrap();
    let directory = tar_header("directory/", 0, b'5');
    walk_bounded([&directory[..], &archive(&[anchor], false)].concat()).unwrap();
}

/// A file that becomes shorter while it is open gives errors, not a signal.
#[test]
fn a_file_that_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    std::fs::write(&path, with_anchor(ANCHOR)).unwrap();
    let cache = Cache::At(directory.path().join("cache"));
    let report = OpenOptions::new().cache(cache.clone()).open(&path).unwrap();
    let values = report.values(cubex::MetricId(0)).unwrap();
    assert!(values.row(cubex::CnodeId(0)).unwrap().is_some());
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(600).unwrap();
    let error = values.row(cubex::CnodeId(0)).unwrap_err();
    assert_eq!((error.path(), error.member()), (Some(path.as_path()), Some("0.data")));
    assert!(OpenOptions::new().cache(cache).open(&path).is_err());
}
