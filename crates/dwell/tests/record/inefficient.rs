//! Programs that communicate in ways which take longer than they need to, and the same without that: `dwell analyze` names the
//! one, with its line and the call to use instead, and not the other.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;

const TCP: &str = "UCX_TLS=tcp,self";

/// What is inefficient in a run, and what a person reads of it.
struct Found {
    document: Value,
    text: String,
}

impl Found {
    fn of(lab: &Lab, run: &Run) -> Self {
        assert_eq!(run.code, Some(0), "{run:?}");
        let output =
            lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let found = fs::read(lab.experiment().join("findings.json")).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Self { document: serde_json::from_slice(&found).unwrap(), text }
    }

    fn get(&self, pattern: &str) -> Option<&Value> {
        let mut list = self.document["inefficient"].as_array().unwrap().iter();
        list.find(|it| it["pattern"] == pattern)
    }

    /// There is such an entry, in this function of the program, which can save at least this part of the run, and its
    /// remedy names this call.
    #[track_caller]
    fn has(&self, pattern: &str, caller: &str, share: f64, remedy: &str) -> &Value {
        let Some(found) = self.get(pattern) else { panic!("no {pattern}: {:#}", self.document) };
        let step = found["path"].as_array().unwrap().last().unwrap();
        assert_eq!(step["caller"], caller, "{found:#}");
        let number = |name: &str| found[name].as_f64().unwrap();
        assert!(number("share_at_most") >= share, "{found:#}");
        assert!(number("seconds") <= number("seconds_at_most"), "{found:#}");
        assert!(number("seconds_at_most") <= number("path_seconds") * 1.000_001, "{found:#}");
        assert!(found["remedy"].as_str().unwrap().contains(remedy), "{found:#}");
        assert!(found["evidence"]["text"].as_str().unwrap().len() > 20, "{found:#}");
        assert!(self.text.contains(&format!("({pattern})")), "{}", self.text);
        found
    }

    #[track_caller]
    fn lacks(&self, patterns: &[&str]) {
        for pattern in patterns {
            assert!(self.get(pattern).is_none(), "{pattern}: {:#}", self.document["inefficient"]);
        }
    }
}

/// Runs a mode of the program on some PEs.
fn run(lab: &Lab, program: &OsStr, pes: u32, transport: &str, mode: &str) -> Found {
    let run = lab.measured(pes, &["-x", transport], &[program, OsStr::new(mode)]);
    Found::of(lab, &run)
}

const ALL: &[&str] =
    &["strided_elements", "small_transfers", "completion_after_each", "hot_target", "static_data"];

#[test]
fn strided_calls_and_small_transfers() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/inefficient.c", &["-fno-inline"]);
    let of = |mode| run(&lab, program.as_os_str(), 2, TCP, mode);
    let strided = of("strided");
    let found = strided.has("strided_elements", "strided", 0.2, "shmem_getmem");
    assert_eq!(found["evidence"]["elements"], 2 * 10 * 256, "{found:#}");
    assert_eq!(found["evidence"]["element_bytes"], 8, "{found:#}");
    assert!(found["evidence"]["seconds_instead"].is_number(), "{found:#}");
    strided.lacks(&["small_transfers", "completion_after_each"]);
    let small = of("small");
    let found = small.has("small_transfers", "small", 0.2, "shmem_getmem");
    assert_eq!(found["evidence"]["bytes_each"], 8, "{found:#}");
    small.lacks(&["strided_elements", "completion_after_each"]);
    of("piece").lacks(ALL);
}

#[test]
fn completions_and_rows() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/inefficient.c", &["-fno-inline"]);
    let of = |mode| run(&lab, program.as_os_str(), 2, TCP, mode);
    let each = of("each");
    each.has("completion_after_each", "quiet_after_each", 0.2, "shmem_quiet once");
    // These puts are small, and there are many.
    of("once").lacks(&["completion_after_each", "blocking_in_a_row", "strided_elements"]);
    let row = of("row");
    row.has("blocking_in_a_row", "in_a_row", 0.01, "shmem_getmem_nbi");
    row.lacks(ALL);
    // On shared memory no process has to enter the runtime for these, so computing makes none longer.
    let apart = run(&lab, program.as_os_str(), 2, "UCX_TLS=sm,self", "apart");
    for other in [of("overlap"), apart] {
        other.lacks(ALL);
        other.lacks(&["blocking_in_a_row"]);
    }
}

#[test]
fn a_hot_target_and_static_data() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/inefficient.c", &["-fno-inline"]);
    let of = |transport, mode| run(&lab, program.as_os_str(), 3, transport, mode);
    let hot = of(TCP, "hot");
    let found = hot.has("hot_target", "atomics", 0.01, "several items");
    assert_eq!(found["evidence"]["target"], "PE 0", "{found:#}");
    of(TCP, "spread").lacks(&["hot_target", "static_data"]);
    let data = of("UCX_TLS=sm,self", "static");
    let found = data.has("static_data", "from_static_data", 0.01, "shmem_malloc");
    let each = |name: &str| found["evidence"][name].as_f64().unwrap();
    assert!(each("seconds_each") > 2.0 * each("seconds_instead"), "{found:#}");
    of("UCX_TLS=sm,self", "heap").lacks(&["static_data", "hot_target"]);
}

/// A flush, or a lock and an unlock, for every put.
#[test]
fn completions_of_mpi() {
    for compiler in ["mpicc.openmpi", "mpicc.mpich"] {
        let Some(mpi) = Mpi::named(compiler) else { continue };
        let options: &'static [&'static str] =
            if compiler == "mpicc.openmpi" { &["-mca", "osc", "pt2pt"] } else { &[] };
        let (mpi, lab) = (mpi.with(options), Lab::bare());
        let program = mpi.compile(&lab, "tests/programs/mpi_inefficient.c", &[]);
        let of = |mode| {
            let run = mpi.measured(&lab, 2, &[program.as_os_str(), OsStr::new(mode)]);
            Found::of(&lab, &run)
        };
        // The share is that of some milliseconds, which other programs on the cores make longer.
        let often = |mode| {
            let mut tries = (0..3).map(|_| of(mode));
            tries.find(|it| it.get("completion_after_each").is_some()).unwrap_or_else(|| of(mode))
        };
        often("flush").has("completion_after_each", "main", 0.01, "MPI_Win_flush");
        often("lock").has("completion_after_each", "main", 0.01, "MPI_Win_lock_all");
        of("once").lacks(ALL);
    }
}
