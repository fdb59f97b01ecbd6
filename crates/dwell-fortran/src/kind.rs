//! The kind of a statement, from its text alone.
//!
//! Keywords are not reserved in Fortran: `lock(1)=2` is an assignment. So the structure decides first (an equals sign
//! outside of brackets, a double colon), and the keyword after that, as compilers do.

use crate::text::{closing, equals, find, name, outside};

/// A statement that orders the actions of images or moves no data by itself: the image control statements of Fortran,
/// and the intrinsic subroutines that communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// `sync all`, a barrier: each image of the current team waits there until all others have arrived as well.
    SyncAll,
    /// `sync images (list)`: the image waits for the listed images only, and they for it. A star instead of the list means
    /// all images of the current team.
    SyncImages,
    /// `sync team (team)`, a barrier of the images of a team that need not be the current one.
    SyncTeam,
    /// `sync memory`, which completes the accesses of this image to others and does not wait.
    SyncMemory,
    /// `lock (variable)`. Without `acquired_lock=` it waits until the lock is free; with it, it returns at once and says
    /// whether the lock was acquired.
    Lock,
    /// `unlock (variable)`, by the image that has acquired the lock. The variable may be on another image.
    Unlock,
    /// `event post (variable)`, which notifies the image that the variable is on, and does not wait for it.
    EventPost,
    /// `event wait (variable)`, which waits until as many posts have arrived as `until_count=` says, or one.
    EventWait,
    /// `form team (number, team)`, which splits the current team by numbers. All images of it take part.
    FormTeam,
    /// `allocate`. It is collective over the current team if an object of its list has bounds of codimensions, and
    /// otherwise a matter of one image.
    Allocate,
    /// A call of a collective subroutine of Fortran: `co_sum`, `co_min`, `co_max`, `co_reduce` or `co_broadcast`.
    Collective,
    /// A call of an atomic subroutine of Fortran, such as `atomic_add`, whose variable may be on another image.
    Atomic,
    /// A call of `event_query`, which returns the number of posts that have arrived, without waiting for any.
    EventQuery,
    /// A call of a procedure that synchronised before Fortran 2008 had statements for it, such as `call sync_all()`.
    /// [`classify`] never returns it, since only the whole source tells whether the program has such a procedure itself.
    Procedure(Procedure),
}

/// A procedure of Co-Array Fortran that synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// `sync_all`, a barrier of all images. With a list, an image waits for the listed images only.
    SyncAll,
    /// `sync_team`, a barrier of the listed images. With a second list, an image waits for those images only.
    SyncTeam,
    /// `sync_memory`, which completes the accesses of this image and does not wait for others.
    SyncMemory,
    /// `sync_file`, which makes what this image wrote to a unit visible to others.
    SyncFile,
    /// `start_critical`, which waits until no other image is between it and `end_critical`.
    StartCritical,
    /// `end_critical`, which lets the next image enter.
    EndCritical,
}

impl Procedure {
    /// Returns the procedure with a name in lower case, or `None` for other names.
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"sync_all" => Self::SyncAll,
            b"sync_team" => Self::SyncTeam,
            b"sync_memory" => Self::SyncMemory,
            b"sync_file" => Self::SyncFile,
            b"start_critical" => Self::StartCritical,
            b"end_critical" => Self::EndCritical,
            _ => return None,
        })
    }
}

