//! The progress adviser: would it pay here if targets served operations at any time, and how could they?
//!
//! A thread that serves operations needs a core. Where none is free it takes time from the process that computes, and the
//! run may become longer: maintainers of runtimes report small gains, and losses for programs that fill all cores. So
//! the advice is a ranking with predictions, and may be to leave everything as it is.

use std::fmt::Write as _;

use dwell_analyze::{Analysis, Change, PredictedLength, WhatIf};
use dwell_model::waits::Wait;
use otf2::Archive;
use serde::Serialize;

use super::{Asked, bar, gain, predict, without};
use crate::format::{seconds, wrap};

/// One way to let targets serve operations.
#[derive(Serialize)]
pub(super) struct Choice {
    /// What to do.
    what: &'static str,
    /// Costs other than time.
    price: &'static str,
    /// How to try it.
    how: String,
    recorded_seconds: f64,
    /// Length of the run with it, and its range; `None` if it cannot be predicted.
    predicted_seconds: Option<f64>,
    low_seconds: Option<f64>,
    high_seconds: Option<f64>,
    #[serde(skip)]
    range: Option<PredictedLength>,
}

/// Facts of a run that choices depend on.
struct Facts {
    runtime: String,
    settings: String,
    nodes: usize,
    /// Processes and cores of the fullest node.
    fullest: Option<(u32, u32)>,
}

impl Facts {
    fn of(archive: &Archive, analysis: &Analysis) -> Self {
        let property = |name: &str| {
            let value = archive.anchor().property(&format!("DWELL::{name}"));
            value.map(ToString::to_string).unwrap_or_default()
        };
        Self {
            runtime: property("RUNTIME"),
            settings: property("SETTINGS"),
            nodes: analysis.nodes(),
            fullest: analysis.fullest_node(),
        }
    }

    fn is(&self, runtime: &str) -> bool {
        self.runtime.contains(runtime)
    }
}

