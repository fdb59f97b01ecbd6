//! The progress adviser: would it pay here if targets served operations at any time, and how could they?
//!
//! A thread that serves operations needs a core. Where none is free it takes time from the process that computes, and the
//! run may become longer: maintainers of runtimes report small gains, and losses for programs that fill all cores. So
//! the advice is a ranking with predictions, and may be to leave everything as it is.

use std::fmt::Write as _;

use dwell_analyze::{Analysis, Change, Finding, PredictedLength, WhatIf};
use dwell_model::layer::{Layer, Processes};
use dwell_model::waits::Wait;
use dwell_report::{Gain, Serving, Settings};
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

/// Properties of a run that choices depend on.
struct Properties {
    layer: Layer,
    runtime: String,
    settings: String,
    is_static: bool,
}

impl Properties {
    fn of(archive: &Archive, analysis: &Analysis) -> Self {
        let property = |name: &str| {
            let value = archive.anchor().property(&format!("DWELL::{name}"));
            value.map(ToString::to_string).unwrap_or_default()
        };
        let waits = || analysis.findings().iter().filter(|it| it.latency.is_some());
        let window = |it: &Finding| it.worst.as_ref().and_then(|it| it.window.clone());
        // Without a wait for progress, the names of processes tell the language.
        let most = waits().max_by_key(|it| it.at_most).map(|it| it.layer);
        let named = || analysis.process_names().find_map(|(_, name)| Processes::of_name(name));
        let of_names = || {
            let names = named()?;
            Layer::ALL.iter().copied().find(|layer| layer.processes() == names)
        };
        Self {
            layer: most.or_else(of_names).unwrap_or(Layer::OF_MESSAGES),
            runtime: property("RUNTIME"),
            settings: property("SETTINGS"),
            is_static: waits().any(|it| window(it).is_some_and(|it| it.contains("static data"))),
        }
    }
}

/// Returns all choices, those that make the run shortest first.
pub(super) fn choices(
    archive: &Archive,
    analysis: &Analysis,
    what_if: &WhatIf<'_>,
    cores: Option<u32>,
) -> anyhow::Result<Vec<Choice>> {
    let properties = Properties::of(archive, analysis);
    let ask = |changes: Vec<Change>| {
        predict(what_if, &Asked { words: String::new(), changes }).map(|it| it.predicted.ok())
    };
    let served = ask(without(Wait::WaitForProgress, None))?;
    let room =
        analysis.fullest_node().map(|(processes, known)| (processes, cores.unwrap_or(known)));
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
    let of = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    let Properties { layer, ref runtime, ref settings, is_static } = properties;
    let settings = Settings { layer, runtime, settings, nodes: analysis.nodes(), is_static };
    let recorded = analysis.length();
    let choice = |it: &Serving| {
        let range = match it.gain {
            Gain::Nothing => {
                Some(PredictedLength { expected: recorded, low: recorded, high: recorded })
            }
            Gain::Served => served,
            Gain::Threads => threads,
        };
        Choice {
            what: it.what,
            price: it.price,
            how: it.how.replace("{place}", &place),
            recorded_seconds: of(recorded),
            predicted_seconds: range.map(|it| of(it.expected)),
            low_seconds: range.map(|it| of(it.low)),
            high_seconds: range.map(|it| of(it.high)),
            range,
        }
    };
    let mut list: Vec<Choice> = dwell_report::serving(&settings).map(choice).collect();
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
