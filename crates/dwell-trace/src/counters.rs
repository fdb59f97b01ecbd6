//! Counters: metrics of the program, whose values it records now and then, and metrics that a recorder samples.
//!
//! A value that a program states about itself holds for a moment. Counters that recorders sample at the enter and leave of
//! regions, such as instructions, are accumulated from the beginning of the run: what counts is the difference of two
//! samples. Metrics of other kinds are ignored.

use serde::{Deserialize, Serialize};

use otf2::enums::{MetricMode, MetricOccurrence, MetricType, Type};
use otf2::id::{MetricMemberRef, MetricRef};
use otf2::read::Definitions;
use otf2::value::MetricValue;
use otf2::{Definition, List};

/// A counter of the program, or one that is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Metric class as events refer to it, or a number of its own for a counter that is sampled.
    pub id: MetricRef,
    /// Name of the metric member; empty if the archive does not define it.
    pub name: String,
    /// Unit of the values as the archive gives it, such as `ns`; empty if there is none.
    pub unit: String,
    /// Type of the values in metric records.
    pub value_type: Type,
}

/// Counters that say why computing took its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Time that the thread was running on a core, in nanoseconds.
    CpuTime,
    /// Instructions that the thread executed.
    Instructions,
    /// Cycles of the core that the thread ran on.
    Cycles,
    /// Context switches because the thread waited in the system.
    Voluntary,
    /// Context switches because another thread got the core.
    Involuntary,
    /// Page faults, with and without input or output.
    Faults,
}

/// Number of roles that a counter can have.
pub const ROLES: usize = 6;

/// Bit in the number of a counter that is sampled; the rest is the number of its metric member.
const SAMPLED: u32 = 1 << 31;

/// A counter of a class that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Number of the [`Counter`].
    pub id: MetricRef,
    /// True if values are accumulated from the beginning of the run.
    pub accumulates: bool,
    /// Meaning of the counter for computing, if it has any.
    pub role: Option<Role>,
}

/// Counters of an archive, in the order of their ids, and classes that are sampled.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    list: Vec<Counter>,
    sampled: Vec<(MetricRef, Vec<Option<Member>>)>,
}

/// Returns what a counter says about computing, by the names that Dwell, Score-P and PAPI give it.
fn role(name: &str) -> Option<Role> {
    Some(match name {
        "cpu_time" => Role::CpuTime,
        "instructions" | "PAPI_TOT_INS" => Role::Instructions,
        "cycles" | "PAPI_TOT_CYC" => Role::Cycles,
        "voluntary_switches" | "ru_nvcsw" => Role::Voluntary,
        "involuntary_switches" | "ru_nivcsw" => Role::Involuntary,
        "minor_faults" | "major_faults" | "ru_minflt" | "ru_majflt" => Role::Faults,
        _ => return None,
    })
}

impl Counters {
    /// Reads the metrics of an archive. Of the classes that are not sampled, it keeps those with a single member of
    /// type `USER` and mode `ABSOLUTE_POINT`.
    pub fn of(defs: &Definitions) -> Self {
        let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
        let mut members: Vec<(MetricMemberRef, String, String, Type)> = Vec::new();
        for definition in defs.iter() {
            let Definition::MetricMember(it) = definition else { continue };
            if it.metric_type == MetricType::User && it.metric_mode == MetricMode::AbsolutePoint {
                members.push((it.id, text(it.name), text(it.unit), it.value_type));
            }
        }
        let mut counters = Vec::new();
        let mut sampled = Vec::new();
        for definition in defs.iter() {
            let Definition::MetricClass(class) = definition else { continue };
            let occurs = class.metric_occurrence;
            if matches!(occurs, MetricOccurrence::Synchronous | MetricOccurrence::SynchronousStrict)
            {
                sampled.push((class.id, Self::members(defs, class.metric_members, &mut counters)));
                continue;
            }
            let mut of_class = class.metric_members.iter();
            let (Some(first), None) = (of_class.next(), of_class.next()) else { continue };
            if let Some((_, name, unit, value_type)) = members.iter().find(|it| it.0 == first) {
                let (name, unit, value_type) = (name.clone(), unit.clone(), *value_type);
                counters.push(Counter { id: class.id, name, unit, value_type });
            }
        }
        counters.sort_by_key(|it: &Counter| it.id);
        counters.dedup_by_key(|it| it.id);
        sampled.sort_by_key(|it| it.0);
        Self { list: counters, sampled }
    }

