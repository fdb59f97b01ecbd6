//! Messages of the recorder to the user, and queries to the machine.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use dwell_model::text::{visible, visible_lines};
use dwell_model::units::{bytes, grouped};

use dwell_unify::lease;
use dwell_unify::statistics::{self, Statistic};
use dwell_unify::unify::{Global, Process};

use crate::file_limit::without_signal;
use crate::guard;

/// Says something, on standard error, as one write.
pub(crate) fn say(text: &str) {
    let line = format!("dwell: {}\n", visible_lines(text));
    // Standard error may be a file, too.
    let _ = without_signal(|| io::stderr().write_all(line.as_bytes()));
}

/// The cores that this process may use, as the system lists them; empty if it does not say.
pub(crate) fn cores() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_string()
}

/// Returns what the environment says about the launcher, the transport and its progress.
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    let first = |names: &[&str]| names.iter().find_map(|name| env::var(name).ok());
    let launcher = [
        ("SLURM_STEP_ID", "srun"),
        ("OMPI_COMM_WORLD_SIZE", "Open MPI"),
        ("PMI_SIZE", "PMI"),
        ("PALS_APINFO", "PALS"),
    ];
    let launcher = launcher.iter().find(|(name, _)| env::var_os(name).is_some());
    let settings = [
        "UCX_TLS",
        "UCX_NET_DEVICES",
        "OMPI_MCA_spml",
        "OMPI_MCA_osc",
        "OMPI_MCA_btl",
        "OMPI_MCA_pml",
        "SMA_SYMMETRIC_SIZE",
        "SHMEM_SYMMETRIC_SIZE",
        "OMP_NUM_THREADS",
    ];
    let set: Vec<String> = settings
        .iter()
        .filter_map(|name| env::var(name).ok().map(|value| format!("{name}={value}")))
        .collect();
    vec![
        ("LAUNCHER", launcher.map(|(_, name)| (*name).to_string()).unwrap_or_default()),
        ("TRANSPORT", first(&["UCX_TLS", "OMPI_MCA_btl"]).unwrap_or_default()),
        ("SETTINGS", set.join(" ")),
    ]
}

/// The process that `dwell run` became.
fn watcher() -> Option<u32> {
    env::var("DWELL_WATCHER").ok()?.parse().ok()
}

/// Tells `dwell run`, which may have started a script that started this process, that something was
/// measured.
pub(crate) fn seen() {
    if watcher().is_some_and(|pid| pid != std::process::id())
        && let Some(path) = env::var_os("DWELL_SEEN")
    {
        // Others can write to the directory: a link there is not followed.
        let _ = fs::File::options().write(true).create_new(true).open(path);
    }
}

/// At the end of a process that was not measured: if it is the one that `dwell run` started, and none
/// that it started was measured either, the user should know.
pub(crate) fn not_measured() {
    if watcher() != Some(std::process::id()) {
        return;
    }
    let Some(path) = env::var_os("DWELL_SEEN") else { return };
    let measured = fs::remove_file(path).is_ok();
    if !measured && is_first() {
        if let Some(reason) = guard::reason() {
            return say(&format!("nothing was recorded: {reason}"));
        }
        say(
            "no call of a known runtime was seen, so nothing was recorded. Is the program started \
             by something that clears its environment, or linked statically? Ask: dwell doctor PROGRAM",
        );
    }
}

/// Returns `true` if this is the first process of a job, as far as launchers tell.
fn is_first() -> bool {
    let rank = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]
        .iter()
        .find_map(|name| env::var(name).ok());
    rank.is_none_or(|rank| rank == "0")
}

/// Returns a warning if a launcher started several processes, and the runtime of this one knows only itself: launcher and
/// program belong to different installations of MPI. Only the first process of the launch gets the warning.
pub(crate) fn alone() -> Option<String> {
    let launchers = [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "the launcher of Open MPI"),
        ("PMI_SIZE", "PMI_RANK", "the launcher of MPICH or Intel MPI"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"),
    ];
    let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
    let (launcher, size, rank) = launchers
        .into_iter()
        .find_map(|(size, rank, launcher)| Some((launcher, number(size)?, number(rank)?)))?;
    (size > 1 && rank == 0).then(|| {
        format!(
            "{launcher} started {size} processes, but the program's own MPI library sees only one: each process runs \
             alone, and is recorded alone. Start the program with the launcher of the MPI that it was linked with"
        )
    })
}

/// Reports why the archive of a run is not complete, and the command that completes it. The files of the processes are
/// in the experiment directory, or on each node in `scratch`.
pub(crate) fn incomplete(directory: &str, scratch: Option<&Path>, why: &io::Error) {
    let shown = shown(directory);
    let from = scratch.map_or(String::new(), |scratch| {
        format!(" {} (of each node)", visible(&scratch.to_string_lossy()))
    });
    say(&format!("the trace in {shown} is not complete: {why}. Next: dwell recover {shown}{from}"));
}

/// Reports that `nodes` keep their files in `kept`, because the experiment directory is another one there.
pub(crate) fn apart(directory: &str, nodes: &BTreeSet<String>, kept: &Path) {
    let (shown, kept) = (shown(directory), visible(&kept.to_string_lossy()).to_string());
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let nodes = lease::list(&nodes);
    say(&format!(
        "the trace in {shown} is not complete: {nodes} keep their files in {kept}. Copy that directory of each of them \
         to one place here. Next: dwell recover {shown} THAT_PLACE"
    ));
}

