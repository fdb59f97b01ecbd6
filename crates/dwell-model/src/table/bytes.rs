//! Sizes: elements of typed functions, and the rules by which the bytes of a call follow from its arguments.

use super::ctype::CType;
use super::places::Arg;

/// The element type of a typed function: a type of C, or just a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The type of C, or `Void` if the name of the function states only a size (`shmem_put32`).
    pub ctype: CType,
    /// The size of one element in bytes, as it lies in an array.
    pub size: u8,
}

impl Element {
    /// Creates the element of a type of C, whose size is that of the type.
    pub const fn of(ctype: CType) -> Self {
        Self { ctype, size: ctype.size() }
    }

    /// Creates an element of a number of bytes whose type is not known.
    pub const fn bytes(size: u8) -> Self {
        Self { ctype: CType::Void, size }
    }
}

/// The rule by which the number of bytes that a call moves or allocates follows from its arguments.
///
/// Some rules need more than the arguments: the runtime knows the size of a datatype of MPI, and descriptors and lists
/// stand in memory of the program. [`of`](Self::of) evaluates the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bytes {
    /// The call moves no bytes, or its arguments do not tell how many.
    None,
    /// The call always moves this number of bytes, as `shmem_int_p` does.
    Fixed(u8),
    /// An argument is the number of elements, whose size in bytes is known from the function.
    Counted {
        /// Number of elements.
        count: Arg,
        /// Bytes of each element.
        size: u8,
    },
    /// Two arguments are multiplied, as in `shmem_calloc`.
    Product {
        /// Number of elements.
        count: Arg,
        /// Bytes of each element.
        size: Arg,
    },
    /// An argument is the number of elements, and another the datatype of MPI, whose size only the runtime knows.
    Typed {
        /// Number of elements.
        count: Arg,
        /// Datatype of the elements.
        datatype: Arg,
    },
    /// The call moves one element of a datatype of MPI, whose size only the runtime knows (`MPI_Fetch_and_op`).
    Item(Arg),
    /// A partitioned message of MPI: a number of partitions, and a number of elements in each of them.
    Parts {
        /// Number of partitions.
        parts: Arg,
        /// Number of elements in each partition.
        count: Arg,
        /// Datatype of the elements.
        datatype: Arg,
    },
    /// An array holds one number of elements for each member of the group, and all have the same datatype
    /// (`MPI_Alltoallv`).
    Listed {
        /// Address of the array of counts.
        counts: Arg,
        /// Datatype of all elements.
        datatype: Arg,
    },
    /// Two arrays hold a number of elements and a datatype for each member of the group (`MPI_Alltoallw`).
    ListedTypes {
        /// Address of the array of counts.
        counts: Arg,
        /// Address of the array of datatypes.
        datatypes: Arg,
    },
    /// A section of an array, as gfortran describes it. The recorder reads the extents from the descriptor in memory.
    Section {
        /// Address of the array descriptor.
        descriptor: Arg,
        /// Address of the vector subscripts, which may be null at run time. `None` if the function has no such
        /// argument.
        vector: Option<Arg>,
    },
    /// The object at the target to which a chain of gfortran's references leads, such as a component of a coarray of
    /// derived type.
    Reference {
        /// Address of the first reference of the chain.
        chain: Arg,
        /// Descriptor of the local side, which has as many elements as the object. `None` if the function has no such
        /// argument.
        descriptor: Option<Arg>,
    },
    /// A strided block of ARMCI. The bytes are the product of an array of counts, of which the first counts bytes and
    /// the others repetitions.
    Block {
        /// Address of the array of counts.
        counts: Arg,
        /// Number of counts less one, which ARMCI calls stride levels.
        levels: Arg,
    },
    /// Four bytes, or eight if this argument, which selects the operation, is odd. `ARMCI_Rmw` numbers its operations
    /// on `long` so.
    IntOrLong(Arg),
    /// An array of generalised I/O vectors of ARMCI (`armci_giov_t`), which the recorder reads in memory.
    Vectors {
        /// Address of the array.
        list: Arg,
        /// Number of vectors in the array.
        length: Arg,
    },
}

impl Bytes {
    /// Returns the bytes of one call. The closure `argument` returns the value of an argument by its position.
    ///
    /// A product that does not fit into 64 bits becomes `u64::MAX`. A count in C may be a signed type: the closure must
    /// return 0 for a negative one. Where only the runtime knows the size, or where it is in memory, the result is
    /// 0.
    ///
    /// ```
    /// use dwell_model::table::{Arg, Bytes};
    ///
    /// let call = [0x7000, 0x1000, 10, 7];
    /// let bytes = Bytes::Counted { count: Arg(2), size: 4 };
    /// assert_eq!(bytes.of(|at| call[at.index()]), 40);
    /// ```
    #[inline]
    pub fn of(self, argument: impl Fn(Arg) -> u64) -> u64 {
        match self {
            Self::None
            | Self::Typed { .. }
            | Self::Item(_)
            | Self::Parts { .. }
            | Self::Listed { .. }
            | Self::ListedTypes { .. }
            | Self::Section { .. }
            | Self::Reference { .. }
            | Self::Block { .. }
            | Self::Vectors { .. } => 0,
            Self::Fixed(bytes) => u64::from(bytes),
            Self::Counted { count, size } => argument(count).saturating_mul(u64::from(size)),
            Self::IntOrLong(which) => 4 + 4 * (argument(which) & 1),
            Self::Product { count, size } => argument(count).saturating_mul(argument(size)),
        }
    }

    pub(super) const fn later(self) -> Self {
        match self {
            Self::None | Self::Fixed(_) => self,
            Self::Counted { count, size } => Self::Counted { count: count.later(), size },
            Self::Product { count, size } => {
                Self::Product { count: count.later(), size: size.later() }
            }
            Self::Typed { count, datatype } => {
                Self::Typed { count: count.later(), datatype: datatype.later() }
            }
            Self::Item(datatype) => Self::Item(datatype.later()),
            Self::IntOrLong(which) => Self::IntOrLong(which.later()),
            Self::Parts { parts, count, datatype } => Self::Parts {
                parts: parts.later(),
                count: count.later(),
                datatype: datatype.later(),
            },
            Self::Listed { counts, datatype } => {
                Self::Listed { counts: counts.later(), datatype: datatype.later() }
            }
            Self::ListedTypes { counts, datatypes } => {
                Self::ListedTypes { counts: counts.later(), datatypes: datatypes.later() }
            }
            Self::Section { descriptor, vector } => {
                Self::Section { descriptor: descriptor.later(), vector: Arg::all_later(vector) }
            }
            Self::Reference { chain, descriptor } => {
                Self::Reference { chain: chain.later(), descriptor: Arg::all_later(descriptor) }
            }
            Self::Block { counts, levels } => {
                Self::Block { counts: counts.later(), levels: levels.later() }
            }
            Self::Vectors { list, length } => {
                Self::Vectors { list: list.later(), length: length.later() }
            }
        }
    }
}

/// The arguments that hold the distances between elements of a strided call, counted in elements (`shmem_iput`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strides {
    /// Distance between elements at the destination.
    pub destination: Arg,
    /// Distance between elements at the source.
    pub source: Arg,
}
