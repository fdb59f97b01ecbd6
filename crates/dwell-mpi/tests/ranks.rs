//! Real launchers and real libraries: the program `examples/ranks.rs` under each of them.

#[path = "../../../tests/chosen.rs"]
mod chosen;
#[allow(dead_code)]
#[path = "../../../tests/launchers.rs"]
mod launchers;
#[allow(dead_code)] // Not every test program uses all of it.
#[path = "../../../tests/needs.rs"]
mod needs;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use chosen::chosen;
use launchers::{INTEL, MPICH, Mpi, OPEN_MPI, Run, all, of_the_system};

impl Mpi {
    fn run(&self, ranks: usize, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut command = self.launch(ranks);
        command.arg(program()).args(arguments).envs(variables.iter().copied());
        launchers::end(&mut command)
    }

    /// Runs two processes of a shell, with the path of the program as `$0`.
    fn through_shell(&self, script: &str, variables: &[(&str, &str)]) -> Run {
        let mut command = self.launch(2);
        command.args(["sh", "-c", script]).arg(program()).envs(variables.iter().copied());
        launchers::end(&mut command)
    }
}

/// Builds `examples/ranks.rs` once and returns its path. Cargo builds examples by itself only for runs of all tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let tests = env::current_exe().unwrap();
        let folder = tests.ancestors().nth(2).unwrap(); // target/debug/deps/ranks-0123
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--example", "ranks"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.arg("--target-dir").arg(folder.parent().unwrap());
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success());
        folder.join("examples/ranks")
    })
}

impl Run {
    #[track_caller]
    fn succeeded(&self, ranks: usize, version: &str) {
        let said = format!("{ranks} ranks agree over ");
        assert!(self.code == Some(0) && self.text().contains(&said), "{self:?}");
        assert!(self.text().contains(version), "{self:?}");
    }

    #[track_caller]
    fn failed(&self, message: &str) {
        assert!(self.code != Some(0) && self.text().contains(message), "{message}: {self:?}");
    }
}

#[test]
fn all_pairs_exchange_bytes_under_every_launcher() {
    for mpi in all() {
        for ranks in [1, 2, 3, 8] {
            mpi.run(ranks, &["exchange", "rounds=10"], &[]).succeeded(ranks, mpi.version);
        }
    }
}

/// The limit of MPI is 2 GiB a message. Here it is far lower, so that every message is cut.
#[test]
fn long_messages_are_cut() {
    for mpi in all() {
        for piece in ["piece=61", "piece=4093"] {
            mpi.run(3, &["exchange", piece, "rounds=4"], &[]).succeeded(3, mpi.version);
        }
    }
}

/// Where a library has the ABI of the standard beside its own, that serves too. Intel's follows a draft.
#[test]
fn libraries_with_the_abi_of_the_standard() {
    let beside =
        |mpi: &Mpi| mpi.launcher.parent()?.parent().map(|root| root.join("lib/libmpi_abi.so.1"));
    for mpi in all() {
        let Some(library) = beside(&mpi).filter(|path| path.is_file()) else { continue };
        let library = library.to_str().unwrap();
        let run = mpi.run(3, &["exchange", "rounds=3"], &[(dwell_mpi::LIBRARY, library)]);
        run.succeeded(3, mpi.version);
        assert!(run.text().contains(library), "{run:?}");
    }
}

/// Launchers of MPICH and its derivatives start processes of each other's libraries.
#[test]
fn derivatives_of_mpich_share_their_launchers() {
    if of_the_system(MPICH).is_none() {
        return;
    }
    for mpi in all().iter().filter(|mpi| mpi.version == INTEL) {
        let library = [(dwell_mpi::LIBRARY, "libmpich.so.12")];
        mpi.run(2, &["exchange", "rounds=3"], &library).succeeded(2, MPICH);
    }
}

const DEADLINE: &str = "timeout=4";
/// A launch with the deadline of 4 s ends within this time, on a busy machine too.
const SOON: Duration = Duration::from_secs(40);

#[test]
fn a_rank_that_fails_ends_all_with_a_message() {
    let ways = [
        ("message", "rank 2 of 3 on"),
        ("message", "traces/3.evt: location 3: the file is damaged"),
        ("panic", "this process panics"),
        ("error", "this process cannot go on"),
        ("killed", ""),
    ];
    for mpi in chosen(all()) {
        for (way, message) in ways {
            let run = mpi.run(3, &["fail", way, "timeout=100"], &[]);
            run.failed(message);
            assert!(run.time < SOON, "{mpi:?} {way}: {run:?}");
        }
    }
}

#[test]
fn ranks_that_do_not_come_are_waited_for_until_the_deadline() {
    for mpi in chosen(all()) {
        let run = mpi.run(3, &["fail", "stuck", DEADLINE], &[]);
        run.failed("not all processes came to `questions` within 4 s");
        assert!(run.time < SOON, "{mpi:?}: {run:?}");
        let run = mpi.run(3, &["fail", "before", DEADLINE], &[]);
        run.failed("not all processes came to `MPI_Init` within 4 s");
        assert!(run.time < SOON, "{mpi:?}: {run:?}");
    }
}

#[test]
fn ranks_at_different_steps_notice_it() {
    for mpi in chosen(all()) {
        let run = mpi.run(3, &["fail", "step", "timeout=100"], &[]);
        run.failed("this process is at `questions`, and rank 2 is not");
    }
}

#[test]
fn launcher_and_library_of_different_mpis() {
    let (Some(open_mpi), Some(mpich)) = (of_the_system(OPEN_MPI), of_the_system(MPICH)) else {
        return;
    };
    let run = open_mpi.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, "libmpich.so.12")]);
    run.failed("belongs to MPICH or a derivative of it, but the launcher of Open MPI");
    assert_eq!(run.text().matches("belongs to").count(), 1, "one process says it: {run:?}");
    let run = mpich.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, "libmpi.so.40")]);
    run.failed("belongs to Open MPI 4, but the launcher of MPICH or Intel MPI");
    run.failed("set DWELL_MPI_LIBRARY to the libmpi.so of the launcher's");
}

/// Where the variables do not tell the launcher's maker, MPI tells how many processes it knows.
#[test]
fn processes_that_are_alone_in_their_worlds_notice_it() {
    let (Some(_), Some(mpich)) = (of_the_system(OPEN_MPI), of_the_system(MPICH)) else { return };
    // A step of Slurm with two tasks, as far as variables show it, whose PMI this library does not know.
    let script = "unset PMI_RANK PMI_SIZE PMI_FD; export SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=$MPI_LOCALRANKID; \
                  exec \"$0\" exchange timeout=60";
    let run = mpich.through_shell(script, &[(dwell_mpi::LIBRARY, "libmpi.so.40")]);
    run.failed("the launcher started 2 processes, but");
    run.failed("knows 1: the two do not belong together");
}

#[test]
fn files_that_are_not_mpi_are_refused() {
    let Some(mpi) = of_the_system(MPICH).or_else(|| of_the_system(OPEN_MPI)) else { return };
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let named = |library: &str| mpi.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, library)]);
    named(text.to_str().unwrap()).failed("it is not a 64-bit ELF file");
    named("libc.so.6").failed("it is not an MPI library with MPI 3: it has no MPI_Abort");
    named("/nonexistent/libmpi.so").failed("/nonexistent/libmpi.so: No such file");
}
