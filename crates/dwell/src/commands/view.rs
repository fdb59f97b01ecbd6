//! `dwell view`: the explorer in a browser.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, ensure};
use dwell_report::findings::Findings;
use dwell_serve::{Addresses, Ended, Listen, Run, Runs, Server};
use otf2::Archive;

use super::timeline::time;
use super::{analyze, whatif};
use crate::damage;
use crate::dependencies;
use crate::many;
use crate::ready;
use crate::runs;
use crate::terminal::{self, line};

/// Arguments of `dwell view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints an address that works once, and opens a browser with it. Enter prints another one, for another tab \
or another person; tabs of one browser share the first. Without a terminal, a file that only you can read always has \
one that works. Other users of this machine can reach the port, but see nothing without such an address.

For a remote machine, use a tunnel: start `dwell view DIR --no-browser --port 8080` there and \
`ssh -L 8080:127.0.0.1:8080 THERE` here, then open the address. With --socket FILE no other user can even \
connect: `ssh -L 8080:FILE THERE`.

Examples:
  dwell view                             the latest run here
  dwell view run                         its waits, trees, matrix, bars
  dwell view before --compare after      two runs side by side in every view
  dwell view results                     the runs in a directory: history and scaling
  dwell view scorep_run/profile.cubex    a report of Score-P or Scalasca")]
pub(crate) struct Args {
    /// The report: a `.cubex` file, or a directory that contains one; or a directory of runs. Without it, the newest run here.
    report: Option<PathBuf>,
    /// Show another report for comparison; may be given several times.
    #[arg(long, value_name = "REPORT")]
    compare: Vec<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Only print the address, and do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// Port on 127.0.0.1; a free one by default.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["socket", "expose_unencrypted_to_network"])]
    port: Option<u16>,
    /// Listen on this Unix domain socket instead, to which only you can connect.
    #[arg(long, value_name = "FILE", conflicts_with = "expose_unencrypted_to_network")]
    socket: Option<PathBuf>,
    /// Listen on this address and port instead. Everyone on the network can then connect and eavesdrop: nothing is
    /// encrypted.
    #[arg(long, value_name = "ADDRESS:PORT")]
    expose_unencrypted_to_network: Option<SocketAddr>,
    /// End after this time without a request; 0 for never.
    #[arg(long, default_value = IDLE, value_parser = time, value_name = "TIME")]
    idle: u64,
}

/// Time without a request after which the server ends, unless the user says otherwise.
const IDLE: &str = "4h";

/// Directories whose source files may be shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Sources {
    /// Show source files below this directory only; may be given several times. The default is the directory of the
    /// report, and the parent of the experiment directory.
    #[arg(long, value_name = "DIR")]
    source_path: Vec<PathBuf>,
}

impl Sources {
    /// Returns `true` if no directory was named.
    pub(crate) fn is_default(&self) -> bool {
        self.source_path.is_empty()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let first = runs::ended_or_latest(args.report.as_deref())?;
    let runs: Runs = if many::is_directory(&first) {
        ensure!(args.compare.is_empty(), "the page of a directory compares any two of its runs");
        of_directory(&first, &args.sources)?
    } else {
        let all = std::iter::once(&first).chain(&args.compare);
        all.map(|path| open(path, &args.sources)).collect::<anyhow::Result<Vec<_>>>()?.into()
    };
    let listen = match args {
        Args { socket: Some(path), .. } => Listen::Socket(path.clone()),
        Args { expose_unencrypted_to_network: Some(address), .. } => Listen::Network(*address),
        Args { port: Some(port), .. } => Listen::Port(*port),
        _ => Listen::Loopback,
    };
    serve(runs, &listen, args.no_browser, Duration::from_nanos(args.idle))
}

/// Returns the runs of a directory, which are opened when the page asks for them.
pub(crate) fn of_directory(path: &Path, sources: &Sources) -> anyhow::Result<Runs> {
    let directory = many::read(path, dwell_report::THRESHOLD)?;
    many::report_damage(&directory);
    let sources = sources.clone();
    Ok(Runs::of_directory(directory, move |run| {
        open(&run.path, &sources).map_err(|error| terminal::explained(&error))
    }))
}

/// Shows a run as `dwell view` does without options, for other commands.
pub(crate) fn show(run: &Path, no_browser: bool) -> anyhow::Result<ExitCode> {
    let idle = Duration::from_nanos(time(IDLE).unwrap_or(0));
    serve(vec![open(run, &Sources::default())?].into(), &Listen::Loopback, no_browser, idle)
}

/// Serves runs until a signal arrives, or until nothing was asked for as long as `idle`, unless that is 0.
fn serve(
    runs: Runs,
    listen: &Listen,
    no_browser: bool,
    idle: Duration,
) -> anyhow::Result<ExitCode> {
    let server = Server::bind(runs, listen).with_context(|| match listen {
        Listen::Socket(path) => format!("cannot listen on {}", path.display()),
        Listen::Port(port) => format!("cannot listen on port {port}; choose another with --port"),
        Listen::Network(address) => format!("cannot listen on {address}"),
        Listen::Loopback => "cannot listen on 127.0.0.1".into(),
    })?;
    let addresses = server.addresses();
    let address = addresses.next()?;
    let at_terminal = io::stdin().is_terminal();
    let written = if at_terminal { None } else { written(&addresses) };
    // What a batch job prints is often in a file that others can read.
    let output = io::stdout().as_fd().try_clone_to_owned().map(fs::File::from);
    let is_logged = || output.and_then(|it| it.metadata()).is_ok_and(|it| it.is_file());
    let shown = match &written {
        Some(file) if is_logged() => format!("the address is in {}", file.display()),
        _ => address.clone(),
    };
    let more = about(listen, at_terminal, written.as_deref());
    // In one piece: who reads the address may close the pipe then.
    terminal::print(format!("{shown}\n{more}"))?;
    if !no_browser && !matches!(listen, Listen::Socket(_)) {
        open_browser(&address);
    }
    if at_terminal {
        thread::spawn(move || answer_enter(&addresses));
    }
    let ended = server.run((!idle.is_zero()).then_some(idle));
    if let Some(file) = &written {
        let _ = fs::remove_file(file);
    }
    match ended? {
        Ended::Idle => {
            line!("no requests for {} minutes: ended", idle.as_secs_f64() / 60.0)?;
            Ok(ExitCode::SUCCESS)
        }
        // What shells say of a program that a signal has ended.
        Ended::Signal(number) => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(1))),
    }
}

