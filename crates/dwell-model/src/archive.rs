//! Conventions of Dwell's archives: what Dwell writes beyond the standard records of OTF2, and what it means by them.
//!
//! The OTF2 standard says what a record is; these conventions say what Dwell means by it. The recorder and the
//! synthetic archives follow them when they write, and the analysis when it reads. Any other reader of OTF2 loses
//! nothing by not knowing them.
//!
//! # Regions
//! The description of a region that is a call of a runtime states its [`Meaning`]: `layer=shmem operation=get
//! progress=always`.
//!
//! Where calls were left out, the description says so behind the meaning: [`LEFT_OUT`], [`SAMPLED`]. Such a region may
//! have no events at all. Where short calls may have been summed up, it says [`SUMMED_UP`]. Pauses of recording are `MeasurementOnOff` records.
//!
//! A region that the program declares a [`PHASE`] has the flags of one, and a `ParameterInt` named [`INSTANCE`] behind
//! its `Enter`, which holds the number of the instance.
//!
//! # Parameters and counters
//! A parameter of the program holds from its record to the end of the region in which it is set, or until it is set
//! again there, which also ends those that were set after it. Counters are metrics of one member each, of type `USER`
//! and mode `ABSOLUTE_POINT`.
//!
//! Counters that the recorder samples are the members of one metric class with the occurrence `SYNCHRONOUS`: a record with
//! a value of each is written directly before the `Enter` and the `Leave` of every region that is not inside a call of a
//! runtime, with the same time. Their mode is `ACCUMULATED_START`, or `ABSOLUTE_POINT` for levels such as the length of a
//! queue. A region inside a call of a runtime has no samples, which is why the occurrence is not `SYNCHRONOUS_STRICT`.
//!
//! # Windows
//! A window (`RmaWin`) is a context of a group of processes: the default context of all processes, a context that the
//! program created, a team, an active set. Outstanding operations belong to a process and a window. `remote` in records
//! is a rank of the window's communicator.
//!
//! # Operations
//! Every operation has a matching id of its own, unique at its location. A blocking call writes `RmaOpCompleteBlocking`
//! with that id before it leaves. A call whose meaning says that it [completes](Meaning::completes_remote) writes one
//! `RmaOpCompleteRemote` for its window, with the id of the last operation of its location there: *all* operations of
//! the process on this window that were issued before are complete then. If none was outstanding it writes nothing.
//!
//! # Windows and operations of MPI
//! The program creates and frees windows of MPI, so they have `RmaWinCreate` and `RmaWinDestroy`. For their operations
//! Dwell follows the convention of other tools: operations of a location on one window and target share a matching id
//! until they are completed. A record of completion holds for all operations of its id: `RmaOpCompleteNonBlocking` at
//! the origin, `RmaOpCompleteRemote` at the target as well. A call that completes several targets writes one record for
//! each that has something outstanding. Operations with a request have an id to themselves. A recorder cannot observe
//! when a lock is granted, so there is `RmaRequestLock` at the enter, and `RmaReleaseLock` at the leave of the call
//! that releases the lock.
//!
//! # Layers above MPI
//! Coarrays and ARMCI have one window for each communicator in whose ranks their calls name targets; it exists as long
//! as the communicator. Their operations follow the rules of MPI, so that a call that completes one target says which.
//! A call that returns when its operation is complete at the target writes `RmaOpCompleteBlocking` and
//! `RmaOpCompleteRemote`. The [`SEQUENCE`] of their collectives continues that of the communicator. Locks follow the
//! section below, at the process that holds the lock variable. A signal is `RmaSync` with [`SYMMETRIC_OFFSET`]. `sync
//! images` is `RmaGroupSync` with the processes that wait for each other, and is not counted as a collective.
//!
//! # GASNet
//! Teams of GASNet are communicators, and have one window each. Operations follow the rules of MPI: those with an event have
//! an id to themselves, those without share one until `gex_NBI_Wait` completes them. Collectives with an event are
//! `NonBlockingCollectiveRequest` and `NonBlockingCollectiveComplete` with the communicator of the team.
//!
//! An active message is `RmaSync` with `NotifyOut` and [`ACTIVE_MESSAGE`] in the call that sends it. Its payload is `RmaPut`
//! with `RmaOpCompleteBlocking`: the data are out of the hands of the sender when the call returns, and nothing tells when
//! they have arrived. The handler is a region of the process where it runs, inside the call that polled, and has `RmaSync`
//! with `NotifyIn` and the same number. The id of a handler-safe lock is its address in its process.
//!
//! # Communicators of MPI
//! Two communicators with the same members are told apart by how they were created, which all members saw alike.
//! `MpiCollectiveEnd` and `NonBlockingCollectiveComplete` carry [`SEQUENCE`]: for the latter it is the number that the
//! collective got when it was started. Collectives on windows are counted with those of the communicator that the
//! window was created from. Bytes of a collective are what the process contributes from its send buffer and what it
//! receives into its receive buffer; with `MPI_IN_PLACE` the replaced buffer contributes nothing. The beginning of a
//! neighbourhood collective names the neighbours of the process ([`NEIGHBOURS`]).
//!
//! # Attributes
//! See the constants of this module.
//!
//! # Collectives
//! `RmaCollectiveBegin` … `RmaCollectiveEnd` with the window of the group. The end carries [`SEQUENCE`].
//!
//! # Locks
//! The id of a lock is the symmetric offset of its variable, so that it is the same number at every process.
//! `RmaRequestLock` is written at the enter, `RmaAcquireLock` after the call has obtained the lock, `RmaReleaseLock` at the
//! enter of the call that releases it.

