//! `cargo xtask cluster`: a cluster on one machine, and what Dwell does on it.
//!
//! Three nodes and a login node run real Slurm and share a real GlusterFS volume. Each node has its own network, host
//! name, processes, `/tmp` and `/dev/shm`, so that it can only see of the others what a node of a cluster can see. A
//! trial runs Dwell there as a user would, and compares the result with what the program itself wrote down.
//!
//! It needs root on Debian, because it makes namespaces and installs packages, and ends everything that it started,
//! also if a trial fails.

mod daemons;
mod nodes;
mod trials;

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::ci::install;
use crate::process::{self, cargo};
use crate::workspace::Workspace;

use nodes::Cluster;
use trials::TRIALS;

/// Options of `cargo xtask cluster`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Run only trials whose names begin like one of these; all of them if none is given
    names: Vec<String>,
    /// Print the names of the trials and do not run them
    #[arg(long)]
    list: bool,
}

#[rustfmt::skip]
const PACKAGES: &[&str] = &[
    "slurm-wlm", "slurmd", "slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "munge", "iproute2", "util-linux",
    "glusterfs-server", "glusterfs-client", "attr", "fuse3", "bindfs", "openmpi-bin", "libopenmpi-dev", "mpich",
    "libmpich-dev", "gcc",
];

/// Runs the trials and prints a table of them. Fails if any of them fails.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.list {
        TRIALS.iter().for_each(|trial| println!("{}", trial.name));
        return Ok(());
    }
    let wanted = |name: &str| {
        options.names.is_empty() || options.names.iter().any(|it| name.starts_with(it.as_str()))
    };
    let chosen: Vec<_> = TRIALS.iter().filter(|trial| wanted(trial.name)).collect();
    ensure!(!chosen.is_empty(), "there is no such trial; see cargo xtask cluster --list");
    install::debian_packages(PACKAGES)?;
    process::run(cargo(&workspace.root).args(["build", "-p", "dwell", "-p", "dwell-preload"]))?;
    let cluster = Cluster::start(workspace)?;
    let mut rows = Vec::new();
    for trial in chosen {
        println!("=== {}", trial.name);
        let began = Instant::now();
        let result = (trial.run)(&cluster);
        if let Err(error) = &result {
            println!("{error:#}");
        }
        rows.push((trial.name, began.elapsed(), result));
    }
    drop(cluster);
    println!("\n{:<28} {:>7}  result", "trial", "seconds");
    for (name, time, result) in &rows {
        let text = result.as_ref().map_or("FAILED", String::as_str);
        println!("{name:<28} {:>7.1}  {text}", time.as_secs_f64());
    }
    let failed = rows.iter().filter(|(_, _, result)| result.is_err()).count();
    if failed > 0 {
        bail!("{failed} of {} trials failed", rows.len());
    }
    Ok(())
}
