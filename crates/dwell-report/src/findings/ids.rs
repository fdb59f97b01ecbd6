//! Ids of findings and causes: the only place that gives them.
//!
//! A finding is what one item of the list of `dwell analyze` is about: all waits of a call path, or inefficient
//! communication. Findings have numbers, causes have letters. Both are written into `findings.json`; every other surface
//! shows and accepts the ids that it reads there.

use std::cmp::Reverse;

use super::{Findings, Phase};

/// Place of something that has an id, counted from 0 in its list of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Waits of a call path, in [`Findings::entries`].
    Entry(usize),
    /// Inefficient communication, in [`Findings::inefficient`].
    Inefficient(usize),
    /// A cause of waits, in [`Findings::causes`].
    Cause(usize),
}

impl Findings {
    /// Gives an id to every entry, to inefficient communication and to every cause.
    ///
    /// Numbers follow the list of `dwell analyze`: the greatest gain first, in hundredths of the length of the run, and
    /// then the longest. Entries that this list sums up come after it: small ones, start-up and shutdown.
    pub fn number(&mut self) {
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u128;
        let length = nanoseconds(self.length_seconds).max(1);
        let locations = 2 * u128::from(self.locations.max(1));
        let weight = |least: f64, most: f64, predicted: Option<f64>| {
            let both = nanoseconds(least) + nanoseconds(most);
            let gain = predicted.map_or(both / locations, |it| nanoseconds(it.max(0.0)));
            Reverse((gain * 100 / length, both))
        };
        let mut order = Vec::new();
        for (at, it) in self.entries.iter().enumerate() {
            let predicted = it.gain.as_ref().and_then(|it| it.seconds);
            let group = match it.phase {
                Phase::Run => u8::from(it.small),
                Phase::StartUp => 2,
                Phase::Shutdown => 3,
            };
            let weight = weight(it.seconds, it.seconds_at_most, predicted);
            order.push(((group, weight), Named::Entry(at)));
        }
        for (at, it) in self.inefficient.iter().enumerate() {
            let weight = weight(it.seconds, it.seconds_at_most, None);
            order.push(((0, weight), Named::Inefficient(at)));
        }
        // Sorting is stable: waits come before what can gain as much otherwise.
        order.sort_by_key(|it| it.0);
        for (id, (_, named)) in (1..).zip(order) {
            match named {
                Named::Entry(at) => {
                    let Some(entry) = self.entries.get_mut(at) else { continue };
                    entry.id = id;
                    for &at in &entry.findings {
                        self.findings.get_mut(at as usize).into_iter().for_each(|it| it.id = id);
                    }
                }
                Named::Inefficient(at) => {
                    self.inefficient.get_mut(at).into_iter().for_each(|it| it.id = id);
                }
                Named::Cause(_) => {}
            }
        }
        self.causes.iter_mut().enumerate().for_each(|(at, it)| it.id = letters(at));
    }

    /// Returns what an id names: a number or a letter of the list of `dwell analyze`.
    pub fn named(&self, id: &str) -> Option<Named> {
        let Ok(number) = id.parse::<u32>() else {
            return self.causes.iter().position(|it| it.id == id).map(Named::Cause);
        };
        let entry = self.entries.iter().position(|it| it.id == number).map(Named::Entry);
        let other = || self.inefficient.iter().position(|it| it.id == number);
        entry.or_else(|| other().map(Named::Inefficient))
    }

    /// Returns the findings that `dwell analyze` lists one by one, with their ids and in their order.
    pub fn listed(&self) -> Vec<(u32, Named)> {
        let large = |it: &super::Entry| it.phase == Phase::Run && !it.small;
        let entries = self.entries.iter().enumerate().filter(|it| large(it.1));
        let entries = entries.map(|(at, it)| (it.id, Named::Entry(at)));
        let others = self.inefficient.iter().enumerate();
        let mut list: Vec<_> =
            entries.chain(others.map(|(at, it)| (it.id, Named::Inefficient(at)))).collect();
        list.sort_by_key(|it| it.0);
        list
    }

