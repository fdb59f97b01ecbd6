//! The ways into the recorder, and panics on request in each of them.
//!
//! In a library with assertions, the variable `DWELL_TEST_PANIC=NAME:N` lets the N-th pass of an [`Entry`] panic.
//! Libraries that people use are built without assertions, and ignore the variable. What happens after a
//! panic is decided by the guards ([`crate::guard`]); this module knows nothing of them, so that locks and threads can
//! pass entries without importing what is built on top of them.

macro_rules! entries {
    ($( #[doc = $doc:literal] $entry:ident = $name:literal, )*) => {
        /// A way into the recorder, or a step inside it. Every use of [`guarded`](crate::guard::guarded) names one, and a test build can make
        /// each of them panic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Entry { $( #[doc = $doc] $entry, )* }

        impl Entry {
            /// All entries, in the order of their definition. Tests go through them and let each panic once.
            pub const ALL: &'static [Self] = &[$( Self::$entry, )*];

            /// Returns the name by which the variable `DWELL_TEST_PANIC` of a test build selects the entry, such as
            /// `before`.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$entry => $name, )* }
            }
        }
    };
}

entries! {
    /// The loading of the library into the program.
    Load = "load",
    /// The start of a recording, before processes talk to each other.
    Start = "start",
    /// The start of a recording, which all processes take part in.
    StartTogether = "start-together",
    /// The part of the start that concerns this process alone.
    Begin = "begin",
    /// The first recorded call of a thread.
    Register = "register",
    /// A hook, before the real function.
    Before = "before",
    /// A hook, after the real function.
    After = "after",
    /// Any work on the state of a thread, once it is busy.
    Busy = "busy",
    /// Any work under a lock of the recorder.
    Locked = "locked",
    /// The program's own code: instrumented functions, and what `dwell.h` calls.
    User = "user",
    /// A request of the program to pause or resume the recording.
    Control = "control",
    /// A barrier or another collective over all processes, and the comparison of clocks in it.
    Meet = "meet",
    /// The part of a comparison of clocks that concerns this process alone.
    Sample = "sample",
    /// The end of an interval after which a thread is sampled.
    Tick = "tick",
    /// The end of a thread of the program.
    ThreadEnd = "thread-end",
    /// The end of a recording, which all processes take part in.
    Finish = "finish",
    /// The parts of the end that concern this process alone.
    Close = "close",
    /// The end of the process, through `exit` or a return from `main`.
    Exit = "exit",
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn pass(_: Entry) {}

#[cfg(debug_assertions)]
pub(crate) use on_request::pass;

#[cfg(debug_assertions)]
mod on_request {
    use std::env;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Entry;

    struct Plan {
        entry: Entry,
        left: AtomicU64,
    }

    /// Panics if this is the pass that `DWELL_TEST_PANIC` asks for.
    #[allow(clippy::panic)] // That is what it is for.
    pub(crate) fn pass(entry: Entry) {
        static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
        let Some(plan) = PLAN.get_or_init(plan).as_ref().filter(|plan| plan.entry == entry) else {
            return;
        };
        if plan.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            panic!("asked for at {}", entry.name());
        }
    }

    fn plan() -> Option<Plan> {
        let asked = env::var("DWELL_TEST_PANIC").ok()?;
        let (name, pass) = asked.split_once(':')?;
        let entry = *Entry::ALL.iter().find(|entry| entry.name() == name)?;
        Some(Plan { entry, left: AtomicU64::new(pass.parse().ok()?) })
    }
}
