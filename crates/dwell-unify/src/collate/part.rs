//! Parts: the rows of one location as they travel in messages.
//!
//! | of a part | is |
//! |---|---|
//! | four numbers | location, time of the first call, time of the last event, number of calls without a row |
//! | number | number of paths |
//! | of each path | parent plus one, region, calling context plus one, parameter plus one, of a parameter its bits and value: numbers; [`Sums`] and counters as in a line of a [block](dwell_model::profile::block) |
//! | number | number of partners |
//! | of each partner | as in a [block](dwell_model::profile::block) |

use std::collections::HashMap;

use dwell_model::profile::block::{Sums, bits, encode_counter, encode_partner};
use dwell_model::profile::{
    self as raw, COUNTS, CounterRow, MESSAGE, PartnerRow, PathRow, Row, Setting,
};
use dwell_model::varint::put;
use otf2::enums::MappingType;
use otf2::id::{LocationRef, RegionRef};

/// A call path of a location, in ids of the archive.
struct Line {
    parent: u64,
    region: u32,
    site: u64,
    setting: Option<Setting>,
    sums: Sums,
    counters: Vec<CounterRow>,
}

/// Encodes the rows of a location as a part, with all ids translated to those of the archive. `rows` are the bytes of
/// the file of rows; `translate` maps an id of the process to that of the archive. Paths that become equal by
/// translation are added up. Returns `None` if the bytes do not begin with the header of a profile.
pub fn part(
    location: LocationRef,
    rows: &[u8],
    translate: impl Fn(MappingType, u32) -> u32,
) -> Option<Vec<u8>> {
    let header = raw::header(rows)?;
    let mut lines: Vec<Line> = Vec::new();
    let mut known: HashMap<(u64, u32, u64, Option<Setting>), usize> = HashMap::new();
    // From numbers of records to those of lines, plus one.
    let mut numbers: Vec<u64> = Vec::new();
    let (mut partners, mut calls, mut program) = (Vec::new(), 0_u64, None);
    for (number, row) in raw::rows(rows) {
        let row = match row {
            Row::Path(row) => row,
            Row::Partner(row) => {
                let space =
                    if row.kind == MESSAGE { MappingType::Comm } else { MappingType::RmaWin };
                partners.push(PartnerRow { context: translate(space, row.context), ..row });
                continue;
            }
            Row::Counter(row) => {
                let at = numbers.get(row.path as usize).and_then(|number| number.checked_sub(1));
                if let Some(line) = at.and_then(|at| lines.get_mut(at as usize)) {
                    let counter = translate(MappingType::Metric, row.counter);
                    line.counters.push(CounterRow { counter, ..row });
                }
                continue;
            }
        };
        let setting = row.parameter.map(|it| Setting {
            parameter: translate(MappingType::Parameter, it.parameter),
            value: match it.value {
                Some(text) if it.is_text => {
                    Some(translate(MappingType::String, text as u32).into())
                }
                value => value,
            },
            ..it
        });
        let (region, site) = match setting {
            Some(_) => (RegionRef::UNDEFINED.0, 0),
            None => {
                let site = row.site.map(|site| translate(MappingType::CallingContext, site));
                let site = site.map_or(0, |site| u64::from(site).saturating_add(1));
                (translate(MappingType::Region, row.region), site)
            }
        };
        let parent = numbers.get(row.parent as usize).copied().unwrap_or(0);
        // Two places of a process may be one of the run: a library that was loaded twice.
        let at = *known.entry((parent, region, site, setting)).or_insert_with(|| {
            let (sums, counters) = (Sums::default(), Vec::new());
            lines.push(Line { parent, region, site, setting, sums, counters });
            lines.len() - 1
        });
        numbers.resize(number as usize, 0);
        numbers.push(at as u64 + 1);
        if row.parent == 0 {
            program = Some(at);
        } else {
            calls = calls.saturating_add(row.time);
        }
        if let Some(line) = lines.get_mut(at) {
            add(&mut line.sums, &row);
        }
    }
    if let Some(line) = program.and_then(|at| lines.get_mut(at)) {
        // The program itself: what is left of the time.
        let own = header.last.saturating_sub(header.first).saturating_sub(calls);
        line.sums.time = line.sums.time.saturating_add(own);
        line.sums.extremes = Some((own, own));
        line.sums.local = (0, None);
    }

    let mut out = Vec::with_capacity(32 * (1 + lines.len() + partners.len()));
    for number in [location.0, header.first, header.last, header.dropped, lines.len() as u64] {
        put(&mut out, number);
    }
    for line in &lines {
        for number in [line.parent, line.region.into(), line.site] {
            put(&mut out, number);
        }
        put(&mut out, line.setting.map_or(0, |it| u64::from(it.parameter) + 1));
        if let Some(it) = line.setting {
            put(&mut out, bits(&it).into());
            put(&mut out, it.value.unwrap_or(0));
        }
        line.sums.encode(&mut out);
        put(&mut out, line.counters.len() as u64);
        line.counters.iter().for_each(|counter| encode_counter(counter, &mut out));
    }
    put(&mut out, partners.len() as u64);
    partners.iter().for_each(|partner| encode_partner(partner, &mut out));
    Some(out)
}

fn add(sums: &mut Sums, row: &PathRow) {
    let PathRow { region, site, visits, time, shortest, longest, .. } = *row;
    sums.local = (region, site);
    sums.visits = sums.visits.saturating_add(visits);
    sums.time = sums.time.saturating_add(time);
    // A process that was killed may have counted a visit without its length.
    if visits > 0 && shortest <= longest {
        let (least, most) = sums.extremes.unwrap_or((u64::MAX, 0));
        sums.extremes = Some((least.min(shortest), most.max(longest)));
    }
    let counts: [u64; COUNTS.len()] = row.counts;
    for (sum, count) in sums.counts.iter_mut().zip(counts) {
        *sum = sum.saturating_add(count);
    }
}