/// Returns all choices, those that make the run shortest first.
pub(super) fn choices(
    archive: &Archive,
    analysis: &Analysis,
    what_if: &WhatIf<'_>,
    cores: Option<u32>,
) -> anyhow::Result<Vec<Choice>> {
    let facts = Facts::of(archive, analysis);
    let ask = |changes: Vec<Change>| {
        predict(what_if, &Asked { words: String::new(), changes }).map(|it| it.predicted.ok())
    };
    let served = ask(without(Wait::WaitForProgress, None))?;
    let room = facts.fullest.map(|(processes, known)| (processes, cores.unwrap_or(known)));
    let threads = match room {
        None => served,
        Some((processes, cores)) => {
            // A thread that sleeps while there is nothing to do takes nothing.
            let busy = ask(Change::serving_threads(processes, cores))?;
            busy.zip(served).map(|(busy, served)| PredictedLength {
                expected: busy.expected,
                low: served.low.min(busy.low),
                high: busy.high,
            })
        }
    };
    let recorded = analysis.length();
    let mut list = Vec::new();
    let mut add = |what, price, how: String, range: Option<PredictedLength>| {
        let of = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        list.push(Choice {
            what,
            price,
            how,
            recorded_seconds: of(recorded),
            predicted_seconds: range.map(|it| of(it.expected)),
            low_seconds: range.map(|it| of(it.low)),
            high_seconds: range.map(|it| of(it.high)),
            range,
        });
    };
    let same = PredictedLength { expected: recorded, low: recorded, high: recorded };
    add("leave it as it is", "nothing", "nothing to do".into(), Some(same));
    if facts.is("Open MPI") && facts.settings.contains("OMPI_MCA_osc=pt2pt") {
        let how = match facts.nodes {
            1 => "OMPI_MCA_osc=sm, for windows that MPI_Win_allocate made",
            _ => "OMPI_MCA_osc=rdma or ucx, where the network has remote memory access",
        };
        add("another component of Open MPI", "nothing", how.into(), served);
    }
    if facts.settings.contains("UCX_TLS=tcp") {
        let how = match facts.nodes {
            1 => "UCX_TLS=sm,self",
            _ => "UCX_TLS=all on a network with remote memory access",
        };
        add("another transport of UCX", "nothing", how.into(), served);
    }
    let is_static = analysis.findings().iter().any(|it| {
        let window = it.worst.as_ref().and_then(|it| it.window.as_deref());
        window.is_some_and(|window| window.contains("static data"))
    });
    if is_static {
        let how = "shmem_malloc instead of static data for what others read and write";
        add("data on the symmetric heap", "a change of the program", how.into(), served);
    }
    let culprit = analysis.causes().iter().find(|cause| {
        let progress = Wait::WaitForProgress.about().id;
        cause.computing.is_some() && cause.waits.iter().any(|it| it.pattern == progress)
    });
    let place = culprit.and_then(|it| it.before.as_ref().or(it.path.last()));
    let place = place.map(|step| match &step.site {
        Some(site) if site.line > 0 => {
            let file = site.file.rsplit('/').next().unwrap_or(&site.file);
            format!(" that ends at {}:{}", file, site.line)
        }
        _ => format!(" that ends with {}", step.region),
    });
    let place = place.unwrap_or_default();
    let call = if facts.is("SHMEM") { "shmem_fence or shmem_test" } else { "MPI_Iprobe" };
    let how = format!("call {call} a few times in each millisecond of the computing{place}");
    add("calls that progress in the target's loop", "a change of the program", how, served);
    let thread = match () {
        () if facts.is("MPICH") => Some("MPIR_CVAR_ASYNC_PROGRESS=1"),
        () if facts.is("Intel") => Some("I_MPI_ASYNC_PROGRESS=1"),
        () if facts.is("Cray") => Some("MPICH_ASYNC_PROGRESS=1"),
        () => None,
    };
    if let Some(how) = thread {
        add("a thread in each process that serves", "a core for each process", how.into(), threads);
    }
    if facts.is("MPI") && !facts.is("SHMEM") {
        let how = "Casper: LD_PRELOAD=libcasper.so CSP_NG=1, and one more process on each node";
        add("processes that do nothing but serve", "a core of each node", how.into(), served);
    }
    // Sorting is stable: what costs least comes first among equals.
    list.sort_by_key(|it| it.range.map_or(u64::MAX, |it| it.expected));
    Ok(list)
}

/// Returns the ranking in words.
pub(super) fn text(analysis: &Analysis, choices: &[Choice], width: usize) -> String {
    let of = |nanoseconds: u64| seconds(nanoseconds as f64 * 1e-9);
    let (least, most) = analysis
        .findings()
        .iter()
        .filter(|it| it.latency.is_some())
        .fold((0, 0), |sum, it| (sum.0 + it.nanoseconds, sum.1 + it.at_most));
    let waits = match least == most {
        true => of(least),
        false => format!("{} to {}", of(least), of(most)),
    };
    let mut text = format!(
        "The run took {}. Waits for progress take {waits} over all processes.\n",
        of(analysis.length())
    );
    if let Some((processes, cores)) = analysis.fullest_node() {
        let _ = writeln!(text, "A node has {cores} cores for {processes} processes.");
    }
    for (number, choice) in (1..).zip(choices) {
        let answer = match &choice.range {
            Some(range) if range.expected == analysis.length() && range.low == range.high => {
                "no change".into()
            }
            Some(range) => {
                format!("{}, {}{}", of(range.expected), gain(analysis.length(), range), bar(range))
            }
            None => "cannot be predicted".into(),
        };
        let _ = writeln!(text, "\n{number}. {}: {answer}", super::capital(choice.what));
        for (name, content) in [("price", choice.price), ("try", choice.how.as_str())] {
            for (at, line) in wrap(content, width.saturating_sub(10)).iter().enumerate() {
                let name = if at == 0 { name } else { "" };
                let _ = writeln!(text, "   {name:<7}{line}");
            }
        }
    }
    text
}
