//! The table of all settings.

use super::{Kind, Setting};
use crate::memory::Filling;
use crate::unwind;

const OUTPUT: &str = "Output";
const EVENTS: &str = "Events";
const FILTERS: &str = "Filters";
const TIME_WINDOW: &str = "Time window";
const LIMITS: &str = "Limits";

/// Section of the settings that most runs need. The help text lists their flags first.
pub const EVERYDAY: &str = "Everyday";

/// Section of settings that few runs need. They have no flag of their own: `dwell run --set NAME=VALUE` sets them.
pub const SETTINGS_ONLY: &str = "Settings without an option";

/// All settings of the recorder, in the order of the help text. The flags of `dwell run`, the variables of the
/// environment and the properties of an archive are made from it.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "output",
        letter: Some('o'),
        kind: Kind::Directory,
        default: "",
        section: EVERYDAY,
        help: "Experiment directory; it must be empty, and is created if necessary. The default is \
               dwell-PROGRAM-JOB in the current directory, with the time if there is no batch job",
    },
    Setting {
        name: "label",
        letter: None,
        kind: Kind::Text,
        default: "",
        section: EVERYDAY,
        help: "A few words about this run, which dwell ls and dwell info show",
    },
    Setting {
        name: "profile",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: EVERYDAY,
        help: "Sum up calls by call path while the program runs: visits, time, bytes, operations, partners. \
               Replaces the trace, unless --trace is given too",
    },
    Setting {
        name: "overhead",
        letter: None,
        kind: Kind::Share,
        default: "",
        section: EVERYDAY,
        help: "Largest share of the time that recording may take, such as 2%. To keep it, short calls are summed up if no \
               wait of another process is judged by them; long ones are recorded as always",
    },
    Setting {
        name: "max-size",
        letter: None,
        kind: Kind::Budget,
        default: "",
        section: EVERYDAY,
        help: "Largest size of the events on disk, such as 4G: all processes together, of which each gets an equal \
               share, or with 64M/process each of them. A process stops recording when it is used up",
    },
    Setting {
        name: "next",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: OUTPUT,
        help: "If the directory of --output is not empty, record into the next free one: DIR-2, DIR-3 and so on",
    },
    Setting {
        name: "scratch",
        letter: None,
        kind: Kind::Directory,
        default: "",
        section: OUTPUT,
        help: "Write to this directory of each node while the program runs, and move the files to the \
               experiment directory at the end. Faster on slow shared file systems; after a crash the files \
               must be collected from the nodes",
    },
    Setting {
        name: "trace",
        letter: None,
        kind: Kind::Switch,
        default: "",
        section: EVENTS,
        help: "Record every call as events; this is the default unless --profile is given",
    },
    Setting {
        name: "sample",
        letter: None,
        kind: Kind::Rate,
        default: "",
        section: EVENTS,
        help: "Sample where processes compute, 100 times a second of processor time or HZ times, so that causes of waits name \
               the function and the line",
    },
    Setting {
        name: "counters",
        letter: None,
        kind: Kind::Counters,
        default: "",
        section: EVENTS,
        help: "Counters to sample in the trace where computing begins and ends, as in system,instructions,cycles. They say \
               why a process computed longer than others: more instructions, fewer of them per cycle, or time off the \
               core. With `--counters list`, dwell prints what this machine offers and ends",
    },
    Setting {
        name: "unwind",
        letter: None,
        kind: Kind::Count(unwind::DEPTH as u32),
        default: "",
        section: EVENTS,
        help: "Unwind the call stack at each call, up to N functions of the program and at most 64, and show \
               them in the call tree; for programs whose functions are not instrumented. Every call costs more",
    },
    Setting {
        name: "filter",
        letter: None,
        kind: Kind::Filter,
        default: "",
        section: FILTERS,
        help: "Filter file in the format of Score-P, which excludes calls; its rules for regions apply to calls \
               of runtimes too",
    },
    Setting {
        name: "calls",
        letter: None,
        kind: Kind::Groups,
        default: "all",
        section: FILTERS,
        help: "Groups of calls to record, as in put,get, or to exclude, as in -wait,-other. The groups are put, \
               get, atomic, signal, complete, lock, wait, message, request, collective, epoch, memory, group \
               and other",
    },
    Setting {
        name: "layer",
        letter: None,
        kind: Kind::Layers,
        default: "",
        section: FILTERS,
        help: "How the calls of a layer are recorded, such as ucx=on, which adds the calls of UCX inside those of \
               OpenSHMEM and MPI, or mpi-inner=all: all calls of MPI inside calls of other runtimes, and not only the first \
               from each place, or omp=on, which records OpenMP. Also gasnet-handlers, gasnet-locks and gasnet-transfers",
    },
    Setting {
        name: "start-after",
        letter: None,
        kind: Kind::Duration,
        default: "",
        section: TIME_WINDOW,
        help: "Start recording this long after the runtime was initialised, as in 10s",
    },
    Setting {
        name: "for",
        letter: None,
        kind: Kind::Duration,
        default: "",
        section: TIME_WINDOW,
        help: "Stop recording after this time, counted from --start-after",
    },
    Setting {
        name: "paused",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: TIME_WINDOW,
        help: "Record nothing until the program calls dwell_resume, MPI_Pcontrol(1) or shmem_pcontrol(1)",
    },
    Setting {
        name: "memory",
        letter: None,
        kind: Kind::Size,
        default: "",
        section: LIMITS,
        help: "Memory limit of recording in each process, such as 64M; threads that would exceed it are not recorded",
    },
    Setting {
        name: "hang-timeout",
        letter: None,
        kind: Kind::Duration,
        default: "",
        section: LIMITS,
        help: "If no process has made a call for this time and some wait, as in 10min, write what each is in to hang.txt in \
               the directory of the run, and once to standard error. The program goes on. See dwell where",
    },
    Setting {
        name: "clock",
        letter: None,
        kind: Kind::Choice(&["auto", "counter", "system"]),
        default: "auto",
        section: SETTINGS_ONLY,
        help: "Source of time stamps: the processor's time stamp counter, CLOCK_MONOTONIC of the system, or the \
               counter if its rate is constant (auto)",
    },
    Setting {
        name: "wrappers",
        letter: None,
        kind: Kind::Wrappers,
        default: "",
        section: SETTINGS_ONLY,
        help: "Libraries of yours that wrap a runtime, so that findings name the line that calls them: a library, a file or a \
               directory, as in libhalo.so or halo.hpp, a scope of C++ or Rust, as in halo::, or the beginning of names of \
               functions, as in halo_*. Known ones, such as mpi4py and Boost.MPI, need not be listed",
    },
    Setting {
        name: "clock-period",
        letter: None,
        kind: Kind::Duration,
        default: "10s",
        section: SETTINGS_ONLY,
        help: "Compare the clocks of different nodes about this often while the program runs, in barriers and \
               other collectives of all processes. With 0 they are compared only at the beginning and at the \
               end",
    },
    Setting {
        name: "peer-timeout",
        letter: None,
        kind: Kind::Duration,
        default: "60s",
        section: SETTINGS_ONLY,
        help: "Longest wait for other processes when recording starts, when it ends, and when clocks are \
               compared. After that the program continues, and dwell recover makes the archive",
    },
    Setting {
        name: "chunk-size",
        letter: None,
        kind: Kind::Size,
        default: "1M",
        section: SETTINGS_ONLY,
        help: "Size of the chunks by which event files grow, 256K to 16M",
    },
    Setting {
        name: "chunks",
        letter: None,
        kind: Kind::Choice(Filling::WORDS),
        default: "auto",
        section: SETTINGS_ONLY,
        help: "Where chunks are filled after the first of a thread: mapped, in the event file, or staged, in a file of \
               their own from which they are copied; auto takes what is known to be faster on the file system",
    },
];
