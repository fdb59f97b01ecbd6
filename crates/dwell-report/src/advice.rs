//! Remedies for a wait or for inefficient communication, chosen from the facts of a run.
//!
//! [`Wait::about`] holds the general remedy of each wait, [`crate::inefficient`] that of inefficient communication. This
//! module holds remedies that depend on what the trace
//! shows: the runtime and its settings, the memory that was accessed, and what the process that was waited for did
//! meanwhile. All rows of the table that apply are given, in the order of the table. They replace the general remedy,
//! because the trace may contradict it.
//!
//! The advice on settings was tried with Open MPI 4.1.4 and MPICH 4.0.2: OpenSHMEM over UCX with heap and static data,
//! osc/pt2pt and osc/sm, MPICH with and without its progress thread. The settings of Intel MPI and ARMCI-MPI are taken
//! from their documentation. Open MPI's `spml_ucx_async_progress` was tried too and removed no wait, so no row names
//! it.

use dwell_model::archive::{COMPARES_CLOCKS, STARTS_RECORDING};
use dwell_model::layer::Layer;
use dwell_model::waits::Wait;

/// Facts about a wait, or about inefficient communication, and its run, from which [`advice`] chooses remedies. Text fields are empty where the archive does
/// not hold the fact; no row that needs such a fact then applies.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Id of the pattern, as in findings and in the catalogue of waits, for example `wait_for_progress`. An unknown id
    /// gets no general remedy.
    pub pattern: &'a str,
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

/// A remedy together with the condition under which it applies.
struct Row {
    applies: fn(&Facts<'_>) -> bool,
    /// Text for the user. The names `{partner}`, `{call}`, `{finding}` and `{on_itself}` in braces stand for facts,
    /// which [`filled`] inserts.
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
        self.layer == Layer::Shmem && self.window.starts_with("static data")
    }

    fn runs_on(&self, runtime: &str) -> bool {
        self.runtime.starts_with(runtime)
    }

