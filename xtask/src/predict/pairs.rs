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

    /// Returns the launcher, without the number of processes.
    pub(super) fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::Mpich => &["mpirun.mpich"],
            Self::OpenMpi => &["mpirun.openmpi", "--bind-to", "none"],
            Self::Coarrays => &["mpirun.openmpi", "--bind-to", "none", "-mca", "osc", "pt2pt"],
            Self::Shmem => &["oshrun", "--bind-to", "none", "-mca", "osc", "^rdma"],
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
    pub(super) processes: u32,
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

/// Returns a pair of programs with four processes whose time is predicted.
const fn of_four(
    title: &'static str,
    runtime: Runtime,
    (before, after): (&'static str, &'static str),
    variables: &'static [(&'static str, &'static str)],
    question: &'static [&'static str],
) -> Pair {
    let (before, after) = (side(before, variables), side(after, variables));
    Pair { title, runtime, processes: 4, before, after, question, answer: Answer::Time }
}

const fn side(mode: &'static str, variables: &'static [(&'static str, &'static str)]) -> Side {
    Side { mode, variables }
}

/// All pairs.
pub(super) const PAIRS: &[Pair] = &[
    Pair {
        title: "MPICH, asynchronous progress, a core is idle",
        runtime: Runtime::Mpich,
        processes: 2,
        before: side("sleep", &[]),
        after: side("sleep", ASYNCHRONOUS),
        question: &["--async-progress", "cores=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "MPICH, asynchronous progress, no core is idle",
        runtime: Runtime::Mpich,
        processes: 2,
        before: side("busy", &[]),
        after: side("busy", ASYNCHRONOUS),
        question: &["--async-progress", "cores=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "Open MPI, one-sided over messages or shared memory",
        runtime: Runtime::OpenMpi,
        processes: 2,
        before: side("allocated", PT2PT),
        after: side("allocated", SHARED),
        question: &["--without", "wait_for_progress"],
        answer: Answer::Time,
    },
    Pair {
        title: "MPI, computing balanced",
        runtime: Runtime::OpenMpi,
        processes: 2,
        before: side("unbalanced", PT2PT),
        after: side("balanced", PT2PT),
        question: &["--balance", "relax"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, computing balanced",
        runtime: Runtime::Shmem,
        processes: 2,
        before: side("unbalanced", OVER_SM),
        after: side("balanced", OVER_SM),
        question: &["--balance", "relax"],
        answer: Answer::Time,
    },
    Pair {
        title: "coarrays, a stage halved",
        runtime: Runtime::Coarrays,
        processes: 2,
        before: side("full", &[]),
        after: side("half", &[]),
        question: &["--scale", "second_stage=0.5"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, a lock split in two",
        runtime: Runtime::Shmem,
        processes: 2,
        before: side("lock", OVER_SM),
        after: side("locks", OVER_SM),
        question: &["--split-lock", "{LOCK}=2"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM over TCP, small gets joined",
        runtime: Runtime::Shmem,
        processes: 2,
        before: side("small", OVER_TCP),
        after: side("joined", OVER_TCP),
        question: &["--join", "{GET}=16"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, tasks of a queue halved",
        runtime: Runtime::Shmem,
        processes: 2,
        before: side("queue", OVER_SM),
        after: side("half_queue", OVER_SM),
        question: &["--scale", "task=0.5"],
        answer: Answer::Time,
    },
    Pair {
        title: "OpenSHMEM, a process that came too late for tasks",
        runtime: Runtime::Shmem,
        processes: 2,
        before: side("late", OVER_SM),
        after: side("less_late", OVER_SM),
        question: &["--scale", "prepare=0.25"],
        answer: Answer::Cannot,
    },
    of_four(
        "MPI, a ticket lock held for a shorter time",
        Runtime::OpenMpi,
        ("ticket", "short_ticket"),
        SHARED,
        &["--scale", "hold@2=0.25"],
    ),
    of_four(
        "MPI, one stage of a pipeline halved",
        Runtime::OpenMpi,
        ("pipeline", "even_stages"),
        SHARED,
        &["--scale", "update@2=0.5"],
    ),
    of_four(
        "MPICH, one stage of a pipeline halved",
        Runtime::Mpich,
        ("pipeline", "even_stages"),
        &[],
        &["--scale", "update@2=0.5"],
    ),
    of_four(
        "MPI, work that is late in turn, balanced",
        Runtime::OpenMpi,
        ("turns", "even_turns"),
        PT2PT,
        &["--balance", "update"],
    ),
    of_four(
        "MPICH, work that is late in turn, balanced",
        Runtime::Mpich,
        ("turns", "even_turns"),
        &[],
        &["--balance", "update"],
    ),
    of_four(
        "MPI over messages, a halo without its late rank",
        Runtime::OpenMpi,
        ("halo", "even_halo"),
        PT2PT,
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "MPICH, a halo without its late rank",
        Runtime::Mpich,
        ("halo", "even_halo"),
        &[],
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "MPI, memory exposed earlier",
        Runtime::OpenMpi,
        ("epochs", "early_epochs"),
        PT2PT,
        &["--scale", "update@0=0.25"],
    ),
    of_four(
        "OpenSHMEM, a barrier of flags without its late PE",
        Runtime::Shmem,
        ("flags", "even_flags"),
        OVER_SM,
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "OpenSHMEM over TCP, a barrier of flags without its late PE",
        Runtime::Shmem,
        ("flags", "even_flags"),
        OVER_TCP,
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "OpenSHMEM, a halo without its late PE",
        Runtime::Shmem,
        ("halo", "even_halo"),
        OVER_SM,
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "OpenSHMEM over TCP, a halo without its late PE",
        Runtime::Shmem,
        ("halo", "even_halo"),
        OVER_TCP,
        &["--scale", "update@2=0.25"],
    ),
    of_four(
        "OpenSHMEM, a word that others poll, written earlier",
        Runtime::Shmem,
        ("poll", "short_poll"),
        OVER_SM,
        &["--scale", "update@0=0.25"],
    ),
    of_four(
        "OpenSHMEM, a barrier of a counter, balanced",
        Runtime::Shmem,
        ("count", "even_count"),
        OVER_SM,
        &["--balance", "update"],
    ),
];
