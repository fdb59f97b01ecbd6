//! The files of a process: events and rows of its threads, closed, or mended if they are damaged.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dwell_model::profile::{self as rows, Row};
use otf2::close::{Marks, Scan, close_sound, leave_open, mend_events, scan_events};
use otf2::enums::MappingType;
use otf2::id::{LocationRef, RefKind, RegionRef, Time};
use otf2::{Attribute, AttributeValue, Event, List, Value, files};

use super::{Notes, Recovered};
use crate::collate::MOST_ROWS;
use crate::definitions::{self, CUT};
use crate::experiment;
use crate::facts;
use crate::process_facts::ProcessFacts;
use crate::stage::{self, Staged};

/// Attributes of the events that recovery adds to a damaged file.
const MARKS: Marks = Marks {
    gap: Attribute { attribute: CUT.attribute, value: AttributeValue::Uint8(2) },
    end: CUT,
};

/// States whether a thread must have left rows of a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// The facts of the process mention the rows.
    Expected,
    /// The file of rows may be absent.
    Optional,
}

/// A process whose files are being closed.
pub(super) struct Closing<'c> {
    pub(super) local: &'c mut ProcessFacts,
    pub(super) folder: &'c Path,
    pub(super) directory: &'c Path,
    /// The location of its first thread.
    pub(super) first: u64,
    pub(super) chunk: u64,
}

impl Closing<'_> {
    /// Closes the files of all threads, and states in the row of the process what they contain.
    pub(super) fn close(&mut self, result: &mut Recovered, notes: &mut Notes) {
        let rank = self.local.process.rank;
        let mut chunks = 0;
        for id in 0..self.local.process.threads.len() {
            let has = self.local.files.get(id).copied().unwrap_or(0);
            match self.events(id, result, notes) {
                Some(count) => chunks += count,
                None if has & facts::EVENTS != 0 => {
                    let path = self.folder.join(format!("{rank}.{id}.evt"));
                    notes.damage(&path, "the events of this thread are missing");
                }
                None => {}
            }
            let rows = match has & facts::ROWS {
                0 => Rows::Optional,
                _ => Rows::Expected,
            };
            self.rows(id, rows, notes);
        }
        let stated = self.local.head.chunks;
        let survives = self.local.shared.properties().iter().all(|it| it.name != "SURVIVAL");
        if survives && chunks < stated {
            let text = format!("{stated} chunks of events were begun, and its files have {chunks}");
            notes.damage(&self.folder.join(format!("{rank}.*.evt")), &text);
        } else if !survives && self.local.end.is_none() {
            let text = "the file system could not reserve space, so that up to a chunk of events of \
                        each thread is lost";
            notes.damage(&self.folder.join(format!("{rank}.*.evt")), text);
        }
    }

    /// Returns the path of the event file of a thread, which is where the process left it or in its place in the
    /// archive, and the path to read the events from. The two differ if an earlier recovery kept the file as damaged.
    fn source(&self, id: usize) -> Option<(PathBuf, PathBuf)> {
        let left = self.folder.join(format!("{}.{id}.evt", self.local.process.rank));
        let placed = self.directory.join("traces").join(format!("{}.evt", self.first + id as u64));
        [left, placed].into_iter().find_map(|path| {
            let kept = files::damaged(&path);
            if files::is_regular(&kept) {
                return Some((path, kept));
            }
            fs::symlink_metadata(&path).is_ok().then(|| (path.clone(), path))
        })
    }

    /// Closes the event file of a thread. Returns the number of its chunks, or `None` if there is no file.
    fn events(&mut self, id: usize, result: &mut Recovered, notes: &mut Notes) -> Option<u64> {
        let (place, path) = self.source(id)?;
        self.put_back(&place, notes);
        let location = LocationRef(self.first + id as u64);
        let local = &mut *self.local;
        let scanned = scan_events(&path, self.chunk, |event, attributes| {
            is_defined(local, event, attributes)
        });
        let scan = match scanned {
            Ok(scan) => scan,
            Err(error) => {
                notes.damage(&path, &error.to_string());
                return Some(0);
            }
        };
        for damage in scan.damage() {
            notes.damage(&place, &damage.to_string());
        }
        if scan.more_damage() > 0 {
            notes.damage(&place, &format!("{} more places", scan.more_damage()));
        }
        if let Some(lost) = scan.lost() {
            result.lost_events += lost;
        } else {
            notes.damage(&place, "nothing says how many events it had");
        }
        match self.put_in_order(&place, &path, location, &scan) {
            Ok((events, cut, inside)) => {
                result.cut += cut;
                let name = inside.and_then(|region| self.local.region_name(region));
                if let Some(name) = name {
                    result.inside.entry(name).or_default().insert(self.local.process.rank);
                }
                result.events += events;
                if let Some(thread) = self.local.process.threads.get_mut(id) {
                    thread.events = events;
                }
                if let Some((_, last)) = scan.times() {
                    let ahead = self.local.clock.last().map_or(0, |(_, ahead)| *ahead);
                    let last = Time(last.0.wrapping_add_signed(ahead));
                    self.local.process.end = self.local.process.end.max(last);
                }
            }
            Err(error) => notes.damage(&path, &error.to_string()),
        }
        Some(scan.chunks())
    }

    /// Puts the chunk that a thread was filling into its event file.
    fn put_back(&self, events: &Path, notes: &mut Notes) {
        let staged = stage::path(events);
        if fs::symlink_metadata(&staged).is_err() {
            return;
        }
        match unshare(events).and_then(|()| stage::put_back(events, self.chunk)) {
            Ok(Staged::Damaged) => {
                notes.damage(&staged, "the chunk that was being filled is damaged");
            }
            Ok(Staged::Nothing | Staged::PutBack) => {}
            Err(error) => notes.damage(&staged, &error.to_string()),
        }
    }

    /// Closes a sound file in place, or writes a new one from a damaged one, which is kept. Returns the number of
    /// events, and of regions that were open at the end and are left by added events.
    fn put_in_order(
        &self,
        place: &Path,
        path: &Path,
        location: LocationRef,
        scan: &Scan,
    ) -> otf2::Result<(u64, u64, Option<RegionRef>)> {
        let wrap = |error| otf2::Error::from_io(error, path);
        let kept = files::damaged(place);
        if scan.is_sound() && path == place {
            unshare(path).map_err(wrap)?;
            let mut closed = close_sound(path, location, scan)?;
            let inside = closed.open.last().copied();
            leave_open(path, self.chunk, &mut closed, CUT)?;
            return Ok((closed.events, closed.left, inside));
        }
        if path == place {
            fs::rename(path, &kept).map_err(wrap)?;
        }
        let closed = mend_events(&kept, place, location, scan, Some(MARKS))?;
        Ok((closed.events, closed.left, None))
    }

    /// Checks the rows of a thread.
    fn rows(&mut self, id: usize, rows: Rows, notes: &mut Notes) {
        let path = experiment::rows(self.local, id as u64, self.folder);
        let placed = format!("{}.rows", self.first + id as u64);
        let placed = self.directory.join(experiment::PROFILE).join(placed);
        let path = if files::is_regular(&placed) { placed } else { path };
        let bytes = match files::read(&path, MOST_ROWS) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound && rows == Rows::Optional => {
                return;
            }
            Err(error) => return notes.damage(&path, &error.to_string()),
        };
        match rows::check::check(&bytes) {
            Ok(()) => {}
            Err(damage @ rows::check::Damage::NoProfile) => {
                return notes.damage(&path, &damage.to_string());
            }
            Err(damage) => notes.damage(&path, &damage.to_string()),
        }
        let local = &mut *self.local;
        let mut undefined = 0_u64;
        let mut name = |space, id: u32| undefined += u64::from(!local.name(space, id.into()));
        for (_, row) in rows::rows(&bytes) {
            match row {
                Row::Path(row) if row.parameter.is_none() => {
                    name(MappingType::Region, row.region);
                    row.site.into_iter().for_each(|it| name(MappingType::CallingContext, it));
                }
                Row::Path(row) => {
                    let parameter = row.parameter.map(|it| it.parameter);
                    parameter.into_iter().for_each(|it| name(MappingType::Parameter, it));
                }
                Row::Partner(row) if row.kind == rows::MESSAGE => {
                    name(MappingType::Comm, row.context);
                }
                Row::Partner(row) => name(MappingType::RmaWin, row.context),
                Row::Counter(row) => name(MappingType::Metric, row.counter),
            }
        }
        if undefined > 0 {
            notes.damage(&path, &format!("{undefined} rows name what is not defined"));
        }
    }
}

