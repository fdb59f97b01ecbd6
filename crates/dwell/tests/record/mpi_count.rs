//! Another tool below Dwell, which counts independently: both see the same calls and bytes.

use std::collections::BTreeMap;
use std::fs;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::{Counts, Trace, said};

/// Source of the other tool.
const SOURCE: &str = "tests/programs/mpi_count.c";

/// Counts of the tool below: calls with bytes, and calls whose bytes it does not know.
#[derive(Debug, Default)]
struct Counted {
    bytes: Counts,
    calls: BTreeMap<(u64, String), u64>,
}

impl Counted {
    fn read(lab: &Lab, ranks: u32) -> Self {
        let mut all = Self::default();
        for rank in 0..ranks {
            let path = lab.path(&format!("mpi_count.{rank}"));
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            fs::remove_file(&path).unwrap();
            all.bytes.extend(said(&text));
            for line in text.lines().filter_map(|line| line.strip_prefix("calls pe=")) {
                let (pe, rest) = line.split_once(' ').unwrap();
                let (name, calls) = rest.split_once('=').unwrap();
                all.calls.insert((pe.parse().unwrap(), name.into()), calls.parse().unwrap());
            }
        }
        all
    }
}

/// Compares a trace with the counts of the tool below. Returns the number of functions.
fn agrees(trace: &Trace, counted: &Counted) -> usize {
    for (key, count) in &counted.bytes {
        assert_eq!(trace.counts.get(key), Some(count), "{key:?}");
    }
    for (key, calls) in &counted.calls {
        assert_eq!(trace.counts.get(key).map(|count| count.calls), Some(*calls), "{key:?}");
    }
    counted.bytes.len() + counted.calls.len()
}

/// Reads the counts of the tool below in a run, and compares the trace of the run with them. Returns the number of
/// functions.
pub(crate) fn held_against_the_trace(lab: &Lab, ranks: u32) -> usize {
    agrees(&Trace::read(&lab.experiment()), &Counted::read(lab, ranks))
}

/// Compiles the tool for a library.
pub(crate) fn tool(mpi: &Mpi, lab: &Lab) -> std::path::PathBuf {
    mpi.compile_tool(lab, SOURCE)
}

#[test]
fn a_tool_below_counts_the_same() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_families.c", &[]);
        let tool = tool(&mpi, &lab);
        for ranks in [2, 4] {
            let run = mpi.measured_over(&lab, &tool, ranks, &[program.as_os_str()]);
            assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
            let functions = held_against_the_trace(&lab, ranks);
            assert!(functions > 30 * ranks as usize, "{mpi:?}: only {functions} were counted");
        }
    }
}