use core::fmt;

use crate::layer::Layer;
use crate::operation::{Mode, Operation, Progress};
use crate::table::{Row, Table};

/// Attribute of an `Enter`: the calling context from which the program made the call. The region of the calling context
/// is the calling function, its source code location the file and line. Until `dwell-symbols` has looked them up, an
/// [`Address`] describes the region.
pub const CALL_SITE: &str = "DWELL::CALL_SITE";

/// Attribute of a sample, an unsigned number: the processor time of the thread since the sample before, in nanoseconds. It
/// is the weight of the sample.
pub const PROCESSOR_TIME: &str = "DWELL::PROCESSOR_TIME";

/// Attribute of a sample without a place, at the end of a stretch of computing: its processor time without that of its
/// samples, in nanoseconds.
pub const UNSAMPLED_TIME: &str = "DWELL::UNSAMPLED_TIME";

/// Attribute of a sample without a place, an unsigned number: for how many nanoseconds of the stretch its thread was ready to
/// run but had no core. It is missing where the stretch was on a core but for a moment, and where the system does not count
/// it.
pub const READY_TIME: &str = "DWELL::READY_TIME";

/// Property of an archive with samples, without the prefix: the mean processor time from one sample to the next, in
/// nanoseconds.
pub const SAMPLES: &str = "SAMPLES";

/// Property of a calling context, a string: the functions into which its function was inlined there, the nearest first,
/// as `advance (heat.c:88) < main (heat.c:140)`.
pub const INLINED_INTO: &str = "DWELL::INLINED_INTO";

/// Property of a calling context (`CallingContextProperty`) from which a [wrapper](crate::wrappers) of the runtime was called,
/// which made the recorded call: the name of the wrapper, such as `mpi4py`.
pub const THROUGH: &str = "DWELL::THROUGH";

/// Property of a calling context, an unsigned number: the column of the call, counted from 1. Contexts have it where
/// other contexts are on the same line of the same function, if debug information has columns. Contexts with the same
/// column are one call in the source, of which the compiler made several.
pub const COLUMN: &str = "DWELL::COLUMN";

