//! Layers of communication software: which library a call belongs to.
//!
//! A program may use several layers at once, one on top of the other: Global Arrays over ARMCI over MPI. Each call is a
//! region inside its caller's region, and a wait is judged at one layer only. Archives that Dwell wrote say the layer
//! of each region; for other archives there is [`layer_of_region`].

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A communication library or language, as one layer of a program. The enum is `non_exhaustive`: each runtime that
/// Dwell learns to record may add one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// OpenSHMEM and the older SHMEM names of SGI, described by [`shmem::TABLE`](crate::shmem::TABLE).
    Shmem,
    /// MPI, two-sided and one-sided, described by [`mpi::TABLE`](crate::mpi::TABLE).
    Mpi,
    /// ARMCI, described by [`armci::TABLE`](crate::armci::TABLE). It lies over MPI in the implementation that Dwell
    /// records.
    Armci,
    /// Coarrays of Fortran, through the calls that gfortran's code makes into OpenCoarrays.
    /// [`caf::TABLE`](crate::caf::TABLE) describes them.
    Caf,
    /// GASNet-EX, described by [`gasnet::TABLE`](crate::gasnet::TABLE). Its calls are macros, so programs are compiled
    /// with a header that redefines them.
    Gasnet,
    /// Unified Parallel C, whose runtimes report events through GASP: see [`gasp`](crate::gasp). They are regions around
    /// calls of the layers below, which have the records of operations.
    Upc,
    /// Global Arrays, described by [`ga::TABLE`](crate::ga::TABLE). Its calls are regions around the calls of ARMCI,
    /// which have the records of operations.
    GlobalArrays,
    /// The UCP interface of UCX, described by [`ucx::TABLE`](crate::ucx::TABLE). Its calls are regions inside those of
    /// MPI or OpenSHMEM, and are recorded only on request.
    Ucx,
    /// Coarrays of Fortran, through calls that `dwell build sources` inserted into the source. They contain the calls of
    /// the compiler's runtime. [`coarray::TABLE`](crate::coarray::TABLE) describes them.
    Coarray,
    /// OpenMP, through the calls that GCC's code makes into libgomp, described by [`omp::TABLE`](crate::omp::TABLE). Its calls
    /// are regions around and inside those of other layers.
    Omp,
}

impl Layer {
    /// Every layer, in the order of the enum. The command line lists the names of these layers for its options.
    pub const ALL: &'static [Self] = &[
        Self::Shmem,
        Self::Mpi,
        Self::Armci,
        Self::Caf,
        Self::Gasnet,
        Self::Upc,
        Self::GlobalArrays,
        Self::Ucx,
        Self::Coarray,
        Self::Omp,
    ];

    /// Returns the short name of the layer in lower case. It is used on the command line, in the description of regions
    /// and in front of metric names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shmem => "shmem",
            Self::Mpi => "mpi",
            Self::Armci => "armci",
            Self::Caf => "caf",
            Self::Coarray => "coarray",
            Self::Gasnet => "gasnet",
            Self::Upc => "upc",
            Self::GlobalArrays => "ga",
            Self::Ucx => "ucx",
            Self::Omp => "omp",
        }
    }

    /// Returns the name of the layer as its users write it, for reports and pages. `Display` prints the same text.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Shmem => "OpenSHMEM",
            Self::Mpi => "MPI",
            Self::Armci => "ARMCI",
            Self::Caf => "Co-Array Fortran",
            Self::Coarray => "coarrays by source",
            Self::Gasnet => "GASNet",
            Self::Upc => "UPC",
            Self::GlobalArrays => "Global Arrays",
            Self::Ucx => "UCX",
            Self::Omp => "OpenMP",
        }
    }

    /// The layer of messages in traces: OTF2 has records of messages for MPI only.
    pub const OF_MESSAGES: Self = Self::Mpi;

    /// Returns `true` for the layer that has messages, requests for them, and windows with locks and fences. Elsewhere a
    /// call that waits for a handle waits for one-sided operations, and a lock is a variable.
    pub const fn has_messages(self) -> bool {
        matches!(self, Self::Mpi)
    }

    /// Returns `true` if processes wait for events only, so that a put without the address of an event notifies no process.
    pub const fn notifies_by_events(self) -> bool {
        matches!(self, Self::Caf | Self::Coarray)
    }

    /// Returns `true` if locks exclude the threads of one process from each other, and not processes.
    pub const fn locks_threads(self) -> bool {
        matches!(self, Self::Gasnet)
    }

    /// Returns `true` if a process serves others when it polls for active messages, and not in each call that transfers data.
    pub const fn serves_by_polling(self) -> bool {
        matches!(self, Self::Gasnet)
    }

    /// Returns `true` if calls run functions of the program, whose time is not that of the calls: the body of a parallel region,
    /// and tasks.
    pub const fn runs_program(self) -> bool {
        matches!(self, Self::Omp)
    }

    /// Returns the source of the ranks and windows of the layer, which decides how its records are to be read.
    pub const fn ranks(self) -> Ranks {
        match self {
            Self::Shmem => Ranks::Own,
            Self::Mpi | Self::Armci | Self::Caf | Self::Coarray | Self::Gasnet => {
                Ranks::Communicators
            }
            Self::GlobalArrays | Self::Ucx | Self::Upc | Self::Omp => Ranks::None,
        }
    }

    /// Returns the words and the numbers by which users of the layer name processes.
    pub const fn processes(self) -> Processes {
        match self {
            Self::Shmem => Processes { title: "PE", several: "PEs", first: 0 },
            Self::Caf | Self::Coarray => Processes { title: "Image", several: "images", first: 1 },
            _ => Processes { title: "Rank", several: "ranks", first: 0 },
        }
    }

    /// Returns the layer of a short [name](Self::name), or `None` if no layer has that name. Upper case does not match.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|layer| layer.name() == name)
    }
}

