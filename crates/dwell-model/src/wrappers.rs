//! Libraries that wrap a runtime: a call that goes through one belongs to the line that called the wrapper.
//!
//! A wrapper is recognised by a *pattern*, which is one of
//!
//! | pattern | means | example |
//! |---|---|---|
//! | a name that ends in `::` | functions of this scope of C++, or of this crate of Rust | `boost::mpi::` |
//! | a name that ends in `*` | functions whose names begin like this | `pnga_*` |
//! | anything else | a file or a directory, as the last parts of a path or in its midst | `mpi4py`, `libboost_mpi`, `mpl/mpl.hpp` |
//!
//! A file is also known by the beginning of its name up to a dot or a minus sign, so that versions do not matter:
//! `libboost_mpi` is `libboost_mpi.so.1.74.0` too, and `mpi4py` the archive `mpi4py-4.0.whl`.
//!
//! Patterns of files apply to programs and libraries, to files of source code, and to those of Python.

/// A library that is known to wrap a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// Name under which it is shown.
    name: &'static str,
    patterns: &'static [&'static str],
}

/// Wrappers that are known without a setting.
const KNOWN: &[Known] = &[
    Known { name: "mpi4py", patterns: &["mpi4py"] },
    Known { name: "shmem4py", patterns: &["shmem4py"] },
    Known { name: "ctypes", patterns: &["_ctypes", "libffi", "_cffi_backend"] },
    Known { name: "Boost.MPI", patterns: &["libboost_mpi", "boost/mpi", "boost::mpi::"] },
    Known { name: "rsmpi", patterns: &["crate mpi"] },
    Known { name: "MPI for C++", patterns: &["libmpi_cxx", "libmpicxx", "mpi/cxx", "MPI::"] },
    Known { name: "MPL", patterns: &["mpl/mpl.hpp", "mpl::"] },
    Known { name: "KaMPIng", patterns: &["include/kamping", "kamping::"] },
    Known {
        name: "Global Arrays",
        // The last four are functions of Dwell, which are linked in front of the others.
        patterns: &[
            "libga",
            "pnga_*",
            "wnga_*",
            "nga_*",
            "ngai_*",
            "ga_*",
            "gai_*",
            "NGA_*",
            "GA_*",
            "__wrap_nga_*",
            "__wrap_ga_*",
            "__wrap_NGA_*",
            "__wrap_GA_*",
        ],
    },
];

/// The wrappers of a run: those that are known, and those that a setting adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrappers<'t> {
    /// Patterns of the setting, separated by commas.
    more: &'t str,
}

impl<'t> Wrappers<'t> {
    /// Returns the known wrappers and those of a setting, whose value is a list of patterns separated by commas.
    pub const fn new(more: &'t str) -> Self {
        Self { more }
    }

    /// Checks the value of the setting.
    ///
    /// # Errors
    /// A description of what is expected.
    pub fn check(more: &str) -> Result<(), &'static str> {
        let is_pattern = |it: &str| {
            let name = shown(it);
            name.len() > 1 && !name.contains([':', '*', '\n', '\0'])
                || it.ends_with("::") && name.len() > 1 && !name.contains(['*', '\n', '\0'])
        };
        match Wrappers::new(more).added().all(is_pattern) {
            true => Ok(()),
            false => Err("expected names such as libhalo.so, halo.hpp, halo:: or halo_*"),
        }
    }

    fn added(self) -> impl Iterator<Item = &'t str> {
        self.more.split(',').map(str::trim).filter(|it| !it.is_empty())
    }

    /// Iterates over all patterns with the names of their wrappers. Those of the setting come first.
    fn patterns(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let known =
            KNOWN.iter().flat_map(|it| it.patterns.iter().map(|pattern| (*pattern, it.name)));
        self.added().map(|it| (it, shown(it))).chain(known)
    }

    /// Returns the name of the wrapper that a file belongs to, if it is one: a library, or a file of source code.
    pub fn of_file(self, path: &str) -> Option<&'t str> {
        let is_file = |pattern: &str| match pattern.strip_prefix("crate ") {
            Some(name) => is_crate(path, name),
            None => !pattern.ends_with(['*', ':']) && has_part(path, pattern),
        };
        self.patterns().find(|(pattern, _)| is_file(pattern)).map(|it| it.1)
    }

    /// Returns the name of the wrapper that a function belongs to, if it does. `symbol` is its name as linkers know it.
    pub fn of_symbol(self, symbol: &str) -> Option<&'t str> {
        let is_function = |pattern: &str| {
            if let Some(name) = pattern.strip_prefix("crate ") {
                return is_rust(symbol) && (is_in_scope(symbol, name) || is_of_type(symbol, name));
            }
            match (pattern.strip_suffix('*'), pattern.strip_suffix("::")) {
                (Some(begin), _) => symbol.starts_with(begin),
                (_, Some(scope)) => is_in_scope(symbol, scope),
                _ => false,
            }
        };
        self.patterns().find(|(pattern, _)| is_function(pattern)).map(|it| it.1)
    }
}

/// Returns the name under which the wrapper of a pattern is shown.
fn shown(pattern: &str) -> &str {
    pattern.trim_end_matches([':', '*', '/', '_'])
}

/// Returns `true` if a path has these parts one behind the other. The last of them may be the beginning of a name up to a
/// dot or a minus sign.
fn has_part(path: &str, parts: &str) -> bool {
    let parts = parts.trim_matches('/');
    path.match_indices(parts).any(|(at, _)| {
        let (before, after) = (path.get(..at), path.get(at + parts.len()..));
        before.is_some_and(|it| it.is_empty() || it.ends_with('/'))
            && after.is_some_and(|it| it.is_empty() || it.starts_with(['/', '.', '-']))
    })
}

