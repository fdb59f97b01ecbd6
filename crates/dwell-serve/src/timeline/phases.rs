//! Phases of the timeline: when each location was in which instance of a phase, or had which value of a parameter.
//!
//! A slice has a call path, and the call path says the instance, so that slices which follow each other tell it. Where there are too
//! many of them, one look at each column is enough: nothing shorter can be seen.

use dwell_report::Axis;
use dwell_timeline::{CallPath, Span};

use crate::types::{TimelineAxis, TimelinePhases};

use super::rows::single_locations;
use super::{Result, View};

/// Greatest number of slices of a location that are looked at one by one.
const MOST_SLICES: usize = 20_000;

/// Greatest number of locations whose columns are looked at instead.
const MOST_SAMPLED: usize = 4;

/// Greatest number of instances of a location in an answer. More could not be told apart.
const MOST_INSTANCES: usize = 600;

impl View<'_> {
    /// Returns the instances of the phase or parameter that `phase` names, or of the outermost phase, for rows of single locations. If no
    /// row is one, those of the first location are given for the first row.
    pub(super) fn phases(&self) -> Result<TimelinePhases> {
        let query = &self.run.query;
        let axes = query.axes();
        let mut answer = TimelinePhases::default();
        for (axis, count) in &axes {
            let (name, is_phase) = (axis.name().to_owned(), matches!(axis, Axis::Phase(_)));
            answer.axes.push(TimelineAxis { name, is_phase, count: *count as u32 });
        }
        let wanted = match self.parameters.get("phase") {
            Some(name) => axes.iter().map(|it| &it.0).find(|it| it.name() == name).cloned(),
            None => self.outermost(),
        };
        let Some(axis) = wanted else { return Ok(answer) };
        answer.name = axis.name().to_owned();
        let (labels, values) = self.labels(&axis);
        let label = |path: Option<CallPath>| {
            path.and_then(|it| labels.get(it.0 as usize).copied().flatten())
        };
        let span = self.span()?;
        let columns = self.parameters.number("columns")?.unwrap_or(1024).clamp(1, 4096) as usize;
        let rows = self.asked()?;
        let wanted = single_locations(&rows);
        let mut sampled = 0;
        for (row, location) in wanted {
            let mut list = Instances::default();
            match self.index.slices(location, span, MOST_SLICES)? {
                Some(slices) => {
                    slices.iter().for_each(|it| list.add(label(it.path), it.span.common(span)));
                }
                None if sampled < MOST_SAMPLED => {
                    sampled += 1;
                    for column in 0..columns {
                        let from = span.column(column, columns);
                        let part = Span { from, to: span.column(column + 1, columns) };
                        let slice = self.index.at(location, from)?;
                        list.add(slice.and_then(|it| label(it.path)), part);
                    }
                }
                None => continue,
            }
            if list.0.len() > MOST_INSTANCES {
                answer.missing =
                    format!("Instances of {} are too short here: zoom in.", answer.name);
                continue;
            }
            for (label, span) in list.0 {
                answer.row.push(row);
                answer.from.push(self.after(span.from));
                answer.to.push(self.after(span.to));
                answer.value.push(values.get(label).cloned().unwrap_or_default());
            }
        }
        Ok(answer)
    }

    /// Returns the phase that is least deep in the call tree.
    fn outermost(&self) -> Option<Axis> {
        let query = &self.run.query;
        let meta = query.meta();
        let depth = |cnode| std::iter::successors(Some(cnode), |it| meta.cnode_parent(*it)).count();
        let phases = meta.cnodes().filter_map(|it| match query.setting(it)?.0 {
            axis @ Axis::Phase(_) => Some((depth(it), axis)),
            Axis::Parameter(_) => None,
        });
        phases.min().map(|it| it.1)
    }

    /// Returns for each call path the number of the instance that it lies in, and the names of instances.
    fn labels(&self, axis: &Axis) -> (Vec<Option<usize>>, Vec<String>) {
        let query = &self.run.query;
        let meta = query.meta();
        let mut labels: Vec<Option<usize>> = vec![None; meta.cnodes().len()];
        let mut values: Vec<String> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode).and_then(|it| labels.get(it.index()).copied());
            // What was set inside of another instance belongs to that.
            let label = above.flatten().or_else(|| {
                let (_, value) = query.setting(cnode).filter(|it| it.0 == *axis)?;
                let next = values.len();
                let at = *known.entry(value.to_owned()).or_insert(next);
                if at == next {
                    values.push(value.to_owned());
                }
                Some(at)
            });
            if let Some(place) = labels.get_mut(cnode.index()) {
                *place = label;
            }
        }
        (labels, values)
    }
}

/// Instances of a location in the order of time: number and span.
#[derive(Debug, Default, PartialEq, Eq)]
struct Instances(Vec<(usize, Span)>);

impl Instances {
    /// Adds a part of an instance, and joins it with the one before it if that is the same.
    fn add(&mut self, label: Option<usize>, part: Span) {
        let Some(label) = label else { return };
        match self.0.last_mut() {
            Some((last, span)) if *last == label && span.to == part.from => span.to = part.to,
            _ => self.0.push((label, part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use dwell_timeline::Time;

    use super::*;

    #[test]
    fn parts_of_an_instance_are_joined() {
        let span = |from, to| Span { from: Time(from), to: Time(to) };
        let mut list = Instances::default();
        for (label, part) in [
            (Some(0), span(0, 5)),
            (Some(0), span(5, 9)),
            (None, span(9, 10)),
            (Some(0), span(10, 12)),
            (Some(1), span(12, 13)),
        ] {
            list.add(label, part);
        }
        assert_eq!(list.0, vec![(0, span(0, 9)), (0, span(10, 12)), (1, span(12, 13))]);
    }
}
