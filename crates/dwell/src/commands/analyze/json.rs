//! Converts an analysis to the document `findings.json`, whose format [`dwell_report::findings`] describes.

use dwell_analyze::{
    Activities, Analysis, Cause, Caused, Computed, Counters, Crowd, Culprits, Doing, Efficiency,
    Entry, Finding, Function, Functions, Gain, Inefficiency, Instance, Meanwhile, Phase, Polling,
    ProgramPhase, Sampled, Serves, Share, Step, Unexplained, Unpredictable,
};
use dwell_report::findings;
use dwell_report::findings::counters::reasons;

use super::advice::Advice;
use super::words::{in_seconds, meaning};
use super::{inefficient, iterations};

/// Unexplained time of the run is listed from this part of the run on, as a divisor, even if it is no finding.
const LARGE: u64 = 10;

/// Returns the whole document `findings.json`.
pub(super) fn document(analysis: &Analysis, advice: &Advice<'_>) -> findings::Findings {
    let mut document = without_advice(analysis);
    document.number();
    // Advice names other findings by their ids.
    let remedies: Vec<String> =
        analysis.findings().iter().map(|it| advice.about(it, &document)).collect();
    document.findings.iter_mut().zip(remedies).for_each(|(it, remedy)| it.remedy = remedy);
    let others = document.inefficient.iter_mut().zip(analysis.inefficient());
    others.for_each(|(to, it)| to.remedy = advice.instead(it));
    document.judge();
    document
}

/// Returns the document without ids and remedies.
fn without_advice(analysis: &Analysis) -> findings::Findings {
    let (times, losses, processor) =
        (analysis.times(), analysis.losses(), analysis.processor_time());
    let of_run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    let is_large = |it: &Unexplained| {
        it.phase == Phase::Run && it.nanoseconds.saturating_mul(LARGE) >= times.run
    };
    let is_listed = |it: &&Unexplained| it.is_finding || it.away > 0 || is_large(it);
    findings::Findings {
        causes: analysis.causes().iter().map(|it| cause(it, times.run)).collect(),
        checksum: String::new(),
        clock_residual_seconds: analysis.clock_residual().map(in_seconds),
        critical_path: analysis
            .critical()
            .iter()
            .map(|it| findings::Critical {
                call_path: it.call_path,
                is_call: it.is_call,
                path: path(&it.path),
                seconds: in_seconds(it.nanoseconds),
                share: it.nanoseconds as f64 / it.of.max(1) as f64,
            })
            .collect(),
        crowds: analysis.crowds().map(crowd).collect(),
        damage: analysis.damage().to_vec(),
        efficiency: analysis.efficiency().map(efficiency),
        entries: analysis.entries().iter().map(|it| entry(it, times.run)).collect(),
        events: analysis.events(),
        findings: analysis.findings().iter().map(|it| finding(it, times.run)).collect(),
        functions: analysis.functions().map(functions),
        inefficient: analysis.inefficient().iter().map(|it| inefficiency(it, times.run)).collect(),
        iterations: iterations::document(analysis),
        length_seconds: in_seconds(analysis.length()),
        locations: analysis.locations() as u64,
        not_computed: analysis
            .not_computed()
            .iter()
            .map(|it| findings::NotComputed {
                calls: it.calls,
                pattern: it.pattern.to_owned(),
                reason: it.reason.clone(),
            })
            .collect(),
        on_core_seconds: processor.map(|it| in_seconds(it.on_core.nanoseconds())),
        polling: analysis.polling().iter().map(polling).collect(),
        polling_seconds: in_seconds(losses.polling),
        phases: analysis.program_phases().iter().map(program_phase).collect(),
        processes: analysis.processes() as u64,
        ready_seconds: processor.and_then(|it| it.ready).map(|it| in_seconds(it.nanoseconds())),
        run_seconds: in_seconds(times.run),
        shutdown_seconds: in_seconds(times.shutdown),
        startup_seconds: in_seconds(times.start_up),
        time_seconds: in_seconds(analysis.time()),
        transfer_seconds: in_seconds(losses.transfer),
        unexplained: analysis.unexplained().iter().filter(is_listed).map(unexplained).collect(),
        unexplained_seconds: in_seconds(losses.unexplained),
        verdict: findings::Verdict::default(),
        version: findings::VERSION,
        waits_seconds: in_seconds(of_run().map(|it| it.nanoseconds).sum()),
        waits_seconds_at_most: in_seconds(of_run().map(|it| it.at_most).sum()),
    }
}

