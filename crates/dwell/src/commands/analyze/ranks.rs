//! `dwell analyze` in several processes that a launcher started.
//!
//! Rank 0 chooses the archive, writes the findings and prints; the others take part in the analysis, and write their part
//! of the report. No process ends with success before all have agreed on it.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use dwell_analyze::{Error, Joint, analyze_among};
use dwell_model::units::parse_duration;
use dwell_mpi::{Launch, World};

use super::{Args, Division, Input, after_events, costs, finish, options, resolved};
use crate::progress;
use crate::terminal::{explained, note};

/// Exit code if the archive cannot be read, or the results cannot be written.
const UNREADABLE: u8 = 2;

/// Variable with the time that processes wait for each other in one step, and that time without it. The recorder reads the
/// same variable.
const PEER_TIMEOUT: &str = "DWELL_PEER_TIMEOUT";
const PATIENCE: Duration = Duration::from_secs(600);

/// How this process takes part in the analysis.
pub(super) enum Joined {
    /// No launcher started several processes, or this one has to do without the others.
    Alone,
    /// All processes of a launch analyse together.
    Together(Box<World>),
    /// The processes of a launch cannot communicate, and the first of them analyses.
    LeftToAnother,
}

/// Joins the other processes of the launch, if a launcher started this one. If there is no MPI library that fits, the
/// first process analyses alone: all would compute the same and write the same files. A library may be missing on some
/// nodes only, where the first process of the launch cannot see it; so one process of each node says why.
pub(super) fn join() -> anyhow::Result<Joined> {
    let Some(launch) = Launch::detect().filter(Launch::is_shared) else { return Ok(Joined::Alone) };
    let mut options = dwell_mpi::Options::default();
    let timeout = env::var(PEER_TIMEOUT).ok().and_then(|text| parse_duration(&text));
    options.timeout = timeout.map_or(PATIENCE, Duration::from_nanos).max(Duration::from_secs(1));
    let is_asked = options.library.is_some();
    let label = || format!("rank {} on {}", launch.rank, dwell_mpi::host());
    match World::join(&launch, options) {
        Ok(world) => Ok(Joined::Together(Box::new(world))),
        Err(error) if is_asked && launch.is_first() => Err(error.into()),
        Err(error) if launch.is_first() => {
            let several = launch.size.map_or("several".into(), |size| size.to_string());
            note!("{error}");
            note!("{several} processes were started; this one analyses alone");
            Ok(Joined::Alone)
        }
        Err(error) if launch.is_first_on_node() && is_asked => Err(error).with_context(label),
        Err(error) => {
            if launch.is_first_on_node() {
                note!("{}: {error}", label());
            }
            Ok(Joined::LeftToAnother)
        }
    }
}

/// Analyses together with the other processes of the launch.
pub(super) fn analyze(mut world: World, args: &Args) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let hosts = match world.hosts() {
        Ok(hosts) => hosts,
        Err(error) => world.give_up(&error),
    };
    let input = match open(&mut world, &hosts, args) {
        Ok(Some(input)) => input,
        Ok(None) => return Ok(ExitCode::from(world.finish(UNREADABLE)?)),
        Err(error) => {
            // Those that have lost each other cannot meet at the end, and would only wait there once more.
            if let Some(error) = error.downcast_ref::<dwell_mpi::Error>() {
                world.give_up(error);
            }
            // Before the end: launchers end all processes when the first of them has failed.
            note!("{}", explained(&error));
            return Ok(ExitCode::from(world.finish(UNREADABLE)?));
        }
    };
    let joint = match replay(&mut world, &hosts, args, &input) {
        Ok(joint) => joint,
        Err(Error::Peers(error)) => world.give_up(&error),
        Err(error) => world.fail(&format!("{}: {error}", input.path.display())),
    };
    let done = match joint.write_report(&mut world, &input.report()) {
        Ok(()) => joint.analysis().map_or(Ok(0), |analysis| finish(args, &input, analysis)),
        Err(Error::Peers(error)) => world.give_up(&error),
        Err(error) => Err(error.into()),
    };
    let done = match &args.costs {
        Some(file) => costs::write_all(&mut world, began, file).and(done),
        None => done,
    };
    let code = done.unwrap_or_else(|error| {
        note!("{}", explained(&error));
        UNREADABLE
    });
    // The process ends, and gives all memory back at once: results have millions of parts.
    std::mem::forget(joint);
    Ok(ExitCode::from(world.finish(code)?))
}