/// Kinds of statements that the search for references tells apart. Offsets are those of characters of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An assignment, with the offset of its equals sign. A reference that is its whole left side is written, and all
    /// others are read.
    Assignment(usize),
    /// A pointer assignment. Pointers cannot be associated with variables of other images, but subscripts may read some.
    PointerAssignment,
    /// An `if` with one action on the same line: offset of the bracket that closes the condition.
    If(usize),
    /// The beginning of an `if` construct, whose condition is evaluated once whenever the construct is reached.
    IfThen,
    /// A further condition of an `if` construct, which is evaluated only if those before it were false.
    ElseIf,
    /// `else` or `elsewhere`, which belongs to the construct that was opened last and is not closed yet.
    Else,
    /// A loop with bounds, without any, or over `concurrent` indices. The value is `true` if a label says where the loop
    /// ends, and no `end do`.
    Do(bool),
    /// A loop with a condition, which is evaluated before each round. The value is `true` if a label says where it ends.
    DoWhile(bool),
    /// A call of a subroutine that is none of those with a kind of their own. Its interface, which is elsewhere, says
    /// whether arguments are read or written.
    Call,
    /// `print` or `write`, with the offset of the first item of its list. Items are read, and so is the control list.
    Output(usize),
    /// `read`, with the offset of the first item of its list. Items are written, and the control list is read.
    Input(usize),
    /// The beginning of a `where` construct, or a `where` with one assignment if this is `false`.
    Where(bool),
    /// The beginning of a `forall` construct, or a `forall` with one assignment if this is `false`.
    Forall(bool),
    /// The beginning of a `select` construct, whose selector is evaluated once. No call may come before its first `case`.
    Select,
    /// `case`, `type is`, `class default` and `rank` inside a `select` construct. Their values are constants or types.
    Case,
    /// The beginning of an `associate` construct, which gives names to expressions that are evaluated once.
    Associate,
    /// The beginning of a `block` construct of the program, which may declare names of its own.
    Block,
    /// The beginning of a `critical` construct, which one image at a time executes: it waits here for the others.
    Critical,
    /// The beginning of a `change team` construct, a barrier of the new team. Images are numbered in that team inside.
    ChangeTeam,
    /// The end of a construct, except for the two that follow, which are image control statements.
    End,
    /// The end of a `critical` construct, which lets the next image enter it.
    EndCritical,
    /// The end of a `change team` construct, a barrier of the team that was current inside it.
    EndTeam,
    /// An image control statement that is not part of a construct, or a call of a subroutine that communicates.
    Control(Control),
    /// A declaration or another statement that is not executed, so that its brackets are bounds of codimensions.
    Declaration,
    /// An `include` line. What the file contains is not part of the source that is scanned.
    Include,
    /// The beginning or end of a program unit, procedure, interface or type, and `contains`, which comes between two.
    Unit,
    /// Any other statement, such as `stop` and `return`: offset behind its keyword.
    Other(usize),
}

/// A part of a statement that is judged by itself: the condition of an `if`, its action, or a whole statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Kind of the part. A condition has the kind of its statement, and an action the kind that it would have alone.
    pub kind: Kind,
    /// Offset of its first character in the text of the statement, behind the name of a construct if it has one.
    pub from: usize,
    /// Offset behind its last character. For a condition that is the bracket that closes it.
    pub to: usize,
}

/// Returns the parts of a statement: two if it has a condition and an action, otherwise one.
pub fn pieces(text: &[u8]) -> Vec<Piece> {
    let (kind, from) = classify(text, 0);
    let close = match kind {
        Kind::If(close) => Some(close),
        Kind::Where(false) => closing(text, from + 5),
        Kind::Forall(false) => closing(text, from + 6),
        _ => None,
    };
    let Some(close) = close else { return vec![Piece { kind, from, to: text.len() }] };
    let (action, behind) = classify(text, close + 1);
    vec![Piece { kind, from, to: close + 1 }, Piece { kind: action, from: behind, to: text.len() }]
}

/// Returns the kind of the statement that begins at `from` in the text of a statement, and the offset behind the name
/// of its construct, if it has one.
pub fn classify(text: &[u8], from: usize) -> (Kind, usize) {
    let from = behind_construct_name(text, from);
    let rest = text.get(from..).unwrap_or_default();
    (kind(text, from, rest), from)
}

/// Skips `name:` in front of a construct.
fn behind_construct_name(text: &[u8], from: usize) -> usize {
    let length = name(text, from).len();
    let (one, two) = (text.get(from + length), text.get(from + length + 1));
    if length > 0 && one == Some(&b':') && two != Some(&b':') { from + length + 1 } else { from }
}