/// Returns the share of the run, or `None` for start-up and shutdown and for a run without time.
fn share(nanoseconds: u64, phase: Phase, run: u64) -> Option<f64> {
    (phase == Phase::Run && run > 0).then(|| nanoseconds as f64 / run as f64)
}

fn phase(it: Phase) -> findings::Phase {
    match it {
        Phase::Run => findings::Phase::Run,
        Phase::StartUp => findings::Phase::StartUp,
        Phase::Shutdown => findings::Phase::Shutdown,
    }
}

/// Returns the functions that compute in the stretches of a cause.
fn sampled(it: &Sampled) -> findings::Sampled {
    let seconds = |nanoseconds: f64| nanoseconds / 1e9;
    let part = |it: &Computed| findings::Computed {
        file: known(&it.file),
        function: it.function.clone(),
        inside: it.inside.clone(),
        line: (it.line > 0).then_some(it.line),
        margin_seconds: seconds(it.margin),
        samples: it.samples,
        seconds: seconds(it.nanoseconds),
    };
    findings::Sampled {
        on_core_seconds: seconds(it.on_core.0),
        others_on_core_seconds: it.on_core.1.map(seconds),
        ready_seconds: it.ready.map(|it| seconds(it.0)),
        others_ready_seconds: it.ready.filter(|_| it.on_core.1.is_some()).map(|it| seconds(it.1)),
        others_samples: it.samples.1,
        goes_on: it.goes_on,
        exact: it.exact,
        parts: it.parts.iter().map(part).collect(),
        samples: it.samples.0,
    }
}

/// Returns a text that is known, which is not empty.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the functions in which the program computes.
fn functions(it: &Functions) -> findings::FunctionTimes {
    let one = |Function { time, most }: &Function| findings::FunctionTime {
        file: known(&time.file),
        function: time.function.clone(),
        inside: time.inside.clone(),
        line: (time.line > 0).then_some(time.line),
        margin_seconds: time.margin / 1e9,
        most_process: most.0.clone(),
        most_seconds: in_seconds(most.1),
        samples: time.samples,
        seconds: time.nanoseconds / 1e9,
        share: time.nanoseconds / it.nanoseconds.max(1) as f64,
    };
    findings::FunctionTimes {
        list: it.list.iter().map(one).collect(),
        samples: it.samples,
        seconds: in_seconds(it.nanoseconds),
    }
}

fn cause(it: &Cause, run: u64) -> findings::Cause {
    let step = |it: &Option<Step>| it.iter().flat_map(|it| path(std::slice::from_ref(it))).next();
    findings::Cause {
        after: step(&it.after),
        before: step(&it.before),
        call_path: it.call_path,
        computing_seconds: it.computing.map(|it| in_seconds(it.0)),
        counters: it.counters.as_ref().map(|counters| {
            let computing = it.computing.and_then(|(own, others)| Some((own, others?)));
            counted(counters, computing)
        }),
        direct_seconds: in_seconds(it.direct),
        gain: it.gain.as_ref().map(gain),
        id: String::new(),
        margin_seconds: in_seconds(it.margin),
        node: match &it.culprits {
            Culprits::Node(name) => Some(name.clone()),
            Culprits::Processes | Culprits::Spread => None,
        },
        others_seconds: it.computing.and_then(|it| it.1).map(in_seconds),
        path: path(&it.path),
        processes: shares(&it.processes),
        sampled: it.sampled.as_ref().map(sampled),
        seconds: in_seconds(it.cost()),
        share: share(it.cost(), Phase::Run, run),
        spread: it.culprits == Culprits::Spread,
        waits: it.waits.iter().map(caused).collect(),
        what: match it.what {
            Activities::Computing => findings::Activity::Computing,
            Activities::Call => findings::Activity::Call,
            Activities::LeavesLate => findings::Activity::LeavesLate,
            Activities::SharesCores => findings::Activity::SharesCores,
            Activities::Polling => findings::Activity::Polling,
            Activities::NotStarted => findings::Activity::NotStarted,
            Activities::Unknown => findings::Activity::Unknown,
        },
    }
}

