//! `dwell doctor`: checks of this machine, and of the calls of a program that will be recorded.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use dwell_measure::clock;
use dwell_measure::memory::Memory;
use dwell_model::layer::{Ranks, layer_of_region};
use dwell_model::registry;
use dwell_model::table::{Row, Table, reason};

use crate::elf::{self, Program};
use crate::library;
use crate::terminal;

/// Arguments of `dwell doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if programs can be measured on this machine, 1 if a check failed."
)]
pub(crate) struct Args {
    /// Program to examine: lists which of its calls will be recorded.
    program: Option<String>,
    /// Measure which calls of OpenSHMEM make progress for other PEs on this machine. Compiles and runs a small program
    /// with oshcc and oshrun, which gets these options, as in --probe="-x UCX_TLS=tcp,self"; takes about half a minute.
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    probe: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut checks = Checks::default();
    checks.library();
    checks.clock();
    checks.space();
    checks.kernel();
    if runtimes(&mut checks.text) == 0 {
        checks.bad(
            "launchers",
            "none found (oshrun, mpirun, mpiexec, srun): load the module of your MPI or OpenSHMEM, or add its bin \
             directory to PATH",
        );
    }
    if let Some(program) = &args.program {
        checks.program(program)?;
    }
    terminal::print(&checks.text)?;
    if let Some(options) = &args.probe {
        probe(options)?;
    }
    Ok(if checks.sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

struct Checks {
    text: String,
    sound: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self { text: String::new(), sound: true }
    }
}

impl Checks {
    fn line(&mut self, what: &str, found: &str) {
        let _ = writeln!(self.text, "{what:<15} {found}");
    }

    fn bad(&mut self, what: &str, found: &str) {
        self.sound = false;
        self.line(what, found);
    }

    fn library(&mut self) {
        match library::find().and_then(|path| library::check(&path).map(|()| path)) {
            Ok(path) => self.line("library", &format!("{} loads", path.display())),
            Err(error) => self.bad("library", &terminal::explained(&error)),
        }
    }

    fn clock(&mut self) {
        if clock::invariant() {
            self.line("clock", "time stamp counter, invariant: a few nanoseconds a reading");
        } else {
            self.line(
                "clock",
                "CLOCK_MONOTONIC, since the time stamp counter is not invariant: recording costs more",
            );
        }
    }

    /// Checks whether traces that are written to the current directory survive a kill.
    fn space(&mut self) {
        let here = env::current_dir().unwrap_or_default();
        let path = here.join(format!(".dwell-doctor-{}", std::process::id()));
        let tried = fs::File::options().read(true).write(true).create_new(true).open(&path);
        let memory = tried.and_then(|file| Memory::of_file(&file, 0, 1 << 20));
        let _ = fs::remove_file(&path);
        match memory {
            Ok(memory) if memory.survives() => {
                self.line("directory", "space can be reserved here: a trace survives its process");
            }
            Ok(_) => self.line(
                "directory",
                "this file system cannot reserve space: a killed process loses up to a chunk of \
                 events; --scratch on another file system avoids that",
            ),
            Err(error) => {
                self.bad("directory", &format!("nothing can be written here: {error}"));
            }
        }
    }

    fn kernel(&mut self) {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        self.line("kernel", release.trim());
    }

    fn program(&mut self, program: &str) -> Result<()> {
        let path = elf::which(program).with_context(|| elf::missing(program))?;
        let found = elf::inspect(&path)?;
        if found.contains_coarrays() {
            self.line(program, elf::COARRAYS_INSIDE);
        }
        match found {
            Program::Static => self.bad(
                program,
                "is linked statically: its calls cannot be recorded. Link it dynamically.",
            ),
            Program::OtherLibc(libc) => {
                let text = format!(
                    "uses the C library {libc}: its calls cannot be recorded. Link it with glibc."
                );
                self.bad(program, &text);
            }
            Program::Script(interpreter) => self.line(
                program,
                &format!("is a script for {interpreter}: programs that it starts will be measured"),
            ),
            Program::Other => self.bad(program, "is not a program that this machine can execute"),
            Program::Dynamic { libraries, imports, defines } => {
                self.calls(program, &libraries, &imports);
                self.linked(program, &imports, &defines);
            }
        }
        Ok(())
    }

