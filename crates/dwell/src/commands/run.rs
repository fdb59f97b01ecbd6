//! `dwell run`: runs a program and records it.

mod observed;
mod viewed;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, io};

use anyhow::{Context, Result, bail};
use clap::Args as _;

use dwell_measure::counters;
use dwell_mpi::Launch;

use crate::config::{Config, Flags, misspelt_variables};
use crate::elf::{self, Program};
use crate::experiment;
use crate::library;
use crate::renamed;
use crate::terminal::nearest;

/// Arguments of `dwell run`.
#[derive(Debug, clap::Args)]
#[command(
    trailing_var_arg = true,
    override_usage = "dwell run [OPTIONS] PROGRAM [ARGUMENT]...\n       dwell run [OPTIONS] --list-config\n       dwell run --counters list",
    after_help = "Put `dwell run` between the launcher and the program:\n\n  \
    oshrun -np 4 dwell run ./heat 1000 50\n  srun -n 4 dwell run -o run1 ./heat 1000 50\n\n\
    The program is neither changed nor relinked: a library is preloaded that intercepts its calls. Its \
    output and exit code are its own. At the end one line on standard error says where the trace is.\n\n\
    Every setting can be given by a flag, by the environment (DWELL_MAX_SIZE for --max-size) and in a \
    file. Flags override the environment, which overrides the file, which overrides the defaults of the site in \
    etc/dwell.toml of the installation or in /etc/dwell.toml. DWELL_LIBRARY is the path of libdwell.so, if it is \
    not beside the program dwell."
)]
pub(crate) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// When the program has ended, open the page of the run on this machine, as `dwell view` does.
    #[arg(long)]
    view: bool,
    /// Read settings from this file; dwell.toml in the current directory by default.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Settings")]
    config: Option<PathBuf>,
    /// Print all settings with their values and origins, as a file that --config reads.
    #[arg(long, help_heading = "Settings")]
    list_config: bool,
    /// The program and its arguments.
    #[arg(
        required_unless_present_any = ["list_config", "counters"],
        value_name = "PROGRAM",
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
}

/// Runs the program. Every process of a launch comes here, and one of each node reports what is wrong there.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let launch = Launch::detect();
    let speaks = launch.as_ref().is_none_or(|it| it.is_first_on_node() || it.local.is_none());
    match start(args, launch.as_ref(), speaks) {
        Err(_) if !speaks => Ok(ExitCode::from(2)),
        result => result,
    }
}

