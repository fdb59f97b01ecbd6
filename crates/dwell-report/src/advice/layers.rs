//! Languages and libraries as remedies tell them apart. No other file of the remedies names a layer.

use dwell_model::layer::Layer;

use super::{Facts, Settings};

/// A question about a layer, for conditions of remedies.
pub(super) trait HasLayer {
    fn layer(&self) -> Layer;

    fn is_shmem(&self) -> bool {
        self.layer() == Layer::Shmem
    }

    fn is_mpi(&self) -> bool {
        self.layer() == Layer::Mpi
    }

    fn is_armci(&self) -> bool {
        self.layer() == Layer::Armci
    }

    /// Returns `true` for ARMCI and for Global Arrays, whose calls become calls of ARMCI.
    fn is_arrays(&self) -> bool {
        matches!(self.layer(), Layer::Armci | Layer::GlobalArrays)
    }

    /// Returns `true` for coarrays of Fortran, however they were recorded.
    fn is_coarrays(&self) -> bool {
        matches!(self.layer(), Layer::Caf | Layer::Coarray)
    }

    fn is_gasnet(&self) -> bool {
        self.layer().serves_by_polling()
    }
}

impl HasLayer for Facts<'_> {
    fn layer(&self) -> Layer {
        self.layer
    }
}

impl HasLayer for Settings<'_> {
    fn layer(&self) -> Layer {
        self.layer
    }
}