/// Returns counters of computing, and why it took longer than that of others. `computing` are the times of both.
fn counted(it: &Counters, computing: Option<(u64, u64)>) -> findings::Counters {
    let beside = |it: Option<(u64, Option<u64>)>, unit: f64| {
        let compared = |(own, others): (u64, Option<u64>)| findings::Compared {
            others: others.map(|others| others as f64 * unit),
            own: own as f64 * unit,
        };
        it.map(compared)
    };
    let mut counters = findings::Counters {
        cpu_seconds: beside(it.cpu_time, 1e-9),
        cycles: beside(it.cycles, 1.0),
        instructions: beside(it.instructions, 1.0),
        involuntary_switches: beside(it.involuntary, 1.0),
        page_faults: beside(it.faults, 1.0),
        reasons: Vec::new(),
        voluntary_switches: beside(it.voluntary, 1.0),
    };
    if let Some((own, others)) = computing {
        counters.reasons = reasons(in_seconds(own), in_seconds(others), &counters);
    }
    counters
}

fn caused(it: &Caused) -> findings::Caused {
    findings::Caused {
        call: path(std::slice::from_ref(&it.call)).pop().unwrap_or_default(),
        call_path: it.call_path,
        direct_seconds: in_seconds(it.direct),
        pattern: it.pattern.to_owned(),
        seconds: in_seconds(it.direct + it.propagated),
    }
}

fn confidence(it: dwell_analyze::Confidence) -> findings::Confidence {
    use dwell_analyze::Confidence as C;
    match it {
        C::Exact => findings::Confidence::Exact,
        C::ByRule => findings::Confidence::ByRule,
        C::LowerBound => findings::Confidence::LowerBound,
        C::BetweenBounds => findings::Confidence::BetweenBounds,
        C::Inferred => findings::Confidence::Inferred,
    }
}

fn entry(it: &Entry, run: u64) -> findings::Entry {
    findings::Entry {
        findings: it.findings.clone().map(|at| at as u32).collect(),
        gain: it.gain.as_ref().map(gain),
        id: 0,
        phase: phase(it.phase),
        seconds: in_seconds(it.nanoseconds),
        seconds_at_most: in_seconds(it.at_most),
        share: share(it.nanoseconds, it.phase, run),
        share_at_most: share(it.at_most, it.phase, run),
        small: it.is_small(run),
    }
}

/// Returns the gain of an entry.
fn gain(it: &Result<Gain, Unpredictable>) -> findings::Gain {
    let of = |part: fn(&Gain) -> i64| it.as_ref().ok().map(|it| part(it) as f64 * 1e-9);
    findings::Gain {
        reason: it.as_ref().err().map(ToString::to_string),
        seconds: of(|it| it.expected),
        seconds_at_least: of(|it| it.low),
        seconds_at_most: of(|it| it.high),
    }
}

fn finding(it: &Finding, run: u64) -> findings::Finding {
    findings::Finding {
        call_path: it.call_path,
        calls: it.calls,
        confidence: Some(confidence(it.confidence)),
        explanation: meaning(it.pattern).to_owned(),
        id: 0,
        latency_seconds: it.latency.map(in_seconds),
        layer: it.layer.name().to_owned(),
        locations: it.locations,
        mean_seconds: mean(it.nanoseconds, it.calls),
        mean_seconds_at_most: mean(it.at_most, it.calls),
        metric: it.metric.clone(),
        origins: shares(&it.origins),
        path: path(&it.path),
        path_seconds: in_seconds(it.path_nanoseconds),
        pattern: it.pattern.to_owned(),
        phase: phase(it.phase),
        remedy: String::new(),
        seconds: in_seconds(it.nanoseconds),
        seconds_at_most: in_seconds(it.at_most),
        served_seconds_at_most: it.served.map(in_seconds),
        share: share(it.nanoseconds, it.phase, run),
        share_at_most: share(it.at_most, it.phase, run),
        targets: shares(&it.targets),
        visits: it.visits,
        worst: it.worst.as_ref().map(instance),
    }
}

fn efficiency(it: Efficiency) -> findings::Efficiency {
    findings::Efficiency {
        communication: it.communication,
        load_balance: it.load_balance,
        parallel: it.parallel,
        progress: it.factors.map(|it| it.progress),
        serialisation: it.factors.map(|it| it.serialisation),
        transfer: it.factors.map(|it| it.transfer),
    }
}

fn program_phase(it: &ProgramPhase) -> findings::ProgramPhase {
    findings::ProgramPhase {
        efficiency: it.efficiency.map(efficiency),
        instances: it.instances,
        name: it.name.clone(),
        seconds: in_seconds(it.length),
    }
}

