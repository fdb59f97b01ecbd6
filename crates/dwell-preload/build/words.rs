//! Describes the hooks of functions whose arguments are words: MPI, layers over it, and layers recorded as regions.
//!
//! Each handle, number or pointer has a register or a place on the stack to itself, however wide it is, and is passed on
//! unchanged. Functions of MPI have a second hook for each name under which Fortran programs call them.

use dwell_model::operation::Operation;
use dwell_model::table::{Absent, CType, Duty, Row, Shape, Table};

use crate::emit::{ENDS_PROGRAM, Hook};

/// Number of words that the hook of a variadic function passes on: as many as x86-64 has registers for integer
/// arguments. AArch64 has two more.
const REGISTERS: usize = 6;

/// Number of words for the lengths of texts that Fortran passes after all other arguments.
const LENGTHS: usize = 4;

/// Returns the hook of a function with this number of words, without anything that records.
fn hook(symbol: String, function: String, entry: String, row: &Row, count: usize) -> Hook {
    let words: Vec<String> = (0..count).map(|at| format!("a{at}")).collect();
    Hook {
        symbol,
        function,
        entry,
        parameters: words.iter().map(|word| (word.clone(), "usize")).collect(),
        returns: match row.returns {
            CType::Void => "()",
            CType::Int => "i32",
            _ => "usize",
        },
        absent: match row.absent {
            Absent::Exit(code) => format!("std::process::exit(a{} as i32)", code.0),
            Absent::Nothing => "return".into(),
            Absent::MinusOne => "return -1".into(),
            Absent::Null | Absent::Zero => "return 0".into(),
        },
        arguments: String::new(),
        begin: String::new(),
        end: String::new(),
        passed: words,
        outcome: String::new(),
        succeeded: "code == 0",
        level: "a0 as i32",
        duty: (String::new(), String::new()),
    }
}

/// Returns the code of the stub and the hook for a function of a layer over MPI, or of one that is recorded as regions.
pub(crate) fn over_mpi(_: &str, index: usize, row: &Row) -> String {
    let (function, entry) = (format!("hook_{index}"), format!("ENTRIES[{index}]"));
    let count = row.arguments.types().len();
    let base = hook(row.name().into(), function, entry, row, count);
    let given = base.passed.join(", ");
    let remembers = row.duty == Duty::Remember;
    let end = "end(state, &entry.hook, words)";
    match row.shape {
        Shape::Team => return team(base, row),
        Shape::TeamBarrier => {
            let (begin, end) = ("begin_barrier(&entry.hook)".into(), "end_barrier(state)".into());
            return Hook { begin, end, ..base }.code(row);
        }
        Shape::Task => return task(base, row, 6, "Task"),
        Shape::TaskLoop => return task(base, row, 5, "Loop"),
        _ => {}
    }
    Hook {
        arguments: format!(
            "let words: [usize; {count}] = [{given}];
    // SAFETY: the words are what the program passed.
    let words = unsafe {{ Words::new(&words) }};"
        ),
        begin: "begin(&entry.hook, words)".into(),
        end: if remembers { format!("made = Some(state.made()); {end}") } else { end.into() },
        duty: if remembers {
            ("let mut made = None;\n    ".into(), "after(&entry.hook, words, made);".into())
        } else {
            (String::new(), String::new())
        },
        ..base
    }
    .code(row)
}

/// Returns the code of the stub and the hook for a function that runs a function of the program on the threads of a team.
fn team(base: Hook, row: &Row) -> String {
    let reads = row.returns != CType::Void;
    let mut passed = base.passed.clone();
    passed.splice(..2, ["team.function()".into(), "team.data()".into()]);
    Hook {
        arguments: format!(
            "// SAFETY: the first two arguments are a function and its data, says the table.
    let team = unsafe {{ Team::new(a0, a1, {reads}) }};"
        ),
        begin: "team.fork(&entry.hook)".into(),
        end: "team.join(state)".into(),
        passed,
        ..base
    }
    .code(row)
}

/// Returns the code of the stub and the hook for a function that makes tasks of a function of the program. `flags` is the place
/// of the argument with their flags.
fn task(base: Hook, row: &Row, flags: usize, kind: &str) -> String {
    let mut passed = base.passed.clone();
    let task = ["function", "data", "copy", "size", "align"].map(|it| format!("task.{it}()"));
    passed.splice(..5, task);
    Hook {
        arguments: format!(
            "let words: [usize; 0] = [];
    // SAFETY: no argument is read.
    let words = unsafe {{ Words::new(&words) }};
    // SAFETY: the first five arguments are a function and its data, says the table.
    let mut task = unsafe {{ Task::new([a0, a1, a2, a3, a4], a{flags}, Kind::{kind}) }};"
        ),
        begin: "task.record(&entry.hook, begin(&entry.hook, words))".into(),
        end: "end(state, &entry.hook, words)".into(),
        passed,
        ..base
    }
    .code(row)
}

