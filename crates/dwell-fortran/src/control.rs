//! Calls for image control statements, and for subroutines that communicate.

use dwell_model::coarray::Call;

use crate::calls::Calls;
use crate::constructs::Place;
use crate::insert::{Plan, Planner, add_team, call, number};
use crate::kind::{Control, Kind, Piece, Procedure};
use crate::operand::{Operand, Reason, bare, check, copy, number as hash, operand};
use crate::references::{Range, Reference};
use crate::scan::Statement;
use crate::text::{closing, equals, name, parts};

/// Returns `true` if a part of a statement orders images or communicates, with or without a remote access in it.
pub(crate) fn is_control(statement: &Statement, piece: &Piece) -> bool {
    match piece.kind {
        Kind::Control(Control::Allocate) => allocates_coarray(&statement.text, piece),
        Kind::Control(_)
        | Kind::Critical
        | Kind::EndCritical
        | Kind::ChangeTeam
        | Kind::EndTeam => true,
        _ => false,
    }
}

/// Returns `true` if an object of an `allocate` statement has bounds of codimensions.
fn allocates_coarray(text: &[u8], piece: &Piece) -> bool {
    arguments(text, piece).iter().any(|(from, to)| {
        text.get(*from..*to).is_some_and(|part| part.ends_with(b"]"))
            && equals(text, *from).is_none_or(|at| at >= *to)
    })
}

/// Returns the arguments of a statement, without its keyword.
fn arguments(text: &[u8], piece: &Piece) -> Vec<Range> {
    let open = text.iter().skip(piece.from).position(|byte| *byte == b'(');
    let Some(open) = open.map(|at| at + piece.from) else { return Vec::new() };
    closing(text, open).map_or_else(Vec::new, |close| parts(text, open + 1, close))
}

/// Returns the argument at a position, or the one with a keyword.
fn argument(text: &[u8], all: &[Range], at: usize, keyword: &str) -> Option<Range> {
    let named = all.iter().find_map(|(from, to)| {
        let word = name(text, *from);
        let is_it = word == keyword.as_bytes() && equals(text, *from) == Some(from + word.len());
        is_it.then_some((from + word.len() + 1, *to))
    });
    let is_positional = |(from, to): &&Range| equals(text, *from).is_none_or(|at| at >= *to);
    named.or_else(|| all.get(at).filter(is_positional).copied())
}

/// Returns the calls for an image control statement or a subroutine that communicates; `None` if it is neither.
pub(crate) fn plan(
    planner: &Planner<'_>,
    index: usize,
    statement: &Statement,
    piece: &Piece,
    place: Place,
    counted: &[Reference],
    calls: &mut Calls,
) -> Option<Result<Plan, Reason>> {
    if !is_control(statement, piece) {
        return None;
    }
    let it = Planned { planner, statement, piece, counted };
    Some(match piece.kind {
        Kind::Critical => it.split("critical", planner.critical(index), calls),
        Kind::EndCritical => {
            it.split("end_critical", planner.critical(place.begin.unwrap_or(index)), calls)
        }
        Kind::ChangeTeam => it.change_team(calls),
        Kind::EndTeam => it.split("end_team", 0, calls),
        Kind::Control(control) => it.around(control, calls),
        _ => return None,
    })
}

impl Planner<'_> {
    /// Returns the number of a critical construct: that of its place in the source, which all images share.
    fn critical(&self, begin: usize) -> u32 {
        let place = self.place_in_source(begin);
        hash(place.as_bytes())
    }
}

struct Planned<'a> {
    planner: &'a Planner<'a>,
    statement: &'a Statement,
    piece: &'a Piece,
    counted: &'a [Reference],
}

/// Returns the number of an operation by its name in the table.
fn code(name: &str) -> String {
    number(Call::named(name).map_or(0, Call::code))
}

