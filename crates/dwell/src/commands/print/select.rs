//! Selection of records by locations, times and kinds, as written on the command line.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, bail};
use otf2::def::ClockProperties;
use otf2::id::{LocationRef, Time};
use otf2::marker::MarkerRecord;
use otf2::snapshot::Snapshot;
use otf2::{Definition, Event};

use super::layout;

/// A range of locations: `3`, or `0-3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ids(RangeInclusive<u64>);

impl FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| {
                format!("`{text}` is not a location; expected ids such as 7, or ranges such as 0-3")
            })
        };
        let range = match text.split_once('-') {
            Some((first, last)) => number(first)?..=number(last)?,
            None => {
                let id = number(text)?;
                id..=id
            }
        };
        if range.is_empty() {
            Err(format!("the range `{text}` ends before it begins"))
        } else {
            Ok(Self(range))
        }
    }
}

/// Returns the selected locations among `defined` in the order of the archive; all of them if none is selected.
pub(super) fn locations(
    defined: &[LocationRef],
    asked: &[Ids],
) -> anyhow::Result<Vec<LocationRef>> {
    for Ids(range) in asked {
        if !defined.iter().any(|location| range.contains(&location.0)) {
            bail!("the archive has no location {}", show(range));
        }
    }
    let wanted = |location: &LocationRef| {
        asked.is_empty() || asked.iter().any(|Ids(range)| range.contains(&location.0))
    };
    Ok(defined.iter().copied().filter(wanted).collect())
}

fn show(range: &RangeInclusive<u64>) -> String {
    if range.start() == range.end() {
        range.start().to_string()
    } else {
        format!("from {} to {}", range.start(), range.end())
    }
}

/// A point in time: in ticks of the trace's clock, or relative to the beginning of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Absolute time in ticks.
    Ticks(u64),
    /// Time since the beginning of the trace: `count` parts of a second, where a second has `parts` of them.
    After { count: u128, parts: u128 },
}

/// Units of time and their powers of ten below a second. Units that end like others come first.
const UNITS: &[(&str, u32)] = &[("ms", 3), ("us", 6), ("µs", 6), ("ns", 9), ("s", 0)];

/// Largest number of digits of a time, limited by the arithmetic.
const DIGITS: usize = 18;

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a time; expected ticks such as 8704192655658, or 0.5s, 250ms, 12us, 80ns"
            )
        };
        let unit = UNITS.iter().find_map(|unit| Some((text.strip_suffix(unit.0)?, unit.1)));
        let Some((number, below)) = unit else {
            return text.parse().map(Self::Ticks).map_err(|_| wrong());
        };
        let (whole, decimals) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
        let digits = format!("{whole}{decimals}");
        if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(wrong());
        }
        let count = digits.parse().map_err(|_| wrong())?;
        Ok(Self::After { count, parts: 10_u128.pow(below + decimals.len() as u32) })
    }
}

impl Moment {
    /// Returns the first tick that is not before the time, and the last that is not after it.
    fn ticks(self, clock: Option<ClockProperties>) -> anyhow::Result<(u64, u64)> {
        let (count, parts) = match self {
            Self::Ticks(ticks) => return Ok((ticks, ticks)),
            Self::After { count, parts } => (count, parts),
        };
        let clock = clock.context(
            "the archive does not contain the resolution of its clock; give the times in ticks",
        )?;
        let ticks = count * u128::from(clock.timer_resolution);
        let at = |ticks: u128| {
            let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
            clock.global_offset.saturating_add(ticks)
        };
        Ok((at(ticks.div_ceil(parts)), at(ticks / parts)))
    }
}

/// Selected range of times, both ends included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: Time,
    pub(super) to: Time,
}

impl Window {
    pub(super) fn new(
        from: Option<Moment>,
        to: Option<Moment>,
        clock: Option<ClockProperties>,
    ) -> anyhow::Result<Self> {
        let from = from.map(|moment| moment.ticks(clock)).transpose()?;
        let to = to.map(|moment| moment.ticks(clock)).transpose()?;
        Ok(Self {
            from: Time(from.map_or(0, |ticks| ticks.0)),
            to: Time(to.map_or(u64::MAX, |ticks| ticks.1)),
        })
    }

    pub(super) fn contains(&self, time: Time) -> bool {
        (self.from..=self.to).contains(&time)
    }
}

