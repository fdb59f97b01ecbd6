//! Waits of the timeline: the longest of a view, the instances of a finding, and what happened at one point.

use dwell_model::waits::Wait;
use dwell_timeline::{CallPath, Computing, Location, MOST_INSTANCES, Slice, Span};

use super::operations::MOST_READ;
use super::{Result, View};
use crate::question::Fault;
use crate::types::{
    TimelineAt, TimelineComputing, TimelineDoing, TimelineInstance, TimelineInstances,
    TimelineOperation, TimelineWait, TimelineWaits,
};

/// Greatest number of waits in an answer.
const MOST_WAITS: u32 = 2000;

/// Greatest number of instances in an answer.
const LISTED_INSTANCES: usize = 200;

/// Number of functions that are listed for a stretch.
const LISTED_FUNCTIONS: usize = 6;

/// Number of operations that are listed for a call.
const LISTED_OPERATIONS: usize = 12;

impl View<'_> {
    pub(super) fn wait(&self, location: Location, slice: &Slice) -> Option<TimelineWait> {
        let waiting = slice.wait?;
        Some(TimelineWait {
            location: location.0,
            from: self.after(slice.span.from),
            to: self.after(slice.span.to),
            call: slice.path.map(|it| it.0),
            title: waiting.what.about().title.into(),
            culprit: waiting.culprit.0,
        })
    }

    /// Returns the finding that the parameters name: a call path and the id of a wait.
    pub(super) fn finding(&self) -> Result<Option<(CallPath, Wait)>> {
        let (Some(call), Some(pattern)) =
            (self.parameters.number("call")?, self.parameters.get("pattern"))
        else {
            return Ok(None);
        };
        let what = Wait::ALL.iter().find(|it| it.about().id == pattern);
        let what = what.ok_or(Fault::Bad("there is no such wait".into()))?;
        Ok(Some((CallPath(call), *what)))
    }

    pub(super) fn waits(&self) -> Result<TimelineWaits> {
        let span = self.span()?;
        let most = self.parameters.number("most")?.unwrap_or(MOST_WAITS).min(MOST_WAITS) as usize;
        let finding = self.finding()?;
        let only = self.only()?;
        let is_called = |path: Option<CallPath>| {
            let of = |only: &Vec<bool>| path.and_then(|it| only.get(it.0 as usize)).copied();
            only.as_ref().is_none_or(|it| of(it).unwrap_or(false))
        };
        let wanted = |slice: &Slice| {
            let is_found = finding.is_none_or(|(path, what)| {
                slice.path == Some(path) && slice.wait.is_some_and(|it| it.what == what)
            });
            is_found && is_called(slice.path)
        };
        let mut list: Vec<(Location, Slice)> = Vec::new();
        for range in self.locations()? {
            let range = Location(range.start)..Location(range.end);
            list.extend(self.index.worst_waits(range, span, most, &wanted)?);
        }
        list.sort_by_key(|(location, it)| {
            (std::cmp::Reverse(it.span.length()), it.span.from, *location)
        });
        list.dedup();
        list.truncate(most);
        let waits = list.iter().filter_map(|(location, slice)| self.wait(*location, slice));
        Ok(TimelineWaits { waits: waits.collect() })
    }

    pub(super) fn at(&self) -> Result<TimelineAt> {
        let location = self.location("location")?;
        let time = self.time("time", self.index.span().from)?;
        let slice = self.index.at(location, time)?;
        let name = self.name(location);
        let mut at = TimelineAt {
            location: location.0,
            name,
            from: self.after(time),
            to: self.after(time),
            call: None,
            class: "none".into(),
            wait: None,
            meaning: None,
            culprit_name: None,
            meanwhile: Vec::new(),
            computing: Vec::new(),
            operations: Vec::new(),
            operations_count: 0,
        };
        let Some(slice) = slice else { return Ok(at) };
        (at.from, at.to) = (self.after(slice.span.from), self.after(slice.span.to));
        at.call = slice.path.map(|it| it.0);
        at.class = self.index.class(&slice).name().into();
        at.wait = self.wait(location, &slice);
        if let Some(waiting) = slice.wait {
            at.meaning = Some(waiting.what.about().meaning.into());
            at.culprit_name = Some(self.name(waiting.culprit));
            let doing = self.index.meanwhile(waiting.culprit, slice.span)?;
            at.meanwhile = doing
                .into_iter()
                .take(12)
                .map(|it| TimelineDoing {
                    call: it.path.map(|it| it.0),
                    class: it.class.name().into(),
                    count: it.count as f64,
                    seconds: it.nanoseconds as f64 / 1e9,
                })
                .collect();
        }
        let computes = slice.wait.map_or(location, |it| it.culprit);
        if slice.wait.is_some() || at.class == "compute" {
            at.computing = self.computing(computes, slice.span)?;
        }
        if slice.wait.is_some() || at.class != "compute" {
            let call = Span { from: self.index.since(location, slice.span.from)?, ..slice.span };
            let own = location..Location(location.0 + 1);
            let found = self.read(&[own], call)?.unwrap_or_default();
            let mut list = found.list;
            list.retain(|it| it.origin == location && it.span.from >= call.from);
            at.operations_count = list.len() as u32;
            list.sort_by_key(|it| (std::cmp::Reverse(it.span.length()), *it));
            list.truncate(LISTED_OPERATIONS);
            let one = |it: dwell_timeline::Operation| TimelineOperation {
                kind: it.kind.name().into(),
                partner: it.partner.0,
                partner_name: self.name(it.partner),
                from: self.after(it.span.from),
                to: self.after(it.span.to),
                bytes: it.bytes as f64,
            };
            at.operations = list.into_iter().map(one).collect();
        }
        Ok(at)
    }

    /// Returns where samples found a location.
    fn computing(&self, location: Location, span: Span) -> Result<Vec<TimelineComputing>> {
        let Some(trace) = self.trace() else { return Ok(Vec::new()) };
        let list = trace.computing(location, span, MOST_READ)?.into_iter().take(LISTED_FUNCTIONS);
        let one = |it: Computing| TimelineComputing { place: it.place, samples: it.samples as u32 };
        Ok(list.map(one).collect())
    }

    pub(super) fn instances(&self) -> Result<TimelineInstances> {
        let none = TimelineInstances { count: 0.0, most: MOST_INSTANCES as u32, worst: Vec::new() };
        let Some((path, what)) = self.finding()? else { return Ok(none) };
        let Some(instances) = self.index.instances(path, what) else { return Ok(none) };
        let one = |it: &dwell_timeline::Instance| TimelineInstance {
            location: it.location.0,
            culprit: it.culprit.0,
            call_from: self.after(it.call.from),
            call_to: self.after(it.call.to),
            from: self.after(it.span.from),
            to: self.after(it.span.to),
            seconds: it.nanoseconds as f64 / 1e9,
        };
        let worst = instances.worst.iter().take(LISTED_INSTANCES).map(one).collect();
        Ok(TimelineInstances { count: instances.count as f64, worst, ..none })
    }
}