fn kind(text: &[u8], from: usize, rest: &[u8]) -> Kind {
    let starts = |word: &str| rest.starts_with(word.as_bytes());
    let bracket = |word: &str| {
        starts(word)
            .then(|| closing(text, from + word.len() - 1))
            .flatten()
            .map(|close| (close, text.get(close + 1..).unwrap_or_default()))
    };
    let assigned = |after: &[u8]| matches!(after.first(), Some(b'=' | b'(' | b'%' | b'['));
    if let Some((close, after)) = bracket("if(") {
        match after {
            b"then" => return Kind::IfThen,
            [] => return Kind::Other(from + 2),
            _ if assigned(after) => {}
            [b'0'..=b'9', ..] => return Kind::Other(from + 2),
            _ => return Kind::If(close),
        }
    }
    if bracket("elseif(").is_some_and(|(_, after)| after.starts_with(b"then")) {
        return Kind::ElseIf;
    }
    if let Some((_, after)) = bracket("where(").filter(|(_, after)| !assigned(after)) {
        return Kind::Where(after.is_empty());
    }
    if let Some((_, after)) = bracket("forall(").filter(|(_, after)| !assigned(after)) {
        return Kind::Forall(after.is_empty());
    }
    if let Some(loops) = loops(text, from, rest) {
        return loops;
    }
    if find(text, from, b"::").is_some() {
        return Kind::Declaration;
    }
    if let Some(at) = equals(text, from) {
        return Kind::Assignment(at);
    }
    if find(text, from, b"=>").is_some() && !starts("use") && !starts("associate(") {
        return if starts("procedure") { Kind::Declaration } else { Kind::PointerAssignment };
    }
    by_keyword(text, from, rest)
}

fn loops(text: &[u8], from: usize, rest: &[u8]) -> Option<Kind> {
    let after = rest.strip_prefix(b"do")?;
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let labelled = digits > 0;
    let after = after.get(digits..)?;
    let after = after.strip_prefix(b",").unwrap_or(after);
    if after.is_empty() || after.starts_with(b"concurrent(") {
        return Some(Kind::Do(labelled));
    }
    if after.starts_with(b"while(") && closing(after, 5) == after.len().checked_sub(1) {
        return Some(Kind::DoWhile(labelled));
    }
    // `do i=1,2` is a loop, `doi=1` is not.
    let at = equals(text, from)?;
    outside(text, at, |_, byte| byte == b',').map(|_| Kind::Do(labelled))
}

const DECLARATIONS: &[&str] = &[
    "integer",
    "real",
    "complex",
    "logical",
    "character",
    "doubleprecision",
    "doublecomplex",
    "byte",
    "type(",
    "class(",
    "dimension",
    "codimension",
    "allocatable",
    "target",
    "save",
    "common",
    "parameter(",
    "external",
    "intrinsic",
    "data",
    "namelist",
    "implicit",
    "use",
    "import",
    "equivalence",
    "format(",
    "pointer",
    "asynchronous",
    "volatile",
    "contiguous",
    "value",
    "private",
    "public",
    "protected",
    "enumerator",
    "generic",
    "procedure",
    "bind(",
    "optional",
    "sequence",
    "final",
    "enum,",
    "intent(",
    "entry",
];

const UNITS: &[&str] = &[
    "program",
    "module",
    "submodule",
    "subroutine",
    "function",
    "contains",
    "interface",
    "abstractinterface",
    "endprogram",
    "endmodule",
    "endsubmodule",
    "endsubroutine",
    "endfunction",
    "endinterface",
    "endtype",
    "endenum",
    "blockdata",
    "endblockdata",
    "endprocedure",
];

const ENDS: &[&str] =
    &["endif", "enddo", "endselect", "endwhere", "endforall", "endassociate", "endblock"];

const COLLECTIVES: &[&str] = &["co_sum", "co_min", "co_max", "co_reduce", "co_broadcast"];

