//! Generates the hook of one function of MPI.
//!
//! Every function takes words: each handle, number or pointer has a register or a place on the stack to itself, however
//! wide it is, and is passed on unchanged. So all hooks look alike; the shape of a function decides how a call is
//! recorded.

use dwell_model::operation::{Mode, Operation};
use dwell_model::table::{Absent, Group, Members, Row};

/// Number of registers that hold integer arguments. The hook of a variadic function passes all of them on.
const REGISTERS: usize = 6;

/// Returns the code of the stub and the hook for a row of the table.
pub(crate) fn of(index: usize, row: &Row) -> String {
    // Without a world, processes first meet when they make a communicator from a group.
    let meets = match (row.operation, row.places.members, row.places.group) {
        (Operation::CreateGroup, Some(Members::Group(group)), Group::Caller) => Some(group),
        _ => None,
    };
    let always = row.operation == Operation::Initialise || meets.is_some() || is_counted(row);
    let stub = if always { "stub_always" } else { "stub" };
    let named = row.arguments.types().len();
    let count = if row.arguments.is_variadic() { REGISTERS } else { named };
    let declared: Vec<_> = (0..count).map(|at| format!("a{at}: usize")).collect();
    let given: Vec<_> = (0..count).map(|at| format!("a{at}")).collect();
    let cells: Vec<_> = (0..count).map(|at| format!("Cell::new(a{at})")).collect();
    let passed: Vec<_> = (0..count).map(|at| format!("list[{at}].get()")).collect();
    let types = vec!["usize"; count].join(", ");
    let absent = match row.absent {
        Absent::Exit(code) => format!("std::process::exit(a{} as i32)", code.0),
        _ => "return -1".into(),
    };
    let (declared, given, passed) = (declared.join(", "), given.join(", "), passed.join(", "));
    let cells = cells.join(", ");
    let controls = row.operation == Operation::Control;
    let body = match row.operation {
        Operation::Initialise => format!(
            "let began = before_start();
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ real({given}) }};
    if result == 0 {{ guard::walled_apart(|| start(&entry.hook, began)); }}
    result"
        ),
        Operation::Finalise => format!(
            "guard::walled_apart(|| finish(&entry.hook));
    // SAFETY: what the program passed goes to the function it was meant for.
    unsafe {{ real({given}) }}"
        ),
        _ => format!(
            "{meet}type Way = {shape};
    let list: [Cell<usize>; {count}] = [{cells}];
    // SAFETY: the words are what the program passed.
    let words = unsafe {{ Words::new(&list, Language::C, {row}) }};
    let mut room = core::mem::MaybeUninit::uninit();
    {before}let state = if is_on() {{ {begin} }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for, but for a status that
    // it does not want and the recorder does.
    let result = unsafe {{ real({passed}) }};
    if let Some(state) = state {{ {end}; }}
    {after}result",
            before = if controls { "before_level(a0 as i32);\n    " } else { counted(row).0 },
            after = if controls { "after_level(a0 as i32);\n    " } else { counted(row).1 },
            meet = meets.map_or(String::new(), |group| format!(
                "guard::walled_apart(|| meet(a{}));\n    ",
                group.0
            )),
            shape = shape(row),
            row = row_of(row, index),
            // A closure of its own for each hook, so that what it guards can be compiled into the hook.
            begin = if is_hot(row) {
                "guard::guarded_option(guard::Entry::Before, || Way::begin(&entry.hook, &words, &mut room))"
            } else {
                "begin::<Way>(&entry.hook, &words, &mut room)"
            },
            end = if is_hot(row) {
                "guard::guarded(guard::Entry::After, || Way::end(state, &entry.hook, &words, result))"
            } else {
                "end::<Way>(state, &entry.hook, &words, result)"
            },
        ),
    };
    format!(
        "{stub}!({name:?}, hook_{index}, ENTRIES[{index}]);
unsafe extern \"C-unwind\" fn hook_{index}({declared}) -> i32 {{
    type Real = unsafe extern \"C-unwind\" fn({types}) -> i32;
    let entry = &ENTRIES[{index}];
    let Some(real) = entry.real() else {{ {absent} }};
    // SAFETY: the function of this name takes this many words, says the table.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    {body}
}}
",
        name = row.name(),
    )
}

/// Functions that take strings. Fortran passes the length of each string after all other arguments.
const TEXTS: &[&str] = &[
    "MPI_Close_port",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
    "MPI_Comm_create_from_group",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_File_delete",
    "MPI_File_open",
    "MPI_File_set_view",
    "MPI_Group_from_session_pset",
    "MPI_Intercomm_create_from_groups",
    "MPI_Lookup_name",
    "MPI_Open_port",
    "MPI_Publish_name",
    "MPI_Unpublish_name",
];

