//! Gathers the facts of a run and of its findings that advice follows from.

use dwell_analyze::{Analysis, Finding, Inefficiency, Meanwhile, Serves};
use dwell_report::Facts;
use dwell_report::findings::{Cause, Findings, Named};
use otf2::Archive;

use super::words::{call, counted};

/// Gives advice about the findings of a run.
pub(super) struct Advice<'a> {
    analysis: &'a Analysis,
    runtime: String,
    settings: String,
}

impl<'a> Advice<'a> {
    pub(super) fn of(archive: &Archive, analysis: &'a Analysis) -> Self {
        let property = |name: &str| {
            let value = archive.anchor().property(&format!("DWELL::{name}"));
            value.map(ToString::to_string).unwrap_or_default()
        };
        Self { analysis, runtime: property("RUNTIME"), settings: property("SETTINGS") }
    }

    /// Returns advice on a finding. `document` has the ids of all findings.
    pub(super) fn about(&self, finding: &Finding, document: &Findings) -> String {
        let worst = finding.worst.as_ref();
        let doing = worst.and_then(|it| it.meanwhile.as_ref());
        let longest = doing.and_then(|it| it.calls.first());
        let longest_text =
            longest.map(|it| call(std::slice::from_ref(&it.call))).unwrap_or_default();
        let on_itself = doing.map(on_itself).unwrap_or_default();
        let meanwhile = doing.map(|doing| dwell_report::Meanwhile {
            computing: computing(doing),
            call: &longest_text,
            same: longest.is_some_and(|it| finding.path.last() == Some(&it.call)),
            finding: longest.and_then(|it| self.id(it, finding, document)),
            on_itself: &on_itself,
        });
        let region = finding.path.last().map_or("", |it| it.region.as_str());
        let window = worst.and_then(|it| it.window.as_deref()).unwrap_or_default();
        let is_message =
            finding.layer.has_messages() && window.is_empty() && !region.contains("MPI_Win_");
        let part = |it: &Cause| it.part_of(finding.call_path, finding.pattern);
        let parts = document.causes.iter().filter_map(|it| Some((part(it)?, it)));
        let cause = parts.max_by(|a, b| a.0.total_cmp(&b.0)).map(|it| it.1);
        dwell_report::advice(&Facts {
            pattern: finding.pattern,
            call: region,
            layer: finding.layer,
            runtime: &self.runtime,
            settings: &self.settings,
            nodes: self.analysis.nodes(),
            window,
            is_message,
            partner: worst.and_then(|it| it.partner.as_deref()).unwrap_or_default(),
            cause: cause.map_or("", |it| it.id.as_str()),
            meanwhile,
            serving_threads: self.serving_threads(),
        })
    }

    /// Returns advice on inefficient communication.
    pub(super) fn instead(&self, of: &Inefficiency) -> String {
        dwell_report::advice(&Facts {
            pattern: of.pattern,
            call: of.path.last().map_or("", |it| it.region.as_str()),
            layer: of.layer,
            runtime: &self.runtime,
            settings: &self.settings,
            nodes: self.analysis.nodes(),
            window: "",
            is_message: false,
            partner: "",
            cause: "",
            meanwhile: None,
            serving_threads: self.serving_threads(),
        })
    }

    /// Returns the gain of threads that serve, as a part of the run.
    fn serving_threads(&self) -> Option<f64> {
        let gain = self.analysis.serving_threads()?;
        Some(gain.expected as f64 / self.analysis.length().max(1) as f64)
    }

    /// Returns the id of the finding about a call that a partner was in, unless it is the one that the advice is about.
    fn id(
        &self,
        doing: &dwell_analyze::Doing,
        about: &Finding,
        document: &Findings,
    ) -> Option<u32> {
        doing.call.site.as_ref()?;
        let is_there = |(_, named): &(u32, Named)| match *named {
            Named::Entry(at) => {
                let entry = self.analysis.entries().get(at);
                let first = entry.and_then(|it| self.analysis.findings().get(it.findings.start));
                first.is_some_and(|it| {
                    it.call_path != about.call_path && it.path.last() == Some(&doing.call)
                })
            }
            Named::Inefficient(at) => {
                let it = self.analysis.inefficient().get(at);
                it.is_some_and(|it| it.path.last() == Some(&doing.call))
            }
            Named::Cause(_) => false,
        };
        document.listed().into_iter().find(is_there).map(|(id, _)| id)
    }
}

/// Returns the part of an instance in which the partner was in no runtime call.
fn computing(doing: &Meanwhile) -> f64 {
    let calls: u64 = doing.calls.iter().map(|it| it.nanoseconds).sum();
    doing.computing as f64 / (doing.computing + calls).max(1) as f64
}

/// Names the calls that the partner made on itself.
fn on_itself(doing: &Meanwhile) -> String {
    let mut calls = doing.calls.iter().filter(|it| it.serves == Serves::NotOnItself);
    calls.next().map_or(String::new(), |it| {
        let place = call(std::slice::from_ref(&it.call));
        format!("{} of {place}", counted(it.count, "call", "calls"))
    })
}
