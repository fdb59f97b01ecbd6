//! The layout of a block: the file that the parts of consecutive locations become.

use std::collections::HashMap;

use dwell_model::profile::block::{
    Counters, Head, Path, Place, Sums, decode_partner, setting, small,
};
use dwell_model::profile::{Header, Setting};
use dwell_model::varint::{put, take};
use otf2::id::LocationRef;

/// One line of a block: the call path and location that it belongs to, and its bytes.
struct Line<'a> {
    path: u32,
    place: u32,
    bytes: &'a [u8],
}

/// Key of a call path: its parent, region and calling context, or its parameter and value.
type Step = (Option<u32>, u32, Option<u32>, Option<Setting>);

/// Contents of all parts of a block, decoded as far as the block needs.
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

/// Makes a block from parts in the order of locations, each after its length. Returns the first location and the bytes
/// of the file. Returns `None` if there are no parts, or if the bytes are damaged.
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

/// Least number of bytes that a line takes in a part.
const LEAST_LINE: usize = 8;

/// Adds up the numbers of lines that the parts state.
fn lines(mut parts: &[u8]) -> usize {
    let mut all = 0_usize;
    while let Some(mut part) = next(&mut parts) {
        // Behind the location, two times and the calls without a row.
        let count = (0..5).map(|_| take(&mut part)).last().flatten();
        all = all.saturating_add(usize::try_from(count.unwrap_or(0)).unwrap_or(0));
    }
    all
}

/// Splits off the next of several parts, each after its length. Returns `None` at the end and for damaged bytes.
pub(super) fn next<'a>(parts: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *parts;
    let length = usize::try_from(take(&mut rest)?).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    *parts = rest;
    Some(part)
}

/// Returns the bytes that `read` consumes, and its result.
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
        let (location, first) = (take(part)?, take(part)?);
        let header = Header { first, last: take(part)?, dropped: take(part)? };
        let place = u32::try_from(self.places.len()).ok()?;
        self.places.push(Place { location, header });
        // From paths of the part to those of the block.
        let mut here: Vec<u32> = Vec::new();
        let mut before = 0;
        for _ in 0..take(part)? {
            let parent = match take(part)?.checked_sub(1) {
                None => None,
                Some(at) => Some(*here.get(usize::try_from(at).ok()?)?),
            };
            let region = small(part)?;
            let site = take(part)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            let parameter = take(part)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            let setting = match parameter {
                Some(parameter) => Some(setting(parameter, small(part)?, take(part)?)),
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
        for _ in 0..take(part)? {
            self.partners.push((place, taken(part, decode_partner)?.1));
        }
        part.is_empty().then_some(())
    }

    /// Returns the number of a call path, given by its parent and its last step, and adds the path if it is new.
    /// `before` is the path of the row before: most locations have their paths in the same order, so the path that
    /// followed `before` last time is tried first.
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
            put(&mut out, (line.place - before).into());
            before = line.place;
            out.extend_from_slice(line.bytes);
        }
        head.partners = out.len() as u64;
        let mut before = 0;
        for (place, bytes) in &self.partners {
            put(&mut out, (place - before).into());
            before = *place;
            out.extend_from_slice(bytes);
        }
        head.length = out.len() as u64;
        let places = self.places.iter().flat_map(Place::bytes);
        let all =
            head.bytes().into_iter().chain(places).chain(self.paths.iter().flat_map(Path::bytes));
        out.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }
}
