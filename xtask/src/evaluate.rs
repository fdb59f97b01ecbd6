//! `cargo xtask evaluate`: repeats the evaluations of the papers on which Dwell is built.
//!
//! Each row of [`EVALUATIONS`] is one figure or question of a paper, and a command of this repository that answers it on this
//! machine. `docs/design/papers.md` says what became of every item of the papers, and quotes the results. A machine that
//! does something else makes them meaningless, so nothing is run above a [load](MOST_LOAD) unless that is asked for.

use std::fs;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Load average of a machine above which results say little.
const MOST_LOAD: f64 = 2.5;

/// Options of `cargo xtask evaluate`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only evaluations whose title contains all of these words, such as srumma
    names: Vec<String>,
    /// Print the titles and commands, and do not run them
    #[arg(long)]
    list: bool,
    /// Run even if the machine is busy
    #[arg(long)]
    busy: bool,
}

/// An evaluation: the paper and figure, the question, and the arguments of `cargo` that answer it.
struct Evaluation {
    figure: &'static str,
    title: &'static str,
    command: &'static str,
}

#[rustfmt::skip]
const EVALUATIONS: &[Evaluation] = &[
    Evaluation { figure: "000, Figures 5 to 8", title: "srumma: time, waits by kind, analysis against events", command: "xtask tables srumma --processes 1,2,4,8 --runs 5" },
    Evaluation { figure: "000, Figures 5 to 8", title: "ga-dgemm: the same over ARMCI", command: "xtask tables ga-dgemm --processes 1,2,4,8 --runs 5" },
    Evaluation { figure: "000, Figure 9", title: "sor: time and analysis with a fixed size for each process", command: "xtask tables sor --processes 1,2,4,8 --runs 5" },
    Evaluation { figure: "000, Figure 9", title: "armci-sor: the same over ARMCI", command: "xtask tables armci-sor --processes 1,2,4,8 --runs 5" },
    Evaluation { figure: "000, Figure 6", title: "speed: gets a second of the analysis, 32,768 locations", command: "xtask bench analyze --no-goals" },
    Evaluation { figure: "001, Figures 2a and 2b", title: "unification: by step, serial against parallel", command: "run --release -p dwell-unify --example unify_scale" },
    Evaluation { figure: "002, Figure 6", title: "overhead: over GASNet", command: "xtask bench overhead --only gasnet --rounds 5" },
    Evaluation { figure: "003, section 4", title: "overhead: heat, 2 processes", command: "xtask bench overhead --only programs --of heat --rounds 9" },
    Evaluation { figure: "003, section 4", title: "overhead: heat, 4 processes", command: "xtask bench overhead --only programs --of heat --rounds 9 --processes 4" },
    Evaluation { figure: "003, section 4", title: "overhead: heat, 8 processes", command: "xtask bench overhead --only programs --of heat --rounds 9 --processes 8" },
    Evaluation { figure: "003, section 4", title: "overhead: heat, 16 processes", command: "xtask bench overhead --only programs --of heat --rounds 9 --processes 16" },
    Evaluation { figure: "004, Figure 6", title: "halo: four ways to synchronise, 4 and 16 images", command: "xtask tables halo --processes 4,16 --transports hardware --runs 5" },
];

/// Runs the evaluations, one after the other.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let is_wanted =
        |it: &&Evaluation| options.names.iter().all(|name| it.title.contains(name.as_str()));
    let wanted: Vec<&Evaluation> = EVALUATIONS.iter().filter(is_wanted).collect();
    ensure!(!wanted.is_empty(), "no evaluation has all of {:?} in its title", options.names);
    for Evaluation { figure, title, command } in wanted {
        println!("\n## Paper {figure}: {title}\n\n    cargo {command}\n");
        if options.list {
            continue;
        }
        let load = load()?;
        println!("load before it: {load}\n");
        ensure!(
            options.busy || load <= MOST_LOAD,
            "the machine is busy: wait, or run it with --busy"
        );
        process::run(cargo(&workspace.root).args(command.split(' ')))?;
    }
    Ok(())
}

/// Returns the load average of the last minute.
fn load() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").context("cannot read /proc/loadavg")?;
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().context("/proc/loadavg has no number")
}
