//! Enters and leaves of calling contexts, read as those of their regions.

use std::sync::Arc;

use crate::def::Definition;
use crate::event::{Enter, Event, Leave};
use crate::id::{CallingContextRef, RegionRef};
use crate::read::index::Definitions;

/// Greatest number of a context that has a place in the table. No intact archive has as many contexts, but a damaged one
/// may claim so.
const MOST: u32 = 1 << 24;

/// Regions of calling contexts, by the number of the context.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions(Option<Arc<[RegionRef]>>);

impl Regions {
    pub(crate) fn of(definitions: &Definitions) -> Self {
        let mut regions = Vec::new();
        for definition in definitions.iter() {
            let Definition::CallingContext(it) = definition else { continue };
            if it.id.0 >= MOST {
                continue;
            }
            let at = it.id.0 as usize;
            if regions.len() <= at {
                regions.resize(at + 1, RegionRef::UNDEFINED);
            }
            if let Some(region) = regions.get_mut(at) {
                *region = it.region;
            }
        }
        Self((!regions.is_empty()).then(|| regions.into()))
    }

    /// Turns the enter or leave of a calling context into that of its region. All other events stay as they are.
    #[inline(always)]
    pub(crate) fn translate(&self, event: &mut Event<'_>) {
        match *event {
            Event::CallingContextEnter(it) => {
                if let Some(region) = self.find(it.calling_context) {
                    *event = Event::Enter(Enter { region });
                }
            }
            Event::CallingContextLeave(it) => {
                if let Some(region) = self.find(it.calling_context) {
                    *event = Event::Leave(Leave { region });
                }
            }
            _ => {}
        }
    }

    fn find(&self, context: CallingContextRef) -> Option<RegionRef> {
        let region = *self.0.as_ref()?.get(context.0 as usize)?;
        (!region.is_undefined()).then_some(region)
    }
}