/// Prefix of properties of a calling context, in an archive whose contexts have callers. With `::1` appended, the value
/// is the region of the function into which the context's function was inlined there; with `::2`, the region of the
/// next function outwards, and so on.
pub const INLINED_FUNCTION: &str = "DWELL::INLINED_FUNCTION";

/// Prefix of properties that accompany [`INLINED_FUNCTION`], with the same numbers appended. The value is a source code
/// location: the place of the inlined call in that function.
pub const INLINED_PLACE: &str = "DWELL::INLINED_PLACE";

/// Attribute of operations and waits on at most [`SMALL`] bytes, an unsigned number: the offset in symmetric memory
/// that they act on. The same number means the same variable at every process.
///
/// For put, atomic and signal it is memory of the target, for a wait memory of the waiting process; a wait for several
/// variables has none. Numbers from 2^63 on are static data of a program or library, smaller ones the symmetric heap. Of MPI
/// it is the distance from the beginning of the window, in bytes; operations that change nothing have none.
pub const SYMMETRIC_OFFSET: &str = "DWELL::SYMMETRIC_OFFSET";

/// Attribute of a put with signal, an unsigned number: the offset of the signal in symmetric memory of the target, in
/// the numbering of [`SYMMETRIC_OFFSET`].
pub const SIGNAL_OFFSET: &str = "DWELL::SIGNAL_OFFSET";

/// Attribute of the ends of collectives, an unsigned number: the sequence number of the collective on its window or
/// communicator at this process, counted from 0. The analysis matches instances by it, even if some processes did not
/// record some of them.
pub const SEQUENCE: &str = "DWELL::SEQUENCE";

/// On the `Leave` of a barrier of a team of threads, [`SEQUENCE`] is a number that all threads of the team give this barrier, and
/// no other barrier of the process has. Its remainder by `TEAM_SIZE` is how many threads they are. It is 0 where a thread has
/// waited for its next team.
pub const TEAM_SIZE: u64 = 1 << 12;

/// Attribute of events that recovery added. The value 1 on a `Leave` says that the process ended inside the region; the
/// time is that of its last event. The value 2 on `Leave`, `Enter` and `MeasurementOnOff` marks a gap: the events
/// between were damaged, and the region was left or entered among them.
pub const CUT: &str = "DWELL::CUT";

/// Attribute of messages, an unsigned number: the number of messages with the same partner, tag and communicator, in
/// the same direction, that came before this one and were not recorded. Without the attribute there were none.
pub const SKIPPED: &str = "DWELL::SKIPPED";

/// Attribute of `MpiCollectiveBegin` and `NonBlockingCollectiveRequest` of a neighbourhood collective: the group of the
/// process itself and the neighbours that send to it.
pub const NEIGHBOURS: &str = "DWELL::NEIGHBOURS";

/// Attribute of the `RmaSync` of an active message, an unsigned number: a checksum of handler, bytes and arguments. The
/// record of the sender (`NotifyOut`, in the call) and that of the receiver (`NotifyIn`, in the handler) have the same
/// number. Of several equal messages between two processes, the first that was sent is taken for the first that was
/// handled.
pub const ACTIVE_MESSAGE: &str = "DWELL::ACTIVE_MESSAGE";

/// Attribute of the `Leave` of a region that stands for several calls, an unsigned number: how many there were. The calls
/// came from one place, with hardly any computing between them, and found nothing: polls that ran no handler, tests that
/// failed, reads of a word that had not changed. The last one may have found something.
pub const CALLS: &str = "DWELL::CALLS";

/// Attribute of an `RmaWaitChange` record, an unsigned number: the rank in the window of the process whose memory was
/// polled. Without it, it is the memory of the process itself.
pub const OWNER: &str = "DWELL::OWNER";

/// Attribute of the `Leave` of a region that stands for several calls, an unsigned number: the nanoseconds that the calls
/// took together. Without it they took as long as the region. With it the region covers a stretch of time in which the
/// program made short calls and computed between them, never for longer than [`SHORT`] at once. If several places of the
/// program made them in turn, their regions divide the stretch in proportion to the time of their calls. None of the calls
/// has records of its own.
pub const TIME_IN_CALLS: &str = "DWELL::TIME_IN_CALLS";

