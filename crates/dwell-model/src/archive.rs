//! What Dwell writes into an archive beyond the standard records, and how.
//!
//! The standard says what a record is; these conventions say what Dwell means by it. The recorder
//! and the synthetic archives write by them, the analysis reads by them, and any other reader of
//! OTF2 loses nothing by not knowing them.
//!
//! # Regions
//! The description of a region that is a call of a runtime states its [`Meaning`]:
//! `layer=shmem operation=get progress=always`.
//!
//! Where calls were left out it says so behind that: [`LEFT_OUT`], [`SAMPLED`]. Such a region may have no
//! events at all. Recording that was paused is `MeasurementOnOff`.
//!
//! A region that the program calls a [`PHASE`] has the flags of one, and a `ParameterInt` named [`INSTANCE`]
//! behind its `Enter`: which of them it is.
//!
//! # Parameters and counters
//! A parameter of the program holds from its record to the end of the region that it stands in, or until it
//! is set again there, which also ends those that were set after it. Counters are metrics of one member each,
//! of type `USER` and mode `ABSOLUTE_POINT`.
//!
//! # Windows
//! A window (`RmaWin`) is a context of a group of processes: the default context of all processes, a
//! context that the program made, a team, an active set. Operations that are outstanding belong to a
//! process and a window. `remote` in records is a rank of the window's communicator.
//!
//! # Operations
//! Every operation has a matching id of its own, unique at its location. A blocking call writes
//! `RmaOpCompleteBlocking` with that id before it leaves. A call whose meaning says that it
//! [completes](Meaning::completes_remote) writes one `RmaOpCompleteRemote` for its window, with the
//! id of the last operation of its location there: *all* operations of the process on this window
//! that were issued before are complete then. If none was outstanding it writes nothing.
//!
//! # Windows and operations of MPI
//! Windows are made and freed by the program and have `RmaWinCreate` and `RmaWinDestroy`. Here Dwell
//! follows what other tools write: operations of a location on one window and target share a matching
//! id until they are completed. A record of completion is for all of its id:
//! `RmaOpCompleteNonBlocking` at the origin, `RmaOpCompleteRemote` at the target as well. A call that
//! completes several targets writes one for each that has something outstanding. Operations with a
//! request have an id to themselves. Nobody can see when a lock was granted: there is
//! `RmaRequestLock` at the enter and `RmaReleaseLock` at the leave of the call that gives it back.
//!
//! # Layers above MPI
//! Coarrays and ARMCI have one window for each communicator whose ranks they speak of, which is there as
//! long as that. Their operations follow the rules of MPI, so that a call that completes one target says
//! which. A call that returns when its operation is complete at the target writes `RmaOpCompleteBlocking`
//! and `RmaOpCompleteRemote`. Their collectives carry a [`SEQUENCE`] that counts on with those of the
//! communicator. Locks are as below, at the process that has them. A signal is `RmaSync` with
//! [`SYMMETRIC_OFFSET`]; `sync images` is `RmaGroupSync` with those who wait for each other, and is not counted as a
//! collective.
//!
//! # Communicators of MPI
//! Two with the same members are told apart by how they came about, which all members saw alike.
//! `MpiCollectiveEnd` and `NonBlockingCollectiveComplete` carry [`SEQUENCE`]: for the latter it is the
//! number that the collective got when it was started. Collectives on windows are counted with those of
//! the communicator that the window was made from. Bytes of a collective are what the process gives from
//! its buffer and what it gets in its buffer; a buffer that is the other one gives nothing. The beginning of a
//! neighbourhood collective names the neighbours of the process ([`NEIGHBOURS`]).
//!
//! # Attributes
//! See the constants of this module.
//!
//! # Collectives
//! `RmaCollectiveBegin` … `RmaCollectiveEnd` with the window of the group. The end carries
//! [`SEQUENCE`].
//!
//! # Locks
//! The id of a lock is the symmetric offset of its variable, so that it is the same number at every
//! process. `RmaRequestLock` stands at the enter, `RmaAcquireLock` after the call has obtained it,
//! `RmaReleaseLock` at the enter of the call that gives it back.

use core::fmt;

use crate::layer::Layer;
use crate::operation::{Mode, Operation, Progress};
use crate::table::{Row, Table};

/// Attribute of an `Enter`, a calling context: from where in the program it was called. The region of
/// the calling context is the function that calls, its source code location the file and line. Until
/// they have been looked up, the region is described by an [`Address`].
pub const CALL_SITE: &str = "DWELL::CALL_SITE";

/// Property of a calling context, a string: the functions that its function was inlined into there, the
/// nearest first, as `advance (heat.c:88) < main (heat.c:140)`.
pub const INLINED_INTO: &str = "DWELL::INLINED_INTO";

/// Property of a calling context, an unsigned number: the column of the call, counted from 1. Contexts have it where
/// other contexts are on the same line of the same function, if debug information has columns. Those with the same
/// column are one call in the source, of which the compiler made several.
pub const COLUMN: &str = "DWELL::COLUMN";

