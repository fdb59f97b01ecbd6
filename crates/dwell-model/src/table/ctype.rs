//! Types of C, as far as functions of communication libraries take and return them.
//!
//! They suffice to write the exact signature of a hook. Sizes are those of the machines that Dwell measures on: Linux
//! on x86-64 and aarch64, where `long` and pointers have eight bytes and `long double` occupies sixteen.

use core::fmt;

macro_rules! ctypes {
    ($( $(#[$doc:meta])* $variant:ident $c:literal $rust:expr, $size:literal; )*) => {
        /// A type of C in the signature of a hooked function.
        ///
        /// Names that mean the same bits (`long` and `int64_t`) stay apart, so that a test can compare a row with the
        /// header word for word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum CType {
            $( #[doc = concat!("`", $c, "`.")] $(#[$doc])* $variant, )*
        }

        impl CType {
            /// Every type, in the order of the enum, for tests that compare sizes with the C compiler.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// Returns the name of the type in C, as a header would spell it. [`Handle`](Self::Handle) stands for
            /// several types and returns `MPI handle`.
            pub const fn c_name(self) -> &'static str {
                match self { $( Self::$variant => $c, )* }
            }

            /// Returns the Rust type for the signature of a hook, or `None` where stable Rust has no type that is
            /// passed in the same way.
            pub const fn rust_name(self) -> Option<&'static str> {
                match self { $( Self::$variant => $rust, )* }
            }

            /// Returns the number of bytes that one value occupies in an array, padding included. `void` has 0.
            pub const fn size(self) -> u8 {
                match self { $( Self::$variant => $size, )* }
            }
        }
    };
}

ctypes! {
    /// The type of a function that returns no value.
    Void "void" Some("()"), 0;
    Char "char" Some("core::ffi::c_char"), 1;
    SignedChar "signed char" Some("core::ffi::c_schar"), 1;
    UnsignedChar "unsigned char" Some("core::ffi::c_uchar"), 1;
    Short "short" Some("core::ffi::c_short"), 2;
    UnsignedShort "unsigned short" Some("core::ffi::c_ushort"), 2;
    Int "int" Some("core::ffi::c_int"), 4;
    UnsignedInt "unsigned int" Some("core::ffi::c_uint"), 4;
    Long "long" Some("core::ffi::c_long"), 8;
    UnsignedLong "unsigned long" Some("core::ffi::c_ulong"), 8;
    LongLong "long long" Some("core::ffi::c_longlong"), 8;
    UnsignedLongLong "unsigned long long" Some("core::ffi::c_ulonglong"), 8;
    Int8 "int8_t" Some("i8"), 1;
    Int16 "int16_t" Some("i16"), 2;
    Int32 "int32_t" Some("i32"), 4;
    Int64 "int64_t" Some("i64"), 8;
    Uint8 "uint8_t" Some("u8"), 1;
    Uint16 "uint16_t" Some("u16"), 2;
    Uint32 "uint32_t" Some("u32"), 4;
    Uint64 "uint64_t" Some("u64"), 8;
    SizeT "size_t" Some("usize"), 8;
    PtrdiffT "ptrdiff_t" Some("isize"), 8;
    Float "float" Some("f32"), 4;
    Double "double" Some("f64"), 8;
    /// By value it travels on the stack and comes back in a register of the x87 unit, which no Rust type does.
    LongDouble "long double" None, 16;
    /// OpenSHMEM passes it behind a pointer only; dot products of Global Arrays return it by value.
    ComplexFloat "float _Complex" None, 8;
    /// OpenSHMEM passes it behind a pointer only; dot products of Global Arrays return it by value.
    ComplexDouble "double _Complex" None, 16;
    /// A pointer to anything, including every handle that is a pointer.
    Pointer "void *" Some("*mut core::ffi::c_void"), 8;
    /// A handle of MPI, which has four bytes in one library and eight in another. Either way it has a register or a
    /// place on the stack to itself, and a hook passes on what it was given.
    Handle "MPI handle" Some("usize"), 8;
    /// An address, or a distance between addresses, in MPI.
    Aint "MPI_Aint" Some("isize"), 8;
    /// A position in a file of MPI.
    Offset "MPI_Offset" Some("i64"), 8;
    /// The count of a function for large counts in MPI.
    Count "MPI_Count" Some("i64"), 8;
}

impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.c_name())
    }
}

/// The length of the longest argument list that a row can have. `ga_matmul_patch_` of Global Arrays for Fortran needs
/// all of them.
pub const MAX_ARGUMENTS: usize = 21;

/// The types of a function's arguments.
///
/// They are inside the row and not behind a reference, so that `const fn`s can create whole families of functions
/// from one description.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arguments {
    types: [CType; MAX_ARGUMENTS],
    count: u8,
    variadic: bool,
}

impl Arguments {
    /// Creates the argument list of these types, in this order.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_ARGUMENTS`]. Tables are constants, so a panic here is a compile error.
    #[must_use]
    pub const fn new(types: &[CType]) -> Self {
        assert!(types.len() <= MAX_ARGUMENTS, "a longer argument list than any known function");
        let mut arguments =
            Self { types: [CType::Void; MAX_ARGUMENTS], count: types.len() as u8, variadic: false };
        let mut index = 0;
        while index < types.len() {
            arguments.types[index] = types[index];
            index += 1;
        }
        arguments
    }

    /// Returns the list with `...` at the end, for functions that take further arguments without a declared type.
    #[must_use]
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// Returns the list with one more argument in front of all others.
    pub(super) const fn after(self, first: CType) -> Self {
        assert!((self.count as usize) < MAX_ARGUMENTS, "no room for one argument more");
        let mut shifted = Self { count: self.count + 1, ..self };
        let mut index = 0;
        while index < self.count as usize {
            shifted.types[index + 1] = self.types[index];
            index += 1;
        }
        shifted.types[0] = first;
        shifted
    }

    /// Returns the types of the declared arguments, in order. The arguments behind `...` have none.
    #[inline]
    pub const fn types(&self) -> &[CType] {
        self.types.split_at(self.count as usize).0
    }

    /// Returns `true` if any number of arguments may follow the declared ones. Stable Rust cannot define such a
    /// function, so its hook needs a stub in assembly.
    pub const fn is_variadic(&self) -> bool {
        self.variadic
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.types());
        if self.variadic {
            list.entry(&format_args!("..."));
        }
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_this_machine() {
        assert_eq!(usize::from(CType::Long.size()), size_of::<core::ffi::c_long>());
        assert_eq!(usize::from(CType::SizeT.size()), size_of::<usize>());
        assert_eq!(usize::from(CType::Pointer.size()), size_of::<*const u8>());
        assert_eq!(usize::from(CType::Int.size()), size_of::<core::ffi::c_int>());
        assert_eq!(usize::from(CType::LongLong.size()), size_of::<core::ffi::c_longlong>());
    }

    #[test]
    fn one_argument_more_comes_first() {
        let arguments = Arguments::new(&[CType::Int, CType::SizeT]).after(CType::Pointer);
        assert_eq!(arguments.types(), [CType::Pointer, CType::Int, CType::SizeT]);
        assert!(!arguments.is_variadic());
    }
}
