//! Calls of the recorder in Fortran, and the interfaces that they need.
//!
//! A block construct holds the interfaces, so that no specification part has to be found and module files stay
//! compatible. All procedures are pure, so that they may be called in pure procedures and in `do concurrent`. Numbers have
//! the kind of C's `int` by name, since kinds differ between compilers and options.
//!
//! | procedure | is called |
//! |---|---|
//! | `dwell_co_begin(w,i,n,x)` | before operation `w` on image `i`; `n` names a lock or event, `x` is the local part |
//! | `dwell_co_enter(w,i,n)` | the same for an operation without data |
//! | `dwell_co_also(w,i,x)` | for each further access of the same statement |
//! | `dwell_co_end(w,n)` | behind it; `n` is 0 if a lock was not acquired |
//! | `dwell_co_once(w,i,x)` | for an access that cannot be separated from its statement |
//! | `dwell_co_seen(c)` | around a condition: ends the operation and returns the condition |
//! | `dwell_co_saw(c,w,i,x)` | around a condition that is evaluated several times |
//! | `dwell_co_team(x)` | before an access whose image is one of another team |

use std::collections::BTreeSet;

use crate::edit::Lines;
use crate::scan::Form;

/// A block of inserted code: the calls, and the procedures and intrinsic functions that they use.
pub(crate) struct Calls {
    form: Form,
    procedures: BTreeSet<&'static str>,
    intrinsics: BTreeSet<&'static str>,
}

/// Names of intrinsic functions in inserted calls. Inside a block they hide variables of the same names.
pub(crate) const INTRINSICS: &[&str] =
    &["image_index", "int", "lcobound", "ucobound", "logical", "merge"];

impl Calls {
    pub(crate) fn new(form: Form) -> Self {
        Self { form, procedures: BTreeSet::new(), intrinsics: BTreeSet::new() }
    }

    /// Notes the intrinsic functions of an expression, and returns the expression.
    pub(crate) fn using(&mut self, expression: String) -> String {
        for name in INTRINSICS {
            if expression.contains(&format!("{name}(")) {
                self.intrinsics.insert(name);
            }
        }
        expression
    }

    /// Returns the text of a call, and notes the procedure.
    pub(crate) fn call(&mut self, procedure: &'static str, arguments: &[String]) -> String {
        self.procedures.insert(procedure);
        let list = arguments.join(",");
        self.using(format!("dwell_co_{procedure}({list})"))
    }

    /// Adds what other calls need.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.procedures.extend(&other.procedures);
        self.intrinsics.extend(&other.intrinsics);
    }

    /// Returns the lines that open the block: kinds, interfaces and intrinsic functions.
    pub(crate) fn opening(&self) -> String {
        let mut lines = Lines::new(self.form);
        lines.add("block");
        lines.add("use,intrinsic::iso_c_binding,only:dwell_k=>c_int");
        if self.intrinsics.contains("logical") {
            lines.add("use,intrinsic::iso_c_binding,only:dwell_b=>c_bool");
        }
        lines.add("interface");
        for procedure in &self.procedures {
            interface(&mut lines, procedure);
        }
        lines.add("end interface");
        if !self.intrinsics.is_empty() {
            let names: Vec<_> = self.intrinsics.iter().copied().collect();
            lines.add(&format!("intrinsic::{}", names.join(",")));
        }
        lines.text
    }

    /// Returns the line that ends the block.
    pub(crate) fn closing(&self) -> String {
        let mut lines = Lines::new(self.form);
        lines.add("end block");
        lines.text
    }
}

fn interface(lines: &mut Lines, procedure: &str) {
    let (list, integers, section, condition) = match procedure {
        "begin" => ("w,i,n,x", "w,i,n", true, false),
        "enter" => ("w,i,n", "w,i,n", false, false),
        "also" | "once" => ("w,i,x", "w,i", true, false),
        "end" => ("w,n", "w,n", false, false),
        "saw" => ("c,w,i,x", "w,i", true, true),
        "seen" => ("c", "", false, true),
        _ => ("x", "", true, false),
    };
    let what = if condition { "function" } else { "subroutine" };
    lines.add(&format!("pure {what} dwell_co_{procedure}({list})bind(c)"));
    if !integers.is_empty() {
        lines.add("use,intrinsic::iso_c_binding,only:c_int");
    }
    if condition {
        lines.add("use,intrinsic::iso_c_binding,only:c_bool");
    }
    if !integers.is_empty() {
        lines.add(&format!("integer(c_int),value::{integers}"));
    }
    if condition {
        lines.add("logical(c_bool),value::c");
        lines.add(&format!("logical(c_bool)::dwell_co_{procedure}"));
    }
    if section {
        lines.add("type(*),dimension(..),intent(in)::x");
    }
    lines.add(&format!("end {what}"));
}
