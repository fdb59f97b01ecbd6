//! `dwell where`: what the processes of a run are in, and who waits for whom. The run may be alive, hang, or have died.

mod report;
mod text;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use dwell_model::units::parse_duration;
use dwell_unify::live::{self, Live};

use crate::page::Page;
use crate::runs::{self, ANCHOR};
use crate::terminal::{self, line};
use report::{Looks, Report};

/// Time between the two looks that tell whether a process goes on.
const BETWEEN: Duration = Duration::from_millis(300);

/// Greatest time between two looks of `--after`.
const SELDOM: Duration = Duration::from_secs(5);

/// Arguments of `dwell where`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files of the run are read and not changed. Ages are those of this moment for processes of this node; of \
    other nodes it is the last that has reached this one, which may be half a minute old.\n\n\
    Exit code: 0; 3 if processes wait for each other in a circle that cannot end; 4 if --after \
    has found that processes wait and none has made a call for so long; 2 if nothing could be read.\n\n\
    Example: dwell where run1"
)]
pub(crate) struct Args {
    /// The run: its directory. Without it, the newest run here.
    run: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Look again and again until the run ends, every 2 seconds or at another interval.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "2s", value_parser = time)]
    watch: Option<Duration>,
    /// Report once, when processes wait and none has made a call for this time, or a deadlock has lasted so long. Ends
    /// with the run
    #[arg(long, value_name = "TIME", value_parser = time)]
    after: Option<Duration>,
}

/// Greatest time between two looks of `dwell run --hang-timeout`.
const RARE: Duration = Duration::from_secs(60);

/// Exit code of a run in which processes wait for each other in a circle that cannot end.
const DEADLOCK: u8 = 3;

/// Exit code of a run in which processes wait and none makes a call.
const STILL: u8 = 4;

fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map(Duration::from_nanos);
    time.ok_or_else(|| "a time such as 300ms or 60s is wanted".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = runs::or_latest(args.run.as_deref())?;
    if args.watch.is_some() || args.after.is_some() {
        return observe(&directory, args);
    }
    let report = look(&directory)?;
    print(&directory, &report, args.json)?;
    Ok(ended(&report, 0))
}

/// Returns what the processes of a run are in, as `--json` prints it.
pub(super) fn as_json(directory: &Path) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(look(directory)?)?)
}

/// Waits until no process of a run has made a call for a time although some wait, and returns what they are in then. `None` if
/// the run has ended before, or once `pause`, which waits for a time, returns `false`.
pub(super) fn when_still(
    directory: &Path,
    after: Duration,
    pause: impl Fn(Duration) -> bool,
) -> Option<Page> {
    let every = (after / 10).clamp(BETWEEN, RARE);
    let (mut before, mut at, mut still) = (Live::default(), Instant::now(), Duration::ZERO);
    // A process that has gone on: as long as it does, the others need not be read.
    let mut busy: Option<usize> = None;
    while pause(every) {
        if let Some(known) = busy.and_then(|it| before.processes.get_mut(it))
            && let Ok(now) = live::again(known)
        {
            let goes_on = now.has_moved_since(known);
            *known = now;
            if goes_on {
                at = Instant::now();
                continue;
            }
        }
        let Ok(now) = live::read(directory) else { return None };
        // Files are made after the directory, and a run that has ended has none.
        if directory.join(ANCHOR).exists() {
            return None;
        }
        let between = at.elapsed();
        at += between;
        let report = Report::of(directory, &before, &now, Looks { between, still });
        still = Duration::from_secs_f64(report.still);
        if report.is_still() && still >= after {
            return Some(text::page(directory, &report));
        }
        let has_moved = |it: &live::Process| {
            let known = before.processes.binary_search_by_key(&it.rank(), live::Process::rank).ok();
            known
                .and_then(|known| before.processes.get(known))
                .is_none_or(|known| it.has_moved_since(known))
        };
        busy = now.processes.iter().position(has_moved);
        before = now;
    }
    None
}

/// Returns what the processes of a run that was killed were in, in a dozen lines. `None` if no process has files here.
pub(super) fn at_the_end(directory: &Path) -> Option<Page> {
    let live = live::read(directory).ok().filter(|it| !it.processes.is_empty())?;
    Some(text::page_of_the_end(&Report::of_ended(&live)))
}

/// Returns the exit code after a report, which is `other` unless the run is in a deadlock.
fn ended(report: &Report, other: u8) -> ExitCode {
    ExitCode::from(if report.is_deadlock() { DEADLOCK } else { other })
}

fn print(directory: &Path, report: &Report, json: bool) -> io::Result<()> {
    match json {
        true => terminal::print_json(report),
        false => terminal::print_page(text::page(directory, report)),
    }
}

/// Looks at a run twice, unless it is over.
fn look(directory: &Path) -> anyhow::Result<Report> {
    let before = first_look(directory)?;
    let report = Report::of(directory, &before, &before, Looks::default());
    if report.is_over() {
        return Ok(report);
    }
    thread::sleep(BETWEEN);
    let looks = Looks { between: BETWEEN, ..Looks::default() };
    Ok(Report::of(directory, &before, &live::read(directory)?, looks))
}

fn first_look(directory: &Path) -> anyhow::Result<Live> {
    if directory.join(ANCHOR).exists() {
        bail!("{}: the run has ended; next: dwell analyze {0}", directory.display());
    }
    let live = live::read(directory)?;
    if live.processes.is_empty() {
        let more = live.unreadable.first().map(|it| format!(" ({it})")).unwrap_or_default();
        bail!("{}: no process has files here{more}", directory.display());
    }
    Ok(live)
}

/// Looks at a run until it ends or stands still.
fn observe(directory: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let seldom = || SELDOM.min(args.after.unwrap_or_default() / 10);
    let every = args.watch.unwrap_or_else(seldom).max(BETWEEN);
    let is_drawn = args.watch.is_some() && !args.json && io::stdout().is_terminal();
    let mut before = first_look(directory)?;
    let (mut at, mut still, mut stuck) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    loop {
        thread::sleep(every);
        let now = live::read(directory)?;
        let between = at.elapsed();
        at += between;
        let report = Report::of(directory, &before, &now, Looks { between, still });
        if report.is_over() {
            thread::sleep(BETWEEN);
        }
        // The files of a run that ends are moved.
        if directory.join(ANCHOR).exists() || now.processes.is_empty() {
            line!("{}: the run has ended; next: dwell analyze {0}", directory.display())?;
            return Ok(ExitCode::SUCCESS);
        }
        still = Duration::from_secs_f64(report.still);
        // All that compute, and wait for nobody, are well. A deadlock is none the better for others that go on.
        let is_stuck = report.is_still() || report.is_deadlock();
        stuck = if is_stuck { stuck + between } else { Duration::ZERO };
        let is_last = report.is_over() || args.after.is_some_and(|it| stuck >= it);
        if is_drawn {
            terminal::clear()?;
        }
        if args.watch.is_some() || is_last {
            print(directory, &report, args.json)?;
        }
        if is_last {
            return Ok(ended(&report, if report.is_over() { 0 } else { STILL }));
        }
        before = now;
    }
}
