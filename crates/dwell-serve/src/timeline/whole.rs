//! The whole timeline as lists, for exported files, whose page computes its pictures from them: as far as a bound on slices allows.

use dwell_model::waits::Wait;
use dwell_timeline::{Index, Location, Slice, Span, Time};

use super::{Result, View};
use crate::types::TimelineWhole;

/// Greatest number of slices of a whole timeline. Each takes about five bytes of a file.
const MOST: u64 = 200_000;

/// Steps in which the end of the listed part is looked for: a part of 1 in 1,024.
const STEPS: u32 = 10;

/// Returns whether the lists have all slices of a run.
pub(super) fn has_all(index: &Index) -> bool {
    index.count() <= MOST
}

impl View<'_> {
    /// Returns whether a part of the timeline has at most [`MOST`] slices.
    fn fits(&self, span: Span) -> Result<bool> {
        let add = |count: &mut u64, _: Location, _: &Slice, _: u64| *count += 1;
        let all = [self.index.all_locations()];
        // Slices are counted in blocks, which may be nearly empty.
        let counts = self.index.add_up(&all, span, 16 * MOST, || 0_u64, add)?;
        Ok(counts.is_some_and(|it| it.into_iter().sum::<u64>() <= MOST))
    }

    /// Returns the slices of all locations from the begin of the run on, up to the last time for which they fit.
    pub(super) fn whole(&self) -> Result<TimelineWhole> {
        let mut span = self.index.span();
        if !has_all(self.index) {
            let (from, length) = (span.from.0, span.length());
            let mut step = length / 2;
            span.to = Time(from);
            for _ in 0..STEPS {
                let longer = Span { to: Time(span.to.0 + step), ..span };
                if self.fits(longer)? {
                    span = longer;
                }
                step /= 2;
            }
        }
        let locations = || (0..self.index.locations()).map(Location);
        let mut list = TimelineWhole { until: self.after(span.to), ..TimelineWhole::default() };
        list.names = locations().map(|it| self.name(it)).collect();
        list.patterns = Wait::ALL.iter().map(|it| it.about().id.to_owned()).collect();
        list.meanings = Wait::ALL.iter().map(|it| it.about().meaning.to_owned()).collect();
        for location in locations() {
            let slices = match span.length() {
                0 => Vec::new(),
                _ => self.index.slices(location, span, MOST as usize)?.unwrap_or_default(),
            };
            list.starts.push(slices.first().map_or(0.0, |it| self.after(it.span.from)));
            for slice in slices {
                list.to.push(self.after(slice.span.to));
                list.call.push(slice.path.map_or(-1, |it| i64::from(it.0)) as i32);
                list.class.push(self.index.class(&slice) as u32);
                list.wait.push(slice.wait.map_or(-1, |it| it.what as i32));
                list.culprit.push(slice.wait.map_or(-1, |it| i64::from(it.culprit.0)) as i32);
            }
            list.ends.push(list.to.len() as u32);
        }
        for step in self.index.critical_path().iter().filter(|it| it.span.from < span.to) {
            list.critical_location.push(step.location.0);
            list.critical_from.push(self.after(step.span.from));
            list.critical_to.push(self.after(step.span.to));
        }
        Ok(list)
    }
}