fn start(args: &Args, launch: Option<&Launch>, speaks: bool) -> Result<ExitCode> {
    let config = Config::gather(&args.flags, args.config.as_deref())?;
    if args.list_config {
        io::stdout().write_all(config.list().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if config.value("counters").trim() == counters::LIST {
        io::stdout().write_all(offered_counters().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    config.check()?;
    let hang_timeout = config.value("hang-timeout");
    if observed::runs(hang_timeout)? {
        return Ok(ExitCode::SUCCESS);
    }
    if args.view && launch.is_none_or(Launch::is_first) && !viewed::is_awaited() {
        return viewed::run();
    }
    let misspelt = if speaks { misspelt_variables() } else { Vec::new() };
    for remark in misspelt {
        crate::terminal::note!("{remark}");
    }
    let [program, arguments @ ..] = args.program.as_slice() else { bail!("no program") };
    let name = program.to_string_lossy();
    let (mut loadable, mut remark) = (true, None);
    match elf::which(&name).map(|path| elf::inspect(&path)) {
        None => bail!("{}", no_option(&name, arguments).unwrap_or_else(|| elf::missing(&name))),
        Some(Ok(Program::Static)) => {
            remark = Some(format!(
                "{name} is linked statically, so its calls cannot be recorded; link it dynamically"
            ));
        }
        Some(Ok(Program::OtherLibc(libc))) => {
            loadable = false;
            remark = Some(format!(
                "{name} is not recorded: its C library is {libc}, and Dwell measures programs with glibc"
            ));
        }
        Some(Ok(program)) if program.contains_coarrays() => {
            remark = Some(format!("{name}: {}", elf::COARRAYS_INSIDE));
        }
        // The system says it better when it cannot be executed.
        Some(Ok(_) | Err(_)) => {}
    }
    if let Some(remark) = remark.filter(|_| speaks) {
        crate::terminal::note!("{remark}");
    }
    let library = library::find()?;
    library::check(&library)?;
    let output = config.value("output");
    if !output.is_empty() && !config.is_on("next") {
        let claimed = experiment::claim(Path::new(output), launch);
        // All processes see the same directory, so one sentence is enough.
        if claimed.is_err() && !launch.is_none_or(Launch::is_first) {
            return Ok(ExitCode::from(2));
        }
        claimed?;
    }

    let mut command = Command::new(program);
    command.args(arguments).env(ASAN_OPTIONS, asan_options());
    if let Some(preload) = preload(&library, loadable) {
        command.env("LD_PRELOAD", preload);
    }
    for (name, value) in config.variables() {
        command.env(name, value);
    }
    // This process becomes the program, so launchers, limits and signals find what they expect. It
    // keeps its number, by which the library knows whom to warn if nothing was seen.
    let pid = std::process::id();
    command.env("DWELL_WATCHER", pid.to_string());
    command.env("DWELL_SEEN", env::temp_dir().join(format!("dwell-seen-{pid}")));
    if !hang_timeout.is_empty() && launch.is_none_or(Launch::is_first) {
        observed::start(&mut command)?;
    }
    let error = command.exec();
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Err(error).with_context(|| format!("{name}: cannot be executed"));
    }
    Err(error).with_context(|| name.into_owned())
}

/// Returns what was probably meant by an unknown option in front of the program: clap takes everything from the first
/// unknown word on for the program and its arguments. `None` if the word does not look like an option.
fn no_option(word: &str, arguments: &[OsString]) -> Option<String> {
    if !word.starts_with('-') {
        return None;
    }
    let (option, value) = word.split_once('=').map_or((word, ""), |(option, _)| (option, "=…"));
    if let Some(gone) = renamed::option("run", option) {
        return Some(gone);
    }
    let unknown = format!("{option}: dwell run has no such option");
    let number =
        arguments.first().and_then(|it| it.to_str()).filter(|it| it.parse::<u32>().is_ok());
    if let ("-n" | "-np" | "--np" | "-c", Some(number)) = (option, number) {
        let program = arguments.get(1).map_or("PROGRAM".into(), |it| it.to_string_lossy());
        return Some(format!(
            "{unknown}; the launcher starts the processes: mpirun -np {number} dwell run {program}"
        ));
    }
    let command = Args::augment_args(clap::Command::new("run"));
    let names = command.get_arguments().filter_map(clap::Arg::get_long);
    let names: Vec<String> = names.map(|name| format!("--{name}")).collect();
    Some(match nearest(option, names.iter().map(String::as_str)) {
        Some(near) => format!("{unknown}; did you mean {near}{value}?"),
        None => format!("{unknown}; dwell run --help lists them"),
    })
}

/// Returns a list of the counters that this machine offers, for `--counters list`.
fn offered_counters() -> String {
    let mut text = String::from("counters that this machine offers:\n");
    let mut refused = String::new();
    for (counter, refusal) in counters::offer() {
        match refusal {
            None => text += &format!("  {:21}{}\n", counter.name, counter.about),
            Some(why) => refused += &format!("  {:21}{why}\n", counter.name),
        }
    }
    if !refused.is_empty() {
        text += &format!("\nnot here:\n{refused}");
    }
    text += "\nsets of counters:\n";
    for (name, about) in counters::SETS {
        text += &format!("  {name:21}{about}\n");
    }
    let list = format!("{}{}", counters::MPI_T, counters::LIST);
    text += &format!(
        "\nperformance variables of MPI are {}NAME; the MPI library of a program lists those that it offers with\n  \
         mpirun -np 1 dwell run --counters {list} PROGRAM\n",
        counters::MPI_T
    );
    text
}

/// Returns the value of `LD_PRELOAD`: the library, followed by the libraries that the variable lists already. A program
/// into which the library cannot be loaded gets it too, because it may start others, unless it would be ended by it.
fn preload(library: &Path, loadable: bool) -> Option<OsString> {
    let plain = || loadable.then(|| library.into());
    let mut preload = library::preload_name(library).or_else(plain)?;
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    Some(preload)
}

const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// Returns the value of `ASAN_OPTIONS`: the present options, and one that lets the runtime of AddressSanitizer not be
/// the first library. A program that is linked with the shared runtime would otherwise end itself.
///
/// The runtime must come before the C library, and it does: `libdwell.so` replaces no function of that. Preloading the
/// runtime before `libdwell.so` instead would put everything that the program starts under AddressSanitizer, and each
/// program would have to be examined. This variable also serves programs that a script or a launcher starts. Only that
/// runtime reads it.
fn asan_options() -> OsString {
    let mut options = env::var_os(ASAN_OPTIONS).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    // Of two contradicting options the last counts.
    options.push("verify_asan_link_order=0");
    options
}
