//! What recording a call costs: `record_cost DIR [CALLS [MODE]]` records that many gets and puts of 8
//! bytes, or of 128 in the mode `overhead`, with no runtime behind them, and prints nanoseconds for each. With the mode `profile` it sums them up
//! instead of writing events; with `overhead` short gets are summed up as for `--overhead 2%`; the modes `mapped` and
//! `staged` say where chunks of events are filled.
//!
//! `valgrind --tool=callgrind` on it counts instructions, which do not depend on the machine's mood.

#![allow(unsafe_code)] // Says where calls come from, as stubs in assembly do.

use std::time::Instant;

use dwell_measure::call::{begin, end, end_transfer, transfer};
use dwell_measure::clock::Source;
use dwell_measure::entry::called_from;
use dwell_measure::filter::Selection;
use dwell_measure::hook::{Address, Bytes, CallArgs, Context, Hook, Rank, Transfer};
use dwell_measure::memory::Filling;
use dwell_measure::process::{Plan, Process};
use dwell_model::shmem;
use dwell_unify::stream::RunId;

/// Where the symmetric heap is said to be.
const HEAP: usize = 0xFF00_0000_0000;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".into());
    let calls: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let mode = arguments.next().unwrap_or_default();
    let profile = mode == "profile";
    // A put that could be a signal is not summed up.
    let bytes = Bytes(if mode == "overhead" { 128 } else { 8 });
    dwell_measure::clock::prepare();
    let plan = Plan {
        run: RunId::random(),
        rank: 0,
        size: 2,
        open_files: &directory,
        program: "record_cost",
        chunk: 1 << 20,
        filling: Filling::parse(&mode).unwrap_or_default(),
        budget: u64::MAX,
        memory: u64::MAX,
        clock: Source::best(),
        trace: !profile,
        profile,
        unwind: 0,
        samples: false,
        wrappers: "",
        selection: Selection {
            overhead: if mode == "overhead" { 200 } else { 0 },
            ..Selection::default()
        },
        window: (0, u64::MAX),
    };
    let process = Process::prepare(&plan)?;
    let hook = |name: &str| -> &'static Hook {
        let row = shmem::TABLE.find(name).expect("a function of the table");
        Box::leak(Box::new(Hook::new(&shmem::TABLE, row)))
    };
    let (get, put) = (hook("shmem_getmem"), hook("shmem_putmem"));
    process.begin(get);
    // A block of the symmetric heap, for the puts to go to.
    let (malloc, facts) = (hook("shmem_malloc"), CallArgs { bytes: Bytes(4096), ..CallArgs::NONE });
    if let Some(call) = begin(malloc, &facts) {
        end(call, malloc, &facts, HEAP as u64);
    }
    for (name, hook) in [("get", get), ("put", put)] {
        // Any address of this program will do.
        let began = Instant::now();
        let site = main as fn() -> std::io::Result<()> as usize;
        // SAFETY: a word on this stack that stays what it is as long as calls are made.
        unsafe { called_from(site, (&raw const began) as usize, 0) };
        for call in 0..calls {
            let target = Rank((call & 1) as u32);
            let (address, context) = (Address(HEAP + 64), Context::DEFAULT);
            if let Some(call) = transfer(hook, Transfer { target, bytes, address, context }) {
                end_transfer(call);
            }
        }
        println!("{name} {:.1} ns", began.elapsed().as_nanos() as f64 / calls as f64);
    }
    for closed in process.end() {
        println!("{:?}", closed?);
    }
    Ok(())
}
