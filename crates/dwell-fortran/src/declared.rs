//! Names that a source declares as arrays, as functions and as coarrays.
//!
//! Arrays and functions look alike where they are used: `nbr(i)`. An expression may be evaluated a second time only if
//! it calls nothing that the source does not know, so names matter. Scopes do not: a name that is an array somewhere and
//! a function elsewhere in the same file is taken for a function.

use std::collections::BTreeSet;

use crate::kind::{Kind, classify};
use crate::scan::{Form, scan};
use crate::text::{closing, find, is_remote, name, parts, words};

/// The names that a source declares. Several sources may be added to one, so that arrays of modules are known.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    arrays: BTreeSet<Vec<u8>>,
    /// All variables and components.
    names: BTreeSet<Vec<u8>>,
    /// Those that are allocated or associated while the program runs.
    deferred: BTreeSet<Vec<u8>>,
    functions: BTreeSet<Vec<u8>>,
    /// Subroutines and generic procedures, and names that `only` lists of modules import.
    procedures: BTreeSet<Vec<u8>>,
    /// Set if a statement has an image selector or codimensions, or asks for the number of an image.
    coarrays: bool,
}

/// Intrinsic functions without side effects.
const PURE: &[&str] = &[
    "abs",
    "achar",
    "adjustl",
    "adjustr",
    "aimag",
    "all",
    "allocated",
    "any",
    "associated",
    "ceiling",
    "char",
    "cmplx",
    "command_argument_count",
    "conjg",
    "cos",
    "count",
    "cshift",
    "dble",
    "dot_product",
    "epsilon",
    "exp",
    "findloc",
    "float",
    "floor",
    "get_team",
    "huge",
    "iachar",
    "iand",
    "ibits",
    "ichar",
    "ieor",
    "image_index",
    "index",
    "int",
    "ior",
    "ishft",
    "kind",
    "lbound",
    "lcobound",
    "len",
    "len_trim",
    "log",
    "logical",
    "matmul",
    "max",
    "maxloc",
    "maxval",
    "merge",
    "min",
    "minloc",
    "minval",
    "mod",
    "modulo",
    "nint",
    "not",
    "num_images",
    "pack",
    "product",
    "real",
    "repeat",
    "reshape",
    "scan",
    "shape",
    "sign",
    "sin",
    "size",
    "spread",
    "sqrt",
    "storage_size",
    "sum",
    "tan",
    "team_number",
    "this_image",
    "tiny",
    "transfer",
    "transpose",
    "trim",
    "ubound",
    "ucobound",
    "unpack",
    "verify",
];

const OPERATORS: &[&str] =
    &["and", "or", "not", "eqv", "neqv", "eq", "ne", "lt", "le", "gt", "ge", "true", "false"];

impl Declared {
    /// Notes the arrays and functions that a whole source declares, such as one with modules that another source uses.
    pub fn learn(&mut self, source: &[u8], form: Form) {
        for statement in &scan(source, form, "").statements {
            self.add(&statement.text, classify(&statement.text, 0).0);
        }
    }

    /// Notes the arrays and functions that a statement of this kind declares. Statements of other kinds declare none.
    pub fn add(&mut self, text: &[u8], kind: Kind) {
        self.coarrays |= is_remote(text, 0, text.len())
            || words(text, 0, text.len())
                .iter()
                .any(|word| word.called && matches!(word.name, b"this_image" | b"num_images"));
        match kind {
            Kind::Declaration => self.declaration(text),
            Kind::Unit => self.unit(text),
            _ => {}
        }
    }

    fn unit(&mut self, text: &[u8]) {
        let at = text.windows(8).position(|window| window == b"function");
        if let Some(at) = at.filter(|_| !text.starts_with(b"end")) {
            let called = name(text, at + 8);
            if text.get(at + 8 + called.len()) == Some(&b'(') {
                self.functions.insert(called.to_vec());
            }
        }
        let at = text.windows(10).position(|window| window == b"subroutine");
        if let Some(at) = at.filter(|_| !text.starts_with(b"end")) {
            self.procedures.insert(name(text, at + 10).to_vec());
        }
        if text.starts_with(b"interface") {
            self.procedures.insert(name(text, 9).to_vec());
        }
    }

