//! Demangling of names.
//!
//! A damaged or malicious name of a few hundred bytes may stand for gigabytes of text, so the length of the result is
//! limited; beyond the limit the name stays mangled.

use std::fmt::{self, Write as _};

use gimli::DwLang;

/// The longest name that is demangled or produced, in bytes. No name of a real program is as long.
const LONGEST: usize = 1 << 16;

/// Returns the demangled name. If the language is not known, the form of the name decides.
pub(crate) fn demangle(name: &str, language: Option<DwLang>) -> String {
    let readable = match language.map(family) {
        None => rust(name).or_else(|| cpp(name)).or_else(|| fortran(name)),
        Some(Family::Rust) => rust(name).or_else(|| cpp(name)),
        Some(Family::Cpp) => cpp(name).or_else(|| rust(name)),
        Some(Family::Fortran) => fortran(name),
        Some(Family::Plain) => None,
    };
    readable.unwrap_or_else(|| name.to_owned())
}

/// Replaces a bare C++ name, such as `operator()`, by the full name of its symbol. Returns `true` if it did.
pub(crate) fn complete(name: &mut String, symbol: &str) -> bool {
    if let Some(mut full) = cpp(symbol) {
        // Drop the mark of an optimised copy: ` [clone .constprop.0]`.
        full.truncate(full.find(" [clone").unwrap_or(full.len()));
        if full.contains(name.as_str()) {
            *name = full;
            return true;
        }
    }
    false
}

/// Returns `true` if the name says less than its symbol does, as a C++ name without namespace and arguments.
pub(crate) fn is_bare(name: &str, language: Option<DwLang>) -> bool {
    matches!(language.map(family), Some(Family::Cpp)) && !name.starts_with("_Z")
}

/// Returns `true` for Fortran, where the name of a function in the source is not the one that the linker sees.
pub(crate) fn is_fortran(language: Option<DwLang>) -> bool {
    matches!(language.map(family), Some(Family::Fortran))
}

enum Family {
    Rust,
    Cpp,
    Fortran,
    Plain,
}

fn family(language: DwLang) -> Family {
    match language {
        gimli::DW_LANG_Rust => Family::Rust,
        gimli::DW_LANG_C_plus_plus
        | gimli::DW_LANG_C_plus_plus_03
        | gimli::DW_LANG_C_plus_plus_11
        | gimli::DW_LANG_C_plus_plus_14
        | gimli::DW_LANG_C_plus_plus_17
        | gimli::DW_LANG_C_plus_plus_20 => Family::Cpp,
        gimli::DW_LANG_Fortran77
        | gimli::DW_LANG_Fortran90
        | gimli::DW_LANG_Fortran95
        | gimli::DW_LANG_Fortran03
        | gimli::DW_LANG_Fortran08
        | gimli::DW_LANG_Fortran18 => Family::Fortran,
        _ => Family::Plain,
    }
}

/// Demangles a name of Rust, without the hash at its end.
fn rust(name: &str) -> Option<String> {
    let readable = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Bounded::default();
    write!(text, "{readable:#}").ok()?;
    Some(text.0)
}

fn cpp(name: &str) -> Option<String> {
    // Types alone are mangled without a prefix: "i" must not become "int".
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let mut text = Bounded::default();
    symbol.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::new()).ok()?;
    Some(text.0)
}

/// Converts `__m_MOD_p`, gfortran's name of the procedure `p` of a module `m`, to `m::p`, as gdb prints it.
fn fortran(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_prefix("__")?.split_once("_MOD_")?;
    (!module.is_empty() && !procedure.is_empty()).then(|| format!("{module}::{procedure}"))
}

/// A string that refuses to grow beyond [`LONGEST`].
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language() {
        let cpp = Some(gimli::DW_LANG_C_plus_plus_14);
        for (name, language, expected) in [
            (
                "_ZN4grid4swapERSt6vectorIdSaIdEE",
                cpp,
                "grid::swap(std::vector<double, std::allocator<double> >&)",
            ),
            ("_ZN4grid4swapEi", None, "grid::swap(int)"),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE",
                Some(gimli::DW_LANG_Rust),
                "core::fmt::write",
            ),
            ("_ZN4core3fmt5write17h0123456789abcdefE", None, "core::fmt::write"),
            ("_RNvC3foo3bar", None, "foo::bar"),
            ("__halo_MOD_exchange", Some(gimli::DW_LANG_Fortran08), "halo::exchange"),
            ("__halo_MOD_exchange", None, "halo::exchange"),
            ("_Zplain", Some(gimli::DW_LANG_C11), "_Zplain"),
            ("i", None, "i"),
            ("_Z", None, "_Z"),
            ("", None, ""),
        ] {
            assert_eq!(demangle(name, language), expected);
        }
    }

    #[test]
    fn symbols_complete_names() {
        for (name, symbol, expected) in [
            ("swap", "_ZN12_GLOBAL__N_14swapEi.constprop.0", "(anonymous namespace)::swap(int)"),
            ("main", "main", "main"),
            ("other", "_ZL4swapi", "other"),
        ] {
            let mut name = name.to_owned();
            let (before, other) = (name.clone(), complete(&mut name, symbol));
            assert_eq!(name, expected);
            assert_eq!(other, name != before);
        }
    }

    #[test]
    fn a_name_that_would_explode_stays_as_it_is() {
        // Every template has the one before it twice.
        let mut name = String::from("_Z1f1AI1BS0_E");
        for level in 1..60 {
            name.push_str(&format!("S_IS{0}_S{0}_E", base36(level)));
        }
        assert_eq!(demangle(&name, None), name);
    }

    fn base36(mut number: u32) -> String {
        let mut digits = Vec::new();
        while {
            digits.push(char::from_digit(number % 36, 36).unwrap().to_ascii_uppercase());
            number /= 36;
            number > 0
        } {}
        digits.iter().rev().collect()
    }

    #[test]
    fn nothing_panics() {
        for name in ["_ZN", "_R", "_RN", "_ZN99999999999999999999a", "_Zé", "__é_MOD_", "_ZZZZZZZZ"]
        {
            let _ = demangle(name, None);
        }
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        let _ = demangle(&deep, None);
    }
}
