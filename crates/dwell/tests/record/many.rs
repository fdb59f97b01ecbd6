//! Programs with many threads at once: those after the first 64 begin with small files, which grow where they must, and
//! survive a kill like all others.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::Trace;

const THREADS: u64 = 100;
/// Calls of all threads of a rank, of each of two functions.
const CALLS: u64 = THREADS - 1 + 10_000;

fn check(trace: &Trace) {
    for rank in 0..2 {
        // Each rank makes one more barrier, with the others.
        for (name, expected) in [("MPI_Iprobe", CALLS), ("MPI_Barrier", CALLS + 1)] {
            let calls = trace.counts.get(&(rank, name.into())).map_or(0, |it| it.calls);
            assert_eq!(calls, expected, "{name} of rank {rank}");
        }
    }
}

/// Returns the type of the file system of a directory.
fn file_system(directory: &Path) -> String {
    let stat = Command::new("stat").args(["-f", "-c", "%T"]).arg(directory).output().unwrap();
    String::from_utf8_lossy(&stat.stdout).trim().to_owned()
}

#[test]
fn many_threads_at_once() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_many.c", &["-pthread"]);
        let threads = THREADS.to_string();
        let command = |end| [program.as_os_str(), OsStr::new(&threads), OsStr::new(end)];
        let run = mpi.measured(&lab, 2, &command("end"));
        assert_eq!(run.code, Some(0), "{run:?}");
        check(&Trace::read(&lab.experiment()));
        lab.accepted_by_otf2_print(&lab.experiment());
    }
}

#[test]
fn a_kill_of_many_threads_loses_nothing_and_leaves_small_files() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_many.c", &["-pthread"]);
        let threads = THREADS.to_string();
        let command = [program.as_os_str(), OsStr::new(&threads), OsStr::new("kill")];
        let run = mpi.measured(&lab, 2, &command);
        assert_ne!(run.code, Some(0), "{run:?}");
        let files = fs::read_dir(lab.experiment().join("open")).unwrap();
        let files = files
            .map(|it| it.unwrap())
            .filter(|it| it.path().extension() == Some(OsStr::new("evt")));
        let small =
            files.filter(|it| it.metadata().unwrap().blocks() * 512 <= 64 << 10).count() as u64;
        // Only where space can be reserved later.
        let is_local = matches!(file_system(&lab.experiment()).as_str(), "ext2/ext3" | "xfs");
        assert!(!is_local || small >= 2 * (THREADS - 64 - 1), "{small} files are small");
        let output = lab.dwell(&[OsStr::new("recover"), lab.experiment().as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        check(&Trace::read(&lab.experiment()));
        lab.accepted_by_otf2_print(&lab.experiment());
    }
}