fn inefficiency(it: &Inefficiency, run: u64) -> findings::Inefficiency {
    findings::Inefficiency {
        call_path: it.call_path,
        calls: it.calls,
        evidence: inefficient::document(it),
        explanation: meaning(it.pattern).to_owned(),
        id: 0,
        layer: it.layer.name().to_owned(),
        locations: it.locations,
        origins: shares(&it.origins),
        path: path(&it.path),
        path_seconds: in_seconds(it.path_nanoseconds),
        pattern: it.pattern.to_owned(),
        remedy: String::new(),
        seconds: in_seconds(it.nanoseconds),
        seconds_at_most: in_seconds(it.at_most),
        share: share(it.nanoseconds, Phase::Run, run),
        share_at_most: share(it.at_most, Phase::Run, run),
        visits: it.visits,
    }
}

/// Returns the mean wait over the calls that waited, in seconds, or `None` without such calls.
fn mean(nanoseconds: u64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| in_seconds(nanoseconds) / calls as f64)
}

fn instance(it: &Instance) -> findings::Instance {
    findings::Instance {
        begin_seconds: in_seconds(it.begin),
        meanwhile: it.meanwhile.as_ref().map(meanwhile),
        on_whom: it.partner.clone(),
        seconds_at_most: in_seconds(it.nanoseconds),
        who: it.process.clone(),
        window: it.window.clone(),
    }
}

fn meanwhile(it: &Meanwhile) -> findings::Meanwhile {
    findings::Meanwhile {
        calls: it.calls.iter().map(doing).collect(),
        computing_seconds: in_seconds(it.computing),
    }
}

fn doing(it: &Doing) -> findings::Doing {
    let findings::Step { caller, column, file, line, nth_on_line, region, .. } = step(&it.call);
    findings::Doing {
        caller,
        calls: it.count,
        column,
        file,
        line,
        nth_on_line,
        on_itself: it.serves == Serves::NotOnItself,
        outlived: it.serves == Serves::Outlived,
        region,
        seconds: in_seconds(it.nanoseconds),
        serves_others: match it.serves {
            Serves::Always => findings::Serves::Yes,
            Serves::Maybe => findings::Serves::Maybe,
            Serves::Never | Serves::NotOnItself | Serves::Outlived => findings::Serves::No,
        },
    }
}

fn shares(list: &[Share]) -> Vec<findings::Share> {
    let one = |it: &Share| findings::Share {
        seconds: in_seconds(it.nanoseconds),
        seconds_at_most: in_seconds(it.at_most),
        who: it.who.clone(),
    };
    list.iter().map(one).collect()
}

fn path(steps: &[Step]) -> Vec<findings::Step> {
    steps.iter().map(step).collect()
}

pub(super) fn step(step: &Step) -> findings::Step {
    let site = step.site.as_ref();
    findings::Step {
        caller: site.map(|it| it.function.clone()),
        column: site.map(|it| it.column).filter(|it| *it > 0),
        file: site.map(|it| it.file.clone()).filter(|it| !it.is_empty()),
        line: site.map(|it| it.line).filter(|it| *it > 0),
        nth_on_line: site.and_then(|it| it.nth).map(|it| it.0),
        region: step.region.clone(),
        through: site.map(|it| it.through.clone()).filter(|it| !it.is_empty()),
    }
}

fn unexplained(it: &Unexplained) -> findings::Unexplained {
    findings::Unexplained {
        away_seconds: in_seconds(it.away),
        call_path: it.call_path,
        crowds: it.crowds.iter().map(crowd).collect(),
        is_finding: it.is_finding,
        layer: it.layer.name().to_owned(),
        locations: it.locations,
        longest_at: it.longest.as_ref().map(|it| it.1.clone()),
        longest_seconds: it.longest.as_ref().map(|it| in_seconds(it.0)),
        origins: shares(&it.origins),
        path: path(&it.path),
        path_seconds: in_seconds(it.path_nanoseconds),
        seconds: in_seconds(it.nanoseconds),
        targets: shares(&it.targets),
        too_few_seconds: in_seconds(it.too_few),
        transfer_seconds: in_seconds(it.transfer),
        visits: it.visits,
    }
}

fn crowd(it: &Crowd) -> findings::Crowd {
    findings::Crowd { cores: it.cores, node: it.node.clone(), processes: it.processes }
}

fn polling(it: &Polling) -> findings::Polling {
    findings::Polling {
        calls: it.calls,
        layer: it.layer.name().to_owned(),
        locations: it.locations,
        path: path(&it.path),
        seconds: in_seconds(it.nanoseconds),
        seconds_until_release: in_seconds(it.until_release),
        targets: shares(&it.targets),
    }
}
