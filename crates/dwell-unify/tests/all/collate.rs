//! Collation: what is in blocks is what was in rows, for any number of processes, whatever fails.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use dwell_model::profile::block::{self as format, HEAD, Head, LOCATION, Path, Place, SUM, Sums};
use dwell_model::profile::{
    CounterRow, Header, MAGIC_1, PartnerRow, Setting, Words, counter_key, parameter_key,
    partner_key, path_key,
};
use dwell_model::varint;
use dwell_unify::collate::{block, collate, part};
use otf2::id::LocationRef;

use crate::threads::{Fault, no_fault, run};

/// Returns a random number that depends on `number` alone.
fn mix(number: u64) -> u64 {
    fastrand::Rng::with_seed(number).u64(..)
}

/// The rows of a thread: a program that calls, from several places, functions that call others. Which, and in
/// which order, differs.
fn rows(location: u64) -> Vec<u8> {
    let mut records: Vec<Words> = Vec::new();
    let mut add = |words: &[u64]| {
        let mut record = [0; 16];
        record[..words.len()].copy_from_slice(words);
        records.push(record);
        records.len() as u32 - 1
    };
    add(&[MAGIC_1, 1000 + location, 900_000 + mix(location) % 1000, location % 3]);
    let (one, two) = path_key(0, 0, None);
    let program = add(&[one, two, 1, 0, u64::MAX]);
    for call in 0..4 + mix(location) % 5 {
        let call = (call + location) % 7;
        let (one, two) = path_key(program, 1 + call as u32, Some(call as u32 * 2));
        let time = mix(location * 100 + call) % 1000;
        let outer = add(&[one, two, 2, time, time / 4, time / 2, 0, call, 0, 0, call * 8]);
        if call.is_multiple_of(2) {
            let (one, two) = path_key(outer, 9, None);
            add(&[one, two, 1, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            let (one, two) = partner_key(call as u32 % 4, call as u32, location as u32);
            add(&[one, two, 3, 24, time]);
        }
        if call.is_multiple_of(3) {
            let (value, is_text) = (Some(call).filter(|call| *call > 0), call > 3);
            let (one, two) =
                parameter_key(outer, Setting { parameter: 4, value, is_text }).unwrap();
            let set = add(&[one, two, 2, 5, 1, 4]);
            let (one, two) = counter_key(set, 6).unwrap();
            add(&[one, two, 3, time, 1, u64::MAX]);
        }
    }
    records.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

/// Ids of the archive are those of the process plus 100 and something of the kind.
fn translate(space: otf2::enums::MappingType, id: u32) -> u32 {
    id + 100 * (1 + u32::from(u8::from(space)))
}

fn part_of(location: u64) -> Vec<u8> {
    part(LocationRef(location), &rows(location), translate).unwrap()
}

/// Threads of a process: most have one, some two, some none.
fn threads_of(rank: u64) -> u64 {
    [1, 1, 2, 1, 0, 1, 1][(mix(rank) % 7) as usize]
}

fn first_of(rank: u64) -> u64 {
    (0..rank).map(threads_of).sum()
}

type CallPath = Vec<(u32, Option<u32>, Option<(u32, Option<u64>)>)>;

/// Contents of a block for one location.
#[derive(Debug, Default, PartialEq)]
struct Found {
    header: Header,
    paths: Vec<(CallPath, Sums, Vec<CounterRow>)>,
    partners: Vec<PartnerRow>,
}

/// Takes a block apart, by the rules that are written down for it.
fn open(bytes: &[u8]) -> BTreeMap<u64, Found> {
    let head = Head::read(bytes).unwrap();
    assert_eq!(head.length + SUM as u64, bytes.len() as u64);
    let bytes = &bytes[..head.length as usize];
    let (places, paths) =
        bytes[HEAD..head.tables() as usize].split_at(head.locations as usize * LOCATION);
    let places: Vec<Place> = Place::read(places).collect();
    let mut found: BTreeMap<u64, Found> = places
        .iter()
        .map(|place| (place.location, Found { header: place.header, ..Found::default() }))
        .collect();
    let mut steps: Vec<CallPath> = Vec::new();
    let paths: Vec<Path> = Path::read(paths).collect();
    let ends = paths.iter().skip(1).map(|path| path.start).chain([head.partners]);
    for (path, end) in paths.iter().zip(ends) {
        let mut all = path.parent.map_or_else(Vec::new, |parent| steps[parent as usize].clone());
        all.push((path.region, path.site, path.setting.map(|it| (it.parameter, it.value))));
        steps.push(all.clone());
        let lines: Vec<_> = format::lines(&bytes[path.start as usize..end as usize]).collect();
        assert_eq!(lines.len() as u64, path.lines);
        assert_eq!(Sums::has_counters(path.has), lines.iter().any(|line| !line.2.is_empty()));
        let has = path.has & !Sums::WITH_COUNTERS;
        assert_eq!(has, lines.iter().fold(0, |has, line| has | line.1.has()));
        for (place, sums, counters) in lines {
            let found = found.get_mut(&places[place as usize].location).unwrap();
            found.paths.push((all.clone(), sums, counters.iter().collect()));
        }
    }
    for (place, partner) in format::partners(&bytes[head.partners as usize..]) {
        found.get_mut(&places[place as usize].location).unwrap().partners.push(partner);
    }
    found
}

/// Computes from its rows what a location should have in a block.
fn expected(location: u64) -> Found {
    use dwell_model::profile::{Row, header, rows as records};
    use otf2::enums::MappingType as M;
    let bytes = rows(location);
    let header = header(&bytes).unwrap();
    let mut found = Found { header, ..Found::default() };
    let mut steps: BTreeMap<u32, CallPath> = BTreeMap::new();
    let mut inner = 0;
    for (number, row) in records(&bytes) {
        match row {
            Row::Path(row) => {
                let mut path = steps.get(&row.parent).cloned().unwrap_or_default();
                let site = row.site.map(|site| translate(M::CallingContext, site));
                path.push(match row.parameter {
                    None => (translate(M::Region, row.region), site, None),
                    Some(it) => {
                        let text = |text: u64| u64::from(translate(M::String, text as u32));
                        let value =
                            it.value.map(|it_is| if it.is_text { text(it_is) } else { it_is });
                        (u32::MAX, None, Some((translate(M::Parameter, it.parameter), value)))
                    }
                });
                steps.insert(number, path.clone());
                inner += row.time;
                let sums = Sums {
                    local: (row.region, row.site),
                    visits: row.visits,
                    time: row.time,
                    extremes: Some((row.shortest, row.longest)),
                    counts: row.counts,
                };
                // Rows of one place, here those with a call more than there are functions, are one.
                match found.paths.iter_mut().find(|known| known.0 == path) {
                    None => found.paths.push((path, sums, Vec::new())),
                    Some((_, known, _)) => {
                        known.visits += sums.visits;
                        known.time += sums.time;
                        for (sum, count) in known.counts.iter_mut().zip(sums.counts) {
                            *sum += count;
                        }
                    }
                }
            }
            Row::Counter(row) => {
                let path = found.paths.iter_mut().find(|known| known.0 == steps[&row.path]);
                let counter = translate(M::Metric, row.counter);
                path.unwrap().2.push(CounterRow { path: 0, counter, ..row });
            }
            Row::Partner(row) => {
                let space = if row.kind == 3 { M::Comm } else { M::RmaWin };
                found.partners.push(PartnerRow { context: translate(space, row.context), ..row });
            }
        }
    }
    let own = header.last - header.first - inner;
    found.paths[0].1.time = own;
    found.paths[0].1.extremes = Some((own, own));
    found
}

fn assert_sound(location: u64, found: &Found) {
    let mut wanted = expected(location);
    // Paths of a block are in the order in which its locations met them.
    let mut paths: Vec<_> = found.paths.iter().collect();
    paths.sort_by_key(|it| it.0.clone());
    wanted.paths.sort_by_key(|it| it.0.clone());
    assert_eq!(paths, wanted.paths.iter().collect::<Vec<_>>(), "location {location}");
    assert_eq!((found.header, &found.partners), (wanted.header, &wanted.partners));
}

/// Blocks as they were written.
type Written = Mutex<Vec<(u64, Vec<u8>)>>;

fn keep(blocks: &Written, first: LocationRef, bytes: &[u8]) {
    blocks.lock().unwrap().push((first.0, bytes.to_vec()));
}

#[test]
fn every_row_is_in_one_block() {
    for size in (1..=17).chain([31, 32, 33, 64]) {
        // From a block for each process to one for all.
        for enough in [1, 700, 2500, usize::MAX] {
            let blocks = Written::default();
            let results = run(size, no_fault, |up| {
                let first = first_of(up.rank);
                let parts = (first..first + threads_of(up.rank)).map(part_of);
                collate(up, parts, enough, &mut |first, bytes| {
                    keep(&blocks, first, bytes);
                    Ok(())
                })
            });
            let mut blocks = blocks.into_inner().unwrap();
            blocks.sort();
            assert_eq!(results.iter().map(|it| it.blocks).sum::<u64>(), blocks.len() as u64);
            assert!(results.iter().all(|it| it.written.is_ok()));
            let locations = first_of(size);
            let mut next = 0;
            for (first, bytes) in &blocks {
                for (location, found) in open(bytes) {
                    // Consecutive, within a block and from one to the next.
                    assert_eq!(location, next);
                    assert_sound(location, &found);
                    next += 1;
                }
                assert!(*first < next);
            }
            assert_eq!(next, locations, "{size} processes, {enough} bytes");
            if enough == usize::MAX {
                assert!(blocks.len() <= 1);
            }
        }
    }
}

/// A path that was entered and never left has no shortest visit, whatever its row has in that place.
#[test]
fn a_path_without_visits_has_no_extremes() {
    let (program, text) =
        (path_key(0, 0, None), Setting { parameter: 4, value: Some(2), is_text: true });
    let text = parameter_key(1, text).unwrap();
    for (visits, shortest, longest, expected) in
        [(0, 0, 0, None), (0, u64::MAX, 0, None), (1, 0, 0, Some((0, 0))), (2, 3, 5, Some((3, 5)))]
    {
        let records: [&[u64]; 3] = [
            &[MAGIC_1, 1000, 2000],
            &[program.0, program.1, 1, 0, u64::MAX],
            &[text.0, text.1, visits, 0, shortest, longest],
        ];
        let words = |record: &[u64]| (0..16).map(|at| *record.get(at).unwrap_or(&0)).collect();
        let records = records.map(|record| -> Vec<u64> { words(record) });
        let rows: Vec<u8> = records.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let part = part(LocationRef(0), &rows, translate).unwrap();
        let mut parts = Vec::new();
        varint::put(&mut parts, part.len() as u64);
        parts.extend(part);
        let found = open(&block(&parts).unwrap().1);
        assert_eq!(found[&0].paths[1].1.extremes, expected, "{visits} visits");
    }
}

#[test]
fn nobody_holds_much_and_few_write() {
    let (size, enough) = (64, 3000);
    let results =
        run(size, no_fault, |up| collate(up, [part_of(up.rank)], enough, &mut |_, _| Ok(())));
    let all: usize = (0..size).map(|location| part_of(location).len()).sum();
    let blocks: u64 = results.iter().map(|it| it.blocks).sum();
    assert!(
        (all / (2 * enough)..=all / enough + 1).contains(&(blocks as usize)),
        "{blocks}, {all}"
    );
    let longest = results.iter().flat_map(|it| &it.traffic).map(|round| round.sent).max();
    assert!(longest.unwrap() <= enough as u64, "{longest:?}");
    // The last rounds only say that all is written.
    assert_eq!(results[0].traffic.iter().rev().take(2).map(|it| it.received).max(), Some(2));
}

/// Lines and disks that fail now and then. `damage` may change a message that arrives.
fn with_faults(seed: u64, damage: impl Fn(&mut Vec<u8>, u64) + Copy + Send + 'static) -> u64 {
    let size = 1 + seed % 23;
    let fault = |rank: u64| -> Fault {
        let mut count = 0;
        Box::new(move |bytes| {
            count += 1;
            let luck = mix(seed * 1000 + rank * 10 + count);
            if luck.is_multiple_of(4) {
                damage(bytes, luck >> 8);
            }
            luck % 5 == 1
        })
    };
    let blocks = Written::default();
    let results = run(size, fault, |up| {
        let fails = mix(seed + up.rank).is_multiple_of(6);
        collate(up, [part_of(up.rank)], 1500, &mut |first, bytes| {
            if fails {
                return Err(io::Error::other("no space"));
            }
            keep(&blocks, first, bytes);
            Ok(())
        })
    });
    let blocks = blocks.into_inner().unwrap();
    let found: BTreeMap<u64, Found> = blocks.iter().flat_map(|(_, bytes)| open(bytes)).collect();
    let mut told = 0;
    for (rank, _) in (0..).zip(&results).filter(|(_, result)| result.written.is_ok()) {
        assert_sound(rank, &found[&rank]);
        told += 1;
    }
    told
}

#[test]
fn whoever_is_told_so_finds_its_rows() {
    let cut = |bytes: &mut Vec<u8>, luck: u64| bytes.truncate(luck as usize % (bytes.len() + 1));
    let told: u64 = (0..100).map(|seed| with_faults(seed, cut)).sum();
    assert!(told > 100, "{told}");
}

#[test]
fn damaged_parts_are_no_block() {
    let mut parts = Vec::new();
    for location in [3, 4] {
        let part = part_of(location);
        varint::put(&mut parts, part.len() as u64);
        parts.extend(part);
    }
    let (first, whole) = block(&parts).unwrap();
    assert_eq!((first, open(&whole).len()), (LocationRef(3), 2));
    assert_eq!(block(&[]), None);
    for cut in 1..parts.len() {
        if let Some((_, some)) = block(&parts[..cut]) {
            assert_eq!(open(&some).len(), 1);
        }
    }
    for at in 0..parts.len() {
        for bit in 0..8 {
            let mut parts = parts.clone();
            parts[at] ^= 1 << bit;
            // No panic; what is made of it can be read.
            if let Some((_, some)) = block(&parts) {
                Head::read(&some).unwrap();
            }
        }
    }
    assert_eq!(part(LocationRef(0), b"no rows", translate), None);
}
