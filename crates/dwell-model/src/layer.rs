//! Layers of communication software: whose call is this?
//!
//! A program may use several at once, one on top of the other: Global Arrays over ARMCI over MPI.
//! Each call is a region inside its caller's region, and a wait is judged at one layer only. Archives
//! that Dwell wrote say the layer of each region; for the others there is [`layer_of_region`].

use core::fmt;

/// One kind of communication software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// OpenSHMEM.
    Shmem,
    /// MPI, two-sided and one-sided.
    Mpi,
    /// ARMCI.
    Armci,
    /// Co-Array Fortran, through the calls of the compiler's run-time library.
    Caf,
    /// GASNet.
    Gasnet,
    /// Unified Parallel C.
    Upc,
    /// Global Arrays.
    GlobalArrays,
    /// UCX.
    Ucx,
}

impl Layer {
    /// Every layer.
    pub const ALL: &'static [Self] = &[
        Self::Shmem,
        Self::Mpi,
        Self::Armci,
        Self::Caf,
        Self::Gasnet,
        Self::Upc,
        Self::GlobalArrays,
        Self::Ucx,
    ];

    /// The short name: on the command line, in properties of an archive, before names of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shmem => "shmem",
            Self::Mpi => "mpi",
            Self::Armci => "armci",
            Self::Caf => "caf",
            Self::Gasnet => "gasnet",
            Self::Upc => "upc",
            Self::GlobalArrays => "ga",
            Self::Ucx => "ucx",
        }
    }

    /// The name as people write it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Shmem => "OpenSHMEM",
            Self::Mpi => "MPI",
            Self::Armci => "ARMCI",
            Self::Caf => "Co-Array Fortran",
            Self::Gasnet => "GASNet",
            Self::Upc => "UPC",
            Self::GlobalArrays => "Global Arrays",
            Self::Ucx => "UCX",
        }
    }

    /// The layer of a short name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|layer| layer.name() == name)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// How the functions of each layer begin, profiling twins and Fortran spellings included.
///
/// No prefix may begin another layer's prefix; a test holds that.
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
    ("gasnet", Layer::Gasnet),
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
];

/// Whole names without a prefix of their own: what SHMEM was called at SGI.
const NAMES: &[(&str, Layer)] = &[
    ("start_pes", Layer::Shmem),
    ("_my_pe", Layer::Shmem),
    ("_num_pes", Layer::Shmem),
    ("shmalloc", Layer::Shmem),
    ("shmemalign", Layer::Shmem),
    ("shrealloc", Layer::Shmem),
    ("shfree", Layer::Shmem),
];

/// The layer of a region, from its name alone.
///
/// This is for archives of other tools, whose regions do not say it. A function of the program that
/// happens to begin like one of a library (`ga_step`) is taken for the library's: where the archive
/// knows better, believe the archive.
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
