//! Describes the hooks of functions whose arguments have their types of C, as in OpenSHMEM.

use std::env;

use dwell_model::operation::{Atomic, Mode, Operation};
use dwell_model::table::{Absent, Arg, Bytes, CType, Duty, Group, Members, Row, Shape};

use crate::emit::{ENDS_PROGRAM, Hook};

/// Returns the code of the stub and the hook for a row of the table.
pub(crate) fn of(_: &str, index: usize, row: &Row) -> String {
    match long_double(row) {
        Some(LongDouble::Returned) => return_long_double(index, row),
        Some(LongDouble::Passed) => hook(index, row, long_double_arguments(row)),
        None => hook(index, row, arguments(row)),
    }
}

/// Arguments as the hook declares them: their names and Rust types.
type Parameters = Vec<(String, &'static str)>;

fn arguments(row: &Row) -> Parameters {
    let types = row.arguments.types().iter();
    types.enumerate().map(|(at, of)| (format!("a{at}"), rust(*of))).collect()
}

fn rust(ctype: CType) -> &'static str {
    ctype.rust_name().unwrap_or("Unsupported")
}

fn hook(index: usize, row: &Row, parameters: Parameters) -> String {
    let result = match row.returns {
        CType::Void | CType::Float | CType::Double => "0",
        CType::Pointer => "result.addr() as u64",
        _ => "result as u64",
    };
    let (arguments, begin, end) = if let Some(seen) = seen(row) {
        let it = transfer_arguments(row);
        let end = format!("end_read(state, &entry.hook, {it}, {seen})");
        (String::new(), format!("read(&entry.hook, {it})"), end)
    } else if row.shape == Shape::Transfer {
        let begin = format!("transfer(&entry.hook, {})", transfer_arguments(row));
        (String::new(), begin, "end_transfer(state)".into())
    } else {
        (
            format!("let args = {};", call_args(row)),
            "begin(&entry.hook, &args)".into(),
            format!("end(state, &entry.hook, &args, {result})"),
        )
    };
    let hook = Hook {
        symbol: row.name().into(),
        function: format!("hook_{index}"),
        entry: format!("ENTRIES[{index}]"),
        passed: parameters.iter().map(|(name, _)| name.clone()).collect(),
        parameters,
        returns: rust(row.returns),
        absent: absent(row),
        arguments,
        begin,
        end,
        outcome: String::new(),
        succeeded: "true",
        level: "a0",
        duty: duty(row),
    };
    hook.code(row)
}

/// Returns the statements before and after the call for the duty of the row: barriers over all processes are counted
/// whether they are recorded or not, because clocks are compared there.
fn duty(row: &Row) -> (String, String) {
    match row.duty {
        Duty::Meet => (
            "let meeting = before_meeting(&entry.hook);\n    ".into(),
            "if let Some(before) = meeting {
        guard::guarded(guard::Entry::Meet, || after_meeting(before));
    }"
            .into(),
        ),
        _ if row.operation == Operation::Exit => (ENDS_PROGRAM.into(), String::new()),
        _ => (String::new(), String::new()),
    }
}

/// Returns what a call has found that reads a word of another process, as the source of a `Seen`. `None` for calls that
/// do not: no loop of them waits for anything.
fn seen(row: &Row) -> Option<String> {
    if row.shape != Shape::Transfer || row.mode != Mode::Blocking {
        return None;
    }
    let remote = row.places.remote?.index();
    let same = |operand: usize| match row.returns {
        CType::Float | CType::Double => format!("result.to_bits() == a{operand}.to_bits()"),
        _ => format!("result == a{operand}"),
    };
    let found = |yes: String| format!("if {yes} {{ Seen::Something }} else {{ Seen::Nothing }}");
    match (row.operation, row.returns) {
        (Operation::Atomic(Atomic::CompareSwap), _) => Some(found(same(remote + 1))),
        (Operation::Atomic(Atomic::Swap), _) => Some(found(format!("!({})", same(remote + 1)))),
        (Operation::Atomic(Atomic::Fetch) | Operation::Get, CType::Float | CType::Double) => {
            Some("Seen::Value(result.to_bits() as u64)".into())
        }
        (Operation::Get, CType::Void) if row.arguments.types().len() == remote + 3 => {
            Some(format!(
                "
        // SAFETY: the call has stored what it fetched there, says the table.
        unsafe {{ Passed::new(a{}.addr()).word({}) }}",
                remote - 1,
                bytes(row)
            ))
        }
        (Operation::Atomic(Atomic::Fetch) | Operation::Get, of) if of.size() > 0 => {
            Some("Seen::Value(result as u64)".into())
        }
        _ => None,
    }
}