    /// Returns the value of an environment variable of the runtime, or `None` if the archive does not list it.
    fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.split_whitespace();
        settings.find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns `true` if the environment made Open MPI use its component osc/pt2pt for one-sided operations.
    fn is_pt2pt(&self) -> bool {
        let component = self.setting("OMPI_MCA_osc").unwrap_or_default();
        self.layer != Layer::Shmem
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
            () if self.layer == Layer::Armci && self.runtime.contains("MPI") => {
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

/// All remedies that depend on facts. Related rows exclude one another by their conditions.
const ROWS: &[Row] = &[
    // The process that was waited for was itself held up.
    Row {
        applies: |it| it.was_in_calls() && it.meanwhile.is_some_and(|it| it.same),
        text: "{partner} itself spent most of that time in the same call, so the delay is passed on from process to \
               process: look for the one that comes late without having waited.",
    },
    Row {
        applies: |it| {
            it.was_in_calls() && it.meanwhile.is_some_and(|it| !it.same && it.finding.is_some())
        },
        text: "{partner} itself spent most of that time in {call}: see finding {finding} first.",
    },
    Row {
        applies: |it| {
            it.was_in_calls()
                && !it.was_in_recorder()
                && it.meanwhile.is_some_and(|it| !it.same && it.finding.is_none())
        },
        text: "{partner} itself spent most of that time in {call}: make these calls shorter or fewer.",
    },
    Row {
        applies: |it| it.was_in_calls() && it.was_in_recorder(),
        text: "{partner} was busy with the recording, and not with the program ({call}): without Dwell there is no such wait.",
    },
    // Memory.
    Row {
        applies: |it| {
            it.is_progress() && it.is_static() && it.runs_on("Open MPI") && it.is_tcp_only()
        },
        text: "What is accessed is static data, which needs its owner on every transport of Open MPI. Memory of \
               shmem_malloc needs it over TCP as well, but not over shared memory or RDMA: change both the memory and the \
               transport (UCX_TLS=sm,self on one node).",
    },
    Row {
        applies: |it| {
            it.is_progress() && it.is_static() && it.runs_on("Open MPI") && !it.is_tcp_only()
        },
        text: "What is accessed is static data, which needs its owner on every transport of Open MPI: use memory of \
               shmem_malloc, which needs nobody over shared memory or RDMA.",
    },
    // Runtime and transport.
    Row {
        applies: |it| {
            it.is_progress()
                && it.layer == Layer::Shmem
                && !it.is_static()
                && it.runs_on("Open MPI")
                && it.is_tcp_only()
        },
        text: "Over TCP every operation needs its target: on one node set UCX_TLS=sm,self, between nodes use a network \
               with RDMA.",
    },
    Row {
        applies: |it| it.is_progress() && it.is_pt2pt() && it.nodes == 1,
        text: "The component osc/pt2pt of Open MPI needs the target for every operation: on one node osc/sm \
               (OMPI_MCA_osc=sm) does not, for windows that MPI_Win_allocate made.",
    },
    Row {
        applies: |it| it.is_progress() && it.is_pt2pt() && it.nodes > 1,
        text: "The component osc/pt2pt of Open MPI needs the target for every operation: osc/rdma or osc/ucx do not, on a \
               network with RDMA.",
    },
    Row {
        applies: |it| {
            it.may_have_threads() && it.layer == Layer::Armci && it.runtime.contains("MPI")
        },
        text: "ARMCI_PROGRESS_THREAD=1 makes ARMCI-MPI start a thread that serves requests. It needs \
               MPI_THREAD_MULTIPLE, and a core of its own in every process.",
    },
    Row {
        applies: |it| it.may_have_threads() && it.runs_on("MPICH"),
        text: "MPIR_CVAR_ASYNC_PROGRESS=1 makes MPICH start a thread that serves requests. It needs a core of its own \
               in every process, and makes every call slower, because calls then lock.",
    },
    Row {
        applies: |it| it.may_have_threads() && it.runs_on("Intel"),
        text: "I_MPI_ASYNC_PROGRESS=1 makes Intel MPI start a thread that serves requests. It needs a core of its own in \
               every process.",
    },
    // What the target did.
    Row {
        applies: |it| it.is_progress() && it.is_message,
        text: "A large message moves on only while both sides are in calls of MPI, unless the network carries it alone: let \
               {partner} complete the message before it computes, or test it now and then.",
    },
    Row {
        applies: |it| it.is_progress() && it.calls_itself(),
        text: "{partner} entered the runtime meanwhile ({on_itself}), but only to act on itself, which serves nobody: \
               let a process that does not compute own what others access, or access it less often, more at once.",
    },
    Row {
        applies: |it| it.computes() && it.layer == Layer::Shmem && !it.is_static(),
        text: "Let {partner} enter the runtime more often while it computes: a get from or an atomic on another PE serves \
               others; shmem_fence, shmem_test and calls on itself do not.",
    },
    Row {
        applies: |it| {
            it.computes()
                && it.layer == Layer::Mpi
                && !it.is_message
                && (it.runs_on("MPICH") || it.runs_on("Open MPI"))
        },
        text: "Let {partner} enter the runtime more often while it computes: MPI_Iprobe serves others; \
               MPI_Comm_rank, MPI_Put and a test of nothing do not.",
    },
    Row {
        applies: |it| it.is_progress() && !it.may_have_threads() && it.thread().is_some(),
        text: "A thread that serves requests ({thread}) does not pay here: the run would be {longer} longer, because the threads \
               take cores from the processes.",
    },
    // Inefficient communication: calls of the layer that do the same in less time.
    Row {
        applies: |it| it.pattern == "strided_elements",
        text: "Let the owner of the data copy the elements into one piece of symmetric memory before the synchronisation that \
               precedes these calls, and move that with one shmem_getmem or shmem_putmem; or start the elements with \
               shmem_getmem_nbi or shmem_putmem_nbi and complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.layer == Layer::Shmem,
        text: "Move what a row moves with one shmem_getmem or shmem_putmem. If it does not lie in one piece at the target, \
               let the target copy it together first, or start the transfers with shmem_getmem_nbi or shmem_putmem_nbi and \
               complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.layer == Layer::Mpi,
        text: "One MPI_Get or MPI_Put with a derived datatype (MPI_Type_vector, MPI_Type_indexed) moves what a row moves.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.layer == Layer::Armci,
        text: "ARMCI_GetS and ARMCI_PutS move a section of an array with one call, ARMCI_GetV and ARMCI_PutV a list of \
               pieces.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.layer == Layer::Caf,
        text: "Access an array section, as in a(1:n)[k], and not one element after the other in a loop: each access of another \
               image is a transfer of its own.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.layer == Layer::Shmem,
        text: "Call shmem_quiet once after the last operation of a row. Where only the order on one target matters, shmem_fence \
               does not wait for the network; shmem_putmem_signal tells the target that its data is there without either.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.layer == Layer::Mpi,
        text: "Lock the window once (MPI_Win_lock_all after it was made), start all operations of a row, and complete them with \
               one MPI_Win_flush for each target or one MPI_Win_flush_all. MPI_Win_flush_local suffices where buffers are to \
               be used again; MPI_Rput and MPI_Rget with one MPI_Waitall complete some operations and not others.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.layer == Layer::Armci,
        text: "Start all operations of a row (ARMCI_NbPut, ARMCI_NbGet) and complete them with one ARMCI_WaitAll, and at their \
               targets with one ARMCI_Fence for each target or one ARMCI_AllFence.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.layer == Layer::Caf,
        text: "One sync memory after the last access of a row completes all of them.",
    },
    Row {
        applies: |it| it.pattern == "blocking_in_a_row" && it.layer == Layer::Shmem,
        text: "If none of them needs what another returns: start them with shmem_getmem_nbi, shmem_putmem_nbi or the atomics \
               that end in _nbi, and complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.pattern == "blocking_in_a_row" && it.layer == Layer::Mpi,
        text: "If none of them needs what another returns: start them with MPI_Rget or MPI_Rput and complete all of them with \
               one MPI_Waitall.",
    },
    Row {
        applies: |it| it.pattern == "blocking_in_a_row" && it.layer == Layer::Armci,
        text: "If none of them needs what another returns: start them with ARMCI_NbGet or ARMCI_NbPut and complete all of them \
               with one ARMCI_WaitAll.",
    },
    Row {
        applies: |it| it.pattern == "blocking_in_a_row" && it.layer == Layer::Caf,
        text: "Fortran has no access to another image that does not block: let a collective (co_sum, co_broadcast) do what the \
               row does, or let each image write what others need (a(:)[k] = b) instead of reading it.",
    },
    Row {
        applies: |it| it.pattern == "static_data" && it.runs_on("Open MPI"),
        text: "Use memory of shmem_malloc. Open MPI lets the owner of static data carry out every operation on it; memory of \
               shmem_malloc needs nobody over shared memory or RDMA.",
    },
    Row {
        applies: |it| it.pattern == "hot_target" && it.layer == Layer::Armci,
        text: "Take several items with one ARMCI_Rmw (add the number of items, not 1), or give each group of processes a counter \
               of its own.",
    },
];

/// Returns what a user can do about a wait: every remedy whose condition the facts meet, joined to one text, or the
/// general remedy of the wait if no condition is met. The text is empty if the pattern is not in the catalogue.
pub fn advice(facts: &Facts<'_>) -> String {
    let rows = ROWS.iter().filter(|row| (row.applies)(facts));
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
            "partner" => partner,
            "call" => meanwhile.map_or("", |it| it.call),
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
mod tests {
    use super::*;

    const NOTHING: Facts<'_> = Facts {
        pattern: "wait_for_progress",
        layer: Layer::Shmem,
        runtime: "",
        settings: "",
        nodes: 1,
        window: "",
        is_message: false,
        partner: "PE 0",
        meanwhile: None,
        serving_threads: None,
    };

    const COMPUTED: Meanwhile<'_> =
        Meanwhile { computing: 1.0, call: "", same: false, finding: None, on_itself: "" };

    #[test]
    fn a_target_that_called_itself_is_not_told_to_make_calls() {
        let on_itself = "57 calls of shmem_long_atomic_fetch_inc at queue.c:9";
        let meanwhile = Some(Meanwhile { on_itself, ..COMPUTED });
        let said = advice(&Facts { meanwhile, ..NOTHING });
        assert!(said.contains("PE 0 entered the runtime meanwhile (57 calls of"), "{said}");
        assert!(!said.contains("more often"), "{said}");
    }

    #[test]
    fn memory_and_transport_decide() {
        let open_mpi = Facts { runtime: "Open MPI 4.1.4", ..NOTHING };
        let said = |settings, window| advice(&Facts { settings, window, ..open_mpi });
        let still = said("UCX_TLS=sm,self", "static data of all PEs");
        assert!(still.contains("shmem_malloc") && !still.contains("UCX_TLS"), "{still}");
        let tcp = said("UCX_TLS=tcp,self", "static data of all PEs");
        assert!(tcp.contains("shmem_malloc") && tcp.contains("UCX_TLS=sm,self"), "{tcp}");
        let heap = said("UCX_TLS=tcp,self", "all PEs");
        assert!(!heap.contains("shmem_malloc") && heap.contains("UCX_TLS=sm,self"), "{heap}");
        let other = said("UCX_TLS=sm,self", "all PEs");
        assert!(!other.contains("UCX_TLS"), "{other}");
    }

    #[test]
    fn advice_does_not_contradict_a_prediction() {
        let mpi = Facts { layer: Layer::Mpi, runtime: "MPICH 4.0.2", ..NOTHING };
        let said = |serving_threads| advice(&Facts { serving_threads, ..mpi });
        assert!(said(Some(0.2)).starts_with("MPIR_CVAR_ASYNC_PROGRESS=1 makes MPICH start"));
        let longer = said(Some(-0.56));
        assert!(!longer.contains("makes MPICH start"), "{longer}");
        assert!(longer.contains("does not pay here: the run would be 56 % longer"), "{longer}");
        // Nothing is said where the runtime has no such threads.
        assert!(!advice(&Facts { serving_threads: Some(-0.56), ..NOTHING }).contains("pay"));
    }

    #[test]
    fn settings_are_those_of_the_runtime() {
        let mpi = Facts { layer: Layer::Mpi, ..NOTHING };
        let said = |runtime, settings| advice(&Facts { runtime, settings, ..mpi });
        assert!(said("MPICH 4.0.2", "").contains("MPIR_CVAR_ASYNC_PROGRESS=1"));
        assert!(said("Intel(R) MPI Library 2021.19", "").contains("I_MPI_ASYNC_PROGRESS=1"));
        let open_mpi = said("Open MPI 4.1.4", "OMPI_MCA_osc=pt2pt");
        assert!(open_mpi.contains("OMPI_MCA_osc=sm") && !open_mpi.contains("MPIR"), "{open_mpi}");
        assert!(!said("Open MPI 4.1.4", "OMPI_MCA_osc=^pt2pt").contains("OMPI_MCA_osc=sm"));
        let (runtime, settings) = ("Open MPI 4.1.4", "OMPI_MCA_osc=pt2pt");
        let message = advice(&Facts { is_message: true, runtime, settings, ..mpi });
        assert!(message.starts_with("A large message") && !message.contains("osc"), "{message}");
        let armci = advice(&Facts { layer: Layer::Armci, runtime: "Open MPI 4.1.4", ..NOTHING });
        assert!(armci.contains("ARMCI_PROGRESS_THREAD=1"), "{armci}");
        // Nothing is known of this one.
        let general = Wait::WaitForProgress.about().remedy;
        assert_eq!(said("Telegraph 1.0", ""), general);
    }

    #[test]
    fn victims_are_not_told_to_balance_their_work() {
        let barrier = Facts { pattern: "barrier_wait", partner: "Rank 1", ..NOTHING };
        let balanced = |meanwhile| advice(&Facts { meanwhile, ..barrier });
        assert!(balanced(Some(COMPUTED)).starts_with("Balance the work"));
        let call = "MPI_Win_unlock at rma.c:20";
        let held = Meanwhile { computing: 0.2, call, same: false, finding: Some(1), on_itself: "" };
        let said = balanced(Some(held));
        assert!(said.contains("MPI_Win_unlock at rma.c:20: see finding 1 first"), "{said}");
        assert!(!said.contains("Balance"), "{said}");
        let recorder = Meanwhile { call: STARTS_RECORDING, finding: None, ..held };
        let said = balanced(Some(recorder));
        assert!(said.contains("without Dwell there is no such wait"), "{said}");
        assert!(!said.contains("fewer") && !said.contains("Balance"), "{said}");
        let said = balanced(Some(Meanwhile { same: true, finding: None, ..held }));
        assert!(said.contains("passed on") && !said.contains("Balance"), "{said}");
    }

    #[test]
    fn inefficient_communication_is_told_calls_of_its_layer() {
        for (layer, prefix) in
            [(Layer::Shmem, "shmem_"), (Layer::Mpi, "MPI_"), (Layer::Armci, "ARMCI_")]
        {
            for pattern in ["small_transfers", "completion_after_each", "blocking_in_a_row"] {
                let said = advice(&Facts { pattern, layer, ..NOTHING });
                assert!(said.contains(prefix), "{pattern}: {said}");
                let others = ["shmem_", "MPI_", "ARMCI_"].into_iter().filter(|it| *it != prefix);
                assert!(others.into_iter().all(|it| !said.contains(it)), "{pattern}: {said}");
            }
        }
        // Whatever the layer, there is something to do.
        for about in crate::inefficient::INEFFICIENT {
            let said = advice(&Facts { pattern: about.pattern, layer: Layer::Gasnet, ..NOTHING });
            assert!(said.len() > 20 && about.meaning.len() > 20, "{}", about.pattern);
        }
        let memory = Facts { pattern: "static_data", runtime: "Open MPI 4.1.4", ..NOTHING };
        assert!(advice(&memory).contains("shmem_malloc"));
    }

    #[test]
    fn every_place_of_a_text_is_filled() {
        let meanwhile = Some(Meanwhile {
            computing: 0.1,
            call: "c",
            same: false,
            finding: Some(7),
            on_itself: "i",
        });
        let facts = Facts { meanwhile, ..NOTHING };
        for row in ROWS {
            let text = filled(row.text, &facts);
            assert!(!text.contains(['{', '}']) && text.ends_with('.'), "{text}");
            for place in row.text.split('{').skip(1) {
                let name = place.split_once('}').unwrap().0;
                let known = ["partner", "call", "finding", "on_itself", "thread", "longer"];
                assert!(known.contains(&name), "{name}");
            }
        }
        // A name that looks like a place stays as it is.
        let facts = Facts { partner: "{call}", meanwhile, ..NOTHING };
        assert!(filled("{partner} and {call}", &facts) == "{call} and c");
    }
}