/// A directory as the user would name it, relative to the current one where it lies inside. It has the name of the
/// program, which may contain any characters.
pub(crate) fn shown(directory: &str) -> String {
    match env::current_dir().ok().map(|here| Path::new(directory).strip_prefix(here)) {
        Some(Ok(inside)) => visible(&inside.to_string_lossy()).to_string(),
        _ => visible(directory).to_string(),
    }
}

/// Name of the property with the functions whose calls made the trace large.
pub(crate) const LARGEST: &str = "LARGEST";

/// Share of the time that recording took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overhead {
    /// Share that was asked for at most, in percent, if any was.
    pub(crate) asked: Option<f64>,
    /// Share that was reached, in percent, as it was measured now and then.
    pub(crate) reached: f64,
}

impl Overhead {
    /// Returns the overhead of a run, of which `asked` was asked for, in parts of 10,000; 0 means that nothing was.
    pub(crate) fn of(global: &Global, asked: u32) -> Self {
        let spent = statistics::total(global, Statistic::Spent) as f64;
        let length = |(_, it): (_, Process)| it.end.0.saturating_sub(it.begin.0);
        let longest = global.processes().map(length).max().unwrap_or(0);
        Self {
            asked: (asked > 0).then(|| f64::from(asked) / 100.0),
            reached: 100.0 * spent / (longest.max(1) as f64 * global.size().max(1) as f64),
        }
    }
}

/// Command that the last line of a run recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// `dwell analyze`, for a run with a trace.
    Analyze,
    /// `dwell report`, for a run that has a profile only.
    Report,
}

/// Prints the line at the end of a run.
pub(crate) fn end(directory: &str, global: &Global, next: NextStep, overhead: Overhead) {
    let shown = shown(directory);
    let calls = statistics::total(global, Statistic::Calls);
    let processes = global.size();
    let said = |name: &str| -> Vec<&str> {
        let properties = global.shared().properties().iter();
        let named = properties.filter(|property| property.name == name);
        named.map(|property| property.value.as_str()).collect()
    };
    let stopped = said("STOPPED");
    if calls == 0 {
        let why = if stopped.is_empty() { "no call was made" } else { &stopped.join("; ") };
        return say(&format!("nothing was recorded in {shown}: {why}"));
    }
    let next = match next {
        NextStep::Analyze => "analyze",
        NextStep::Report => "report",
    };
    let (summed, short) =
        (statistics::total(global, Statistic::Summed), statistics::most(global, Statistic::Short));
    let Overhead { asked, reached } = overhead;
    let mut text = format!(
        "{shown}: {} calls of {processes} process{}, {}, at least {reached:.1} % overhead. Next: dwell {next} {shown}",
        grouped(calls),
        if processes == 1 { "" } else { "es" },
        bytes(statistics::total(global, Statistic::Bytes) as f64),
    );
    if summed > 0 {
        let short = short as f64 / 1e3;
        text += &format!(
            "\ndwell: {} more calls took less than {short:.1} \u{b5}s and were summed up",
            grouped(summed)
        );
    }
    let inner = statistics::total(global, Statistic::Inner);
    if inner > 0 {
        text += &format!("\ndwell: {} more calls inside these were counted", grouped(inner));
    }
    // What is printed alike is not more.
    let is_more = |it: &f64| reached > *it && format!("{reached:.1}") != format!("{it:.1}");
    if let Some(asked) = asked.filter(is_more) {
        text += &format!(
            "\ndwell: that is more than the {asked} % asked for; dwell info {shown} says by which calls"
        );
    }
    let large = said(LARGEST);
    if !large.is_empty() {
        let list = lease::list(&large);
        let sums = match asked {
            Some(_) => "",
            None => "--overhead 2% sums up the short ones, ",
        };
        text += &format!(
            "\ndwell: the trace is large because of calls of {list}; {sums}--calls or --filter leaves them out"
        );
    }
    let left_out = statistics::total(global, Statistic::LeftOut);
    if left_out > 0 {
        text += &format!(
            "\ndwell: {} more calls were seen and left out, as was asked",
            grouped(left_out)
        );
    }
    for why in stopped {
        text += &format!("\ndwell: recording stopped early: {why}");
    }
    if let Some(lost) = statistics::lost(global) {
        text += &format!("\ndwell: {lost} are lost");
    }
    if let Some(unrecorded) = statistics::unrecorded(global) {
        text += &format!("\ndwell: not recorded: {unrecorded}");
    }
    say(&text);
    told("DWELL_ENDED", directory);
}

/// Tells an observer where the run is, in the file that a variable names: `dwell run --view`, which waits for the end of the
/// program, or that of `--hang-timeout`, which waits for the beginning.
pub(crate) fn told(variable: &str, directory: &str) {
    let Some(path) = env::var_os(variable) else { return };
    if let Ok(mut file) = fs::File::options().write(true).create_new(true).open(path) {
        let _ = without_signal(|| file.write_all(directory.as_bytes()));
    }
}