/// Properties of a calling context in an archive whose contexts have callers, with `::1` for the function that its
/// function was inlined into there, `::2` for the next and so on: the region of that function.
pub const INLINED_FUNCTION: &str = "DWELL::INLINED_FUNCTION";

/// The same: where in that function it stands, a source code location.
pub const INLINED_PLACE: &str = "DWELL::INLINED_PLACE";

/// Attribute of operations and waits on few bytes, an unsigned number: where in symmetric memory they
/// act. The same number means the same variable at every process. Put, atomic and signal: memory of
/// the target. Wait: memory of its own process; a wait for several variables has none. Numbers from 2^63 on are static data of a program or
/// library, smaller ones the symmetric heap.
pub const SYMMETRIC_OFFSET: &str = "DWELL::SYMMETRIC_OFFSET";

/// As [`SYMMETRIC_OFFSET`], the signal of a put that has one.
pub const SIGNAL_OFFSET: &str = "DWELL::SIGNAL_OFFSET";

/// Attribute of the ends of collectives, an unsigned number: the how manieth collective of the process on
/// this window or communicator it is, counted from 0. By it instances are matched even if some were not recorded.
pub const SEQUENCE: &str = "DWELL::SEQUENCE";

/// Attribute of events that recovery added. 1 on a `Leave`: the process ended inside the region, and the time
/// is that of its last event. 2 on `Leave`, `Enter` and `MeasurementOnOff` around a gap: the events between were
/// damaged, and the region was left or entered among them.
pub const CUT: &str = "DWELL::CUT";

/// Attribute of messages, an unsigned number: how many with the same partner, tag and communicator, in the
/// same direction, came before it and were not recorded. Without the attribute there were none.
pub const SKIPPED: &str = "DWELL::SKIPPED";

/// Attribute of `MpiCollectiveBegin` and `NonBlockingCollectiveRequest` of a neighbourhood collective, a group: the process
/// and the neighbours that send to it.
pub const NEIGHBOURS: &str = "DWELL::NEIGHBOURS";

/// Words behind the [`Meaning`] of a region whose calls were made and never recorded.
pub const LEFT_OUT: &str = " recorded=never";

/// Words behind the [`Meaning`] of a region of whose calls some were recorded.
pub const SAMPLED: &str = " recorded=some";

/// Description of a region that the program calls a phase.
pub const PHASE: &str = "phase";

/// Parameter of a phase, which says which of them it is: the name that other tools use too.
pub const INSTANCE: &str = "instance";

/// Role of a call path in a report that is no call but a parameter with a value: `instance=3`.
pub const PARAMETER: &str = "parameter";

/// Property of a process (`LocationGroupProperty`): the cores that it may use, as Linux lists them: `0-3,8`. Taken once, when
/// recording begins.
pub const CORES: &str = "DWELL::CORES";

/// Property of an archive: how far wrong times of different nodes may be against each other and the first,
/// nanoseconds.
pub const CLOCK_RESIDUAL: &str = "DWELL::CLOCK_RESIDUAL";

/// Property of an archive: half of the shortest round trip between two nodes, nanoseconds. No request gets
/// from one to another in less.
pub const LATENCY: &str = "DWELL::LATENCY";

/// Property of an archive: the same between two processes of one node.
pub const LATENCY_ON_NODE: &str = "DWELL::LATENCY_ON_NODE";

/// Property of an archive: why recording stopped before its program did, in some processes or all.
pub const STOPPED: &str = "DWELL::STOPPED";

/// Property of an archive: how many calls were made after recording had stopped.
pub const LOST: &str = "DWELL::LOST";

/// Property of an archive: threads that could not be recorded, and how many calls they made.
pub const UNRECORDED: &str = "DWELL::UNRECORDED";

/// Property of an archive that was recovered: what was damaged, missing or left out, with file and byte offset.
/// Several are separated by `; `. Without the property nothing was.
pub const DAMAGED: &str = "DWELL::DAMAGED";

/// Operations on more bytes than this carry no [`SYMMETRIC_OFFSET`]: nobody waits on them.
pub const SMALL: u64 = 64;

/// What a region is, if it is a call of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Meaning {
    /// Whose call it is.
    pub layer: Layer,
    /// What it does.
    pub operation: Operation,
    /// Whether it is complete at the origin on return.
    pub mode: Mode,
    /// Whether requests of others are served meanwhile.
    pub progress: Progress,
    /// Whether earlier operations on the same window are complete at their targets on return.
    pub completes_remote: bool,
}

impl Meaning {
    /// What a function of a table means.
    pub const fn of(table: &Table, row: &Row) -> Self {
        Self {
            layer: table.layer,
            operation: row.operation,
            mode: row.mode,
            progress: row.progress,
            completes_remote: row.completes_remote,
        }
    }

