//! Remedies for a wait or for inefficient communication, chosen from the facts of a run.
//!
//! [`Wait::about`] holds the general remedy of each wait, [`crate::inefficient`] that of inefficient communication. This
//! module holds remedies that depend on what the trace
//! shows: the runtime and its settings, the operation, the memory that was accessed, and what the process that was waited
//! for did meanwhile. All rows of the [table](table::ROWS) that apply are given, in the order of the table. They replace
//! the general remedy, because the trace may contradict it. [`serving`] has the choices that `dwell whatif --progress`
//! ranks, and [`remedies`] lists all texts for the book.
//!
//! The advice on settings was tried with Open MPI 4.1.4 and MPICH 4.0.2: OpenSHMEM over UCX with heap and static data,
//! osc/pt2pt and osc/sm, MPICH with and without its progress thread. The settings of Intel MPI and ARMCI-MPI are taken
//! from their documentation. Open MPI's `spml_ucx_async_progress` was tried too and removed no wait, so no row names
//! it.

use dwell_model::archive::{COMPARES_CLOCKS, STARTS_RECORDING};
use dwell_model::layer::Layer;
use dwell_model::operation::{Atomic, Operation};
use dwell_model::registry;
use dwell_model::waits::Wait;

mod layers;
mod list;
mod serving;
mod table;

use crate::findings::words;
use layers::HasLayer;
pub use list::{Printed, Remedy, remedies};
pub use serving::{Gain, Serving, Settings, serving};

/// Id of the pattern of calls that become many calls of the layer below.
const MANY: &str = "many_calls_below";

/// Facts about a wait, or about inefficient communication, and its run, from which [`advice`] chooses remedies. Text fields are empty where the archive does
/// not hold the fact; no row that needs such a fact then applies.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Id of the pattern, as in findings and in the catalogue of waits, for example `wait_for_progress`. An unknown id
    /// gets no general remedy.
    pub pattern: &'a str,
    /// Name of the function that waited or that was inefficient, for example `shmem_long_atomic_add`; empty if it is not
    /// known. Its operation decides which other calls can do the same.
    pub call: &'a str,
    /// Programming interface of the call that waited: OpenSHMEM, MPI, or a layer over MPI such as ARMCI or coarrays.
    pub layer: Layer,
    /// Name and version of the runtime as the archive records it, for example `Open MPI 4.1.4`; empty if the archive
    /// does not say.
    pub runtime: &'a str,
    /// Environment variables that configure the runtime, such as `OMPI_MCA_osc` or `UCX_TLS`, as `NAME=value` separated
    /// by blanks.
    pub settings: &'a str,
    /// Number of nodes on which the run had processes. Some transports, for example shared memory, exist only within
    /// one.
    pub nodes: usize,
    /// Name of the window that the worst instance accessed; empty if it is not known. Windows of OpenSHMEM tell the
    /// symmetric heap from static data.
    pub window: &'a str,
    /// Set if the call waited for a message of MPI, unset if it waited for a one-sided operation.
    pub is_message: bool,
    /// Name of the process that the worst instance waited for, such as `PE 3`; empty if it is not known. The text then
    /// says "the target".
    pub partner: &'a str,
    /// Letter of the cause of most of the wait, such as `A`; empty if no cause is known.
    pub cause: &'a str,
    /// Activity of the partner during the worst instance; `None` if the trace does not show it.
    pub meanwhile: Option<Meanwhile<'a>>,
    /// Predicted gain of a thread in each process that serves operations of others, as a part of the run; below 0 if the
    /// run would be longer, and `None` if it was not predicted.
    pub serving_threads: Option<f64>,
}

/// Activity of the process that was waited for, from the beginning to the end of the worst instance of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Meanwhile<'a> {
    /// Part of the time that the process spent outside of all recorded calls, from 0 to 1. From 0.5 on it counts as
    /// computing.
    pub computing: f64,
    /// Name of the call in which the process spent most time, with its place in the source; empty if it was in no call.
    pub call: &'a str,
    /// Set if that call is the call that waited, at the same place: the delay is then passed on from process to
    /// process.
    pub same: bool,
    /// Number of the finding about that call as the user sees it; `None` if no finding is about it.
    pub finding: Option<u32>,
    /// Description of a call that the process made with itself as the target, for example an atomic on its own memory.
    /// Such calls make no progress for other processes. Empty if there was none.
    pub on_itself: &'a str,
}

/// A program in which a remedy helps, run before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Program and change. Those of `cargo xtask predict` are named as the book's page about predictions names them.
    pub program: &'static str,
    /// Change of the time of the program or of the part of it that changes, with its base.
    pub change: &'static str,
}

/// The remedy was tried in no program that is measured.
const NOT_TRIED: Option<Tried> = None;

/// A remedy together with the condition under which it applies.
struct Row {
    applies: fn(&Facts<'_>) -> bool,
    /// The condition in words, for the book.
    when: &'static str,
    /// Program in which the remedy helps.
    tried: Option<Tried>,
    /// Text for the user. Names in braces, such as `{partner}`, stand for facts, which [`filled`] inserts.
    text: &'static str,
}

impl Facts<'_> {
    fn is_progress(&self) -> bool {
        self.pattern.starts_with("wait_for_progress")
    }

    /// Returns `true` if the process that was waited for spent most of the wait in calls of its own, so that it was
    /// late because something held it up and not because it computed. Waits for progress are judged by other rows.
    fn was_in_calls(&self) -> bool {
        !self.is_progress()
            && self.meanwhile.is_some_and(|it| it.computing < 0.5 && !it.call.is_empty())
    }