    /// Notes the names that a `use` statement lists, by which the program knows procedures of a module.
    fn import(&mut self, text: &[u8]) {
        let Some(at) = text.windows(6).position(|window| window == b",only:") else { return };
        for (from, _) in parts(text, at + 6, text.len()) {
            self.procedures.insert(name(text, from).to_vec());
        }
    }

    fn declaration(&mut self, text: &[u8]) {
        if text.starts_with(b"use") {
            self.import(text);
        }
        // `real function f(x)` begins like a declaration.
        if find(text, 0, b"::").is_none() {
            self.unit(text);
        }
        let (attributes, entities) = match find(text, 0, b"::") {
            Some(at) => (text.get(..at).unwrap_or_default(), at + 2),
            None => (Default::default(), behind_type(text)),
        };
        let has = |word: &[u8]| attributes.windows(word.len()).any(|window| window == word);
        let all = has(b"dimension(");
        let deferred = has(b"allocatable") || has(b"pointer");
        for (from, _) in parts(text, entities, text.len()) {
            let entity = name(text, from);
            self.names.insert(entity.to_vec());
            let behind = text.get(from + entity.len()..).unwrap_or_default();
            if deferred || behind.starts_with(b"(:") {
                self.deferred.insert(entity.to_vec());
            }
            if !entity.is_empty() && (all || text.get(from + entity.len()) == Some(&b'(')) {
                self.arrays.insert(entity.to_vec());
            }
        }
    }

    /// Returns `true` if the name is that of an array, and of no function.
    pub(crate) fn is_array(&self, name: &[u8]) -> bool {
        self.arrays.contains(name) && !self.functions.contains(name)
    }

    /// Returns `true` if the name is that of a variable or component whose storage does not depend on the run.
    pub(crate) fn is_static(&self, name: &[u8]) -> bool {
        self.names.contains(name) && !self.deferred.contains(name)
    }

    /// Returns `true` if the name is that of an array or a function of the program.
    pub(crate) fn is_known(&self, name: &[u8]) -> bool {
        self.arrays.contains(name) || self.functions.contains(name)
    }

    /// Returns `true` if the program defines or imports a subroutine or generic procedure of this name.
    pub(crate) fn is_procedure(&self, name: &[u8]) -> bool {
        self.procedures.contains(name)
    }

    /// Returns `true` if the sources at hand use coarrays.
    pub(crate) fn uses_coarrays(&self) -> bool {
        self.coarrays
    }

    /// Returns `true` if evaluating a range of a statement may call a function that the source does not know to be free
    /// of side effects.
    pub(crate) fn may_call(&self, text: &[u8], from: usize, to: usize) -> bool {
        words(text, from, to).iter().any(|word| {
            let is = |names: &[&str]| names.iter().any(|name| name.as_bytes() == word.name);
            if word.operator {
                return !is(OPERATORS);
            }
            let intrinsic = !word.component && is(PURE) && !self.functions.contains(word.name);
            word.called && !self.is_array(word.name) && !intrinsic
        })
    }
}

/// Returns the offset behind the type of a declaration without a double colon: `real*8 a(3)`, `dimension a(3)`.
fn behind_type(text: &[u8]) -> usize {
    let types = [
        "integer",
        "doubleprecision",
        "doublecomplex",
        "real",
        "complex",
        "logical",
        "character",
        "type",
        "class",
        "codimension",
        "dimension",
        "allocatable",
        "target",
        "pointer",
        "common",
    ];
    let Some(word) = types.iter().find(|word| text.starts_with(word.as_bytes())) else {
        return text.len();
    };
    let mut at = word.len();
    if text.get(at) == Some(&b'*') {
        at += 1;
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
    }
    if text.get(at) == Some(&b'(') {
        at = closing(text, at).map_or(text.len(), |close| close + 1);
    }
    if text.get(at) == Some(&b'/') {
        let end = text.iter().skip(at + 1).position(|byte| *byte == b'/');
        at = end.map_or(text.len(), |length| at + length + 2);
    }
    at
}