/// Returns the code of the stub and the hook for a function of MPI.
pub(crate) fn shaped(path: &str, index: usize, row: &Row) -> String {
    let (function, entry) = (format!("hook_{index}"), format!("ENTRIES[{index}]"));
    let named = row.arguments.types().len();
    let count = if row.arguments.is_variadic() { REGISTERS } else { named };
    let base = hook(row.name().into(), function, entry, row, count);
    let (words, begin, end) = if row.shape.is_hot() {
        short(path, index)
    } else {
        (mpi_words("C", "entry.hook.row"), BEGIN.into(), END.into())
    };
    Hook {
        arguments: mpi_arguments(row, count) + &words,
        begin,
        end,
        passed: mpi_passed(row, count),
        outcome: "let code = result;".into(),
        duty: mpi_duty(row),
        ..base
    }
    .code(row)
}

const BEGIN: &str = "begin::<Way>(&entry.hook, &words, &mut room)";
const END: &str = "end::<Way>(state, &entry.hook, &words, code)";

/// Returns what [`shaped`] needs for a short hook. Its entry and its row are constants inside the closures that record
/// the call: then the compiler evaluates them, whether or not it compiles the closures into the hook.
fn short(path: &str, index: usize) -> (String, String, String) {
    let words = mpi_words("C", &format!("&const {{ *row(&{path}, {index}) }}"));
    let hook = format!("&ENTRIES[{index}].hook");
    let begin = format!(
        "guard::guarded_option(guard::Entry::Before, || {{{words}
        Way::begin({hook}, &words, &mut room)
    }})"
    );
    let end = format!(
        "guard::guarded(guard::Entry::After, || {{{words}
        Way::end(state, {hook}, &words, code)
    }})"
    );
    (String::new(), begin, end)
}

/// Returns the statements that keep the words of a call of MPI, whose `Way` is the type that records it.
fn mpi_arguments(row: &Row, count: usize) -> String {
    let cells: Vec<String> = (0..count).map(|at| format!("Cell::new(a{at})")).collect();
    format!(
        "type Way = {way};
    let list: [Cell<usize>; {count}] = [{cells}];
    let mut room = core::mem::MaybeUninit::uninit();",
        way = way(row.shape),
        cells = cells.join(", "),
    )
}

/// Returns the statement that wraps the words of a call of MPI in this language, whose row is `of`.
fn mpi_words(language: &str, of: &str) -> String {
    format!(
        "
    // SAFETY: the words are what the program passed.
    let words = unsafe {{ Words::new(&list, Language::{language}, {of}) }};"
    )
}

/// Returns the words that are passed to the real function of MPI: the recorder may have replaced some of them.
fn mpi_passed(row: &Row, count: usize) -> Vec<String> {
    let replaced = !matches!(row.shape, Shape::Initialise | Shape::Finalise);
    let word = |at| if replaced { format!("list[{at}].get()") } else { format!("a{at}") };
    (0..count).map(word).collect()
}

fn mpi_duty(row: &Row) -> (String, String) {
    match row.duty {
        Duty::Meet | Duty::Duplicate | Duty::Free => (
            "let counted = if counts() { before_counted(&entry.hook, &words) } else { None };\n    "
                .into(),
            "if let Some(counted) = counted { after_counted(counted, &words, code); }".into(),
        ),
        Duty::Join(group) => {
            (format!("guard::walled_apart(|| meet(a{}));\n    ", group.0), String::new())
        }
        _ if row.operation == Operation::Exit => (ENDS_PROGRAM.into(), String::new()),
        Duty::None | Duty::Start | Duty::Remember => (String::new(), String::new()),
    }
}

/// Returns the name of the type that records the calls of a shape in MPI.
fn way(shape: Shape) -> &'static str {
    match shape {
        Shape::Send => "messages::Send",
        Shape::Receive => "messages::Receive",
        Shape::StartMessage => "messages::Start",
        Shape::MatchedProbe => "messages::Find",
        Shape::CompleteRequests => "completion::Complete",
        Shape::StartRequests => "completion::Again",
        Shape::ReadyPartitions => "completion::Ready",
        Shape::Collective => "collectives::Blocking",
        Shape::StartCollective => "collectives::Start",
        Shape::Fence => "rma::Fence",
        Shape::Transfer => "rma::Move",
        Shape::Flush => "rma::Flush",
        Shape::WindowLock => "rma::Lock",
        Shape::Epoch => "rma::Epoch",
        Shape::CreateWindow => "rma::Create",
        Shape::FreeWindow => "rma::Free",
        Shape::File => "files::Together",
        Shape::CreateComm => "groups::Create",
        Shape::FreeComm => "groups::Free",
        Shape::Region
        | Shape::Operation
        | Shape::Initialise
        | Shape::Finalise
        | Shape::Control
        | Shape::Team
        | Shape::TeamBarrier
        | Shape::Task
        | Shape::TaskLoop => "Plain",
    }
}