    fn calls(&mut self, program: &str, libraries: &[String], imports: &[String]) {
        let known = |name: &&String| is_hooked(name);
        let left = |name: &&String| is_left(name);
        let hooked: Vec<&str> = imports.iter().filter(known).map(String::as_str).collect();
        let others: Vec<&str> = imports
            .iter()
            .filter(|name| layer_of_region(name).is_some() && !known(name) && !left(name))
            .map(String::as_str)
            .collect();
        if hooked.is_empty() {
            self.line(
                program,
                &format!(
                    "calls no function that Dwell records itself; its libraries may: {}",
                    libraries.join(", ")
                ),
            );
        } else {
            self.line(program, &format!("{} functions will be recorded:", hooked.len()));
            let _ = writeln!(self.text, "{:<15} {}", "", hooked.join(" "));
        }
        if !others.is_empty() {
            self.line("", &format!("not recorded: {}", others.join(" ")));
        }
    }
}

impl Checks {
    /// Reports runtimes that are linked into the program itself.
    fn linked(&mut self, program: &str, imports: &[String], defines: &[String]) {
        let hooks = imports.iter().filter(|name| name.starts_with("dwell_entry_")).count();
        if hooks > 0 {
            let text = format!("has hooks for {hooks} functions of ARMCI and Global Arrays");
            return self.line(program, &text);
        }
        let has = |table: &Table| defines.iter().any(|name| table.find(name).is_some());
        // A runtime over others comes first: the program has the functions of all of them.
        let mut linked: Vec<&Table> =
            registry::TABLES.into_iter().filter(|table| table.hooks.are_linked()).collect();
        linked.sort_by_key(|table| std::cmp::Reverse(table.below.len()));
        for table in linked {
            let runtime = table.layer.name();
            if has(table) {
                let text = format!(
                    "{} is linked into it without hooks: only its calls of MPI will be recorded. \
                     Link it with $(dwell build flags {runtime}) to see the others",
                    table.layer
                );
                return self.line(program, &text);
            }
        }
    }
}

/// Returns `true` if calls of a function in a shared library are recorded, by its name in C or Fortran.
fn is_hooked(name: &str) -> bool {
    let fortran = |row: &Row| {
        let known = name.strip_suffix('_').and_then(|name| name.get(..row.name().len()));
        known.is_some_and(|known| known.eq_ignore_ascii_case(row.name()))
    };
    let rows = registry::TABLES.iter().flat_map(|table| table.rows);
    // Layers that are recorded as regions are recorded on request only.
    let is_shared = |table: &Table| !table.hooks.are_linked() && table.layer.ranks() != Ranks::None;
    registry::find(name).is_some_and(|(table, _)| is_shared(table))
        || name.starts_with("mpi_") && rows.filter(|row| row.fortran.exists).any(fortran)
}

/// Returns `true` if a function is deliberately not hooked.
fn is_left(name: &str) -> bool {
    let lists = registry::TABLES.iter().filter(|table| !table.hooks.are_linked());
    let is_listed = lists.map(|table| table.not_hooked).any(|list| reason(list, name).is_some());
    // What Fortran calls and no row has only asks, as in C.
    name.starts_with("mpi_") || is_listed
}

/// Lists the installed runtimes and launchers. Returns the number of launchers.
fn runtimes(text: &mut String) -> usize {
    let mut launchers = 0;
    let commands = [
        ("oshrun", "OpenSHMEM of Open MPI"),
        ("mpirun.openmpi", "Open MPI"),
        ("mpirun.mpich", "MPICH"),
        ("mpirun", "MPI"),
        ("mpiexec", "MPI"),
        ("srun", "SLURM"),
        ("cafrun", "OpenCoarrays"),
    ];
    for (command, name) in commands {
        if let Some(path) = elf::which(command) {
            launchers += 1;
            let output = Command::new(&path).arg("--version").output();
            let said = output.map(|output| output.stdout).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let name = match name {
                "MPI" if said.contains("Open MPI") || said.contains("OpenRTE") => "Open MPI",
                "MPI" if said.contains("HYDRA") => "MPICH",
                name => name,
            };
            let version = version(&said).unwrap_or_default();
            let _ = writeln!(text, "{command:<15} {name} {version}");
        }
    }
    for (command, framework, what) in
        [("oshmem_info", "spml", "OpenSHMEM"), ("ompi_info", "osc", "one-sided MPI")]
    {
        let found = elf::which(command).map(|info| components(&info, framework));
        if let Some(names) = found.filter(|names| !names.is_empty()) {
            let _ = writeln!(text, "{:<15} {what} over {names}", "transports");
        }
    }
    let settings: Vec<String> = env::vars()
        .filter(|(name, _)| {
            ["UCX_", "OMPI_MCA_", "MPICH_", "SHMEM_", "SMA_", "I_MPI_", "DWELL_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !settings.is_empty() {
        let _ = writeln!(text, "{:<15} {}", "environment", settings.join(" "));
    }
    launchers
}

fn components(info: &Path, framework: &str) -> String {
    let output = Command::new(info).args(["--parsable", "--param", framework, "all"]).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let mut names: Vec<String> = String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.strip_prefix("mca:")?.strip_prefix(framework)?.strip_prefix(':'))
        .filter_map(|rest| rest.split(':').next().map(str::to_owned))
        .filter(|name| name != "base")
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Returns the first number with a point in the version output of a launcher.
fn version(said: &str) -> Option<String> {
    let numbers = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    numbers.map(|word| word.trim_matches('.')).find(is_version).map(str::to_owned)
}

/// Source of the program that measures which calls make progress.
const PROBE: &str = include_str!("../../../../examples/progress-probe/progress-probe.c");

fn probe(options: &str) -> Result<()> {
    let folder = env::temp_dir().join(format!("dwell-probe-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
    let result = compile_and_run(&folder, options);
    let _ = fs::remove_dir_all(&folder);
    result
}

fn compile_and_run(folder: &Path, options: &str) -> Result<()> {
    let (source, program): (PathBuf, PathBuf) = (folder.join("probe.c"), folder.join("probe"));
    fs::write(&source, PROBE)?;
    let compiled = Command::new("oshcc").args(["-O2", "-o"]).arg(&program).arg(&source).status();
    if !compiled.context("oshcc")?.success() {
        bail!("oshcc could not compile the probe");
    }
    let mut command = Command::new("oshrun");
    command.args(["-np", "2", "-mca", "osc", "^rdma"]).args(options.split_whitespace());
    if !command.arg(&program).status().context("oshrun")?.success() {
        bail!("the probe failed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_of_launchers() {
        for (said, wanted) in [
            ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://", Some("4.1.4")),
            ("HYDRA build details:\n    Version:         4.0.2\n", Some("4.0.2")),
            ("\nOpenCoarrays Launcher (cafrun version 2.10.1)\nCopyright", Some("2.10.1")),
            ("slurm 23.11.4", Some("23.11.4")),
            ("no version.", None),
        ] {
            assert_eq!(version(said).as_deref(), wanted, "{said}");
        }
    }
}
