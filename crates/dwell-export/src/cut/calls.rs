//! Open calls of a location, and which of them a cut keeps.

use std::collections::HashSet;

use otf2::id::RegionRef;
use otf2::read::Definitions;
use otf2::{Attribute, Definition, Event, List};

use super::Cut;

/// Regions that a cut keeps, with everything that they call; `None` for all.
#[derive(Debug)]
pub(super) struct Chosen(Option<HashSet<RegionRef>>);

impl Chosen {
    pub(super) fn of(definitions: &Definitions, cut: &Cut) -> Self {
        let Some(pattern) = &cut.calls else { return Self(None) };
        let chosen = definitions.iter().filter_map(|it| match it {
            Definition::Region(region) => {
                let name = definitions.string(region.name)?;
                matches(pattern.as_bytes(), name.as_bytes()).then_some(region.id)
            }
            _ => None,
        });
        Self(Some(chosen.collect()))
    }
}

/// Returns `true` if a name fits a pattern, in which `*` matches any characters and `?` for one.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => {
            (0..=name.len()).any(|at| matches(rest, name.get(at..).unwrap_or_default()))
        }
        Some((first, rest)) => name.split_first().is_some_and(|(letter, name)| {
            (*first == b'?' || first == letter) && matches(rest, name)
        }),
    }
}

/// An open call.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) region: RegionRef,
    pub(super) is_kept: bool,
    pub(super) attributes: Vec<Attribute>,
    /// Records of parameters, which say more about the call.
    pub(super) parameters: Vec<Event<'static>>,
}

/// The open calls of a location, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Frame>);

impl Calls {
    /// Enters a call, and returns `true` if the cut keeps it.
    pub(super) fn enter(
        &mut self,
        chosen: &Chosen,
        region: RegionRef,
        attributes: List<'_, Attribute>,
    ) -> bool {
        let is_chosen = chosen.0.as_ref().is_none_or(|it| it.contains(&region));
        let is_kept = is_chosen || self.0.last().is_some_and(|it| it.is_kept);
        let attributes = attributes.iter().collect();
        self.0.push(Frame { region, is_kept, attributes, parameters: Vec::new() });
        is_kept
    }

    /// Leaves a call, and returns `true` if the cut keeps it.
    pub(super) fn leave(&mut self) -> bool {
        self.0.pop().is_some_and(|it| it.is_kept)
    }

    /// Returns `true` if the cut keeps records here.
    pub(super) fn is_kept(&self, chosen: &Chosen) -> bool {
        self.0.last().map_or(chosen.0.is_none(), |it| it.is_kept)
    }

    pub(super) fn parameter(&mut self, event: &Event<'_>) {
        let event = match *event {
            Event::ParameterString(it) => Event::ParameterString(it),
            Event::ParameterInt(it) => Event::ParameterInt(it),
            Event::ParameterUnsignedInt(it) => Event::ParameterUnsignedInt(it),
            _ => return,
        };
        if let Some(frame) = self.0.last_mut() {
            frame.parameters.push(event);
        }
    }

    /// Returns the open calls that the cut keeps, the outermost first.
    pub(super) fn kept(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        self.0.iter().filter(|it| it.is_kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, name, fits) in [
            ("MPI_*", "MPI_Put", true),
            ("MPI_*", "shmem_put", false),
            ("*put*", "shmem_putmem", true),
            ("*put", "shmem_putmem", false),
            ("MPI_?ut", "MPI_Put", true),
            ("MPI_?ut", "MPI_ut", false),
            ("", "", true),
            ("*", "", true),
            ("main", "main", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} {name}");
        }
    }
}