    /// Reads the description of a region. Words that are not known are skipped; without a layer and
    /// an operation there is no meaning.
    ///
    /// ```
    /// use dwell_model::archive::Meaning;
    /// use dwell_model::operation::{Operation, Progress};
    ///
    /// let text = "layer=shmem operation=get progress=always";
    /// let meaning = Meaning::parse(text).ok_or("no meaning")?;
    /// assert_eq!(meaning.operation, Operation::Get);
    /// assert_eq!(meaning.to_string(), text);
    /// assert_eq!(Meaning::parse("a loop over all particles"), None);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn parse(description: &str) -> Option<Self> {
        let (mut layer, mut operation) = (None, None);
        let (mut mode, mut progress) = (Mode::Blocking, Progress::Conditional);
        let mut completes_remote = false;
        for word in description.split_ascii_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            match (key, value) {
                ("layer", name) => layer = Layer::from_name(name),
                ("operation", token) => operation = Operation::from_token(token),
                ("mode", "nonblocking") => mode = Mode::NonBlocking,
                ("mode", "persistent") => mode = Mode::Persistent,
                ("progress", "never") => progress = Progress::Never,
                ("progress", "always") => progress = Progress::Always,
                ("completes", "remote") => completes_remote = true,
                _ => {}
            }
        }
        Some(Self { layer: layer?, operation: operation?, mode, progress, completes_remote })
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layer={} operation={}", self.layer.name(), self.operation.token())?;
        f.write_str(match self.mode {
            Mode::Blocking => "",
            Mode::NonBlocking => " mode=nonblocking",
            Mode::Persistent => " mode=persistent",
        })?;
        f.write_str(match self.progress {
            Progress::Never => " progress=never",
            Progress::Conditional => " progress=conditional",
            Progress::Always => " progress=always",
        })?;
        if self.completes_remote {
            f.write_str(" completes=remote")?;
        }
        Ok(())
    }
}

/// A place in a program, as the description of a region whose function is not known yet:
/// `offset=0x1234 build_id=12ab module=/home/x/heat`. The path comes last in it, since it may have
/// blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address<'a> {
    /// Path of the program or library.
    pub module: &'a str,
    /// Its build id in hexadecimal, empty if it has none.
    pub build_id: &'a str,
    /// The return address, relative to where the module was loaded.
    pub offset: u64,
}

impl<'a> Address<'a> {
    /// Reads the description of a region.
    ///
    /// ```
    /// use dwell_model::archive::Address;
    ///
    /// let address = Address { module: "/home/x/my heat", build_id: "12ab", offset: 0x1234 };
    /// let text = address.to_string();
    /// assert_eq!(text, "offset=0x1234 build_id=12ab module=/home/x/my heat");
    /// assert_eq!(Address::parse(&text), Some(address));
    /// ```
    pub fn parse(description: &'a str) -> Option<Self> {
        Self::parse_as("offset=0x", description)
    }

    fn parse_as(word: &str, description: &'a str) -> Option<Self> {
        let (offset, rest) = description.strip_prefix(word)?.split_once(' ')?;
        let (build_id, module) = rest.strip_prefix("build_id=")?.split_once(' ')?;
        let module = module.strip_prefix("module=")?;
        Some(Self { module, build_id, offset: u64::from_str_radix(offset, 16).ok()? })
    }
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, build_id, offset } = self;
        write!(f, "offset={offset:#x} build_id={build_id} module={module}")
    }
}

/// A function of the program, as the description of its region while its name is not known yet:
/// `entry=0x1234 build_id=12ab module=/home/x/heat`. Events name the region, so it keeps its id when the name
/// has been found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry<'a>(pub Address<'a>);

impl<'a> Entry<'a> {
    /// Reads the description of a region.
    ///
    /// ```
    /// use dwell_model::archive::{Address, Entry};
    ///
    /// let entry = Entry(Address { module: "/home/x/heat", build_id: "12ab", offset: 0x1234 });
    /// let text = entry.to_string();
    /// assert_eq!(text, "entry=0x1234 build_id=12ab module=/home/x/heat");
    /// assert_eq!(Entry::parse(&text), Some(entry));
    /// assert_eq!(Address::parse(&text), None);
    /// ```
    pub fn parse(description: &'a str) -> Option<Self> {
        Address::parse_as("entry=0x", description).map(Self)
    }
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { module, build_id, offset } = self.0;
        write!(f, "entry={offset:#x} build_id={build_id} module={module}")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;
    use crate::{armci, caf, mpi, shmem};

    #[test]
    fn every_row_means_what_it_says() {
        for table in [&shmem::TABLE, &mpi::TABLE, &caf::TABLE, &armci::TABLE] {
            for row in table.rows {
                let meaning = Meaning::of(table, row);
                assert_eq!(Meaning::parse(&meaning.to_string()), Some(meaning), "{}", row.name());
            }
        }
    }

    #[test]
    fn half_a_meaning_is_none() {
        assert_eq!(Meaning::parse("layer=shmem"), None);
        assert_eq!(Meaning::parse("layer=telegraph operation=get"), None);
        assert_eq!(Meaning::parse("operation=get"), None);
    }
}