/// Returns the names under which Fortran programs call a function, and how buffers are passed there: the names of
/// `mpif.h` and `use mpi` as most compilers spell them, and those of `use mpi_f08` in Open MPI and in MPICH.
fn fortran_names(row: &Row) -> Vec<(String, &'static str)> {
    let name = row.name();
    let plain = name.to_ascii_lowercase();
    if row.operation == Operation::Control {
        return vec![(format!("{plain}_"), "Fortran"), (format!("{plain}_f08_"), "Fortran")];
    }
    if !name.starts_with("MPI_") || row.arguments.is_variadic() {
        return Vec::new();
    }
    match name.strip_suffix("_c") {
        Some(base) => {
            let base = base.to_ascii_lowercase();
            let of = |end, language| (format!("{base}{end}"), language);
            vec![of("_f08_large_", "Fortran"), of("_f08ts_large_", "Descriptors")]
        }
        None => {
            let of = |end, language| (format!("{plain}{end}"), language);
            let mut all =
                vec![of("_", "Fortran"), of("_f08_", "Fortran"), of("_f08ts_", "Descriptors")];
            if ["mpi_alloc_mem", "mpi_win_allocate", "mpi_win_allocate_shared"]
                .contains(&plain.as_str())
            {
                all.push(of("_cptr_", "Fortran"));
            }
            all
        }
    }
}

/// Returns the stubs and hooks for Fortran of all rows, and the array of their entries.
pub(crate) fn fortran(path: &str, rows: &[Row]) -> String {
    let (mut code, mut entries) = (String::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        for (name, language) in fortran_names(row) {
            let number = entries.len();
            code += &fortran_hook(number, row, &name, language);
            entries.push(format!(
                "    Entry::named(&{path}, {index}, fortran_{number} as *mut (), c{name:?}),\n"
            ));
        }
    }
    let (count, entries) = (entries.len(), entries.concat());
    code + &format!("pub(crate) static FORTRAN: [Entry; {count}] = [\n{entries}];\n")
}

fn fortran_hook(number: usize, row: &Row, name: &str, language: &str) -> String {
    if row.operation == Operation::Control {
        return fortran_control(number, name);
    }
    let always = row.operation == Operation::Initialise || is_counted(row);
    let stub = if always { "stub_always" } else { "stub" };
    // The two arguments of main are C's alone.
    let own = match row.name() {
        "MPI_Init" | "MPI_Init_thread" => 2,
        _ => 0,
    };
    let code = row.arguments.types().len() - own;
    let count = code + 1 + if TEXTS.contains(&row.name()) { 4 } else { 0 };
    let declared: Vec<_> = (0..count).map(|at| format!("a{at}: usize")).collect();
    let given: Vec<_> = (0..count).map(|at| format!("a{at}")).collect();
    let cells: Vec<_> = (0..count).map(|at| format!("Cell::new(a{at})")).collect();
    let passed: Vec<_> = (0..count).map(|at| format!("list[{at}].get()")).collect();
    let types = vec!["usize"; count].join(", ");
    let (declared, given, passed) = (declared.join(", "), given.join(", "), passed.join(", "));
    let cells = cells.join(", ");
    let body = match row.operation {
        Operation::Initialise => format!(
            "let began = before_start();
    // SAFETY: what the program passed goes to the function it was meant for.
    unsafe {{ real({given}) }};
    // SAFETY: the function has stored its code there.
    if unsafe {{ code_at(a{code}) }} == 0 {{
        guard::walled_apart(|| start(&entry.hook, began));
    }}"
        ),
        Operation::Finalise => format!(
            "guard::walled_apart(|| finish(&entry.hook));
    // SAFETY: what the program passed goes to the function it was meant for.
    unsafe {{ real({given}) }}"
        ),
        _ => format!(
            "type Way = {shape};
    let list: [Cell<usize>; {count}] = [{cells}];
    // SAFETY: the words are what the program passed.
    let words = unsafe {{ Words::new(&list, Language::{language}, entry.hook.row) }};
    let mut room = core::mem::MaybeUninit::uninit();
    {before}let state = if is_on() {{ begin::<Way>(&entry.hook, &words, &mut room) }} else {{ None }};
    // SAFETY: as in C.
    unsafe {{ real({passed}) }};
    // SAFETY: the function has stored its code there.
    let result = unsafe {{ code_at(a{code}) }};
    if let Some(state) = state {{ end::<Way>(state, &entry.hook, &words, result); }}
    {after}",
            shape = shape(row),
            before = counted(row).0,
            after = counted(row).1,
        ),
    };
    format!(
        "{stub}!({name:?}, fortran_{number}, FORTRAN[{number}]);
unsafe extern \"C-unwind\" fn fortran_{number}({declared}) {{
    type Real = unsafe extern \"C-unwind\" fn({types});
    let entry = &FORTRAN[{number}];
    let Some(real) = entry.real() else {{ return }};
    // SAFETY: the function of this name takes this many addresses, says the table.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    {body}
}}
"
    )
}

