//! A report at the size of a large machine: how long it takes to write and to open, and the memory.
//!
//! `scale DIRECTORY [LOCATIONS [ROWS]]` writes a report of 294,912 locations, 4,000 call paths and 20
//! metrics: three with ROWS (300) rows each, the others with 20 rows each, all told 2.9 GB. It compares
//! that with plain sequential writes of as many bytes, and opens the report. Each step runs in a
//! process of its own, and memory is the most of `RssAnon` that was seen, looked at every millisecond.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cubex::{
    Cache, Cells, Cnode, CnodeId, Group, Location, Meta, MetaBuilder, Metric, MetricId, MetricKind,
    OpenOptions, Region, ReportWriter, Rows, SystemNode,
};

const CNODES: u32 = 4_000;
const METRICS: u32 = 20;
const DENSE: u32 = 3;
const SPARSE_ROWS: u32 = 20;

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["plain", path, bytes] => measured("plain sequential writes", || plain(path, bytes)),
        ["write", path, locations, rows, spooled] => {
            let name = if *spooled == "spooled" { "report, spooled" } else { "report, placed" };
            measured(name, || write(path, locations.parse()?, rows.parse()?, *spooled == "spooled"))
        }
        ["open", path, cache] => measured(&format!("open, {cache}"), || open(path, cache)),
        [directory, rest @ ..] => {
            let locations = rest.first().unwrap_or(&"294912");
            all(Path::new(directory), locations, rest.get(1).unwrap_or(&"300"))
        }
        [] => Err("which directory?".into()),
    }
}

fn all(directory: &Path, locations: &str, rows: &str) -> Done {
    fs::create_dir_all(directory)?;
    let report = directory.join("scale.cubex");
    let cache = directory.join("scale.cubex.dwell-cache");
    let plain = directory.join("plain");
    let report = report.to_str().ok_or("an odd directory")?;
    let step = |arguments: &[&str]| -> Done {
        let status = Command::new(std::env::current_exe()?).args(arguments).status()?;
        if status.success() { Ok(()) } else { Err("a step failed".into()) }
    };
    let _ = fs::remove_file(&cache);
    // In turns, since a disk is not the same from one minute to the next.
    for way in ["placed", "placed", "spooled"] {
        // Over an old report the system would write all to disk at once, and free the old one.
        let _ = fs::remove_file(report);
        step(&["write", report, locations, rows, way])?;
        let bytes = fs::metadata(report)?.len().to_string();
        step(&["plain", plain.to_str().ok_or("an odd directory")?, &bytes])?;
        fs::remove_file(&plain)?;
    }
    step(&["open", report, "no cache"])?;
    step(&["open", report, "first"])?;
    step(&["open", report, "again"])?;
    println!("cache: {} bytes", fs::metadata(&cache)?.len());
    Ok(())
}

