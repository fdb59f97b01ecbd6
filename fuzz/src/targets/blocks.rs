//! Any bytes as profiles: the rows of a location, parts on their way up the tree, and a block. What a writer makes of
//! them can be read, and has as many lines as its table says.
//!
//! The first byte chooses what the rest is.

use dwell_model::profile::block::{
    self as format, HEAD, Head, LOCATION, MAGIC, Path, Place, SUM,
};
use dwell_model::profile::{MAGIC as ROWS, RECORD, check as sums, header};
use dwell_model::varint;
use dwell_unify::collate::{Heap, block, part};
use otf2::id::LocationRef;

/// Reads a block as far as it is one, and returns how many lines and partners there are.
fn read(bytes: &[u8]) -> Option<(u64, u64)> {
    let head = Head::read(bytes)?;
    let tables = bytes.get(HEAD..usize::try_from(head.tables()).ok()?)?;
    let (places, paths) = tables.split_at_checked(head.locations as usize * LOCATION)?;
    assert_eq!(Place::read(places).count(), head.locations as usize);
    let paths: Vec<Path> = Path::read(paths).collect();
    assert_eq!(paths.len(), head.paths as usize);
    let ends = paths.iter().skip(1).map(|path| path.start).chain([head.partners]);
    let mut lines = 0;
    for (path, end) in paths.iter().zip(ends) {
        let range = usize::try_from(path.start).ok()?..usize::try_from(end).ok()?;
        for (_, sums, counters) in format::lines(bytes.get(range)?) {
            assert_eq!(counters.is_empty(), counters.iter().count() == 0);
            let _ = sums.has();
            lines += 1;
        }
    }
    let partners = format::partners(bytes.get(usize::try_from(head.partners).ok()?..)?);
    Some((lines, partners.count() as u64))
}

/// A block that a writer made is complete.
fn check(bytes: &[u8]) {
    let head = Head::read(bytes).expect("a block was written");
    assert_eq!(head.length + SUM as u64, bytes.len() as u64);
    let bytes = &bytes[..head.length as usize];
    let paths = &bytes[HEAD + head.locations as usize * LOCATION..head.tables() as usize];
    let stated: u64 = Path::read(paths).map(|path| path.lines).sum();
    assert_eq!(read(bytes).expect("a block can be read").0, stated);
}

pub(crate) fn run(data: &[u8]) {
    let [kind, rest @ ..] = data else { return };
    match kind % 4 {
        0 => {
            let _ = read(&[&MAGIC.to_le_bytes(), rest].concat());
        }
        1 => {
            if let Some((_, bytes)) = block(rest) {
                check(&bytes);
            }
        }
        2 => {
            let mut heap = Heap::new(64);
            heap.take(rest, &mut |_, bytes| {
                check(bytes);
                Ok(())
            });
        }
        _ => {
            let mut rows = [&ROWS.to_le_bytes(), rest].concat();
            rows.truncate(rows.len() / RECORD * RECORD);
            assert!(rows.is_empty() || header(&rows).is_some());
            let _ = sums::check(&rows);
            if let Some(part) = part(LocationRef(3), &rows, |_, id| id) {
                let mut parts = Vec::new();
                varint::put(&mut parts, part.len() as u64);
                parts.extend(part);
                check(&block(&parts).expect("a part becomes a block").1);
            }
        }
    }
}
