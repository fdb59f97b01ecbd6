//! Code and facts that differ from processor to processor, one module for each.
//!
//! The rest of the recorder names no register. Each module has the same items, so that a new processor is one more file:
//!
//! | item | meaning |
//! |---|---|
//! | `PAGE` | largest size of a page that kernels for this processor use, in bytes |
//! | `words` | address of the words that entry stubs write |
//! | `stack_pointer`, `store_stack_pointer` | the stack pointer, read and stored |
//! | `switch_stack` | a call on another stack |
//! | `counter`, `counter_in_order`, `is_invariant`, `tick` | the counter that clocks are made of |
//! | `return_place`, `stack_after_return`, `frame_of` | what an entry stub left, in the terms of frames |
//! | `TABLES`, `rule`, `leave` | how a frame is left: the rule from the tables for exceptions, and its use |
//! | `plain` | a return address from the stack, without what the processor added to it |
//!
//! Entry stubs are in the crate `dwell-preload`, which has a folder of the same name.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("the recorder is written for Linux on x86-64 and on AArch64");

/// Position of a thread in a function, as its caller will find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Return address of the function.
    pub(crate) address: usize,
    /// Stack pointer after the return.
    pub(crate) stack: usize,
    /// Frame pointer after the return.
    pub(crate) frame: usize,
}

/// Turns a distance in bytes into words. Returns `None` for one that is negative, odd or above `most` words.
fn words_of(bytes: i64, most: u32) -> Option<u32> {
    let words = u32::try_from(bytes / 8).ok()?;
    (bytes % 8 == 0 && bytes >= 0 && words <= most).then_some(words)
}