    /// Returns the members of a class that is sampled in the order of its values, and adds them to the counters.
    fn members(
        defs: &Definitions,
        of: List<'_, MetricMemberRef>,
        counters: &mut Vec<Counter>,
    ) -> Vec<Option<Member>> {
        let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
        let mut members = vec![None; of.iter().count()];
        for definition in defs.iter() {
            let Definition::MetricMember(it) = definition else { continue };
            let places = of.iter().zip(&mut members).filter(|(id, _)| *id == it.id);
            for (id, place) in places {
                let accumulates = it.metric_mode == MetricMode::AccumulatedStart;
                if !accumulates && it.metric_mode != MetricMode::AbsolutePoint {
                    continue;
                }
                let name = text(it.name);
                let (id, role) = (MetricRef(id.0 | SAMPLED), role(&name));
                let role = role.filter(|_| accumulates && it.value_type != Type::Double);
                *place = Some(Member { id, accumulates, role });
                let (unit, value_type) = (text(it.unit), it.value_type);
                counters.push(Counter { id, name, unit, value_type });
            }
        }
        members
    }

    /// Returns the counters of a class that is sampled, in the order of its values.
    pub fn sampled(&self, class: MetricRef) -> Option<&[Option<Member>]> {
        let at = self.sampled.binary_search_by_key(&class, |it| it.0).ok()?;
        self.sampled.get(at).map(|it| it.1.as_slice())
    }

    /// Returns `true` if a counter with this role is sampled.
    pub fn has(&self, role: Role) -> bool {
        let mut members = self.sampled.iter().flat_map(|it| it.1.iter().flatten());
        members.any(|it| it.role == Some(role))
    }

    /// Returns all counters of the archive.
    pub fn iter(&self) -> impl Iterator<Item = &Counter> {
        self.list.iter()
    }

    /// Returns a counter by its id.
    pub fn get(&self, id: MetricRef) -> Option<&Counter> {
        let at = self.list.binary_search_by_key(&id, |it| it.id).ok()?;
        self.list.get(at)
    }

    /// Returns the counter that an event is about, and its value.
    pub fn value(
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
pub enum Number {
    /// Signed integer, for metrics of type `INT64`.
    Int(i64),
    /// Unsigned integer, for metrics whose type is neither `INT64` nor `DOUBLE`.
    Unsigned(u64),
    /// Floating-point number, for metrics of type `DOUBLE` and for results from numbers of different kinds.
    Real(f64),
}

impl Number {
    /// Interprets the bits of a metric value by its type.
    pub fn of(value: MetricValue) -> Self {
        match value.value_type {
            Type::Double => Self::Real(f64::from_bits(value.bits)),
            Type::Int64 => Self::Int(value.bits.cast_signed()),
            _ => Self::Unsigned(value.bits),
        }
    }

    /// Returns by how much a number is greater than an earlier one of the same kind. Counters that were reset have not
    /// counted anything.
    pub fn since(self, earlier: Self) -> Self {
        match (self, earlier) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.saturating_sub(b).max(0)),
            (Self::Unsigned(a), Self::Unsigned(b)) => Self::Unsigned(a.saturating_sub(b)),
            _ => Self::Real((self.to_f64() - earlier.to_f64()).max(0.0)),
        }
    }

    /// Returns the sum of two numbers of one kind, as the recorder computes it. Integers wrap around.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.wrapping_add(b)),
            (Self::Unsigned(a), Self::Unsigned(b)) => Self::Unsigned(a.wrapping_add(b)),
            _ => Self::Real(self.to_f64() + other.to_f64()),
        }
    }

    /// Converts the number to floating point, which rounds integers beyond 2^53.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}