    /// Returns the waits that an id names, each by the number of its call path and its pattern. For a cause they are those
    /// that it caused, the longest first; inefficient communication has none.
    pub fn waits_of(&self, named: Named) -> Vec<(u32, &str)> {
        match named {
            Named::Entry(at) => {
                let list = self.entries.get(at).into_iter().flat_map(|it| &it.findings);
                let list = list.filter_map(|at| self.findings.get(*at as usize));
                list.map(|it| (it.call_path, it.pattern.as_str())).collect()
            }
            Named::Inefficient(_) => Vec::new(),
            Named::Cause(at) => {
                let list = self.causes.get(at).into_iter().flat_map(|it| &it.waits);
                list.map(|it| (it.call_path, it.pattern.as_str())).collect()
            }
        }
    }

    /// Returns the number of the call path in `trace.cubex` that an id names, if it is known.
    pub fn call_path_of(&self, id: &str) -> Option<u32> {
        match self.named(id)? {
            Named::Entry(at) => {
                let first = *self.entries.get(at)?.findings.first()?;
                self.findings.get(first as usize).map(|it| it.call_path)
            }
            Named::Inefficient(at) => self.inefficient.get(at).map(|it| it.call_path),
            Named::Cause(at) => self.causes.get(at)?.call_path,
        }
    }
}

/// Returns the letters of the cause at a place: A to Z, then AA, AB and so on.
fn letters(mut place: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + (place % 26) as u8));
        match place / 26 {
            0 => return letters.into_iter().rev().collect(),
            more => place = more - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, Named, Phase, letters};
    use crate::findings::{Cause, Entry, Finding, Gain, Inefficiency};

    #[test]
    fn letters_go_on_after_z() {
        let all = [0, 25, 26, 27, 51, 52, 701, 702].map(letters);
        assert_eq!(all, ["A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn the_greatest_gain_is_first_and_what_is_summed_up_is_last() {
        let entry = |at: u32, seconds: f64, gain: Option<f64>| Entry {
            findings: vec![at],
            gain: gain.map(|it| Gain { seconds: Some(it), ..Gain::default() }),
            seconds,
            seconds_at_most: seconds,
            ..Entry::default()
        };
        let mut document = Findings {
            causes: vec![Cause::default(), Cause::default()],
            entries: vec![
                entry(0, 9.0, Some(0.1)),
                entry(1, 4.0, Some(3.0)),
                Entry { small: true, ..entry(2, 0.1, None) },
                Entry { phase: Phase::StartUp, ..entry(3, 5.0, None) },
            ],
            findings: (0..4)
                .map(|at| Finding { call_path: 10 + at, ..Finding::default() })
                .collect(),
            inefficient: vec![Inefficiency {
                seconds: 4.0,
                seconds_at_most: 4.0,
                call_path: 20,
                ..Inefficiency::default()
            }],
            length_seconds: 10.0,
            locations: 2,
            ..Findings::default()
        };
        document.number();
        assert_eq!(document.entries.iter().map(|it| it.id).collect::<Vec<_>>(), [3, 1, 4, 5]);
        assert_eq!(document.findings.iter().map(|it| it.id).collect::<Vec<_>>(), [3, 1, 4, 5]);
        let list = [(1, Named::Entry(1)), (2, Named::Inefficient(0)), (3, Named::Entry(0))];
        assert_eq!(document.listed(), list);
        assert_eq!(document.named("2"), Some(Named::Inefficient(0)));
        assert_eq!(document.named("B"), Some(Named::Cause(1)));
        assert_eq!(
            (document.named("6"), document.named("C"), document.named("")),
            (None, None, None)
        );
        assert_eq!(document.call_path_of("1"), Some(11));
        assert_eq!(document.call_path_of("2"), Some(20));
        assert_eq!(document.waits_of(Named::Entry(1)), [(11, "")]);
    }
}