/// Returns `true` if the facts of a process define every id that an event uses.
fn is_defined(
    local: &mut ProcessFacts,
    event: &Event<'_>,
    attributes: List<'_, Attribute>,
) -> bool {
    let mut defined = true;
    let mut see = |value: Value<'_>| {
        if let Value::Ref(kind, id) = value
            && let Some(space) = space(kind)
        {
            defined &= local.name(space, id);
        }
    };
    event.fields(&mut |_, value| see(value));
    attributes.iter().for_each(|attribute| see(attribute.value.show()));
    defined && attributes.iter().all(|it| definitions::is_defined(it.attribute))
}

fn space(kind: RefKind) -> Option<MappingType> {
    Some(match kind {
        RefKind::String => MappingType::String,
        RefKind::Region => MappingType::Region,
        RefKind::Group => MappingType::Group,
        RefKind::Comm => MappingType::Comm,
        RefKind::RmaWin => MappingType::RmaWin,
        RefKind::Metric => MappingType::Metric,
        RefKind::Parameter => MappingType::Parameter,
        RefKind::CallingContext => MappingType::CallingContext,
        _ => return None,
    })
}

/// Replaces a file that has several hard links by a copy, so that a change does not show under its other names.
fn unshare(path: &Path) -> io::Result<()> {
    let mut file = files::open(path, false)?;
    if file.metadata()?.nlink() < 2 {
        return Ok(());
    }
    let unfinished = files::unfinished(path);
    io::copy(&mut file, &mut files::create(&unfinished)?)?;
    fs::rename(&unfinished, path)
}