/// Returns `true` if a file of source code belongs to a crate of Rust: it is in `NAME-1.2.3/src`.
fn is_crate(path: &str, name: &str) -> bool {
    path.match_indices("/src/").any(|(at, _)| {
        let folder = path.get(..at).and_then(|it| it.rsplit('/').next()).unwrap_or_default();
        let version = folder.strip_prefix(name).and_then(|it| it.strip_prefix('-'));
        version.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
    })
}

/// Returns `true` if a mangled name is one of Rust.
fn is_rust(symbol: &str) -> bool {
    symbol.starts_with("_R")
        || symbol.len() > 20 && symbol.ends_with('E') && {
            let hash = symbol.len().checked_sub(20).and_then(|at| symbol.get(at..));
            hash.is_some_and(|it| it.starts_with("17h"))
        }
}

/// Returns `true` if a mangled name is that of a function of a trait for a type of a crate, or of one that drops it.
fn is_of_type(symbol: &str, name: &str) -> bool {
    ["_$LT$", "drop_in_place$LT$"].into_iter().any(|before| {
        let rest = symbol.split_once(before).and_then(|it| it.1.strip_prefix(name));
        rest.is_some_and(|it| it.starts_with(".."))
    })
}

/// Returns `true` if a mangled name is that of a function in a scope such as `boost::mpi`.
fn is_in_scope(symbol: &str, scope: &str) -> bool {
    let rest = match (symbol.strip_prefix("_ZN"), symbol.strip_prefix("_R")) {
        (Some(rest), _) => rest.trim_start_matches(['K', 'V', 'r', 'R', 'O']),
        // The first crate, behind its disambiguator, is the one that the function belongs to.
        (_, Some(rest)) => {
            rest.split_once('C').and_then(|it| it.1.split_once('_')).map_or("", |it| it.1)
        }
        _ => return false,
    };
    let mut rest = rest;
    scope.split("::").all(|name| {
        let digits = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        let length = rest.get(..digits).and_then(|it| it.parse().ok()).unwrap_or(0);
        let same = length == name.len() && rest.get(digits..digits + length) == Some(name);
        rest = rest.get(digits + length..).unwrap_or_default();
        same
    })
}

#[cfg(test)]
mod tests {
    use super::Wrappers;

    #[test]
    fn files_are_known_by_parts_of_their_paths() {
        let all = Wrappers::new("libhalo.so, halo.hpp,my/own");
        for (path, name) in [
            (
                "/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
                Some("mpi4py"),
            ),
            ("/usr/lib/python3/dist-packages/mpi4py/util/dtlib.py", Some("mpi4py")),
            ("/home/me/my_mpi4py_tests/halo.py", None),
            ("/usr/lib/x86_64-linux-gnu/libboost_mpi.so.1.74.0", Some("Boost.MPI")),
            ("/usr/include/boost/mpi/communicator.hpp", Some("Boost.MPI")),
            ("/home/me/.cargo/registry/src/index-1/mpi-0.8.0/src/collective.rs", Some("rsmpi")),
            ("/home/me/mpi-3/tests/src/halo.rs", None),
            ("/home/me/mpi/src/halo.rs", None),
            ("/home/me/libhalo.so", Some("libhalo.so")),
            ("/home/me/libhalo.so.2", Some("libhalo.so")),
            ("/home/me/include/halo.hpp", Some("halo.hpp")),
            ("halo.hpp", Some("halo.hpp")),
            ("/home/me/libhalo.solver", None),
            ("/home/my/own/halo.c", Some("my/own")),
            ("/home/me/halo.c", None),
            ("", None),
        ] {
            assert_eq!(all.of_file(path), name, "{path}");
        }
    }

    #[test]
    fn functions_are_known_by_their_scopes() {
        let all = Wrappers::new("Halo::,halo_*");
        for (symbol, name) in [
            ("_ZN4Halo8exchangeEv", Some("Halo")),
            ("_ZNK4Halo8exchangeEv", Some("Halo")),
            ("_ZN4HaloIdE8exchangeEv", Some("Halo")),
            ("_ZN5Halo28exchangeEv", None),
            ("_ZN5solve4Halo8exchangeEv", None),
            ("_ZN5boost3mpi12communicator7barrierEv", Some("Boost.MPI")),
            ("_ZN5boost8functionE", None),
            ("_ZN3mpi10collective7barrier17h0123456789abcdefE", Some("rsmpi")),
            (
                "_ZN67_$LT$mpi..environment..Universe$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                Some("rsmpi"),
            ),
            ("_ZN4core3ptr40drop_in_place$LT$mpi..Universe$GT$17h0123456789abcdefE", Some("rsmpi")),
            ("_ZN40_$LT$halo..H$u20$as$u20$mpi..Source$GT$4send17h0123456789abcdefE", None),
            ("_ZN3mpi5solveEv", None),
            ("_RNvNtCsbfOeMLBYzlN_3mpi10collective7barrier", Some("rsmpi")),
            ("_RINvCsbfOeMLBYzlN_4user5solveNtCsk_3mpi4CommEB2_", None),
            ("halo_exchange", Some("halo")),
            ("pnga_read_inc", Some("Global Arrays")),
            ("__wrap_NGA_Read_inc", Some("Global Arrays")),
            ("__wrap_ARMCI_Rmw", None),
            ("main", None),
            ("", None),
        ] {
            assert_eq!(all.of_symbol(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn patterns_are_names() {
        for right in ["", "libhalo.so", "halo::", "a::b::, halo_*", "mpl/mpl.hpp"] {
            assert_eq!(Wrappers::check(right), Ok(()), "{right}");
        }
        for wrong in ["*", "::", "a*b", "x"] {
            assert!(Wrappers::check(wrong).is_err(), "{wrong}");
        }
    }
}