impl Planned<'_> {
    /// A statement that begins or ends a construct: the calls before and behind it have blocks of their own.
    fn split(&self, what: &str, lock: u32, calls: &mut Calls) -> Result<Plan, Reason> {
        if !self.counted.is_empty() {
            return Err("a construct begins or ends with a remote access");
        }
        let image = if lock == 0 { 0 } else { 1 };
        let before = vec![call(calls, "enter", &[code(what), number(image), number(lock)])];
        let after = vec![call(calls, "end", &[code(what), number(1)])];
        Ok(Plan::Split { before, after, separated: true })
    }

    fn change_team(&self, calls: &mut Calls) -> Result<Plan, Reason> {
        let text = &self.statement.text;
        let all = arguments(text, self.piece);
        let team = all.first().copied().ok_or("it names no team")?;
        let team = self.evaluated(team)?;
        let arguments = [code("change_team"), number(0), number(0), team];
        let before = vec![call(calls, "begin", &arguments)];
        let after = vec![call(calls, "end", &[code("change_team"), number(1)])];
        Ok(Plan::Split { before, after, separated: true })
    }

    /// Returns a copy of an expression that can be evaluated once more.
    fn evaluated(&self, (from, to): Range) -> Result<String, Reason> {
        let text = &self.statement.text;
        check(text, self.planner.declared, (from, to))?;
        if self.counted.iter().any(|it| from <= it.whole.0 && it.whole.1 <= to)
            || self.planner.declared.may_call(text, from, to)
        {
            return Err("an argument may call a function, which would be called twice");
        }
        copy(self.statement, (from, to))
    }

    fn around(&self, control: Control, calls: &mut Calls) -> Result<Plan, Reason> {
        let text = &self.statement.text;
        let all = arguments(text, self.piece);
        let mut begin = Vec::new();
        let (mut result, mut used) = (number(1), None);
        let what = match control {
            Control::SyncAll | Control::SyncMemory | Control::FormTeam | Control::Allocate => {
                let what = match control {
                    Control::SyncAll => "sync_all",
                    Control::SyncMemory => "sync_memory",
                    Control::FormTeam => "form_team",
                    _ => "allocate",
                };
                begin.push(call(calls, "enter", &[code(what), number(0), number(0)]));
                what
            }
            Control::SyncImages => {
                let list = all.first().copied().ok_or("it lists no images")?;
                let list_text = text.get(list.0..list.1).unwrap_or_default();
                begin.push(if list_text == b"*" {
                    call(calls, "enter", &[code("sync_images"), number(-1), number(0)])
                } else {
                    let list = self.evaluated(list)?;
                    call(calls, "begin", &[code("sync_images"), number(0), number(0), list])
                });
                "sync_images"
            }
            Control::SyncTeam => {
                let team = self.evaluated(all.first().copied().ok_or("it names no team")?)?;
                begin.push(call(calls, "begin", &[code("sync_team"), number(0), number(0), team]));
                "sync_team"
            }
            Control::Lock
            | Control::Unlock
            | Control::EventPost
            | Control::EventWait
            | Control::EventQuery => {
                let (what, keyword) = match control {
                    Control::Lock => ("lock", "lock_var"),
                    Control::Unlock => ("unlock", "lock_var"),
                    Control::EventPost => ("event_post", "event"),
                    Control::EventWait => ("event_wait", "event"),
                    _ => ("event_query", "event"),
                };
                let variable = argument(text, &all, 0, keyword).ok_or("it names no variable")?;
                let it = self.variable(variable)?;
                used = Some(variable);
                add_team(&mut begin, calls, &it);
                let arguments = [code(what), it.image, number(hash(&it.name)), it.local];
                begin.push(call(calls, "begin", &arguments));
                if let Some(acquired) = argument(text, &all, usize::MAX, "acquired_lock") {
                    let acquired = self.evaluated(acquired)?;
                    result = calls.using(format!("merge(1_dwell_k,0_dwell_k,{acquired})"));
                }
                what
            }
            Control::Collective => {
                let what = String::from_utf8_lossy(name(text, self.piece.from + 4)).into_owned();
                let what = ["co_sum", "co_min", "co_max", "co_reduce", "co_broadcast"]
                    .into_iter()
                    .find(|known| *known == what)
                    .ok_or("it is no collective subroutine")?;
                let variable = argument(text, &all, 0, "a").ok_or("it names no variable")?;
                let it = self.variable(variable)?;
                let (at, keyword) = match what {
                    "co_reduce" => (2, "result_image"),
                    "co_broadcast" => (1, "source_image"),
                    _ => (1, "result_image"),
                };
                let image = match argument(text, &all, at, keyword) {
                    Some(image) => calls.using(format!("int({},dwell_k)", self.evaluated(image)?)),
                    None => number(0),
                };
                begin.push(call(calls, "begin", &[code(what), image, number(0), it.local]));
                what
            }
            Control::Atomic => {
                let called = name(text, self.piece.from + 4);
                let what = match called {
                    b"atomic_define" => "atomic_define",
                    b"atomic_ref" => "atomic_ref",
                    b"atomic_cas" => "atomic_cas",
                    _ if called.starts_with(b"atomic_fetch") => "atomic_fetch_op",
                    _ => "atomic_op",
                };
                let at = usize::from(what == "atomic_ref");
                let atom = argument(text, &all, at, "atom").ok_or("it names no variable")?;
                let it = self.variable(atom)?;
                used = Some(atom);
                add_team(&mut begin, calls, &it);
                begin.push(call(calls, "begin", &[code(what), it.image, number(0), it.local]));
                what
            }
            Control::Procedure(procedure) => self.procedure(procedure, &all, &mut begin, calls)?,
        };
        // Remote reads among the other arguments.
        for it in self.counted.iter().filter(|it| Some(it.whole) != used) {
            let it = operand(self.statement, self.planner.declared, it)?;
            add_team(&mut begin, calls, &it);
            let get = number(Call::GET.code());
            begin.push(call(calls, "also", &[get, it.image, it.local]));
        }
        let end = vec![call(calls, "end", &[code(what), result])];
        Ok(Plan::Around { begin, end })
    }

    /// Adds the call before one of a procedure that synchronises, and returns the name of the operation.
    fn procedure(
        &self,
        procedure: Procedure,
        all: &[Range],
        begin: &mut Vec<String>,
        calls: &mut Calls,
    ) -> Result<&'static str, Reason> {
        let text = &self.statement.text;
        let wait = |at| argument(text, all, at, "wait");
        let list = match procedure {
            Procedure::SyncAll => wait(0),
            Procedure::SyncTeam => {
                let team = argument(text, all, 0, "team").ok_or("it names no team")?;
                Some(wait(1).unwrap_or(team))
            }
            _ => None,
        };
        if let Some(list) = list {
            let list = self.evaluated(list)?;
            begin.push(call(calls, "begin", &[code("sync_images"), number(0), number(0), list]));
            return Ok("sync_images");
        }
        let (what, image) = match procedure {
            Procedure::SyncAll | Procedure::SyncTeam => ("sync_all", 0),
            Procedure::SyncMemory => ("sync_memory", 0),
            Procedure::SyncFile => ("sync_file", 0),
            Procedure::StartCritical => ("critical", 1),
            Procedure::EndCritical => ("end_critical", 1),
        };
        let lock = if image == 0 { 0 } else { hash(b"start_critical") };
        begin.push(call(calls, "enter", &[code(what), number(image), number(lock)]));
        Ok(what)
    }

    /// Returns the variable of an argument: that of another image, or of this one, which is image 0.
    fn variable(&self, range: Range) -> Result<Operand, Reason> {
        let remote = self.counted.iter().find(|it| it.whole == range);
        if let Some(it) = remote {
            return operand(self.statement, self.planner.declared, it);
        }
        let text = &self.statement.text;
        check(text, self.planner.declared, range)?;
        let local = copy(self.statement, range)?;
        Ok(Operand { image: number(0), local, team: None, name: bare(text, range) })
    }
}
