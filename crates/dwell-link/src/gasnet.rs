//! The header with hooks for GASNet-EX, whose calls are macros.
//!
//! A linker sees no macros, and the functions behind them are no interface: they differ between conduits and versions, and
//! many calls become a copy in memory without any function. So hooks are put around the macros themselves, in a header
//! that the compiler includes before the program (`-include`). For each call `F` the header has
//!
//! * `dwell_plain_F`, an inline function in which the macro stands as it was;
//! * `dwell_hooked_F`, which tells the recorder the arguments before the call and the result after it;
//! * a new macro `F`, which chooses one of them by a weak reference to `libdwell.so`.
//!
//! The second is never inlined, so that its return address is the line of the program. What has another form (active
//! messages with any number of arguments, start and end, the registration of handlers) is written out in `tail.h`.

use std::fmt::Write;

/// Calls in C, by what they return. Behind `+` stand further words for the recorder.
const CALLS: &str = "
int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags)
gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc, gex_Flags_t flags)
int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc, gex_Flags_t flags)
int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
";

/// The forms of vector, indexed and strided transfers, whose names end in the way in which they are completed.
const FORMS: &str = "
gex_VIS_VectorPut(gex_TM_t tm, gex_Rank_t rank, size_t dc, gex_Memvec_t const *dl, size_t sc, gex_Memvec_t const *sl, gex_Flags_t flags) + dwell_vector(dc, dl)
gex_VIS_VectorGet(gex_TM_t tm, size_t dc, gex_Memvec_t const *dl, gex_Rank_t rank, size_t sc, gex_Memvec_t const *sl, gex_Flags_t flags) + dwell_vector(dc, dl)
gex_VIS_IndexedPut(gex_TM_t tm, gex_Rank_t rank, size_t dc, void *const *dl, size_t dn, size_t sc, void *const *sl, size_t sn, gex_Flags_t flags) + dc * dn
gex_VIS_IndexedGet(gex_TM_t tm, size_t dc, void *const *dl, size_t dn, gex_Rank_t rank, size_t sc, void *const *sl, size_t sn, gex_Flags_t flags) + dc * dn
gex_VIS_StridedPut(gex_TM_t tm, gex_Rank_t rank, void *da, ptrdiff_t const *ds, void *sa, ptrdiff_t const *ss, size_t size, size_t const *count, size_t levels, gex_Flags_t flags) + dwell_strided(size, count, levels)
gex_VIS_StridedGet(gex_TM_t tm, void *da, ptrdiff_t const *ds, gex_Rank_t rank, void *sa, ptrdiff_t const *ss, size_t size, size_t const *count, size_t levels, gex_Flags_t flags) + dwell_strided(size, count, levels)
";

/// Types of atomic operations: the end of the name, and the type in C.
const ATOMICS: &[(&str, &str)] = &[
    ("I32", "int32_t"),
    ("U32", "uint32_t"),
    ("I64", "int64_t"),
    ("U64", "uint64_t"),
    ("FLT", "float"),
    ("DBL", "double"),
];

const OTHERS: &str = "
void gex_Event_Wait(gex_Event_t event)
void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
int gex_Event_Test(gex_Event_t event)
int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags) + dwell_kinds(mask)
int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags) + dwell_kinds(mask)
void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags)
gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags)
gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes, gex_Flags_t flags)
gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt, size_t size, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn, void *data, gex_Flags_t flags)
gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t size, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn, void *data, gex_Flags_t flags)
int gasnet_barrier(int id, int flags) + 0
void gasnet_barrier_notify(int id, int flags) + 0
int gasnet_barrier_wait(int id, int flags) + 0
int gasnet_barrier_try(int id, int flags) + 0
int gex_Segment_Attach(gex_Segment_t *segment, gex_TM_t tm, uintptr_t length)
size_t gex_TM_Split(gex_TM_t *created, gex_TM_t tm, int color, int key, void *addr, size_t len, gex_Flags_t flags)
size_t gex_TM_Create(gex_TM_t *created, size_t many, gex_TM_t tm, gex_EP_Location_t *args, size_t count, gex_Addr_t *addrs, size_t len, gex_Flags_t flags)
int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch, gex_Flags_t flags)
int gasnet_AMPoll(void)
void gex_HSL_Lock(gex_HSL_t *hsl)
int gex_HSL_Trylock(gex_HSL_t *hsl)
void gex_HSL_Unlock(gex_HSL_t *hsl)
";

/// Returns all calls whose hooks are generated, in the form of [`CALLS`].
fn calls() -> Vec<String> {
    let lines = CALLS.lines().chain(OTHERS.lines()).filter(|line| !line.is_empty());
    let mut calls: Vec<String> = lines.map(str::to_owned).collect();
    for form in FORMS.lines().filter(|line| !line.is_empty()) {
        let (name, rest) = form.split_once('(').unwrap_or((form, ""));
        for (returns, mode) in [("int", "Blocking"), ("gex_Event_t", "NB"), ("int", "NBI")] {
            calls.push(format!("{returns} {name}{mode}({rest}"));
        }
    }
    for (end, of) in ATOMICS {
        for (returns, mode) in [("gex_Event_t", "NB"), ("int", "NBI")] {
            calls.push(format!(
                "{returns} gex_AD_Op{mode}_{end}(gex_AD_t ad, {of} *former, gex_Rank_t rank, void *addr, \
                 gex_OP_t op, {of} op1, {of} op2, gex_Flags_t flags) + gex_AD_QueryTM(ad)"
            ));
        }
    }
    calls
}