/// Returns the hook for `MPI_Pcontrol` in Fortran, which stores no error code.
fn fortran_control(number: usize, name: &str) -> String {
    format!(
        "stub!({name:?}, fortran_{number}, FORTRAN[{number}]);
unsafe extern \"C-unwind\" fn fortran_{number}(a0: usize) {{
    type Real = unsafe extern \"C-unwind\" fn(usize);
    type Way = Plain;
    let entry = &FORTRAN[{number}];
    let Some(real) = entry.real() else {{ return }};
    // SAFETY: the function of this name takes one address, says the standard.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    // SAFETY: the address of a number.
    let level = unsafe {{ code_at(a0) }};
    let list = [Cell::new(a0)];
    // SAFETY: the word is what the program passed.
    let words = unsafe {{ Words::new(&list, Language::Fortran, entry.hook.row) }};
    let mut room = core::mem::MaybeUninit::uninit();
    before_level(level);
    let state = if is_on() {{ begin::<Way>(&entry.hook, &words, &mut room) }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for.
    unsafe {{ real(a0) }};
    if let Some(state) = state {{ end::<Way>(state, &entry.hook, &words, 0); }}
    after_level(level);
}}
"
    )
}

/// Returns `true` for functions whose calls the hook looks at whether they are recorded or not: blocking collectives in
/// which all processes may meet, and functions that duplicate or free communicators.
fn is_counted(row: &Row) -> bool {
    use dwell_model::operation::Collective as C;
    let gathers = matches!(
        row.operation,
        Operation::Collective(C::Sync | C::AllReduce | C::AllGather | C::AllToAll)
    );
    let copies = ["MPI_Comm_dup", "MPI_Comm_dup_with_info"].contains(&row.name());
    let ends = shape(row) == "groups::Free";
    gathers && shape(row) == "collectives::Blocking" || copies || ends
}

/// Returns the code that such a hook executes first and last, and empty strings for all other functions.
fn counted(row: &Row) -> (&'static str, &'static str) {
    if is_counted(row) {
        (
            "let counted = if counts() { before_counted(&entry.hook, &words) } else { None };\n    ",
            "if let Some(counted) = counted { after_counted(counted, &words, result); }\n    ",
        )
    } else {
        ("", "")
    }
}

/// Returns `true` for functions so short that the recording code is compiled into each of their hooks.
fn is_hot(row: &Row) -> bool {
    ["rma::Move", "rma::Flush", "messages::Send", "messages::Receive", "messages::Start"]
        .contains(&shape(row))
}

/// Returns an expression for the row: a constant that the compiler can evaluate for short functions, otherwise the row
/// that the entry refers to.
fn row_of(row: &Row, index: usize) -> String {
    if is_hot(row) {
        format!("&const {{ *row(&::dwell_model::mpi::TABLE, {index}) }}")
    } else {
        "entry.hook.row".into()
    }
}

/// Returns the name of the type that implements `Shape` for a function, which decides how its calls are recorded.
fn shape(row: &Row) -> &'static str {
    let places = &row.places;
    let blocking = row.mode == Mode::Blocking;
    match row.operation {
        Operation::Send if blocking => "messages::Send",
        Operation::Receive | Operation::Exchange if blocking => "messages::Receive",
        Operation::Send | Operation::Receive | Operation::Exchange => "messages::Start",
        Operation::Probe | Operation::TestProbe if places.message.is_some() => "messages::Find",
        Operation::WaitHandle | Operation::TestHandle => "completion::Complete",
        Operation::StartHandle | Operation::FreeHandle => "completion::Again",
        Operation::Collective(_) if places.context.is_some() => "rma::Fence",
        Operation::Collective(_) if blocking => "collectives::Blocking",
        Operation::Collective(_) => "collectives::Start",
        Operation::Put | Operation::Get | Operation::Atomic(_) => "rma::Move",
        Operation::CompleteLocal | Operation::CompleteRemote => "rma::Flush",
        Operation::Lock | Operation::Unlock => "rma::Lock",
        Operation::StartEpoch
        | Operation::CompleteEpoch
        | Operation::PostEpoch
        | Operation::WaitEpoch
        | Operation::TestEpoch => "rma::Epoch",
        Operation::Allocate if places.created.is_some() => "rma::Create",
        Operation::Deallocate if places.ended.is_some() => "rma::Free",
        Operation::CreateGroup if places.group != Group::Caller || places.created.is_some() => {
            "groups::Create"
        }
        Operation::DestroyGroup => "groups::Free",
        _ if row.name().starts_with("MPI_Pready") => "completion::Ready",
        _ => "Plain",
    }
}
