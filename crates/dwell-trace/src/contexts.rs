//! Calling contexts with parents, which give the functions from `main` to a call.
//!
//! The recorder takes them from the stack. A calling context is a position in a function, and its parent is the
//! position from which that function was called. The recorder did not record enters and leaves of these functions, so
//! they are steps of call paths without a time of their own.

use std::collections::{BTreeMap, HashMap};

use dwell_model::archive;
use otf2::id::{CallingContextRef, RegionRef, SourceCodeLocationRef};
use otf2::read::Definitions;
use otf2::{AttributeValue, Definition};
use serde::{Deserialize, Serialize};

use crate::names;

/// Greatest context number that is kept. No intact archive has as many contexts, but a damaged one may claim so.
const MOST: u32 = 1 << 24;
/// Greatest number of functions on a path, which protects against cycles in damaged archives.
const LONGEST: usize = 256;

/// Calling contexts of an archive. The list is empty unless some context has a parent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Contexts {
    of: Vec<Option<Context>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Context {
    region: RegionRef,
    place: SourceCodeLocationRef,
    parent: CallingContextRef,
    kind: Kind,
    /// The first context that looks the same. Compilers may turn one call of the source into several.
    like: CallingContextRef,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// The function `main`, with which call paths begin.
    Main,
    /// Functions of the system that call `main` or start a thread.
    Before,
    Function,
}

impl Contexts {
    /// Reads the calling contexts of an archive, and adds one for each function that another was inlined into.
    pub fn of(defs: &Definitions) -> Self {
        let contexts = || {
            defs.iter().filter_map(|definition| match definition {
                Definition::CallingContext(it) if it.id.0 < MOST => Some(it),
                _ => None,
            })
        };
        let mut of = Vec::new();
        if contexts().all(|it| it.parent.is_undefined()) {
            return Self { of };
        }
        for it in contexts() {
            let at = it.id.0 as usize;
            if of.len() <= at {
                of.resize(at + 1, None);
            }
            if let Some(place) = of.get_mut(at) {
                let kind = kind(&names::region(defs, it.region));
                let (region, place_of, parent, like) =
                    (it.region, it.source_code_location, it.parent, CallingContextRef::UNDEFINED);
                *place = Some(Context { region, place: place_of, parent, kind, like });
            }
        }
        inline(defs, &mut of);
        let columns = names::Columns::of(defs);
        let mut contexts = Self { of };
        let mut known = HashMap::new();
        for id in (0..).map(CallingContextRef).take(contexts.of.len()) {
            contexts.compare(id, &columns, &mut known);
        }
        contexts
    }

    /// Finds the first context that looks like `id`, after doing so for all contexts that it was called from.
    fn compare(
        &mut self,
        id: CallingContextRef,
        columns: &names::Columns,
        known: &mut HashMap<
            (CallingContextRef, RegionRef, SourceCodeLocationRef, u32),
            CallingContextRef,
        >,
    ) {
        let unknown = |it: &Context| it.like.is_undefined();
        let mut way = Vec::new();
        let mut at = id;
        while let Some(context) = self.get(at).filter(unknown) {
            if way.len() == LONGEST {
                break;
            }
            way.push(at);
            at = context.parent;
        }
        for id in way.into_iter().rev() {
            let Some(context) = self.get(id) else { continue };
            let above = self.get(context.parent).map_or(context.parent, |it| it.like);
            // If the line is unknown, only the address distinguishes contexts.
            let like = match context.place.is_undefined() {
                true => id,
                false => {
                    let key = (above, context.region, context.place, columns.get(id));
                    *known.entry(key).or_insert(id)
                }
            };
            if let Some(Some(context)) = self.of.get_mut(id.0 as usize) {
                context.like = like;
            }
        }
    }

    fn get(&self, id: CallingContextRef) -> Option<Context> {
        self.of.get(id.0 as usize).copied().flatten()
    }

    /// Returns the first context that looks the same as this one.
    pub fn like(&self, id: CallingContextRef) -> CallingContextRef {
        self.get(id).map_or(id, |context| context.like)
    }

