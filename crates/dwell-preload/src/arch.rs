//! Entry points of hooks, in assembly: one module for each processor.
//!
//! Stable Rust cannot find out where a function will return to, which is the call site. So the name of a real function
//! belongs to a stub that stores the return address, the stack pointer and the frame pointer in three words of the
//! thread, and jumps to the hook as if the program had called the hook. The stub uses two registers in which no calling
//! convention passes arguments. With recording switched off, and for functions that a filter excludes, it jumps to the
//! real function at once.
//!
//! Each module has the same items:
//!
//! | item | meaning |
//! |---|---|
//! | `stub!`, `stub_always!` | entry points of hooks |
//! | `own_code!` | entry points for code of the program |
//! | `returns_long_double!` | a hook around a function that returns a `long double` |
//! | `LongDouble` | the type by which a `long double` is passed on, if Rust has one |
//! | `Arguments`, `gasp_event_notify` | arguments of a variadic function |
//! | `ADDRESSES` | types of relocations that store the address of a function |
//!
//! Stubs read the switch and the address of the real function without any ordering. The switch is looked at again by
//! the recorder (`dwell_measure::busy`). The address is that of code which the loader mapped before it could be stored
//! here, and stays valid: a processor that sees an old value of either sees one that was right a moment ago.

#[cfg(target_arch = "aarch64")]
#[macro_use]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
