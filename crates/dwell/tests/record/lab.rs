//! Compiling and running the programs of this repository.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;

use crate::needs;

/// Lets programs run one after another, because each has as many processes as there are cores, or more.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other program runs, and keeps others waiting.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A working directory, and the library to measure with.
#[derive(Debug)]
pub(crate) struct Lab {
    folder: tempfile::TempDir,
    library: PathBuf,
}

/// Output and exit code of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A launcher, which is ended if the test panics.
struct Launched(Child);

impl Drop for Launched {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            signal(self.0.id(), "TERM");
            std::thread::sleep(Duration::from_millis(500));
            signal(self.0.id(), "KILL");
            let _ = self.0.wait();
        }
    }
}

impl Lab {
    /// Creates a lab, if OpenSHMEM is installed.
    pub(crate) fn open() -> Option<Self> {
        if !needs::tools("SHMEM", &["oshcc"]) {
            return None;
        }
        Some(Self { folder: tempfile::tempdir().unwrap(), library: library() })
    }

    /// Creates a lab for programs of any runtime.
    pub(crate) fn bare() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), library: library() }
    }

    /// Creates a lab whose library has assertions and panics on request.
    pub(crate) fn with_faults() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), library: build(false) }
    }

    /// Returns the root of the repository.
    pub(crate) fn repository() -> PathBuf {
        repository()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a program of the repository, given by its path there.
    pub(crate) fn compile(&self, source: &str, options: &[&str]) -> PathBuf {
        let source = repository().join(source);
        let program = self.path(source.file_stem().unwrap().to_str().unwrap());
        let compiler = match source.extension().and_then(OsStr::to_str) {
            Some("cpp") => "oshc++",
            _ => "oshcc",
        };
        let include = repository().join("examples/common");
        let mut command = Command::new(compiler);
        command.args(["-O2", "-g", "-I"]).arg(include).arg(&source).arg("-o").arg(&program);
        let output = command.args(options).arg("-lm").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    }

    /// `oshrun -np PES [OPTIONS] COMMAND`, with a limit of a minute.
    pub(crate) fn oshrun(&self, pes: u32, options: &[&str], command: &[&OsStr]) -> Run {
        self.oshrun_until(pes, options, command, |_| false)
    }

    /// Runs a command like [`Lab::oshrun`], and kills the launcher's process group as soon as `enough` returns `true`
    /// for the output so far.
    pub(crate) fn oshrun_until(
        &self,
        pes: u32,
        options: &[&str],
        command: &[&OsStr],
        enough: impl Fn(&str) -> bool,
    ) -> Run {
        let mut launcher = Command::new("oshrun");
        launcher
            .args(["-np", &pes.to_string()])
            // Debian's Open MPI 4.1.4 crashes in shmem_finalize by itself without this.
            .args(["-mca", "osc", "^rdma"])
            .args(options)
            .args(command);
        self.launch(launcher, enough)
    }

    /// Runs a launcher with a limit of a minute, or of `DWELL_TEST_LIMIT` seconds, and kills its process group as soon as
    /// `enough` returns `true` for the output so far.
    pub(crate) fn launch(&self, launcher: Command, enough: impl Fn(&str) -> bool) -> Run {
        self.launch_until(launcher, "TERM", enough)
    }

    /// Runs a launcher like [`Lab::launch`], but sends another signal first.
    pub(crate) fn launch_until(
        &self,
        mut launcher: Command,
        first: &str,
        enough: impl Fn(&str) -> bool,
    ) -> Run {
        // Programs under emulation take longer.
        let limit = env::var("DWELL_TEST_LIMIT").ok().and_then(|seconds| seconds.parse().ok());
        let limit = Duration::from_secs(limit.unwrap_or(60));
        let _turn = turn();
        let (out, err) = (self.path("stdout"), self.path("stderr"));
        launcher
            .current_dir(self.folder.path())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("PRTE_ALLOW_RUN_AS_ROOT", "1")
            .env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
            .env("DWELL_LIBRARY", &self.library)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&out).unwrap())
            .stderr(fs::File::create(&err).unwrap());
        let mut launched = Launched(launcher.spawn().unwrap());
        let child = &mut launched.0;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            let printed = fs::read_to_string(&out).unwrap_or_default();
            if enough(&printed) || began.elapsed() > limit {
                // What a batch system does at the end of the time: ask, then insist.
                signal(child.id(), first);
                std::thread::sleep(Duration::from_millis(500));
                signal(child.id(), "KILL");
                break child.wait().unwrap();
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.wait_until_all_have_ended();
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Run { code: status.code(), stdout: read(&out), stderr: read(&err) }
    }

    /// Waits for processes that their launcher left behind.
    fn wait_until_all_have_ended(&self) {
        let ours = |entry: &fs::DirEntry| {
            let program = fs::read_link(entry.path().join("exe"));
            program.is_ok_and(|program| program.starts_with(self.folder.path()))
        };
        let began = Instant::now();
        while fs::read_dir("/proc").unwrap().flatten().any(|entry| ours(&entry)) {
            assert!(began.elapsed() < Duration::from_secs(20), "processes do not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a program without and with Dwell, which records into the directory `experiment`.
    pub(crate) fn both(&self, pes: u32, options: &[&str], command: &[&OsStr]) -> (Run, Run) {
        let plain = self.oshrun(pes, options, command);
        (plain, self.measured(pes, options, command))
    }

    /// Runs a program with Dwell, which records into the directory `experiment`. An old one is removed.
    pub(crate) fn measured(&self, pes: u32, options: &[&str], command: &[&OsStr]) -> Run {
        let experiment = self.path("experiment");
        let _ = fs::remove_dir_all(&experiment);
        let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
        let whole = [&dwell, &[experiment.as_os_str()][..], command].concat();
        self.oshrun(pes, options, &whole)
    }

    /// Returns the directory into which [`Lab::measured`] records.
    pub(crate) fn experiment(&self) -> PathBuf {
        self.path("experiment")
    }

    /// Runs the command `dwell` with these arguments.
    pub(crate) fn dwell(&self, arguments: &[&OsStr]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_dwell"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("DWELL_LIBRARY", &self.library)
            .output()
            .unwrap()
    }

    /// Checks that otf2-print reads an archive without a message.
    pub(crate) fn accepted_by_otf2_print(&self, directory: &Path) {
        if !needs::tools("OTF2", &["otf2-print"]) {
            return;
        }
        let print =
            || Command::new("otf2-print").arg(directory.join("traces.otf2")).output().unwrap();
        let output = print();
        if output.status.success() && output.stderr.is_empty() {
            return;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let files = fs::read_dir(directory.join("traces")).into_iter().flatten().flatten();
        let beginnings: Vec<_> = files
            .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap_or_default()))
            .map(|(name, bytes)| {
                (name, bytes.len(), bytes.into_iter().take(40).collect::<Vec<u8>>())
            })
            .collect();
        panic!("{:?}: {errors}\nagain: {:?}\nfiles: {beginnings:?}", output.status, print().status);
    }

    /// Checks that ViTE reads an archive, where it is installed.
    pub(crate) fn accepted_by_vite(&self, directory: &Path) {
        let mut vite = Command::new("vite");
        vite.env("QT_QPA_PLATFORM", "offscreen").arg("-e").arg(self.path("picture.svg"));
        let output = vite.arg(directory.join("traces.otf2")).output().ok();
        // By this code a shell, and a process under emulation, says that there is no such program.
        let Some(output) = output.filter(|output| output.status.code() != Some(127)) else {
            return needs::missing("VITE", "there is no vite");
        };
        let said = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&said);
        assert!(text.contains("0 errors and 0 warnings"), "{text}");
    }

    pub(crate) fn library(&self) -> &Path {
        &self.library
    }
}

fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
}

/// Returns the library in the profile of this test, or the release profile if `DWELL_TEST_LIBRARY=release`. The library
/// depends on optimisation most of all that is tested here, and takes a fraction of the time to build that the command
/// takes. A path in that variable names a library that was built already, such as that of a release.
fn library() -> PathBuf {
    let wanted = env::var_os("DWELL_TEST_LIBRARY").unwrap_or_default();
    let path = PathBuf::from(&wanted);
    if path.is_absolute() {
        assert!(path.is_file(), "DWELL_TEST_LIBRARY={}", path.display());
        return path;
    }
    let command = Path::new(env!("CARGO_BIN_EXE_dwell"));
    build(wanted == "release" || command.parent().unwrap().ends_with("release"))
}

/// Builds the library in the release profile or, with assertions and faults on request, in that of development. Returns
/// its path.
fn build(release: bool) -> PathBuf {
    static BUILT: Mutex<BTreeMap<bool, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        // Tests that are built for another machine are one folder further down, and so is the library.
        let machine = env::var_os("CARGO_BUILD_TARGET").unwrap_or_default();
        let levels = if machine.is_empty() { 2 } else { 3 };
        let target = Path::new(env!("CARGO_BIN_EXE_dwell")).ancestors().nth(levels).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "dwell-preload", "--target-dir"]).arg(target);
        // With the command, which is built already, dependencies have the features that they have there.
        cargo.args(if release { &["--release"][..] } else { &["-p", "dwell"] });
        cargo.current_dir(repository());
        assert!(cargo.status().unwrap().success(), "the library could not be built");
        let profile = if release { "release" } else { "debug" };
        target.join(machine).join(profile).join("libdwell.so")
    };
    built.entry(release).or_insert_with(build).clone()
}

/// Returns the rows of a tree in JSON with their depths, each before its children.
pub(crate) fn rows_of_tree(tree: &Value) -> Vec<(usize, &Value)> {
    let mut rows = Vec::new();
    for row in tree.as_array().unwrap() {
        rows.push((0, row));
        rows.extend(
            rows_of_tree(&row["children"]).into_iter().map(|(depth, row)| (depth + 1, row)),
        );
    }
    rows
}