/// Returns the transfer that a call makes, as the source of a `Transfer`.
fn transfer_arguments(row: &Row) -> String {
    let places = &row.places;
    let target = places.target.map_or("Rank::UNDEFINED".into(), |at| rank(row, at));
    let address = places.remote.map_or("Address::NULL".into(), address);
    let context = places.context.map_or("Context::DEFAULT".into(), |at| context(row, at));
    let bytes = bytes(row);
    format!(
        "Transfer {{ target: {target}, bytes: {bytes}, address: {address}, context: {context} }}"
    )
}

/// Returns the arguments of a call that the recorder needs, as the source of a `CallArgs`.
fn call_args(row: &Row) -> String {
    let places = &row.places;
    let mut fields = Vec::new();
    let mut field = |name: &str, value: String| fields.push(format!("{name}: {value}"));
    if let Some(at) = places.target {
        field("target", rank(row, at));
    }
    if places.bytes != Bytes::None {
        field("bytes", bytes(row));
    }
    let condition = places.condition.map(|condition| condition.address);
    if let Some(at) = places.remote.or(places.lock).or(condition) {
        field("address", address(at));
    }
    if let Some(signal) = places.signal {
        field("signal", address(signal.address));
    }
    if let Some(at) = places.context {
        field("context", context(row, at));
    }
    match places.group {
        // Lists of partners are those of coarrays.
        Group::Caller | Group::Listed { .. } => {}
        Group::World => field("who", "Who::World".into()),
        Group::ActiveSet { start, log_stride, size } => field(
            "who",
            format!(
                "Who::ActiveSet {{ start: {}, log_stride: {}, size: {} }}",
                number(row, start, "u32"),
                number(row, log_stride, "u32"),
                number(row, size, "u32"),
            ),
        ),
        Group::Team(at) => {
            field("who", format!("Who::Handle({})", address_of_handle(row, at)));
        }
    }
    if let Some(at) = places.root {
        field("root", rank(row, at));
    }
    if let Some(made) = made(row) {
        field("made", made);
    }
    if fields.is_empty() {
        "CallArgs::NONE".into()
    } else {
        format!("CallArgs {{ {}, ..CallArgs::NONE }}", fields.join(", "))
    }
}

fn made(row: &Row) -> Option<String> {
    let handle = passed(row.places.created?);
    Some(match (row.places.members, row.places.also_created) {
        (Some(Members::Strided { start, stride, size }), _) => format!(
            "[Made::Strided {{ handle: {handle}, start: {}, stride: {}, size: {} }}, Made::Nothing]",
            number(row, start, "u32"),
            number(row, stride, "u32"),
            number(row, size, "u32"),
        ),
        (Some(Members::Grid { width }), Some(other)) => {
            let (width, column) = (number(row, width, "u32"), passed(other));
            format!(
                "[Made::GridRow {{ handle: {handle}, width: {width} }}, \
                 Made::GridColumn {{ handle: {column}, width: {width} }}]"
            )
        }
        _ => format!("[Made::Context {{ handle: {handle} }}, Made::Nothing]"),
    })
}

/// Returns an expression for the number of bytes that a call moves or allocates.
fn bytes(row: &Row) -> String {
    let bytes = match row.places.bytes {
        Bytes::None => "0".into(),
        Bytes::Fixed(bytes) => bytes.to_string(),
        Bytes::Counted { count, size: 1 } => length(row, count),
        Bytes::Counted { count, size } => {
            format!("{}.saturating_mul({size})", length(row, count))
        }
        Bytes::Product { count, size } => {
            format!("{}.saturating_mul({})", length(row, count), length(row, size))
        }
        // Types that only the runtime knows the size of are MPI's.
        _ => "0".into(),
    };
    format!("Bytes({bytes})")
}

fn ctype(row: &Row, at: Arg) -> CType {
    row.arguments.types().get(at.index()).copied().unwrap_or(CType::Void)
}

