//! Windows of an archive that represent static data of a program.

use std::collections::BTreeSet;

use otf2::Definition;
use otf2::read::Definitions;

/// Beginning of the names of windows that represent static data.
const STATIC: &str = "static data";

/// Returns the numbers of the memories that are static data of OpenSHMEM. The recorder writes them as windows of their
/// own. Windows with numbers beyond 16 bits are left out.
pub fn static_memory(defs: &Definitions) -> BTreeSet<u16> {
    let of = |definition: Definition<'_>| {
        let Definition::RmaWin(it) = definition else { return None };
        let name = defs.string(it.name).and_then(otf2::Str::to_str)?;
        name.starts_with(STATIC).then(|| u16::try_from(it.id.0).ok()).flatten()
    };
    defs.iter().filter_map(of).collect()
}