/// Returns the header, to be given to the compiler with `-include`. It includes the headers of GASNet itself, and does nothing
/// in files that are compiled without the settings of GASNet.
pub fn header() -> String {
    let mut text = include_str!("gasnet/head.h").to_owned();
    for call in calls() {
        text += &hook(&Call::parse(&call));
    }
    // The recorder registers a handler of its own.
    text += &plain(&Call::parse(
        "int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t count)",
    ));
    text + include_str!("gasnet/tail.h")
}

/// One call: its parts in C.
struct Call<'a> {
    returns: &'a str,
    name: &'a str,
    parameters: &'a str,
    /// Names of the parameters.
    arguments: Vec<&'a str>,
    /// Types of the parameters that are no numbers of the machine's word.
    real: Vec<bool>,
    /// A further word for the recorder.
    further: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn parse(line: &'a str) -> Self {
        let (signature, further) = match line.split_once(" + ") {
            Some((signature, further)) => (signature, Some(further)),
            None => (line, None),
        };
        let (head, rest) = signature.split_once('(').unwrap_or((signature, ""));
        let parameters = rest.trim_end_matches(')');
        let (returns, name) = head.rsplit_once(' ').unwrap_or(("void", head));
        let list = parameters.split(", ").filter(|it| *it != "void");
        let name_of = |it: &'a str| it.rsplit([' ', '*']).next().unwrap_or(it);
        let is_real = |it: &str| it.starts_with("float ") || it.starts_with("double ");
        let is_real = |it: &str| is_real(it) && !it.contains('*');
        let arguments = list.clone().map(name_of).collect();
        let real = list.map(is_real).collect();
        Self { returns, name, parameters, arguments, real, further }
    }
}

/// Returns the function in which a macro stands as it was.
fn plain(call: &Call<'_>) -> String {
    let Call { returns, name, parameters, arguments, .. } = call;
    let back = if *returns == "void" { "" } else { "return " };
    // Versions differ in the places where they accept `const`.
    let given: Vec<String> = arguments
        .iter()
        .map(|it| if *it == "src" { "(void *)src".to_owned() } else { (*it).to_owned() })
        .collect();
    let given = given.join(", ");
    format!("DWELL_FAST {returns} dwell_plain_{name}({parameters}) {{ {back}{name}({given}); }}\n")
}

/// Returns the words that the recorder gets: the arguments, a further one, and room for the returned value.
fn words(call: &Call<'_>) -> Vec<String> {
    let Call { returns, arguments, real, further, .. } = call;
    let word = |(it, real): (&&str, &bool)| match real {
        // The recorder does not need these.
        true => "0".to_owned(),
        false => format!("(dwell_word){it}"),
    };
    let mut words: Vec<String> = arguments.iter().zip(real).map(word).collect();
    words.extend(further.map(|it| format!("(dwell_word)({it})")));
    words.extend((*returns != "void").then(|| "0".to_owned()));
    words
}

/// Returns the hook of a call, and the new macro.
fn hook(call: &Call<'_>) -> String {
    let mut text = plain(call);
    let Call { returns, name, parameters, arguments, .. } = call;
    let given = arguments.join(", ");
    let words = words(call);
    let (keep, store, back) = match *returns {
        "void" => (String::new(), String::new(), ""),
        _ => {
            let last = words.len() - 1;
            let keep = format!("{returns} result = ");
            (keep, format!("  words[{last}] = (dwell_word)result;\n"), "  return result;\n")
        }
    };
    let words = words.join(", ");
    let _ = write!(
        text,
        "extern char dwell_entry_{name}[] DWELL_WEAK;
DWELL_SLOW {returns} dwell_hooked_{name}({parameters}) {{
  dwell_word words[] = {{{words}}};
  dwell_word state[DWELL_STATE];
  int recorded = dwell_gasnet_begin(dwell_entry_{name}, words, DWELL_SITE, DWELL_STACK, state);
  {keep}dwell_plain_{name}({given});
{store}  if (recorded) dwell_gasnet_end(dwell_entry_{name}, words, state);
{back}}}
#undef {name}
#define {name}(...) (dwell_entry_{name} ? dwell_hooked_{name}(__VA_ARGS__) : dwell_plain_{name}(__VA_ARGS__))
"
    );
    text
}

#[cfg(test)]
mod tests {
    use dwell_model::gasnet::TABLE;
    use dwell_model::table::CType;

    use super::*;

    #[test]
    fn every_row_has_a_hook_with_as_many_words() {
        let text = header();
        for row in TABLE.rows {
            let name = row.name();
            assert!(text.contains(&format!("dwell_entry_{name}[]")), "{name}");
        }
        for call in calls() {
            let call = Call::parse(&call);
            let row = TABLE.find(call.name).unwrap_or_else(|| panic!("{}", call.name));
            assert_eq!(words(&call).len(), row.arguments.types().len(), "{}", call.name);
            assert_eq!(call.returns == "void", row.returns == CType::Void, "{}", call.name);
        }
    }
}
