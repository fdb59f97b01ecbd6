//! Programs before and after a remedy, the runtimes on which they run, and what `dwell whatif` is asked about them.

/// What `dwell whatif` has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A time, which is held against the program after the remedy.
    Time,
    /// That the run cannot be predicted.
    Cannot,
}

/// A way to compile and launch programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// MPICH with its default transport.
    Mpich,
    /// Open MPI.
    OpenMpi,
    /// OpenSHMEM of Open MPI.
    Shmem,
    /// Coarrays over Open MPI.
    Coarrays,
}

impl Runtime {
    /// Returns the compiler with the options that it needs.
    pub(super) fn compiler(self) -> &'static [&'static str] {
        match self {
            Self::Mpich => &["mpicc.mpich"],
            Self::OpenMpi => &["mpicc.openmpi"],
            Self::Shmem => &["oshcc"],
            Self::Coarrays => &["gfortran", "-fcoarray=lib"],
        }
    }

    /// Returns the source of the programs.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Mpich | Self::OpenMpi => "mpi.c",
            Self::Shmem => "shmem.c",
            Self::Coarrays => "coarrays.F90",
        }
    }

    /// Returns the launcher for two processes.
    pub(super) fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::Mpich => &["mpirun.mpich", "-np", "2"],
            Self::OpenMpi => &["mpirun.openmpi", "--bind-to", "none", "-np", "2"],
            Self::Coarrays => {
                &["mpirun.openmpi", "--bind-to", "none", "-mca", "osc", "pt2pt", "-np", "2"]
            }
            Self::Shmem => &["oshrun", "--bind-to", "none", "-mca", "osc", "^rdma", "-np", "2"],
        }
    }
}

/// One run of a pair: the mode of the program, and variables of its environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) mode: &'static str,
    pub(super) variables: &'static [(&'static str, &'static str)],
}

/// A program before and after a remedy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) title: &'static str,
    pub(super) runtime: Runtime,
    pub(super) before: Side,
    pub(super) after: Side,
    /// Options of `dwell whatif`. A word in braces stands for the line of the source with this word in a comment.
    pub(super) question: &'static [&'static str],
    pub(super) answer: Answer,
}

const PT2PT: &[(&str, &str)] = &[("OMPI_MCA_osc", "pt2pt")];
const SHARED: &[(&str, &str)] = &[("OMPI_MCA_osc", "sm,pt2pt")];
const ASYNCHRONOUS: &[(&str, &str)] = &[("MPIR_CVAR_ASYNC_PROGRESS", "1")];
const OVER_TCP: &[(&str, &str)] = &[("UCX_TLS", "tcp,self")];
const OVER_SM: &[(&str, &str)] = &[("UCX_TLS", "sm,self")];

const fn side(mode: &'static str, variables: &'static [(&'static str, &'static str)]) -> Side {
    Side { mode, variables }
}

/// All pairs.
pub(super) const PAIRS: &[Pair] = &[
    Pair {
        title: "MPICH, asynchronous progress, a core is idle",
        runtime: Runtime::Mpich,
        before: side("sleep", &[]),
        after: side("sleep", ASYNCHRONOUS),
        question: &["--async-progress", "cores=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "MPICH, asynchronous progress, no core is idle",
        runtime: Runtime::Mpich,
        before: side("busy", &[]),
        after: side("busy", ASYNCHRONOUS),
        question: &["--async-progress", "cores=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "Open MPI, one-sided over messages or shared memory",
        runtime: Runtime::OpenMpi,
        before: side("allocated", PT2PT),
        after: side("allocated", SHARED),
        question: &["--without", "wait_for_progress"],
        answer: Answer::Time,
    },
    Pair {
        title: "MPI, computing balanced",
        runtime: Runtime::OpenMpi,
        before: side("unbalanced", PT2PT),
        after: side("balanced", PT2PT),
        question: &["--balance", "relax"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, computing balanced",
        runtime: Runtime::Shmem,
        before: side("unbalanced", OVER_SM),
        after: side("balanced", OVER_SM),
        question: &["--balance", "relax"],
        answer: Answer::Time,
    },
    Pair {
        title: "coarrays, a stage halved",
        runtime: Runtime::Coarrays,
        before: side("full", &[]),
        after: side("half", &[]),
        question: &["--scale", "second_stage=0.5"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, a lock split in two",
        runtime: Runtime::Shmem,
        before: side("lock", OVER_SM),
        after: side("locks", OVER_SM),
        question: &["--split-lock", "{LOCK}=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM over TCP, small gets joined",
        runtime: Runtime::Shmem,
        before: side("small", OVER_TCP),
        after: side("joined", OVER_TCP),
        question: &["--join", "{GET}=16"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, tasks of a queue halved",
        runtime: Runtime::Shmem,
        before: side("queue", OVER_SM),
        after: side("half_queue", OVER_SM),
        question: &["--scale", "task=0.5"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, a process that came too late for tasks",
        runtime: Runtime::Shmem,
        before: side("late", OVER_SM),
        after: side("less_late", OVER_SM),
        question: &["--scale", "prepare=0.25"],
        answer: Answer::Cannot,
    },
];