/// Returns an expression for a count. In C it may be signed; a negative count becomes 0.
fn length(row: &Row, at: Arg) -> String {
    match ctype(row, at) {
        CType::SizeT => format!("(a{} as u64)", at.0),
        _ => format!("((a{} as i64).max(0) as u64)", at.0),
    }
}

fn number(row: &Row, at: Arg, of: &str) -> String {
    match ctype(row, at) {
        CType::Pointer => format!("a{}.addr() as {of}", at.0),
        _ => format!("a{} as {of}", at.0),
    }
}

/// Returns an expression for the rank of a process.
fn rank(row: &Row, at: Arg) -> String {
    format!("Rank({})", number(row, at, "u32"))
}

fn address(at: Arg) -> String {
    format!("Address(a{}.addr())", at.0)
}

/// Returns an expression for the context of a call.
fn context(row: &Row, at: Arg) -> String {
    format!("Context({})", address_of_handle(row, at))
}

/// Returns an expression for the address at which the function stores a handle for the program.
fn passed(at: Arg) -> String {
    format!(
        "
        // SAFETY: the program passed the address of a handle, says the table.
        unsafe {{ Passed::new(a{}.addr()) }}",
        at.0
    )
}

fn address_of_handle(row: &Row, at: Arg) -> String {
    match ctype(row, at) {
        CType::Pointer => format!("a{}.addr()", at.0),
        _ => format!("a{} as usize", at.0),
    }
}

/// Returns the statement that a hook executes if the runtime has no such function.
fn absent(row: &Row) -> String {
    match (row.absent, row.returns) {
        (Absent::Exit(code), _) => format!("std::process::exit(a{})", code.0),
        (Absent::Null, _) => "return core::ptr::null_mut()".into(),
        (Absent::Nothing, _) | (_, CType::Void) => "return".into(),
        (_, CType::Float | CType::Double) => "return 0.0".into(),
        (Absent::MinusOne, _) => format!("return -1_i64 as {}", rust(row.returns)),
        (Absent::Zero, _) => format!("return 0 as {}", rust(row.returns)),
    }
}

/// Direction in which a function has a `long double`.
enum LongDouble {
    Passed,
    Returned,
}

fn long_double(row: &Row) -> Option<LongDouble> {
    if row.returns == CType::LongDouble {
        return Some(LongDouble::Returned);
    }
    row.by_value_long_double().then_some(LongDouble::Passed)
}

/// Returns the arguments of a function that takes a `long double` by value.
///
/// On x86-64 the value lies on the stack as two words of eight bytes, whatever comes before it. So the other arguments
/// keep their registers, unused words fill the remaining registers, and the next two words are the value. On AArch64 it
/// is in a vector register, and has a type that is passed in the same way.
fn long_double_arguments(row: &Row) -> Parameters {
    const REGISTERS: usize = 6;
    let others = arguments(row).into_iter().zip(row.arguments.types());
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|target| target == "aarch64") {
        let passed =
            |of| if of == CType::LongDouble { "crate::arch::LongDouble" } else { rust(of) };
        return others.map(|((name, _), of)| (name, passed(*of))).collect();
    }
    let mut parameters: Parameters = others
        .filter(|(_, of)| **of != CType::LongDouble)
        .map(|(parameter, _)| parameter)
        .collect();
    let fill = (parameters.len()..REGISTERS).map(|at| (format!("unused{at}"), "u64"));
    parameters.extend(fill.collect::<Vec<_>>());
    parameters.extend([("low".into(), "u64"), ("high".into(), "u64")]);
    parameters
}

/// Returns the hook of a function that returns a `long double`, which comes back in a register that Rust does not use.
/// The hook is assembly around the two halves of the recorder.
fn return_long_double(index: usize, row: &Row) -> String {
    let parameters = arguments(row);
    let declared: Vec<_> = parameters.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    format!(
        "stub!({:?}, hook_{index}, ENTRIES[{index}]);
unsafe extern \"C-unwind\" fn before_{index}({}) -> *mut core::ffi::c_void {{
    let entry = &ENTRIES[{index}];
    entry.real();
    let call = if is_on() {{ transfer(&entry.hook, {}) }} else {{ None }};
    park(call)
}}
returns_long_double!(hook_{index}, before_{index}, ENTRIES[{index}]);
",
        row.name(),
        declared.join(", "),
        transfer_arguments(row),
    )
}
