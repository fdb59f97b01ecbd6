//! What an analysis cost each of its processes, for those who choose how many to start.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use dwell_mpi::{Traffic, World};

use crate::output;

/// Head of the table. `reads` and `read_bytes` count system calls that read, and what they read.
const HEAD: &str =
    "rank,seconds,peak_bytes,reads,read_bytes,exchanges,messages,message_bytes,waited_seconds";

/// Cost of one process so far.
pub(super) fn row(rank: usize, began: Instant, traffic: Traffic) -> String {
    let peak = number("/proc/self/status", "VmHWM:").map_or(0, |kilobytes| kilobytes * 1024);
    let io = |name| number("/proc/self/io", name).unwrap_or(0);
    let (reads, read) = (io("syscr:"), io("rchar:"));
    let Traffic { exchanges, messages, bytes, waited } = traffic;
    let mut row = String::new();
    let _ = write!(
        row,
        "{rank},{:.3},{peak},{reads},{read},{exchanges},{messages},{bytes},{:.3}",
        began.elapsed().as_secs_f64(),
        waited.as_secs_f64()
    );
    row
}

/// Writes the costs of all processes of a launch, at rank 0.
pub(super) fn write_all(world: &mut World, began: Instant, to: &Path) -> anyhow::Result<()> {
    let own = row(world.rank(), began, world.traffic());
    let mut out = vec![own.into_bytes()];
    let mut into = Vec::new();
    world.exchange("costs", &mut out, &mut into)?;
    if world.rank() > 0 {
        return Ok(());
    }
    let rows: Vec<_> = into.iter().map(|row| String::from_utf8_lossy(row)).collect();
    write(to, rows.iter().map(AsRef::as_ref))
}

/// Writes a table of costs.
pub(super) fn write<'r>(to: &Path, rows: impl Iterator<Item = &'r str>) -> anyhow::Result<()> {
    let lines: Vec<&str> = std::iter::once(HEAD).chain(rows).collect();
    let text = lines.join("\n") + "\n";
    dwell_files::write(to, text.as_bytes()).with_context(|| output::cannot(to))
}

/// Returns the number behind a name in a file of the kernel.
fn number(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{HEAD, row};

    #[test]
    fn a_row_has_all_columns() {
        let row = row(3, Instant::now(), dwell_mpi::Traffic::default());
        assert_eq!(row.split(',').count(), HEAD.split(',').count());
        assert!(row.starts_with("3,0.0"));
        let column = HEAD.split(',').position(|name| name == "peak_bytes").unwrap();
        let peak: u64 = row.split(',').nth(column).unwrap().parse().unwrap();
        assert!(peak > 1 << 16, "{row}");
    }
}