/// Returns the names under which Fortran programs call a function, and how buffers are passed there: the names of
/// `mpif.h` and `use mpi` as most compilers spell them, and those of `use mpi_f08` in Open MPI and in MPICH.
fn fortran_names(row: &Row) -> Vec<(String, &'static str)> {
    if !row.fortran.exists {
        return Vec::new();
    }
    let name = row.name().to_ascii_lowercase();
    let endings: &[(&str, &str)] = match row.shape {
        Shape::Control => &[("_", "Fortran"), ("_f08_", "Fortran")],
        _ if row.large_counts => &[("_f08_large_", "Fortran"), ("_f08ts_large_", "Descriptors")],
        _ if row.fortran.memory => &[
            ("_", "Fortran"),
            ("_f08_", "Fortran"),
            ("_f08ts_", "Descriptors"),
            ("_cptr_", "Fortran"),
        ],
        _ => &[("_", "Fortran"), ("_f08_", "Fortran"), ("_f08ts_", "Descriptors")],
    };
    // The C name for large counts has an ending of its own.
    let base = if row.large_counts { name.trim_end_matches("_c") } else { &name };
    endings.iter().map(|(end, language)| (format!("{base}{end}"), *language)).collect()
}

/// Returns the stubs and hooks for Fortran of all rows of MPI, and the array of their entries.
pub(crate) fn fortran(path: &str, table: &Table) -> String {
    let (mut code, mut entries) = (String::new(), Vec::new());
    for (index, row) in table.rows.iter().enumerate() {
        for (name, language) in fortran_names(row) {
            let number = entries.len();
            entries.push(format!(
                "    Entry::named(&{path}, {index}, fortran_{number} as *mut (), c{name:?}),\n"
            ));
            code += &fortran_hook(number, row, name, language);
        }
    }
    let (count, entries) = (entries.len(), entries.concat());
    code + &format!("pub(crate) static FORTRAN: [Entry; {count}] = [\n{entries}];\n")
}

fn fortran_hook(number: usize, row: &Row, name: String, language: &str) -> String {
    // Groups are passed by address here, and processes that use sessions only from Fortran are not joined.
    let duty = if matches!(row.duty, Duty::Join(_)) { Duty::None } else { row.duty };
    let row = &Row { duty, returns: CType::Void, absent: Absent::Nothing, ..*row };
    let controls = row.shape == Shape::Control;
    let lengths = if row.fortran.texts { LENGTHS } else { 0 };
    let code = row.arguments.types().len() - usize::from(row.fortran.omitted);
    // The error code follows, which a function that addresses tools does not have.
    let count = if controls { code } else { code + 1 + lengths };
    let (function, entry) = (format!("fortran_{number}"), format!("FORTRAN[{number}]"));
    let base = hook(name, function, entry, row, count);
    let words = mpi_words(language, "entry.hook.row");
    let mut arguments = mpi_arguments(row, count) + &words;
    if controls {
        arguments += "
    // SAFETY: the address of a number.
    let level = unsafe { code_at(a0) };";
    }
    Hook {
        arguments,
        begin: BEGIN.into(),
        end: END.into(),
        passed: mpi_passed(row, count),
        outcome: if controls {
            "let code = 0;".into()
        } else {
            format!(
                "// SAFETY: the function has stored its code there.
    let code = unsafe {{ code_at(a{code}) }};"
            )
        },
        level: "level",
        duty: mpi_duty(row),
        ..base
    }
    .code(row)
}

/// Returns the code of the variables by whose addresses a header in the program names the calls of a table.
pub(crate) fn included(path: &str, table: &Table) -> String {
    variables(table, |index| format!("Included = Included::new(&{path}, {index})"))
}

/// Returns the code of the variables by whose addresses hooks in the program name the functions of a table.
pub(crate) fn linked(path: &str, table: &Table, runtime: &str) -> String {
    variables(table, |index| format!("Linked = Linked::new(&{path}, {index}, &{runtime})"))
}

fn variables(table: &Table, value: impl Fn(usize) -> String) -> String {
    let one = |(index, row): (usize, &Row)| {
        let (name, value) = (row.name(), value(index));
        format!(
            "const _: () = {{
    #[used]
    #[unsafe(export_name = \"dwell_entry_{name}\")]
    static ENTRY: {value};
}};
"
        )
    };
    table.rows.iter().enumerate().map(one).collect()
}