/// Attribute in addition to [`TIME_IN_CALLS`] or [`CALLS`], an unsigned number: the bytes that the calls without records of
/// their own moved together.
pub const BYTES_IN_CALLS: &str = "DWELL::BYTES_IN_CALLS";

/// Property of an archive, in nanoseconds: calls of regions that are [`SUMMED_UP`] have records of their own if they took
/// at least as long as this, or if no other of them came within this time.
pub const SHORT: &str = "DWELL::SHORT";

/// Property of an archive in addition to [`SHORT`]: the number of calls that were summed up, of all processes.
pub const SUMMED_CALLS: &str = "DWELL::SUMMED_CALLS";

/// Property of an archive: number of calls inside calls of other layers that have no records of their own. The region that
/// stands for such calls states their number, time and bytes.
pub const INNER_CALLS: &str = "DWELL::INNER_CALLS";

/// Name of the region for the time that the start of the recording takes from the program, after the call that started
/// the runtime. The analysis counts it as start-up.
pub const STARTS_RECORDING: &str = "Dwell starts recording";

/// Name of a region that is never entered. An archive defines it if a polling loop over a word of another process ended
/// because the word had changed: then puts and atomic operations can be what such loops wait for.
pub const POLLS_WORDS: &str = "Dwell merged a loop over a word";

/// Name of the region for the time that a comparison of clocks takes from the program.
pub const COMPARES_CLOCKS: &str = "Dwell compares clocks";

/// Property of an archive, in percent: the share of the time that recording took, as it was measured now and then.
pub const OVERHEAD: &str = "DWELL::OVERHEAD";

/// Property of an archive in addition to [`OVERHEAD`], in percent: the share that the user asked for at most.
pub const OVERHEAD_ASKED: &str = "DWELL::OVERHEAD_ASKED";

/// Text behind the [`Meaning`] of a region whose short calls may be summed up: see [`TIME_IN_CALLS`]. It begins with a
/// blank, so that it can be appended.
pub const SUMMED_UP: &str = " recorded=long";

/// Text behind the [`Meaning`] of a region whose calls the program made and the recorder left out. It begins with a
/// blank, so that it can be appended.
pub const LEFT_OUT: &str = " recorded=never";

/// Text behind the [`Meaning`] of a region of whose calls the recorder kept only some. It begins with a blank, so that
/// it can be appended.
pub const SAMPLED: &str = " recorded=some";

/// Description of a region that the program declares a phase, such as an iteration of its main loop.
pub const PHASE: &str = "phase";

/// Name of the parameter that holds the number of a phase's instance. Score-P uses the same name.
pub const INSTANCE: &str = "instance";

/// Role of a call path in a report that is not a call but a parameter with a value, such as `instance=3`.
pub const PARAMETER: &str = "parameter";

/// Property of a process (`LocationGroupProperty`): the cores that it may use, in the notation of Linux (`0-3,8`). The
/// recorder reads them once, when recording begins; [`Cores`](crate::cores::Cores) parses the text.
pub const CORES: &str = "DWELL::CORES";

/// Property of a process, in nanoseconds: the time that all its threads spent on cores while it was recorded.
pub const TIME_ON_CORE: &str = "DWELL::TIME_ON_CORE";

/// Property of a process, in nanoseconds: the time that its threads were ready to run while it was recorded, but had no
/// core. Systems that do not count it have none.
pub const TIME_READY: &str = "DWELL::TIME_READY";

/// Property of an archive, in nanoseconds: the largest error of times of different nodes against each other and against
/// the first node. Archives of a single node lack it.
pub const CLOCK_RESIDUAL: &str = "DWELL::CLOCK_RESIDUAL";

