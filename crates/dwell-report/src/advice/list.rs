//! All remedies that Dwell can print, for the book.

use dwell_model::waits::Wait;

use super::{NOT_TRIED, Tried, serving, table};
use crate::inefficient;

/// The surface that prints a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// The advice of a finding, by facts of the run.
    ByFacts,
    /// The advice of a finding if no remedy by facts applies, and the description of a metric.
    InGeneral,
    /// A choice of `dwell whatif --progress`.
    Progress,
}

/// A remedy as the book lists it.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// The surface that prints it.
    pub printed: Printed,
    /// Set for the general remedy of a wait, which the reference of waits has, too.
    pub is_of_wait: bool,
    /// The condition under which it is printed.
    pub when: String,
    /// The text. Names in braces stand for facts of the run.
    pub text: String,
    /// Program in which it was tried, or `None` if it was tried in none that is measured.
    pub tried: Option<Tried>,
}

/// Programs in which general remedies were tried.
const IN_GENERAL: &[(&str, Tried)] = &[
    ("barrier_wait", Tried { program: "MPI, computing balanced", change: "−38.3 %" }),
    ("lock_contention", Tried { program: "OpenSHMEM, a lock split in two", change: "−33.0 %" }),
    (
        "hot_target",
        Tried { program: "OpenSHMEM over TCP, atomics spread over four PEs", change: "+33 %" },
    ),
];

/// Returns all remedies: those by facts of a run, those in general, and those that `dwell whatif --progress` ranks.
pub fn remedies() -> Vec<Remedy> {
    let by_facts = table::ROWS.iter().map(|row| Remedy {
        printed: Printed::ByFacts,
        is_of_wait: false,
        when: row.when.to_owned(),
        text: row.text.to_owned(),
        tried: row.tried,
    });
    let general = Wait::ALL.iter().map(|wait| (wait.about().id, wait.about().remedy));
    let inefficient = inefficient::INEFFICIENT.iter().map(|it| (it.pattern, it.remedy));
    let in_general = general.chain(inefficient).map(|(id, text)| Remedy {
        printed: Printed::InGeneral,
        is_of_wait: Wait::of_id(id).is_some(),
        when: format!("`{id}`"),
        text: text.to_owned(),
        tried: IN_GENERAL.iter().find(|it| it.0 == id).map_or(NOT_TRIED, |it| Some(it.1)),
    });
    let progress = serving::SERVING.iter().map(|it| Remedy {
        printed: Printed::Progress,
        is_of_wait: false,
        when: it.when.to_owned(),
        text: format!("{}: {}", it.what, it.how),
        tried: it.tried,
    });
    by_facts.chain(in_general).chain(progress).collect()
}
