//! Types of C, as far as functions of communication libraries take and return them.
//!
//! Enough to write the exact signature of a hook. Sizes are those of the machines that Dwell measures
//! on: Linux on x86-64 and aarch64, where `long` and pointers have eight bytes and `long double`
//! occupies sixteen.

use core::fmt;

macro_rules! ctypes {
    ($( $(#[$doc:meta])* $variant:ident $c:literal $rust:expr, $size:literal; )*) => {
        /// A type of C.
        ///
        /// Names that mean the same bits (`long` and `int64_t`) stay apart, so that a row can be held
        /// against the header word for word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum CType {
            $( #[doc = concat!("`", $c, "`.")] $(#[$doc])* $variant, )*
        }

        impl CType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The name in C.
            pub const fn c_name(self) -> &'static str {
                match self { $( Self::$variant => $c, )* }
            }

            /// The type of a Rust signature, or `None` where stable Rust has none that is passed in
            /// the same way.
            pub const fn rust_name(self) -> Option<&'static str> {
                match self { $( Self::$variant => $rust, )* }
            }

            /// Bytes of a value in an array.
            pub const fn size(self) -> u8 {
                match self { $( Self::$variant => $size, )* }
            }
        }
    };
}

ctypes! {
    /// As a return type: nothing is returned.
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
    /// By value it travels on the stack and comes back in a register of the x87 unit: no Rust type
    /// does that.
    LongDouble "long double" None, 16;
    /// Only ever behind a pointer in the interfaces known here.
    ComplexFloat "float _Complex" None, 8;
    /// Only ever behind a pointer in the interfaces known here.
    ComplexDouble "double _Complex" None, 16;
    /// A pointer to anything, and every handle that is one.
    Pointer "void *" Some("*mut core::ffi::c_void"), 8;
    /// A handle of MPI: four bytes in one library, eight in another. Either way it has a register or a
    /// place on the stack to itself, and a hook passes on what it was given.
    Handle "MPI handle" Some("usize"), 8;
    /// An address or distance of MPI.
    Aint "MPI_Aint" Some("isize"), 8;
    /// A place in a file.
    Offset "MPI_Offset" Some("i64"), 8;
    /// A large count.
    Count "MPI_Count" Some("i64"), 8;
}

impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.c_name())
    }
}

/// The longest argument list a row can have; `GA_Matmul_patch` has nineteen.
pub const MAX_ARGUMENTS: usize = 21;

/// The types of a function's arguments.
///
/// They stand inside the row, not behind a reference, so that families of functions can be made from
/// one description by `const fn`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arguments {
    types: [CType; MAX_ARGUMENTS],
    count: u8,
    variadic: bool,
}

impl Arguments {
    /// These types, in this order.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_ARGUMENTS`]. Tables are constants, so this fails to compile.
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

    /// The same, with `...` at the end.
    #[must_use]
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// The same, after one argument more.
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

    /// The types that have a name.
    #[inline]
    pub const fn types(&self) -> &[CType] {
        self.types.split_at(self.count as usize).0
    }

    /// Whether any number of arguments may follow. Stable Rust cannot define such a function.
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
