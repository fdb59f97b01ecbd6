//! Counters of the timeline, read from the trace when they are shown.

use dwell_timeline::{Counter, Sample, Span, Time};

use crate::question::Fault;
use crate::types::{TimelineCounter, TimelineCounters, TimelineSampleList, TimelineSamples};

use super::rows::single_locations;
use super::{Result, View};

/// Greatest number of locations whose values are read for an answer.
const MOST_LOCATIONS: usize = 16;

/// Greatest number of events that are read for an answer.
const MOST_READ: u64 = 2_000_000;

impl View<'_> {
    /// Returns the names of the counters, which are few; none if the trace is not there.
    pub(super) fn counters(&self) -> TimelineCounters {
        let one = |it: &Counter| TimelineCounter {
            name: it.name.clone(),
            unit: it.unit.clone(),
            accumulates: it.accumulates,
        };
        let counters = self.trace().map_or(&[][..], |it| it.counters());
        TimelineCounters { counters: counters.iter().map(one).collect() }
    }

    /// Returns the values of a counter for the first rows of single locations, or for the first location if no row is one. Of a counter
    /// that accumulates they are rates between samples.
    pub(super) fn samples(&self) -> Result<TimelineSamples> {
        let wrong = || Fault::Bad("there is no such counter".into());
        let number = self.parameters.number("counter")?.ok_or_else(wrong)? as usize;
        let trace = self.trace().ok_or_else(wrong)?;
        let counter = trace.counters().get(number).ok_or_else(wrong)?;
        let span = self.span()?;
        let columns = self.parameters.number("columns")?.unwrap_or(1024).clamp(1, 4096) as usize;
        let rows = self.asked()?;
        let mut wanted = single_locations(&rows);
        let omitted = wanted.len().saturating_sub(MOST_LOCATIONS);
        wanted.truncate(MOST_LOCATIONS);
        let unit = match counter.accumulates {
            true => format!("{}/s", counter.unit),
            false => counter.unit.clone(),
        };
        let mut answer = TimelineSamples { unit, ..TimelineSamples::default() };
        if omitted > 0 {
            answer.missing = format!("The counter is drawn for the first {MOST_LOCATIONS} rows.");
        }
        let each = MOST_READ / wanted.len().max(1) as u64;
        for (row, location) in wanted {
            let Some(samples) = trace.samples(location, number, span, each)? else {
                answer.missing = "Too much happened here to read the counter: zoom in.".into();
                continue;
            };
            let mut points = match counter.accumulates {
                true => rates(&last_of_columns(&samples, span, columns)),
                false => extremes(&samples, span, columns),
            };
            points.retain(|it| it.1.is_finite());
            let time = |it: Time| self.after(it);
            answer.lists.push(TimelineSampleList {
                row,
                location: location.0,
                name: self.name(location),
                from: points.iter().map(|it| time(it.0.from)).collect(),
                to: points.iter().map(|it| time(it.0.to)).collect(),
                value: points.iter().map(|it| it.1).collect(),
            });
        }
        Ok(answer)
    }
}

/// Divides samples by the columns that they lie in.
fn by_column(samples: &[Sample], span: Span, columns: usize) -> impl Iterator<Item = &[Sample]> {
    let column = move |it: &Sample| {
        let after = u128::from(it.time.0.saturating_sub(span.from.0));
        after * columns as u128 / u128::from(span.length().max(1))
    };
    samples.chunk_by(move |a, b| column(a) == column(b))
}

/// Returns the last sample of each column.
fn last_of_columns(samples: &[Sample], span: Span, columns: usize) -> Vec<Sample> {
    let first = samples.first().into_iter();
    let all = first.chain(by_column(samples, span, columns).filter_map(<[Sample]>::last));
    let mut list: Vec<Sample> = all.copied().collect();
    list.dedup();
    list
}

/// Returns how much a counter grew in a second, from each sample to the next. Counters that were reset have not counted anything.
fn rates(samples: &[Sample]) -> Vec<(Span, f64)> {
    let rate = |two: &[Sample]| match two {
        [a, b] if b.time > a.time => {
            let span = Span { from: a.time, to: b.time };
            Some((span, (b.value - a.value).max(0.0) / (span.length() as f64 / 1e9)))
        }
        _ => None,
    };
    samples.windows(2).filter_map(rate).collect()
}

/// Returns the samples, or of columns with more than four the first, the least, the greatest and the last.
fn extremes(samples: &[Sample], span: Span, columns: usize) -> Vec<(Span, f64)> {
    let point = |it: &Sample| (Span { from: it.time, to: it.time }, it.value);
    let mut points = Vec::new();
    for list in by_column(samples, span, columns) {
        if list.len() <= 4 {
            points.extend(list.iter().map(point));
            continue;
        }
        let by_value = |a: &&Sample, b: &&Sample| a.value.total_cmp(&b.value);
        let some =
            [list.first(), list.iter().min_by(by_value), list.iter().max_by(by_value), list.last()];
        let mut some: Vec<&Sample> = some.into_iter().flatten().collect();
        some.sort_by_key(|it| it.time);
        points.extend(some.into_iter().map(point));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(list: &[(u64, f64)]) -> Vec<Sample> {
        list.iter().map(|it| Sample { time: Time(it.0), value: it.1 }).collect()
    }

    #[test]
    fn counters_that_accumulate_have_rates() {
        let all =
            samples(&[(0, 10.0), (500_000_000, 11.0), (1_000_000_000, 14.0), (1_500_000_000, 2.0)]);
        let found: Vec<f64> = rates(&all).into_iter().map(|it| it.1).collect();
        assert_eq!(found, [2.0, 6.0, 0.0]);
        // Two columns: the first sample, and the last of each.
        let span = Span { from: Time(0), to: Time(2_000_000_000) };
        assert_eq!(last_of_columns(&all, span, 2), [all[0], all[1], all[3]]);
    }

    #[test]
    fn the_extremes_of_a_column_are_kept() {
        let all: Vec<(u64, f64)> =
            (0..100).map(|it| (it, if it == 57 { -8.0 } else { it as f64 })).collect();
        let span = Span { from: Time(0), to: Time(100) };
        let found: Vec<f64> =
            extremes(&samples(&all), span, 2).into_iter().map(|it| it.1).collect();
        assert_eq!(found, [0.0, 0.0, 49.0, 49.0, 50.0, -8.0, 99.0, 99.0]);
        assert_eq!(extremes(&samples(&all), span, 100).len(), 100);
    }
}
