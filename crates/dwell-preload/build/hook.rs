//! Generates the hook of one function of OpenSHMEM.

use dwell_model::operation::{Collective, Operation};
use dwell_model::table::{Absent, Arg, Bytes, CType, Group, Members, Row};

/// Returns the code of the stub and the hook for a row of the table.
pub(crate) fn of(index: usize, row: &Row) -> String {
    // Nothing is recorded yet when a runtime starts, but the call is, afterwards.
    let always = row.operation == Operation::Initialise || gathers(row);
    let stub = if always { "stub_always" } else { "stub" };
    let stub = format!("{stub}!({:?}, hook_{index}, ENTRIES[{index}]);\n", row.name());
    let hook = match long_double(row) {
        Some(LongDouble::Returned) => return_long_double(index, row),
        Some(LongDouble::Passed) => hook(index, row, &long_double_arguments(row)),
        None => hook(index, row, &arguments(row)),
    };
    stub + &hook
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

fn hook(index: usize, row: &Row, parameters: &Parameters) -> String {
    let declared: Vec<_> = parameters.iter().map(|(name, of)| format!("{name}: {of}")).collect();
    let types: Vec<_> = parameters.iter().map(|(_, of)| *of).collect();
    let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let (declared, types, names) = (declared.join(", "), types.join(", "), names.join(", "));
    let returns = rust(row.returns);
    let body = body(row, &format!("real({names})"));
    format!(
        "unsafe extern \"C-unwind\" fn hook_{index}({declared}) -> {returns} {{
    type Real = unsafe extern \"C-unwind\" fn({types}) -> {returns};
    let entry = &ENTRIES[{index}];
    let Some(real) = entry.real() else {{ {absent} }};
    // SAFETY: the function of this name has this signature, says the table.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    {body}
}}
",
        absent = absent(row),
    )
}

/// Returns the body of a hook: recording before the real call, the call itself, and recording after it.
fn body(row: &Row, call: &str) -> String {
    let result = match row.returns {
        CType::Void | CType::Float | CType::Double => "0".to_string(),
        CType::Pointer => "result.addr() as u64".to_string(),
        _ => "result as u64".to_string(),
    };
    let facts = facts(row);
    match row.operation {
        Operation::Initialise => format!(
            "let began = before_start();
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ {call} }};
    guard::walled_apart(|| start(&entry.hook, began));
    result"
        ),
        Operation::Finalise => format!(
            "guard::walled_apart(|| finish(&entry.hook));
    // SAFETY: what the program passed goes to the function it was meant for.
    unsafe {{ {call} }}"
        ),
        Operation::Control => format!(
            "let facts = {facts};
    before_level(a0);
    let call = if is_on() {{ begin(&entry.hook, &facts) }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ {call} }};
    if let Some(call) = call {{ end(call, &entry.hook, &facts, {result}); }}
    after_level(a0);
    result"
        ),
        _ if is_transfer(row) => format!(
            "let call = if is_on() {{ transfer(&entry.hook, {}) }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ {call} }};
    if let Some(call) = call {{ end_transfer(call); }}
    result",
            transfer_arguments(row)
        ),
        _ if gathers(row) => format!(
            "let facts = {facts};
    let meeting = before_meeting(&entry.hook);
    let call = if is_on() {{ begin(&entry.hook, &facts) }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ {call} }};
    if let Some(call) = call {{ end(call, &entry.hook, &facts, {result}); }}
    if let Some(before) = meeting {{
        guard::guarded(guard::Entry::Meet, || after_meeting(before));
    }}
    result",
        ),
        _ => format!(
            "let facts = {facts};
    let call = if is_on() {{ begin(&entry.hook, &facts) }} else {{ None }};
    // SAFETY: what the program passed goes to the function it was meant for.
    let result = unsafe {{ {call} }};
    if let Some(call) = call {{ end(call, &entry.hook, &facts, {result}); }}
    result",
        ),
    }
}

/// Returns `true` for barriers over all processes. Their hooks count every call, whether it is recorded or not, because
/// clocks are compared there.
fn gathers(row: &Row) -> bool {
    let all = row.places.group == Group::World;
    all && matches!(row.operation, Operation::Collective(Collective::Barrier | Collective::Sync))
}

fn is_transfer(row: &Row) -> bool {
    let moves = matches!(row.operation, Operation::Put | Operation::Get | Operation::Atomic(_));
    moves && row.places.signal.is_none()
}

fn transfer_arguments(row: &Row) -> String {
    let places = &row.places;
    let target = places.target.map_or("u32::MAX".into(), |at| number(row, at, "u32"));
    let address = places.remote.map_or("0".into(), address);
    let context = places.context.map_or("0".into(), |at| address_of_handle(row, at));
    format!("{target}, {}, {address}, {context}", bytes(row))
}

/// Returns the arguments of a call that the recorder needs, as the source of a `Facts`.
fn facts(row: &Row) -> String {
    let places = &row.places;
    let mut fields = Vec::new();
    let mut field = |name: &str, value: String| fields.push(format!("{name}: {value}"));
    if let Some(at) = places.target {
        field("target", number(row, at, "u32"));
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
        field("context", address_of_handle(row, at));
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
        field("root", number(row, at, "u32"));
    }
    if let Some(made) = made(row) {
        field("made", made);
    }
    if fields.is_empty() {
        "Facts::NONE".into()
    } else {
        format!("Facts {{ {}, ..Facts::NONE }}", fields.join(", "))
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

fn bytes(row: &Row) -> String {
    match row.places.bytes {
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
    }
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

fn address(at: Arg) -> String {
    format!("a{}.addr()", at.0)
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

/// Returns the arguments of a function that takes a `long double` by value. The value lies on the stack as two words of
/// eight bytes, whatever comes before it. So the other arguments keep their registers, unused words fill the remaining
/// registers, and the next two words are the value.
fn long_double_arguments(row: &Row) -> Parameters {
    const REGISTERS: usize = 6;
    let others = arguments(row).into_iter().zip(row.arguments.types());
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
        "unsafe extern \"C-unwind\" fn before_{index}({}) -> *mut core::ffi::c_void {{
    let entry = &ENTRIES[{index}];
    entry.real();
    let call = if is_on() {{ transfer(&entry.hook, {}) }} else {{ None }};
    park(call)
}}
returns_long_double!(hook_{index}, before_{index}, ENTRIES[{index}]);
",
        declared.join(", "),
        transfer_arguments(row),
    )
}