/// Opens the archive that rank 0 has chosen. Fails at rank 0, and returns `None` at others, if some process cannot open
/// it. Only rank 0 reads the definitions.
fn open(world: &mut World, hosts: &[String], args: &Args) -> anyhow::Result<Option<Input>> {
    let is_first = world.rank() == 0;
    let first = is_first.then(|| resolved(args).and_then(Input::open)).transpose();
    // Numbers of events and locations, and the path.
    let mut told = match &first {
        Ok(Some(input)) => {
            let numbers = [input.events, input.locations as u64].map(u64::to_le_bytes).concat();
            [numbers.as_slice(), input.path.as_os_str().as_bytes()].concat()
        }
        _ => Vec::new(),
    };
    world.broadcast("the path of the archive", 0, &mut told)?;
    let first = first?;
    let Some((numbers, path)) = told.split_first_chunk::<16>() else { return Ok(None) };
    let ([events, locations], _) = numbers.as_chunks() else { return Ok(None) };
    let (events, locations) =
        (u64::from_le_bytes(*events), u64::from_le_bytes(*locations) as usize);
    let path = PathBuf::from(OsStr::from_bytes(path));
    let input = match first {
        Some(input) => Ok(input),
        None => super::open(&path)
            .map(|archive| Input {
                path: path.clone(),
                archive,
                events,
                locations,
                // Rank 0 reports them.
                silent: 0,
            })
            .map_err(anyhow::Error::from),
    };
    let reason = input.as_ref().err().map_or(String::new(), explained);
    let mut out = vec![reason.into_bytes(); world.size()];
    let mut into = Vec::new();
    world.exchange("opening the archive", &mut out, &mut into)?;
    let failed: Vec<(&String, &Vec<u8>)> =
        hosts.iter().zip(&into).filter(|(_, reason)| !reason.is_empty()).collect();
    let Some((_, reason)) = failed.first() else { return input.map(Some) };
    let reason = String::from_utf8_lossy(reason).into_owned();
    let mut names: Vec<&str> = failed.iter().map(|(host, _)| host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match (is_first, input) {
        (false, _) => Ok(None),
        (true, Err(error)) => Err(error),
        (true, Ok(_)) => bail!(
            "{}: {} of {} processes cannot open it, on {}: {reason}; all processes need the same files, on a file \
             system that their nodes share",
            path.display(),
            failed.len(),
            hosts.len(),
            names.join(", ")
        ),
    }
}

fn replay(world: &mut World, hosts: &[String], args: &Args, input: &Input) -> Result<Joint, Error> {
    let (rank, all) = (world.rank(), world.size());
    let own = hosts.get(rank);
    let here = hosts.iter().filter(|host| Some(*host) == own).count();
    // A limit that the user has set is the same everywhere.
    let first = hosts.iter().position(|host| Some(host) == own);
    let speaks = if args.memory.is_some() { rank == 0 } else { first == Some(rank) };
    let options = options(args, input, Division { here, all, speaks });
    let bar = (rank == 0).then(|| progress::bar(input.events, "events"));
    let then = after_events(&options);
    let joint = analyze_among(world, &input.archive, &options, &|events| {
        bar.iter().for_each(|bar| progress::advance(bar, events, then));
    });
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    if rank == 0 && (options.log.is_none() || joint.is_err()) {
        input.remove_log();
    }
    joint
}
