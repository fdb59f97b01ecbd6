//! Ways to let targets serve operations of other processes while they compute, which `dwell whatif --progress` ranks by
//! their predicted gain.
//!
//! A choice is offered only to programs that can use it: a program of OpenSHMEM has no windows of MPI, and calls other
//! functions than a program of MPI does to make progress.

use dwell_model::layer::Layer;

use super::layers::HasLayer;
use super::{Facts, NOT_TRIED, Tried};

/// The part of a run that a choice makes shorter or longer, which decides how it is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// Nothing changes, and the run stays as long.
    Nothing,
    /// No operation waits until its target serves it.
    Served,
    /// The same, and a thread of each process takes its share of the cores.
    Threads,
}

/// A way to let targets serve operations, or to leave everything as it is.
#[derive(Clone, Copy, Debug)]
pub struct Serving {
    applies: fn(&Settings<'_>) -> bool,
    /// The condition in words, for the book.
    pub when: &'static str,
    /// Description of the change.
    pub what: &'static str,
    /// Costs other than time.
    pub price: &'static str,
    /// Instruction for trying it. `{place}` stands for the end of the computing that others wait for.
    pub how: &'static str,
    /// Part of the run that changes, by which the choice is predicted.
    pub gain: Gain,
    /// Program in which it was tried.
    pub tried: Option<Tried>,
}

/// Facts of a run that the choices depend on. Fields are as in [`Facts`].
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Layer of the calls that wait for progress.
    pub layer: Layer,
    /// Name and version of the runtime.
    pub runtime: &'a str,
    /// Environment variables that configure the runtime.
    pub settings: &'a str,
    /// Number of nodes on which the run had processes.
    pub nodes: usize,
    /// Set if a wait for progress accessed static data.
    pub is_static: bool,
}

impl<'a> Settings<'a> {
    fn facts(&self) -> Facts<'a> {
        Facts {
            pattern: "wait_for_progress",
            call: "",
            layer: self.layer,
            runtime: self.runtime,
            settings: self.settings,
            nodes: self.nodes,
            window: if self.is_static { "static data" } else { "" },
            is_message: false,
            partner: "",
            cause: "",
            meanwhile: None,
            serving_threads: None,
        }
    }

    fn runs_on(&self, runtime: &str) -> bool {
        self.runtime.contains(runtime)
    }

    /// Returns `true` if one-sided operations are those of MPI, or are made from them.
    fn is_over_mpi(&self) -> bool {
        (self.is_mpi() || self.is_arrays() || self.is_coarrays()) && self.runs_on("MPI")
    }
}

/// Returns the choices that a run has.
pub fn serving<'a>(of: &Settings<'a>) -> impl Iterator<Item = &'static Serving> + use<'a> {
    let of = *of;
    SERVING.iter().filter(move |it| (it.applies)(&of))
}

/// All choices. Those that cost least come first.
pub(super) const SERVING: &[Serving] = &[
    Serving {
        applies: |_| true,
        when: "always",
        what: "leave it as it is",
        price: "nothing",
        how: "nothing to do",
        gain: Gain::Nothing,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.facts().is_pt2pt() && it.nodes == 1,
        when: "Open MPI with osc/pt2pt, one node",
        what: "another component of Open MPI",
        price: "nothing",
        how: "OMPI_MCA_osc=sm, for windows that MPI_Win_allocate made",
        gain: Gain::Served,
        tried: Some(Tried {
            program: "Open MPI, one-sided over messages or shared memory",
            change: "−40.6 %",
        }),
    },
    Serving {
        applies: |it| it.facts().is_pt2pt() && it.nodes > 1,
        when: "Open MPI with osc/pt2pt, several nodes",
        what: "another component of Open MPI",
        price: "nothing",
        how: "OMPI_MCA_osc=rdma or ucx, where the network has remote memory access",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.facts().is_tcp_only() && it.nodes == 1,
        when: "UCX over TCP, one node",
        what: "another transport of UCX",
        price: "nothing",
        how: "UCX_TLS=sm,self",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.facts().is_tcp_only() && it.nodes > 1,
        when: "UCX over TCP, several nodes",
        what: "another transport of UCX",
        price: "nothing",
        how: "UCX_TLS=all on a network with remote memory access",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.facts().is_static(),
        when: "OpenSHMEM, waits for static data",
        what: "data on the symmetric heap",
        price: "a change of the program",
        how: "shmem_malloc instead of static data for what others read and write",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_shmem(),
        when: "OpenSHMEM",
        what: "calls that progress in the target's loop",
        price: "a change of the program",
        how: "get a word from another PE (shmem_long_g) a few times in each millisecond of the computing{place}",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_mpi() || it.is_arrays(),
        when: "MPI, ARMCI, Global Arrays",
        what: "calls that progress in the target's loop",
        price: "a change of the program",
        how: "call MPI_Iprobe a few times in each millisecond of the computing{place}",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_coarrays(),
        when: "coarrays",
        what: "calls that progress in the target's loop",
        price: "a change of the program",
        how: "read a variable of another image a few times in each millisecond of the computing{place}",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_gasnet(),
        when: "GASNet",
        what: "calls that progress in the target's loop",
        price: "a change of the program",
        how: "call gasnet_AMPoll a few times in each millisecond of the computing{place}",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_over_mpi() && it.runs_on("MPICH"),
        when: "MPICH",
        what: "a thread in each process that serves",
        price: "a core for each process",
        how: "MPIR_CVAR_ASYNC_PROGRESS=1",
        gain: Gain::Threads,
        tried: Some(Tried {
            program: "MPICH, asynchronous progress, no core is idle",
            change: "+34.7 %",
        }),
    },
    Serving {
        applies: |it| it.is_over_mpi() && it.runs_on("Intel"),
        when: "Intel MPI",
        what: "a thread in each process that serves",
        price: "a core for each process",
        how: "I_MPI_ASYNC_PROGRESS=1",
        gain: Gain::Threads,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_over_mpi() && it.runs_on("Cray"),
        when: "Cray MPICH",
        what: "a thread in each process that serves",
        price: "a core for each process",
        how: "MPICH_ASYNC_PROGRESS=1",
        gain: Gain::Threads,
        tried: NOT_TRIED,
    },
    Serving {
        applies: |it| it.is_over_mpi(),
        when: "MPI, and ARMCI, Global Arrays or coarrays over it",
        what: "processes that do nothing but serve",
        price: "a core of each node",
        how: "Casper: LD_PRELOAD=libcasper.so CSP_NG=1, and one more process on each node",
        gain: Gain::Served,
        tried: NOT_TRIED,
    },
];