    /// Returns `true` if some context has a parent.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.of.is_empty()
    }

    /// Returns the functions that a context is in, the innermost first, each with its position there. What runs before the
    /// program is left out, unless nothing else is known.
    pub fn frames(
        &self,
        context: CallingContextRef,
    ) -> impl Iterator<Item = (RegionRef, SourceCodeLocationRef)> {
        let above = |it: &Context| self.get(it.parent);
        let mut frames: Vec<Context> =
            std::iter::successors(self.get(context), above).take(LONGEST).collect();
        if let Some(outermost) = frames.iter().rposition(|it| it.kind != Kind::Before) {
            frames.truncate(outermost + 1);
        }
        frames.into_iter().map(|it| (it.region, it.place))
    }

    /// Returns the functions that lead to a call from this site, the outermost first, each with the site it was called
    /// from.
    pub fn way(&self, site: CallingContextRef) -> Vec<(RegionRef, CallingContextRef)> {
        // A site without a parent lies in the function that is open.
        if self.get(site).is_none_or(|context| context.parent.is_undefined()) {
            return Vec::new();
        }
        let mut way: Vec<(Kind, RegionRef, CallingContextRef)> = Vec::new();
        let mut at = site;
        while let Some(context) = self.get(at) {
            if way.len() == LONGEST {
                break;
            }
            way.push((context.kind, context.region, self.like(context.parent)));
            at = context.parent;
        }
        let main = way.iter().rposition(|it| it.0 == Kind::Main);
        let first = match main {
            Some(main) => main + 1,
            None => way.len() - way.iter().rev().take_while(|it| it.0 == Kind::Before).count(),
        };
        way.truncate(first);
        way.reverse();
        let mut functions: Vec<_> = way.into_iter().map(|it| (it.1, it.2)).collect();
        // The outermost function has no caller that reports show.
        if let Some(first) = functions.first_mut() {
            first.1 = CallingContextRef::UNDEFINED;
        }
        functions
    }
}

/// Inserts the functions that others were inlined into, as contexts with numbers beyond those of the archive.
fn inline(defs: &Definitions, of: &mut Vec<Option<Context>>) {
    // Region and position of each inlined function, by context and depth.
    let mut outer: BTreeMap<(u32, u32), (Option<RegionRef>, SourceCodeLocationRef)> =
        BTreeMap::new();
    for definition in defs.iter() {
        let Definition::CallingContextProperty(it) = definition else { continue };
        let name = defs.string(it.name).and_then(otf2::Str::to_str).unwrap_or_default();
        let number = |prefix: &str| name.strip_prefix(prefix)?.strip_prefix("::")?.parse().ok();
        let none = (None, SourceCodeLocationRef::UNDEFINED);
        match it.value {
            AttributeValue::Region(region) => {
                if let Some(number) = number(archive::INLINED_FUNCTION) {
                    let key = (it.calling_context.0, number);
                    outer.entry(key).or_insert(none).0 = Some(region);
                }
            }
            AttributeValue::SourceCodeLocation(place) => {
                if let Some(number) = number(archive::INLINED_PLACE) {
                    outer.entry((it.calling_context.0, number)).or_insert(none).1 = place;
                }
            }
            _ => {}
        }
    }
    // The context that was inserted last for a context of the archive. The next one becomes its parent.
    let mut last: Option<(u32, u32)> = None;
    for ((context, _), (region, place)) in outer {
        let Some(region) = region else { continue };
        let inside = last.filter(|last| last.0 == context).map_or(context, |last| last.1);
        let Some(Some(inner)) = of.get(inside as usize).copied() else { continue };
        let (kind, like) = (kind(&names::region(defs, region)), CallingContextRef::UNDEFINED);
        let id = of.len() as u32;
        of.push(Some(Context { region, place, parent: inner.parent, kind, like }));
        if let Some(Some(inner)) = of.get_mut(inside as usize) {
            inner.parent = CallingContextRef(id);
        }
        last = Some((context, id));
    }
}

fn kind(name: &str) -> Kind {
    const BEFORE: [&str; 8] = [
        "libc.so.6",
        "ld-linux",
        "__libc_start",
        "_start",
        "start_thread",
        "clone",
        "__clone",
        "libpthread",
    ];
    match name {
        "main" => Kind::Main,
        name if BEFORE.iter().any(|start| name.starts_with(start)) => Kind::Before,
        _ => Kind::Function,
    }
}
