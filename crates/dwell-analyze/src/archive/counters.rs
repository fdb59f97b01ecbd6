//! Counters of the program: metrics whose values it records now and then.
//!
//! Only values that a program states about itself, each at a moment, count as such. Hardware counters, which other
//! tools accumulate from the beginning of the run, mean something else and are ignored.

use serde::{Deserialize, Serialize};

use otf2::enums::{MetricMode, MetricType, Type};
use otf2::id::{MetricMemberRef, MetricRef};
use otf2::read::Definitions;
use otf2::value::MetricValue;
use otf2::{Definition, List};

/// A counter of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counter {
    /// Metric class or instance, as events refer to it.
    pub(crate) id: MetricRef,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) value_type: Type,
}

/// Counters of an archive, in the order of their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters(Vec<Counter>);

impl Counters {
    pub(crate) fn of(defs: &Definitions) -> Self {
        let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
        let mut members: Vec<(MetricMemberRef, String, String, Type)> = Vec::new();
        for definition in defs.iter() {
            let Definition::MetricMember(it) = definition else { continue };
            if it.metric_type == MetricType::User && it.metric_mode == MetricMode::AbsolutePoint {
                members.push((it.id, text(it.name), text(it.unit), it.value_type));
            }
        }
        let mut counters = Vec::new();
        for definition in defs.iter() {
            let Definition::MetricClass(class) = definition else { continue };
            let mut of_class = class.metric_members.iter();
            let (Some(first), None) = (of_class.next(), of_class.next()) else { continue };
            if let Some((_, name, unit, value_type)) = members.iter().find(|it| it.0 == first) {
                let (name, unit, value_type) = (name.clone(), unit.clone(), *value_type);
                counters.push(Counter { id: class.id, name, unit, value_type });
            }
        }
        counters.sort_by_key(|it| it.id);
        Self(counters)
    }

    /// Returns all counters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Counter> {
        self.0.iter()
    }

    /// Returns a counter by its id.
    pub(crate) fn get(&self, id: MetricRef) -> Option<&Counter> {
        let at = self.0.binary_search_by_key(&id, |it| it.id).ok()?;
        self.0.get(at)
    }

    /// Returns the counter that an event is about, and its value.
    pub(crate) fn value(
        &self,
        metric: MetricRef,
        values: List<'_, MetricValue>,
    ) -> Option<(MetricRef, Number)> {
        self.get(metric)?;
        Some((metric, Number::of(values.iter().next()?)))
    }
}

/// A value of a counter, or a sum of values. Integers stay integers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Number {
    Int(i64),
    Unsigned(u64),
    Real(f64),
}

impl Number {
    pub(crate) fn of(value: MetricValue) -> Self {
        match value.value_type {
            Type::Double => Self::Real(f64::from_bits(value.bits)),
            Type::Int64 => Self::Int(value.bits.cast_signed()),
            _ => Self::Unsigned(value.bits),
        }
    }

    /// Returns the sum of two numbers of one kind, as the recorder computes it. Integers wrap around.
    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.wrapping_add(b)),
            (Self::Unsigned(a), Self::Unsigned(b)) => Self::Unsigned(a.wrapping_add(b)),
            _ => Self::Real(self.to_f64() + other.to_f64()),
        }
    }

    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}