/// Selected kinds of records.
#[derive(Debug)]
pub(super) struct Kinds(Option<HashSet<&'static str>>);

impl Kinds {
    /// Selects the kinds of these names in any spelling, or all kinds if there are no names.
    pub(super) fn new(names: &[String]) -> anyhow::Result<Self> {
        if names.is_empty() {
            return Ok(Self(None));
        }
        let mut kinds = HashSet::new();
        for name in names {
            let before = kinds.len();
            let wanted = plain(name);
            kinds.extend(all_kinds().filter(|kind| {
                let title = layout::title(kind);
                plain(kind) == wanted || title.is_some_and(|title| plain(title) == wanted)
            }));
            if kinds.len() == before && !kinds.iter().any(|kind| plain(kind) == wanted) {
                bail!("unknown record type `{name}`; names are such as RmaGet or RMA_GET");
            }
        }
        Ok(Self(Some(kinds)))
    }

    pub(super) fn contains(&self, kind: &str) -> bool {
        self.0.as_ref().is_none_or(|kinds| kinds.contains(kind))
    }
}

fn all_kinds() -> impl Iterator<Item = &'static str> {
    let families = [Event::KINDS, Definition::KINDS, Snapshot::KINDS, MarkerRecord::KINDS];
    families.into_iter().flatten().map(|kind| kind.1).chain(["Unknown"])
}

/// Returns a name without the characters in which spellings differ.
fn plain(name: &str) -> String {
    name.chars().filter(|&c| c != '_' && c != '-').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{Ids, Kinds, Moment, Window, locations};
    use otf2::def::ClockProperties;
    use otf2::id::{LocationRef, Time};

    #[test]
    fn locations_by_id_and_range() {
        let defined = [4, 0, 1, 1 << 40].map(LocationRef);
        let of = |asked: &[&str]| {
            let asked: Vec<Ids> = asked.iter().map(|ids| ids.parse().expect(ids)).collect();
            locations(&defined, &asked)
                .ok()
                .map(|found| found.iter().map(|l| l.0).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), Some(vec![4, 0, 1, 1 << 40]));
        assert_eq!(of(&["0-3"]), Some(vec![0, 1]));
        assert_eq!(of(&["1", "4"]), Some(vec![4, 1]));
        assert_eq!(of(&["1", "7"]), None);
        for wrong in ["", "x", "3-1", "-1", "1-"] {
            assert!(wrong.parse::<Ids>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_in_ticks_and_seconds() {
        let clock = ClockProperties {
            timer_resolution: 3_000_000_000,
            global_offset: 1_000,
            trace_length: 0,
            realtime_timestamp: u64::MAX,
        };
        let window = |from: &str, to: &str| {
            let window =
                Window::new(from.parse().ok(), to.parse().ok(), Some(clock)).expect("clock");
            (window.from.0, window.to.0)
        };
        assert_eq!(window("17", "18"), (17, 18));
        assert_eq!(window("0.5s", "250ms"), (1_500_001_000, 750_001_000));
        assert_eq!(window("12us", "0.5ns"), (37_000, 1_001));
        assert_eq!(window("0.5ns", "1.9ns"), (1_002, 1_005));
        assert_eq!(window("0s", "999999999999999999s"), (1_000, u64::MAX));
        for wrong in ["", "s", "1.5", "1e3s", "-1s", "1.s5", "1m"] {
            assert!(wrong.parse::<Moment>().is_err(), "{wrong}");
        }
        assert!(Window::new("1s".parse().ok(), None, None).is_err());
        assert!(Window::new("1".parse().ok(), None, None).expect("ticks").contains(Time(1)));
    }

    #[test]
    fn kinds_in_every_spelling() {
        for name in ["RmaGet", "RMA_GET", "rmaget", "rma-get"] {
            let kinds = Kinds::new(&[name.to_owned()]).expect(name);
            assert!(kinds.contains("RmaGet") && !kinds.contains("RmaPut"), "{name}");
        }
        let titles = ["PARAMETER_INT64", "io_change_flags"].map(str::to_owned);
        let kinds = Kinds::new(&titles).expect("titles of otf2-print");
        assert!(kinds.contains("ParameterInt") && kinds.contains("IoChangeStatusFlags"));
        assert!(Kinds::new(&["RmaGot".to_owned()]).is_err());
        assert!(Kinds::new(&["Enter".to_owned(), "ENTER".to_owned()]).is_ok());
    }
}