/// Runs a step and prints the largest amount of anonymous memory that it took.
fn measured(name: &str, step: impl FnOnce() -> Done) -> Done {
    println!("{name}:");
    let (most, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                most.fetch_max(anonymous(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let done = step();
        most.fetch_max(anonymous(), Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        done.map_err(|error| error.to_string())
    });
    println!("  {:9.1} MB anonymous memory at most", most.into_inner() as f64 / 1e3);
    Ok(done?)
}

/// Returns the anonymous memory of this process, in kB.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn speed(what: &str, bytes: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = bytes as f64 / 1e9 / seconds;
    println!("  {seconds:9.3} s {what}, {bytes} bytes, {rate:.2} GB/s");
}

fn plain(path: &str, bytes: &str) -> Done {
    let mut left: u64 = bytes.parse()?;
    let bytes = left;
    let block: Vec<u8> =
        (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let start = Instant::now();
    let mut file = File::create(path)?;
    while left > 0 {
        let length = left.min(block.len() as u64);
        file.write_all(block.get(..length as usize).unwrap_or_default())?;
        left -= length;
    }
    speed("written", bytes, start);
    file.sync_all()?;
    speed("on disk", bytes, start);
    Ok(())
}

fn meta(locations: u32) -> Result<Meta, cubex::Error> {
    let mut builder = MetaBuilder::new();
    for metric in 0..METRICS {
        let name = format!("metric_{metric}");
        builder.metric(
            (metric > 4).then_some(MetricId(metric / 4)),
            Metric {
                uniq_name: &name,
                disp_name: &name,
                uom: "ns",
                kind: MetricKind::Inclusive,
                ..Metric::default()
            },
        );
    }
    for region in 0..500 {
        let name = format!("function_{region}");
        builder.region(Region { name: &name, mangled_name: &name, ..Region::default() });
    }
    for cnode in 0..CNODES {
        let region = cubex::RegionId(cnode.wrapping_mul(7) % 500);
        let parent = cnode.checked_sub(1).map(|before| CnodeId(before / 6));
        builder.cnode(parent, Cnode { region, ..Cnode::default() });
    }
    let machine =
        builder.system_node(None, SystemNode { name: "machine", class: "machine", descr: "" });
    let mut node = machine;
    for location in 0..locations {
        if location % 64 == 0 {
            let name = format!("node{:05}", location / 64);
            node = builder
                .system_node(Some(machine), SystemNode { name: &name, class: "node", descr: "" });
        }
        let name = format!("MPI Rank {location}");
        let group = builder.group(node, Group { name: &name, rank: location, kind: "process" });
        builder.location(group, Location { name: "Master thread", ..Location::default() });
    }
    builder.finish()
}

fn write(path: &str, locations: u32, rows: u32, spooled: bool) -> Done {
    let meta = meta(locations)?;
    let start = Instant::now();
    let writer = ReportWriter::create(path, meta)?;
    let mut metrics = Vec::new();
    let mut work = Vec::new();
    for metric in 0..METRICS {
        let rows = if metric < DENSE { rows } else { SPARSE_ROWS };
        let cnodes: Vec<_> = (0..rows).map(CnodeId).collect();
        let rows = if spooled { Rows::Spooled } else { Rows::Listed(&cnodes) };
        metrics.push(writer.metric(MetricId(metric), rows)?);
        work.extend(cnodes.into_iter().map(|cnode| (metric, cnode)));
    }
    let mut row: Vec<u64> = (0..u64::from(locations)).map(|at| at * 1000).collect();
    // Any order: a step that has no divisor in common with the number of rows.
    let step = work.len() / 2 + 101;
    let step = (step..).find(|&step| gcd(step, work.len()) == 1).ok_or("no step")?;
    for turn in 0..work.len() {
        let Some(&(metric, cnode)) = work.get(turn * step % work.len()) else { continue };
        row.iter_mut().for_each(|value| *value += 1);
        metrics.get(metric as usize).ok_or("no metric")?.write(cnode, &row)?;
    }
    writer.finish()?;
    let bytes = fs::metadata(path)?.len();
    speed("written", bytes, start);
    File::open(path)?.sync_all()?;
    speed("on disk", bytes, start);
    Ok(())
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn open(path: &str, cache: &str) -> Done {
    let start = Instant::now();
    let cache = if cache == "no cache" { Cache::Off } else { Cache::Beside };
    let report = OpenOptions::new().cache(cache).open(path)?;
    let milliseconds = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    println!("  {:9.1} ms to open", milliseconds(start));
    let meta = report.meta();
    let mut shown = 0;
    for metric in meta.metrics() {
        shown += meta.metric(metric).map_or(0, |metric| metric.disp_name.len());
    }
    for root in meta.root_cnodes() {
        for cnode in std::iter::once(root).chain(meta.cnode_children(root)) {
            shown += meta.callee(cnode).map_or(0, |region| region.name.len());
        }
    }
    println!(
        "  {:9.1} ms with metric tree and two levels of the call tree ({shown} letters)",
        milliseconds(start)
    );
    println!("  {:9.1} MB anonymous memory so far", anonymous() as f64 / 1e3);
    let start = Instant::now();
    let values = report.values(MetricId(0))?;
    let root = meta.root_cnodes().next().ok_or("no root")?;
    let mut rows = 0;
    for cnode in std::iter::once(root).chain(meta.cnode_children(root)) {
        rows += usize::from(values.row(cnode)?.is_some());
    }
    println!("  {:9.1} ms to expand the root: {rows} rows", milliseconds(start));
    let start = Instant::now();
    if let Some(row) = values.exclusive(root)?
        && let Cells::Unsigned(cells) = row.cells()
    {
        let mut cells = cells.clone();
        cells.sort_unstable();
        let five: Vec<_> = (0..5).filter_map(|at| cells.get(at * (cells.len() - 1) / 4)).collect();
        println!(
            "  {:9.1} ms for the five-number summary of exclusive values {five:?}",
            milliseconds(start)
        );
    }
    Ok(())
}