/// Returns the text that explains the address.
fn about(listen: &Listen, at_terminal: bool, written: Option<&Path>) -> String {
    let risk = match listen {
        Listen::Socket(path) => {
            let path = path.display();
            format!(
                "listening on {path}; next, where the browser is: ssh -L 8080:{path} THIS-MACHINE\n"
            )
        }
        Listen::Network(_) => {
            "warning: everyone on the network can read what is shown: it is not encrypted\n".into()
        }
        _ => String::new(),
    };
    let another = match written {
        _ if at_terminal => "; Enter prints another".into(),
        Some(file) => {
            format!("; the next one is always in {}, which only you can read", file.display())
        }
        None => String::new(),
    };
    format!("{risk}The address works once{another}. Ctrl+C ends.\n")
}

/// Time between two looks at whether an address in a file was used.
const LOOK: Duration = Duration::from_millis(500);

/// Writes an address to a new file that only this user can read, for those who have no terminal to press Enter in, and another one as
/// soon as it was used. Returns `None` if there can be no such file.
fn written(addresses: &Addresses) -> Option<PathBuf> {
    let directory = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let path = directory.join(format!("dwell-view-{}.address", std::process::id()));
    // A file or link that somebody has put there is not followed.
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    let addresses = addresses.clone();
    let mut address = addresses.next().ok()?;
    // All addresses of a server are equally long, so that one is written over the other.
    let write = move |address: &str| file.write_all_at(format!("{address}\n").as_bytes(), 0);
    if write(&address).is_err() {
        let _ = fs::remove_file(path);
        return None;
    }
    thread::spawn(move || {
        loop {
            thread::sleep(LOOK);
            if addresses.is_unused(&address) {
                continue;
            }
            match addresses.next() {
                Ok(next) if write(&next).is_ok() => address = next,
                _ => return,
            }
        }
    });
    Some(path)
}

/// Opens the report at a path, which is made if there is none yet.
pub(crate) fn open(path: &Path, sources: &Sources) -> anyhow::Result<Run> {
    let file = ready::report(path)?;
    let mut run = Run::open(&file)?;
    damage::report_findings(&file);
    damage::report(damage::lost_findings(&file, run.query()));
    // The timeline shows operations from the events.
    if path.is_dir()
        && let Ok(archive) = Archive::open(path)
    {
        damage::report_events(&archive);
    }
    if !sources.source_path.is_empty() {
        run = run.with_source_paths(&sources.source_path)?;
    }
    run.prepare();
    Ok(with_player(run, &file))
}

/// Lets the page play a run without one of its causes, if that does not take long.
fn with_player(run: Run, report: &Path) -> Run {
    let directory = dependencies::directory(report).to_owned();
    let is_own = report.file_name().is_some_and(|name| name == "trace.cubex");
    let findings = is_own.then(|| damage::findings_in(&directory)).flatten();
    let is_short = |it: &Findings| it.events <= analyze::MOST_PLAYED && !it.causes.is_empty();
    match findings.filter(is_short) {
        Some(findings) if directory.join(runs::ANCHOR).exists() => run.with_player(move |cause| {
            whatif::play(&directory, &findings, cause).map_err(|it| terminal::explained(&it))
        }),
        _ => run,
    }
}

/// Prints another address each time Enter is pressed.
fn answer_enter(addresses: &Addresses) {
    for line in io::stdin().lines() {
        if line.is_err() {
            return;
        }
        if let Ok(address) = addresses.next() {
            let _ = line!("{address}");
        }
    }
}

/// Opens a browser, if there is one. The address is a secret, and other users can see the arguments of processes, so
/// the browser gets a file that only this user can read and that redirects to the address.
fn open_browser(address: &str) {
    let display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    if !display && cfg!(not(target_os = "macos")) {
        return;
    }
    let directory = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let file = directory.join(format!("dwell-view-{}.html", std::process::id()));
    let text = format!(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0;url={address}\"><title>Dwell</title>\n"
    );
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    if opened.and_then(|mut it| it.write_all(text.as_bytes())).is_err() {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    thread::spawn(move || {
        if let Ok(mut child) = started {
            let _ = child.wait();
            // The browser may still be reading it.
            thread::sleep(Duration::from_secs(20));
        }
        let _ = fs::remove_file(file);
    });
}