    fn is_static(&self) -> bool {
        self.is_shmem() && self.window.starts_with("static data")
    }

    fn runs_on(&self, runtime: &str) -> bool {
        self.runtime.starts_with(runtime)
    }

    fn operation(&self) -> Option<Operation> {
        registry::find(self.call).map(|(_, row)| row.operation)
    }

    /// Returns the kind of the atomic operation that the call issues, or `None` if it issues none.
    fn atomic(&self) -> Option<Atomic> {
        match self.operation() {
            Some(Operation::Atomic(which)) => Some(which),
            _ => None,
        }
    }

    /// Returns `true` if the call accesses memory of another process.
    fn is_one_sided(&self) -> bool {
        self.operation().is_some_and(|it| it.is_one_sided() || it == Operation::CompleteRemote)
    }

    /// Returns `true` for `ARMCI_Rmw`, the atomic of ARMCI that returns a value.
    fn is_rmw(&self) -> bool {
        self.atomic().is_some_and(Atomic::fetches)
    }

    /// Returns `true` for blocking operations that follow one another.
    fn is_row(&self) -> bool {
        self.pattern == "blocking_in_a_row"
    }

    /// Returns the value of an environment variable of the runtime, or `None` if the archive does not list it.
    fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.split_whitespace();
        settings.find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns `true` if the environment made Open MPI use its component osc/pt2pt for one-sided operations.
    fn is_pt2pt(&self) -> bool {
        let component = self.setting("OMPI_MCA_osc").unwrap_or_default();
        !self.is_shmem()
            && !self.is_message
            && self.runs_on("Open MPI")
            && component.split(',').any(|it| it == "pt2pt")
    }

    /// Returns `true` if the environment restricted UCX to TCP and to transfers of a process to itself.
    fn is_tcp_only(&self) -> bool {
        self.setting("UCX_TLS").is_some_and(|it| {
            it.contains("tcp") && it.split(',').all(|one| ["tcp", "self"].contains(&one))
        })
    }

    /// Returns `true` for a wait for progress whose target computed and entered the runtime too rarely to serve
    /// requests.
    fn computes(&self) -> bool {
        self.is_progress()
            && self.meanwhile.is_some_and(|it| it.computing >= 0.5)
            && !self.calls_itself()
    }

    /// Returns `true` if threads that serve may help: no prediction says that the run would be longer with them.
    fn may_have_threads(&self) -> bool {
        self.is_progress() && self.serving_threads.is_none_or(|gain| gain > -0.005)
    }

    /// Returns the setting that makes the runtime start a thread that serves.
    fn thread(&self) -> Option<&'static str> {
        match () {
            () if self.is_armci() && self.runtime.contains("MPI") => {
                Some("ARMCI_PROGRESS_THREAD=1")
            }
            () if self.runs_on("MPICH") => Some("MPIR_CVAR_ASYNC_PROGRESS=1"),
            () if self.runs_on("Intel") => Some("I_MPI_ASYNC_PROGRESS=1"),
            () => None,
        }
    }

    /// Returns `true` if the process that was waited for spent that time in the recorder and not in the program.
    fn was_in_recorder(&self) -> bool {
        let own = [STARTS_RECORDING, COMPARES_CLOCKS];
        self.meanwhile.is_some_and(|it| own.contains(&it.call))
    }

    /// Returns `true` if the process that was waited for made calls whose target was itself.
    fn calls_itself(&self) -> bool {
        self.meanwhile.is_some_and(|it| !it.on_itself.is_empty())
    }
}

/// Returns what a user can do about a wait: every remedy whose condition the facts meet, joined to one text, or the
/// general remedy of the wait if no condition is met. The text is empty if the pattern is not in the catalogue.
pub fn advice(facts: &Facts<'_>) -> String {
    let rows = table::ROWS.iter().filter(|row| (row.applies)(facts));
    let texts: Vec<String> = rows.map(|row| filled(row.text, facts)).collect();
    match texts.is_empty() {
        true => general(facts.pattern).to_owned(),
        false => texts.join(" "),
    }
}

/// Returns the general remedy of a wait or of inefficient communication, by its id; empty for an unknown id.
fn general(pattern: &str) -> &'static str {
    let wait = Wait::of_id(pattern).map(|it| it.about().remedy);
    wait.or_else(|| crate::inefficient(pattern).map(|it| it.remedy)).unwrap_or_default()
}

/// Inserts the facts into a text. Braces that come from names, such as the name of a process, stay as they are.
fn filled(text: &str, facts: &Facts<'_>) -> String {
    let partner = if facts.partner.is_empty() { "the target" } else { facts.partner };
    let within = words::within(partner);
    let meanwhile = facts.meanwhile;
    let number = meanwhile.and_then(|it| it.finding).map(|it| it.to_string()).unwrap_or_default();
    let longer = facts.serving_threads.map(|gain| format!("{:.0} %", -100.0 * gain));
    let longer = longer.unwrap_or_default();
    // Names come last: their text is not replaced again.
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or(("", part));
        filled.push_str(match name {
            "partner" if filled.is_empty() => partner,
            "partner" => &within,
            "call" => meanwhile.map_or("", |it| it.call),
            "cause" => facts.cause,
            "name" => facts.call,
            "finding" => &number,
            "thread" => facts.thread().unwrap_or_default(),
            "longer" => &longer,
            "on_itself" => meanwhile.map_or("", |it| it.on_itself),
            _ => "",
        });
        filled.push_str(rest);
    }
    filled
}

#[cfg(test)]
mod tests;
