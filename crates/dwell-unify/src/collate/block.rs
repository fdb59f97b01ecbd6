//! The file that parts become.

use std::collections::HashMap;

use dwell_model::profile::block::{
    Counters, Head, Path, Place, Sums, decode_partner, number, put, setting, small,
};
use dwell_model::profile::{Header, Setting};
use otf2::id::LocationRef;

/// A line: whose it is, and where its bytes are.
struct Line<'a> {
    path: u32,
    place: u32,
    bytes: &'a [u8],
}

/// What tells a path from others: its parent, region and calling context, or the parameter that it is.
type Step = (Option<u32>, u32, Option<u32>, Option<Setting>);

/// All parts, taken apart.
#[derive(Default)]
struct Taken<'a> {
    places: Vec<Place>,
    paths: Vec<Path>,
    known: HashMap<Step, u32>,
    /// The path that came after each path last: most locations have theirs in the same order.
    after: Vec<u32>,
    lines: Vec<Line<'a>>,
    partners: Vec<(u32, &'a [u8])>,
}

/// Makes a block of parts, each behind its length, in the order of locations. Gives its first location and the
/// bytes of the file; `None` if there are none, or what is there is no part.
pub fn block(mut parts: &[u8]) -> Option<(LocationRef, Vec<u8>)> {
    let mut taken = Taken::default();
    // A list that grows would take twice its memory.
    taken.lines.reserve_exact(lines(parts).min(parts.len() / LEAST_LINE));
    while let Some(part) = next(&mut parts) {
        taken.take(part)?;
    }
    let first = LocationRef(taken.places.first()?.location);
    parts.is_empty().then(|| (first, taken.file()))
}

/// Bytes of a line in a part, at least.
const LEAST_LINE: usize = 8;

/// How many lines parts say that they have.
fn lines(mut parts: &[u8]) -> usize {
    let mut all = 0_usize;
    while let Some(mut part) = next(&mut parts) {
        // Behind the location, two times and the calls without a row.
        let count = (0..5).map(|_| number(&mut part)).last().flatten();
        all = all.saturating_add(usize::try_from(count.unwrap_or(0)).unwrap_or(0));
    }
    all
}

/// The next part of several, each behind its length.
pub(super) fn next<'a>(parts: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *parts;
    let length = usize::try_from(number(&mut rest)?).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    *parts = rest;
    Some(part)
}

/// What `read` takes from the beginning of bytes.
fn taken<'a, T>(
    bytes: &mut &'a [u8],
    read: impl Fn(&mut &[u8]) -> Option<T>,
) -> Option<(T, &'a [u8])> {
    let before = *bytes;
    let it = read(bytes)?;
    Some((it, before.get(..before.len() - bytes.len())?))
}

impl<'a> Taken<'a> {
    fn take(&mut self, mut part: &'a [u8]) -> Option<()> {
        let part = &mut part;
        let (location, first) = (number(part)?, number(part)?);
        let header = Header { first, last: number(part)?, dropped: number(part)? };
        let place = u32::try_from(self.places.len()).ok()?;
        self.places.push(Place { location, header });
        // From paths of the part to those of the block.
        let mut here: Vec<u32> = Vec::new();
        let mut before = 0;
        for _ in 0..number(part)? {
            let parent = match number(part)?.checked_sub(1) {
                None => None,
                Some(at) => Some(*here.get(usize::try_from(at).ok()?)?),
            };
            let region = small(part)?;
            let site = number(part)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            let parameter = number(part)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            let setting = match parameter {
                Some(parameter) => Some(setting(parameter, small(part)?, number(part)?)),
                None => None,
            };
            let ((sums, counted), bytes) = taken(part, |bytes| {
                Some((Sums::decode(bytes)?, !Counters::decode(bytes)?.is_empty()))
            })?;
            let path = self.path(before, (parent, region, site, setting))?;
            before = path;
            here.push(path);
            let row = self.paths.get_mut(path as usize)?;
            row.has |= sums.has() | if counted { Sums::WITH_COUNTERS } else { 0 };
            row.lines += 1;
            self.lines.push(Line { path, place, bytes });
        }
        for _ in 0..number(part)? {
            self.partners.push((place, taken(part, decode_partner)?.1));
        }
        part.is_empty().then_some(())
    }

    /// The number of a path, which comes after another.
    fn path(&mut self, before: u32, step: Step) -> Option<u32> {
        let guess = self.after.get(before as usize).copied().unwrap_or(0);
        let fits = |it: &Path| (it.parent, it.region, it.site, it.setting) == step;
        if self.paths.get(guess as usize).is_some_and(fits) {
            return Some(guess);
        }
        let path = *self.known.entry(step).or_insert_with(|| {
            let (parent, region, site, setting) = step;
            let (has, start, lines) = (0, 0, 0);
            self.paths.push(Path { parent, region, site, setting, has, start, lines });
            self.after.push(0);
            self.paths.len() as u32 - 1
        });
        *self.after.get_mut(before as usize)? = path;
        Some(path)
    }

    fn file(mut self) -> Vec<u8> {
        // Stable: the lines of a path stay in the order of locations.
        self.lines.sort_by_key(|line| line.path);
        let body = self.lines.iter().map(|line| line.bytes.len() + 2).sum::<usize>();
        let mut head = Head {
            length: 0,
            locations: self.places.len() as u32,
            paths: self.paths.len() as u32,
            partners: 0,
        };
        let tables = head.tables() as usize;
        let mut out = vec![0; tables];
        out.reserve(body);
        let mut at = None;
        let mut before = 0;
        for line in &self.lines {
            if at.replace(line.path) != Some(line.path) {
                before = 0;
                if let Some(path) = self.paths.get_mut(line.path as usize) {
                    path.start = out.len() as u64;
                }
            }
            put((line.place - before).into(), &mut out);
            before = line.place;
            out.extend_from_slice(line.bytes);
        }
        head.partners = out.len() as u64;
        let mut before = 0;
        for (place, bytes) in &self.partners {
            put((place - before).into(), &mut out);
            before = *place;
            out.extend_from_slice(bytes);
        }
        head.length = out.len() as u64;
        let places = self.places.iter().flat_map(Place::bytes);
        let all =
            head.bytes().into_iter().chain(places).chain(self.paths.iter().flat_map(Path::bytes));
        out.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
        out
    }
}