/// Words and numbers by which people name the processes of a program. It decides the names in archives that Dwell writes,
/// from which all reports take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processes {
    /// The word for one process, such as "PE", in front of its number.
    pub title: &'static str,
    /// The word for several processes, in the middle of a sentence.
    pub several: &'static str,
    /// The number of the first process.
    pub first: u64,
}

impl Processes {
    /// Returns the names for a program that calls these layers: those of the language, and not of the library below it.
    pub fn of(layers: impl IntoIterator<Item = Layer>) -> Self {
        let weight = |layer: &Layer| match layer {
            Layer::Caf | Layer::Coarray => 2,
            Layer::Shmem => 1,
            _ => 0,
        };
        layers.into_iter().max_by_key(weight).unwrap_or(Layer::Mpi).processes()
    }

    /// Returns the names of which this one is an example, such as `PE 3`, or `None` for a process with a name of its own.
    pub fn of_name(name: &str) -> Option<Self> {
        let title = name.split(' ').next()?;
        let mut all = Layer::ALL.iter().map(|layer| layer.processes());
        all.find(|it| it.title == title)
    }

    /// Returns the name of the process with this rank, counted from 0.
    pub fn name(self, rank: u64) -> String {
        format!("{} {}", self.title, rank.saturating_add(self.first))
    }
}

/// The source of the ranks and windows of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// The layer numbers all processes, and its memory is symmetric: a record of completion is for all operations of a
    /// window.
    Own,
    /// Ranks are those of a communicator of MPI or of a team of GASNet, and records follow the rules of MPI: a record of completion is for the
    /// operations of its number.
    Communicators,
    /// The layer names no ranks. Its calls are regions around or inside those of other layers, without records of
    /// operations.
    None,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// Prefixes of the functions of each layer, profiling twins and Fortran spellings included.
///
/// No prefix may begin a prefix of another layer; a test checks that.
const PREFIXES: &[(&str, Layer)] = &[
    ("shmem_", Layer::Shmem),
    ("shmemx_", Layer::Shmem),
    ("pshmem_", Layer::Shmem),
    ("pshmemx_", Layer::Shmem),
    ("SHMEM_", Layer::Shmem),
    ("MPI_", Layer::Mpi),
    ("PMPI_", Layer::Mpi),
    ("mpi_", Layer::Mpi),
    ("pmpi_", Layer::Mpi),
    ("MPIX_", Layer::Mpi),
    ("ARMCI_", Layer::Armci),
    ("PARMCI_", Layer::Armci),
    ("ARMCIX_", Layer::Armci),
    ("armci_", Layer::Armci),
    ("parmci_", Layer::Armci),
    ("_gfortran_caf_", Layer::Caf),
    ("caf_", Layer::Caf),
    ("coarray_", Layer::Coarray),
    ("gasnet", Layer::Gasnet),
    ("GASNET_", Layer::Gasnet),
    ("gex_", Layer::Gasnet),
    ("upc_", Layer::Upc),
    ("upcr_", Layer::Upc),
    ("_upcr_", Layer::Upc),
    ("bupc_", Layer::Upc),
    ("GA_", Layer::GlobalArrays),
    ("ga_", Layer::GlobalArrays),
    ("NGA_", Layer::GlobalArrays),
    ("nga_", Layer::GlobalArrays),
    ("pnga_", Layer::GlobalArrays),
    ("ucp_", Layer::Ucx),
    ("GOMP_", Layer::Omp),
    ("omp_", Layer::Omp),
];

