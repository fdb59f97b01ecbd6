//! Generates the hook of one function of a layer over MPI, such as coarrays.
//!
//! As for MPI, every argument is one machine word, which the hook passes on unchanged.

use dwell_model::operation::Operation;
use dwell_model::table::{CType, Row, Table};

/// Returns the code of the stub and the hook for a row of the table.
pub(crate) fn of(index: usize, row: &Row) -> String {
    // What is made is noted even if nothing is recorded yet: memory is obtained before the program begins.
    let makes = matches!(row.operation, Operation::Allocate | Operation::CreateGroup);
    let stub = if makes { "stub_always" } else { "stub" };
    let count = row.arguments.types().len();
    let list = |of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<Vec<_>>().join(", ");
    let declared = list(&|at| format!("a{at}: usize"));
    let given = list(&|at| format!("a{at}"));
    let types = vec!["usize"; count].join(", ");
    let returns = if row.returns == CType::Void { "()" } else { "usize" };
    let absent = if row.returns == CType::Void { "return" } else { "return 0" };
    let (before, after) = if makes {
        ("let made = state.as_ref().map(super::State::made);", "after(&entry.hook, words, made);")
    } else {
        ("", "")
    };
    format!(
        "{stub}!({name:?}, hook_{index}, ENTRIES[{index}]);
unsafe extern \"C-unwind\" fn hook_{index}({declared}) -> {returns} {{
    type Real = unsafe extern \"C-unwind\" fn({types}) -> {returns};
    let entry = &ENTRIES[{index}];
    let Some(real) = entry.real() else {{ {absent} }};
    // SAFETY: the function of this name takes this many words, says the table.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    let words: [usize; {count}] = [{given}];
    // SAFETY: the words are what the program passed.
    let words = unsafe {{ Words::new(&words) }};
    let state = if is_on() {{ begin(&entry.hook, words) }} else {{ None }};
    {before}
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ real({given}) }};
    if let Some(state) = state {{ end(state, &entry.hook, words); }}
    {after}
    result
}}
",
        name = row.name(),
    )
}

/// Returns the code of the variables by whose addresses hooks in the program name the functions of a table.
pub(crate) fn linked(path: &str, table: &Table) -> String {
    let one = |(index, row): (usize, &Row)| {
        let name = row.name();
        format!(
            "const _: () = {{
    #[used]
    #[unsafe(export_name = \"dwell_entry_{name}\")]
    static ENTRY: Linked = Linked::new(&{path}, {index});
}};
"
        )
    };
    table.rows.iter().enumerate().map(one).collect()
}