/// Property of an archive, in nanoseconds: half of the shortest round trip between two nodes. No request gets from one
/// node to another in less time.
pub const LATENCY: &str = "DWELL::LATENCY";

/// Property of an archive, in nanoseconds: half of the shortest round trip between two processes of one node.
pub const LATENCY_ON_NODE: &str = "DWELL::LATENCY_ON_NODE";

/// Property of an archive: the reason why recording stopped before the program did, in some processes or in all.
pub const STOPPED: &str = "DWELL::STOPPED";

/// Property of an archive: the number of calls that the program made after recording had stopped, as a text for people.
pub const LOST: &str = "DWELL::LOST";

/// Property of an archive: the number of threads that could not be recorded, and the number of calls that they made, as
/// a text for people.
pub const UNRECORDED: &str = "DWELL::UNRECORDED";

/// Property of an archive: the reason why lines of Python could not be read, so that calls have the sites of the wrapper that
/// made them.
pub const NO_PYTHON_LINES: &str = "DWELL::NO_PYTHON_LINES";

/// Property of a recovered archive: what was damaged, missing or left out, with file and byte offset. Several entries
/// are separated by `; `. Without the property recovery found no damage.
pub const DAMAGED: &str = "DWELL::DAMAGED";

/// The largest size in bytes for which a put carries [`SYMMETRIC_OFFSET`]. No process waits on a variable that is
/// larger.
pub const SMALL: u64 = 64;

/// The meaning of a region that is a call of a runtime: everything that the analysis knows about the function.
///
/// The recorder writes it as text into the description of the region (`Display`), and the analysis reads it back with
/// [`parse`](Self::parse). For archives of other tools the analysis looks the function up in the tables instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Meaning {
    /// The layer that the function belongs to.
    pub layer: Layer,
    /// The generic operation that a call performs.
    pub operation: Operation,
    /// The state of the operation when the call returns. A description that does not say it means [`Mode::Blocking`].
    pub mode: Mode,
    /// Tells whether the process serves requests of others inside the call. A description that does not say it means
    /// [`Progress::Conditional`].
    pub progress: Progress,
    /// `true` if earlier operations on the same window are complete at their targets when the call returns.
    pub completes_remote: bool,
}

impl Meaning {
    /// Returns the meaning of a function that a table describes. `row` must belong to `table`, which contributes the
    /// layer.
    pub const fn of(table: &Table, row: &Row) -> Self {
        Self {
            layer: table.layer,
            operation: row.operation,
            mode: row.mode,
            progress: row.progress,
            completes_remote: row.completes_remote,
        }
    }

    /// Reads the description of a region. Unknown words are skipped, so that archives of later versions can be read.
    /// Returns `None` if the layer or the operation is missing or unknown: the region is then no call of a runtime that
    /// Dwell knows.
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

/// The address of a call in the program, as the description of a region whose function has not been looked up yet:
/// `offset=0x1234 build_id=12ab module=/home/x/heat`. The path comes last, since it may contain blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address<'a> {
    /// Path of the program or library that contains the call.
    pub module: &'a str,
    /// Build id of the module in hexadecimal, empty if it has none. It tells whether a file is still the one that ran.
    pub build_id: &'a str,
    /// The return address of the call, relative to the address at which the module was loaded.
    pub offset: u64,
}

impl<'a> Address<'a> {
    /// Reads the description of a region, which `Display` wrote. Returns `None` if the text has another form, such as
    /// that of an [`Entry`], or if the offset is not a hexadecimal number of 64 bits.
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

/// The entry point of a function of the program, as the description of its region while its name has not been looked up
/// yet: `entry=0x1234 build_id=12ab module=/home/x/heat`. Events refer to the region, so it keeps its id when the name
/// has been found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry<'a>(pub Address<'a>);

impl<'a> Entry<'a> {
    /// Reads the description of a region, which `Display` wrote. Returns `None` if the text has another form, such as
    /// that of an [`Address`].
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
