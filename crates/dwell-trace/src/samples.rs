//! Where a sample found its thread: the line of the program, and the function of a library that was called there.

use otf2::id::{CallingContextRef, RegionRef, SourceCodeLocationRef};
use otf2::read::Definitions;

use crate::contexts::Contexts;
use crate::names;

/// A position in the program, with the function of a library that was called there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// Function of the program.
    pub function: RegionRef,
    /// Line of the function that was on the core.
    pub line: SourceCodeLocationRef,
    /// Function of a library that was called there.
    pub inside: Option<RegionRef>,
}

impl Spot {
    /// Returns the position of the program in a calling context: the innermost function with a source line whose file is the
    /// program's. Without one it is the innermost with a line, or the innermost of all.
    pub fn of(
        contexts: &Contexts,
        definitions: &Definitions,
        context: CallingContextRef,
    ) -> Option<Self> {
        let (mut inside, mut other) = (None, None::<Self>);
        for (function, line) in contexts.frames(context) {
            let spot = Self { function, line, inside };
            if let Some((file, _)) = names::line(definitions, line) {
                // Distributions build with paths relative to the source of the package.
                if !file.starts_with("./") && !file.starts_with("../") {
                    return Some(spot);
                }
                if other.is_none_or(|it| it.line.is_undefined()) {
                    other = Some(spot);
                }
            }
            other.get_or_insert(Self { inside: None, ..spot });
            inside = Some(function);
        }
        other
    }

    /// Writes the position as `relax (heat.c:88)`, or `memcpy in pack (heat.c:40)`.
    pub fn name(&self, definitions: &Definitions) -> String {
        let function = names::region(definitions, self.function);
        let inside = self.inside.map(|it| format!("{} in ", names::region(definitions, it)));
        let line = names::line(definitions, self.line).map(|(file, line)| {
            let file = file.rsplit('/').next().unwrap_or_default().to_owned();
            format!(" ({file}:{line})")
        });
        format!("{}{function}{}", inside.unwrap_or_default(), line.unwrap_or_default())
    }
}