/// Whole names that have no prefix of their own: the functions of SHMEM as SGI called them.
const NAMES: &[(&str, Layer)] = &[
    ("start_pes", Layer::Shmem),
    ("_my_pe", Layer::Shmem),
    ("_num_pes", Layer::Shmem),
    ("shmalloc", Layer::Shmem),
    ("shmemalign", Layer::Shmem),
    ("shrealloc", Layer::Shmem),
    ("shfree", Layer::Shmem),
];

/// Returns the layer of a region, judged by its name alone, or `None` for a function of no known layer.
///
/// Archives of other tools need this, because their regions do not say the layer. A function of the program that
/// happens to begin like one of a library (`ga_step`) is taken for the library's, so where the archive states the
/// layer, believe the archive.
///
/// ```
/// use dwell_model::layer::{Layer, layer_of_region};
///
/// assert_eq!(layer_of_region("shmem_int_put"), Some(Layer::Shmem));
/// assert_eq!(layer_of_region("main"), None);
/// ```
pub fn layer_of_region(name: &str) -> Option<Layer> {
    let whole = NAMES.iter().find(|(known, _)| *known == name);
    whole.or_else(|| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix))).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_as_in_the_source() {
        let name = |layers: &[Layer]| Processes::of(layers.iter().copied()).name(2);
        assert_eq!(name(&[Layer::Mpi, Layer::Shmem]), "PE 2");
        assert_eq!(name(&[Layer::Mpi, Layer::Caf, Layer::Mpi]), "Image 3");
        assert_eq!(name(&[Layer::Coarray]), "Image 3");
        assert_eq!(name(&[Layer::GlobalArrays, Layer::Armci, Layer::Mpi]), "Rank 2");
        assert_eq!(name(&[]), "Rank 2");
        assert_eq!(Processes::of_name("Image 3").map(|it| it.several), Some("images"));
        assert_eq!(Processes::of_name("node7"), None);
    }

    #[test]
    fn regions_of_every_layer() {
        let cases = [
            ("shmem_int_put", Some(Layer::Shmem)),
            ("shmemx_int16_p", Some(Layer::Shmem)),
            ("pshmem_barrier_all", Some(Layer::Shmem)),
            ("start_pes", Some(Layer::Shmem)),
            ("shmalloc", Some(Layer::Shmem)),
            ("MPI_Win_flush", Some(Layer::Mpi)),
            ("PMPI_Send", Some(Layer::Mpi)),
            ("mpi_put_", Some(Layer::Mpi)),
            ("ARMCI_NbGetS", Some(Layer::Armci)),
            ("armci_msg_barrier", Some(Layer::Armci)),
            ("_gfortran_caf_sync_all", Some(Layer::Caf)),
            ("caf_get", Some(Layer::Caf)),
            ("gasnet_put_nb", Some(Layer::Gasnet)),
            ("gasnete_get_bulk", Some(Layer::Gasnet)),
            ("upc_memput", Some(Layer::Upc)),
            ("NGA_Get", Some(Layer::GlobalArrays)),
            ("GA_Dgemm", Some(Layer::GlobalArrays)),
            ("ga_sync_", Some(Layer::GlobalArrays)),
            ("GOMP_parallel", Some(Layer::Omp)),
            ("main", None),
            ("upcase", None),
            ("game_loop", None),
            ("start_pes_again", None),
            ("my_shmem_int_put", None),
            ("", None),
        ];
        for (name, layer) in cases {
            assert_eq!(layer_of_region(name), layer, "{name}");
        }
    }

    #[test]
    fn no_prefix_hides_another_layers() {
        for (index, (prefix, layer)) in PREFIXES.iter().enumerate() {
            for (other, owner) in PREFIXES.iter().skip(index + 1) {
                let nested = other.starts_with(prefix) || prefix.starts_with(other);
                assert!(!nested || layer == owner, "{prefix} and {other}");
            }
        }
    }

    #[test]
    fn names_lead_back() {
        for layer in Layer::ALL {
            assert_eq!(Layer::from_name(layer.name()), Some(*layer));
        }
        assert_eq!(Layer::from_name("smoke signals"), None);
    }
}