fn by_keyword(text: &[u8], from: usize, rest: &[u8]) -> Kind {
    let starts = |word: &str| rest.starts_with(word.as_bytes());
    let whole = |word: &str| rest == word.as_bytes();
    if starts("call") {
        let called = name(text, from + 4);
        let is = |names: &[&str]| names.iter().any(|known| known.as_bytes() == called);
        return match called {
            _ if is(COLLECTIVES) => Kind::Control(Control::Collective),
            b"event_query" => Kind::Control(Control::EventQuery),
            _ if called.starts_with(b"atomic_") && is_atomic(called) => {
                Kind::Control(Control::Atomic)
            }
            _ => Kind::Call,
        };
    }
    let controls: [(&str, Control); 10] = [
        ("syncall", Control::SyncAll),
        ("syncimages(", Control::SyncImages),
        ("syncteam(", Control::SyncTeam),
        ("syncmemory", Control::SyncMemory),
        ("lock(", Control::Lock),
        ("unlock(", Control::Unlock),
        ("eventpost(", Control::EventPost),
        ("eventwait(", Control::EventWait),
        ("formteam(", Control::FormTeam),
        ("allocate(", Control::Allocate),
    ];
    if let Some((_, control)) = controls.iter().find(|(word, _)| starts(word)) {
        return Kind::Control(*control);
    }
    if starts("write(") || starts("read(") {
        let open = if starts("write(") { from + 5 } else { from + 4 };
        let items = closing(text, open).map_or(text.len(), |close| close + 1);
        return if starts("write(") { Kind::Output(items) } else { Kind::Input(items) };
    }
    if starts("print") || starts("read*") {
        let items = outside(text, from, |_, byte| byte == b',').map_or(text.len(), |at| at + 1);
        return if starts("print") { Kind::Output(items) } else { Kind::Input(items) };
    }
    if starts("include\"") {
        return Kind::Include;
    }
    match rest {
        b"critical" => return Kind::Critical,
        b"block" => return Kind::Block,
        b"else" => return Kind::Else,
        b"end" => return Kind::Unit,
        _ => {}
    }
    if starts("critical(") {
        return Kind::Critical;
    }
    if starts("endcritical") {
        return Kind::EndCritical;
    }
    if starts("endteam") {
        return Kind::EndTeam;
    }
    if starts("changeteam(") {
        return Kind::ChangeTeam;
    }
    if starts("selectcase(") || starts("selecttype(") || starts("selectrank(") {
        return Kind::Select;
    }
    if starts("associate(") {
        return Kind::Associate;
    }
    if ["case(", "casedefault", "typeis(", "classis(", "classdefault", "rank("]
        .iter()
        .any(|word| starts(word))
    {
        return Kind::Case;
    }
    if starts("elsewhere") || starts("else") {
        return Kind::Else;
    }
    if UNITS.iter().any(|word| starts(word)) {
        return Kind::Unit;
    }
    if ENDS.iter().any(|word| starts(word)) {
        return Kind::End;
    }
    if DECLARATIONS.iter().any(|word| starts(word)) || starts("type") || whole("enum") {
        return Kind::Declaration;
    }
    if is_prefixed_procedure(rest) {
        return Kind::Unit;
    }
    let words =
        ["errorstop", "stop", "return", "deallocate", "nullify", "inquire", "open", "close"];
    let length = words.iter().find(|word| starts(word)).map_or(0, |word| word.len());
    Kind::Other(from + length)
}

fn is_atomic(name: &[u8]) -> bool {
    let known: [&[u8]; 11] = [
        b"atomic_define",
        b"atomic_ref",
        b"atomic_cas",
        b"atomic_add",
        b"atomic_and",
        b"atomic_or",
        b"atomic_xor",
        b"atomic_fetch_add",
        b"atomic_fetch_and",
        b"atomic_fetch_or",
        b"atomic_fetch_xor",
    ];
    known.contains(&name)
}

/// Returns `true` for the first statement of a procedure with a prefix, such as `pure subroutine`.
fn is_prefixed_procedure(rest: &[u8]) -> bool {
    let prefixes = ["pure", "impure", "elemental", "recursive", "module", "non_recursive"];
    prefixes.iter().any(|prefix| rest.starts_with(prefix.as_bytes()))
}
