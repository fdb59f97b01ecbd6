//! From statements to insertions: which calls a statement gets, and where.
//!
//! A statement that does nothing but access other images or order them is *separated*: there is a call before it and one
//! behind it. Where a statement does other work as well, or where nothing may follow it, each access has a
//! *single call*, before the statement for reads and behind it for writes. What cannot be handled is left unchanged and
//! reported with the reason.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::coarray::Call;

use crate::bound;
use crate::calls::{Calls, INTRINSICS};
use crate::constructs::{Place, places};
use crate::control;
use crate::declared::Declared;
use crate::edit::{Editor, Insertion, Lines, Phase};
use crate::kind::{Kind, Piece, pieces};
use crate::loops;
use crate::operand::{Operand, Reason, UNKNOWN, check, copy, operand};
use crate::procedures;
use crate::references::{Access, Reference, references};
use crate::report::{Refusal, Report};
use crate::scan::{Form, Statement, scan};
use crate::text::{closing, words};

/// The insertions into a source, and what was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// Insertions, sorted by offset, with one for each offset. There are none if nothing was found.
    pub insertions: Vec<Insertion>,
    /// Counts of statements by what was done about them, and those that were left unchanged, with the reasons.
    pub report: Report,
}

/// What is known about a source beyond its text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of arrays and functions of further sources, such as those with modules that this one uses.
    pub declared: Declared,
    /// Lines whose statements are left unchanged, because a compiler does not accept them with calls.
    pub rejected: BTreeSet<u32>,
    /// Names of included files of which there is an instrumented copy. The `include` lines that name them become
    /// comments, and name the [copies](copy_name) instead.
    pub included: BTreeSet<String>,
}

/// Returns the name of the instrumented copy of an included file: in the same folder, and different, since compilers look
/// for included files beside the source first.
///
/// ```
/// assert_eq!(dwell_fortran::copy_name("inc/halo.h"), "inc/dwell_halo.h");
/// ```
pub fn copy_name(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((folder, file)) => format!("{folder}/dwell_{file}"),
        None => format!("dwell_{name}"),
    }
}

/// Finds remote accesses and image control in a source, and the calls to be inserted for them. `name` is the name of the
/// file. Any bytes give a result.
///
/// ```
/// use dwell_fortran::{apply, instrument, remove, scan::Form};
///
/// let source = b"v = a(1:9:2)[k]\n";
/// let it = instrument(source, Form::Free, "halo.f90", &Default::default());
/// let text = apply(source, &it.insertions);
/// assert_eq!(it.report.separated, 1);
/// assert_eq!(remove(&text, &it.insertions), source);
/// ```
pub fn instrument(source: &[u8], form: Form, name: &str, options: &Options) -> Instrumented {
    let scan = scan(source, form, name);
    let mut kinds: Vec<Vec<Piece>> = scan.statements.iter().map(|it| pieces(&it.text)).collect();
    let mut declared = options.declared.clone();
    for (statement, pieces) in scan.statements.iter().zip(&kinds) {
        for piece in pieces {
            declared.add(&statement.text, piece.kind);
        }
    }
    procedures::recognise(&scan.statements, &mut kinds, &declared);
    let places = places(&scan.statements, &kinds);
    let mut planner = Planner {
        editor: Editor::new(source, form, &scan),
        form,
        statements: &scan.statements,
        places: &places,
        declared: &declared,
        enclosing: BTreeMap::new(),
        report: Report::default(),
    };
    for (index, statement) in scan.statements.iter().enumerate() {
        let (Some(pieces), Some(place)) = (kinds.get(index), places.get(index)) else { continue };
        if pieces.first().is_some_and(|piece| piece.kind == Kind::Include) {
            planner.include(statement, &options.included);
        }
        planner.statement(index, statement, pieces, *place, &options.rejected);
    }
    planner.finish()
}

/// Image of an operation that is described at its end.
const NOT_YET: i64 = -2;

const IN_FORALL: Reason = "no call is allowed inside of forall";

/// The calls that a part of a statement gets.
pub(crate) enum Plan {
    /// Calls before and behind it, in one block around it.
    Around { begin: Vec<String>, end: Vec<String> },
    /// Calls before it and behind it, each in a block of its own.
    Split { before: Vec<String>, after: Vec<String>, separated: bool },
    /// Calls before a condition, which is wrapped by a function that ends the operation.
    Condition { begin: Vec<String> },
    /// An assignment that becomes a comment: calls before it, the `associate` statement that binds its values, and calls
    /// around a copy of it that uses them.
    Bound {
        before: Vec<String>,
        associate: String,
        begin: Vec<String>,
        code: String,
        end: Vec<String>,
    },
    /// A condition that is evaluated several times: the text before it, and behind it.
    Repeated { head: String, tail: String },
}

pub(crate) struct Planner<'a> {
    editor: Editor<'a>,
    pub(crate) form: Form,
    statements: &'a [Statement],
    places: &'a [Place],
    pub(crate) declared: &'a Declared,
    /// Constructs that a block has to enclose, by their first statement.
    enclosing: BTreeMap<usize, Calls>,
    report: Report,
}

impl Planner<'_> {
    /// Notes the name of an included file, and names its copy instead if there is one.
    fn include(&mut self, statement: &Statement, copies: &BTreeSet<String>) {
        let end = statement.code.len().saturating_sub(1);
        let name = statement.code.get(8..end).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        if copies.contains(&name) && !statement.follows && statement.semicolon.is_none() {
            let mut lines = Lines::new(self.form);
            lines.add(&format!("include '{}'", copy_name(&name)));
            self.editor.before(statement, &lines.text, Phase::Before);
            self.editor.comment_out(statement);
        }
        self.report.includes.push(name);
    }

    /// Returns the file and line of a statement as a text.
    pub(crate) fn place_in_source(&self, index: usize) -> String {
        self.statements.get(index).map_or_else(String::new, |statement| {
            let file = self.editor.scan.files.get(statement.file).map_or("", String::as_str);
            format!("{file}:{}", statement.line)
        })
    }

    fn statement(
        &mut self,
        index: usize,
        statement: &Statement,
        pieces: &[Piece],
        place: Place,
        rejected: &BTreeSet<u32>,
    ) {
        let text = &statement.text;
        let mut planned = Vec::new();
        let mut refused = None;
        let in_forall = matches!(pieces.first().map(|it| it.kind), Some(Kind::Forall(_)));
        for (number, piece) in pieces.iter().enumerate() {
            let all = references(text, piece.kind, piece.from, piece.to);
            let counted: Vec<Reference> =
                all.into_iter().filter(|it| it.access != Access::Inquiry).collect();
            if counted.is_empty() && !control::is_control(statement, piece) {
                continue;
            }
            if in_forall {
                refused = Some(IN_FORALL);
                continue;
            }
            let mut calls = Calls::new(self.form);
            match self.plan(index, statement, piece, place, &counted, &mut calls) {
                Ok(plan) => planned.push((number, plan, calls)),
                Err(reason) => {
                    match bound::plan(self, index, statement, piece, place, &counted, reason) {
                        Ok((plan, calls)) => planned.push((number, plan, calls)),
                        Err(reason) => refused = refused.or(Some(reason)),
                    }
                }
            }
        }
        if planned.is_empty() && refused.is_none() {
            return;
        }
        self.report.seen += 1;
        let reason = refused.or_else(|| self.objection(statement, place, rejected));
        if let Some(reason) = reason {
            let file = self.editor.scan.files.get(statement.file).cloned().unwrap_or_default();
            return self.report.refused.push(Refusal { file, line: statement.line, reason });
        }
        let separated = planned.iter().all(|(_, plan, _)| match plan {
            Plan::Around { .. } | Plan::Condition { .. } | Plan::Bound { .. } => true,
            Plan::Split { separated, .. } => *separated,
            Plan::Repeated { .. } => false,
        });
        if separated {
            self.report.separated += 1;
        } else {
            self.report.single += 1;
        }
        // Text behind the action of an `if` comes before the text behind the `if`.
        for (number, plan, calls) in planned.into_iter().rev() {
            let action = pieces.get(number).filter(|_| number == 1).map(|piece| piece.from);
            let action =
                action.filter(|_| matches!(pieces.first().map(|it| it.kind), Some(Kind::If(_))));
            self.insert(index, statement, place, action, plan, &calls);
        }
    }

    /// Returns the reason why no call is possible at a statement at all.
    fn objection(
        &self,
        statement: &Statement,
        place: Place,
        rejected: &BTreeSet<u32>,
    ) -> Option<Reason> {
        if statement.interrupted {
            return Some("a line of the preprocessor stands inside of the statement");
        }
        if place.ends_loop {
            return Some("its label ends a loop, so that nothing can stand behind it");
        }
        if place.in_forall {
            return Some(IN_FORALL);
        }
        if rejected.contains(&statement.line) {
            return Some("the compiler does not accept the statement with calls around it");
        }
        let hidden = words(&statement.text, 0, statement.text.len()).into_iter().any(|word| {
            let known = INTRINSICS.iter().any(|name| name.as_bytes() == word.name);
            known && !word.component && (!word.called || self.declared.is_known(word.name))
        });
        hidden.then_some("a variable has the name of an intrinsic function that calls need")
    }

    pub(crate) fn plan(
        &self,
        index: usize,
        statement: &Statement,
        piece: &Piece,
        place: Place,
        counted: &[Reference],
        calls: &mut Calls,
    ) -> Result<Plan, Reason> {
        let text = &statement.text;
        if let Some(plan) = control::plan(self, index, statement, piece, place, counted, calls) {
            return plan;
        }
        if !matches!(piece.kind, Kind::Output(_) | Kind::Input(_)) {
            for it in counted {
                loops::around(statement, piece, it, Vec::new())?;
            }
        }
        let operands: Result<Vec<Operand>, Reason> =
            counted.iter().map(|it| operand(statement, self.declared, it)).collect();
        let operands = operands?;
        let calls_function = words(text, piece.from, piece.to).iter().any(|word| {
            word.called && self.declared.is_known(word.name) && !self.declared.is_array(word.name)
        });
        if let Some(plan) = self.late(statement, piece, counted, &operands, calls) {
            return Ok(plan);
        }
        let both = || counted.iter().zip(&operands);
        match piece.kind {
            Kind::Assignment(_) if !calls_function && place.in_where.is_none() => {
                let mut begin = Vec::new();
                let writes = both().filter(|(it, _)| it.access == Access::Write);
                let reads = both().filter(|(it, _)| it.access != Access::Write);
                let mut first = None;
                for (it, operand) in writes.chain(reads) {
                    let code = code_of(it);
                    add_team(&mut begin, calls, operand);
                    match first {
                        None => {
                            begin.push(call(
                                calls,
                                "begin",
                                &[
                                    number(code),
                                    operand.image.clone(),
                                    number(0),
                                    operand.local.clone(),
                                ],
                            ));
                            first = Some(code);
                        }
                        Some(_) => begin.push(call(
                            calls,
                            "also",
                            &[number(code), operand.image.clone(), operand.local.clone()],
                        )),
                    }
                }
                let end = vec![call(calls, "end", &[number(first.unwrap_or(0)), number(1)])];
                Ok(Plan::Around { begin, end })
            }
            Kind::If(_) if !calls_function => {
                let mut begin = Vec::new();
                for (at, operand) in operands.iter().enumerate() {
                    add_team(&mut begin, calls, operand);
                    let get = number(Call::GET.code());
                    begin.push(match at {
                        0 => call(
                            calls,
                            "begin",
                            &[get, operand.image.clone(), number(0), operand.local.clone()],
                        ),
                        _ => call(
                            calls,
                            "also",
                            &[get, operand.image.clone(), operand.local.clone()],
                        ),
                    });
                }
                calls.call("seen", &["logical()".to_owned()]);
                Ok(Plan::Condition { begin })
            }
            Kind::ElseIf | Kind::DoWhile(_) => {
                let (mut head, mut tail) = (String::new(), ",dwell_b)".to_owned());
                for operand in &operands {
                    if operand.team.is_some() {
                        return Err("a condition that is evaluated several times names a team");
                    }
                    head.push_str("dwell_co_saw(");
                    tail += &format!(
                        ",{},{},{})",
                        number(Call::GET.code()),
                        operand.image,
                        operand.local
                    );
                }
                calls.call("saw", std::slice::from_ref(&tail));
                head += &calls.using("logical(".to_owned());
                Ok(Plan::Repeated { head, tail })
            }
            Kind::PointerAssignment => {
                Err("a pointer cannot be associated with a variable of another image")
            }
            Kind::Do(_)
                if statement
                    .text
                    .get(piece.from..)
                    .is_some_and(|it| it.starts_with(b"doconcurrent")) =>
            {
                Err("the mask of do concurrent has a remote access")
            }
            _ => {
                let (mut before, mut after) = (Vec::new(), Vec::new());
                for (it, operand) in both() {
                    let mut list = Vec::new();
                    add_team(&mut list, calls, operand);
                    list.push(call(
                        calls,
                        "once",
                        &[number(code_of(it)), operand.image.clone(), operand.local.clone()],
                    ));
                    let list = loops::around(statement, piece, it, list)?;
                    let is_write = it.access == Access::Write && place.in_where.is_none();
                    if is_write { &mut after } else { &mut before }.extend(list);
                }
                Ok(Plan::Split { before, after, separated: false })
            }
        }
    }

    /// Returns the calls for an assignment that does nothing but read a part of which only the other image knows the size:
    /// the variable that was assigned tells it afterwards.
    fn late(
        &self,
        statement: &Statement,
        piece: &Piece,
        counted: &[Reference],
        operands: &[Operand],
        calls: &mut Calls,
    ) -> Option<Plan> {
        let (Kind::Assignment(equals), [it], [operand]) = (piece.kind, counted, operands) else {
            return None;
        };
        let text = &statement.text;
        let is_whole = it.whole == (equals + 1, text.len()) && operand.local == UNKNOWN;
        let variable = copy(statement, (piece.from, equals)).ok()?;
        let is_array = self.declared.is_array(variable.to_ascii_lowercase().as_bytes());
        let is_element =
            text.get(it.selector.1..).is_some_and(|it| it.ends_with(b")") && !it.contains(&b':'));
        if !is_whole
            || is_array && is_element
            || check(text, self.declared, (piece.from, equals)).is_err()
        {
            return None;
        }
        let get = number(Call::GET.code());
        let begin = vec![call(calls, "enter", &[get.clone(), number(NOT_YET), number(0)])];
        let mut end = Vec::new();
        add_team(&mut end, calls, operand);
        end.push(call(calls, "also", &[get.clone(), operand.image.clone(), variable]));
        end.push(call(calls, "end", &[get, number(1)]));
        Some(Plan::Around { begin, end })
    }

    /// Returns the single call for a remote read.
    pub(crate) fn once(
        &self,
        statement: &Statement,
        it: &Reference,
        calls: &mut Calls,
    ) -> Result<Vec<String>, Reason> {
        let operand = operand(statement, self.declared, it)?;
        let mut list = Vec::new();
        add_team(&mut list, calls, &operand);
        list.push(call(calls, "once", &[number(Call::GET.code()), operand.image, operand.local]));
        Ok(list)
    }

    fn insert(
        &mut self,
        index: usize,
        statement: &Statement,
        place: Place,
        action: Option<usize>,
        plan: Plan,
        calls: &Calls,
    ) {
        let marker = self.editor.marker(statement, statement.line);
        let written = |list: &[String]| {
            let mut lines = Lines::new(self.form);
            for it in list {
                lines.add_at(&marker, it);
            }
            lines.text
        };
        let (opening, closing) = (calls.opening(), calls.closing());
        let (before, mut after) = match &plan {
            Plan::Around { begin, end } => (opening + &written(begin), written(end) + &closing),
            Plan::Split { before, after, .. } => {
                let block = |list: &[String]| match list {
                    [] => String::new(),
                    list => opening.clone() + &written(list) + &closing,
                };
                (block(before), block(after))
            }
            Plan::Condition { begin } => (opening + &written(begin), closing),
            Plan::Bound { before, associate, begin, code, end } => {
                let lines = |text: &str| {
                    let mut lines = Lines::new(self.form);
                    lines.add_at(&marker, text);
                    lines.text
                };
                let once = match before.as_slice() {
                    [] => String::new(),
                    list => opening.clone() + &written(list) + &closing,
                };
                let calls = opening + &written(begin) + &lines(code) + &written(end) + &closing;
                (once + &lines(associate) + &calls + &lines("end associate"), String::new())
            }
            Plan::Repeated { .. } => (String::new(), String::new()),
        };
        if let Some(action) = action {
            let mut lines = Lines::new(self.form);
            lines.add("end if");
            after += &lines.text;
            self.editor.then(statement, action, &before);
            return self.editor.after(statement, &after, Phase::After);
        }
        // The body of a `where` holds no calls: they are inserted before the construct.
        let outer = place.in_where.and_then(|at| self.statements.get(at)).unwrap_or(statement);
        if !before.is_empty() {
            self.editor.before(outer, &before, Phase::Before);
        }
        match plan {
            Plan::Bound { .. } => self.editor.comment_out(statement),
            Plan::Condition { .. } => {
                if let Some((open, close)) = condition(statement) {
                    self.editor.inline(statement, open + 1, "dwell_co_seen(logical(");
                    self.editor.inline(statement, close, ",dwell_b))");
                }
            }
            Plan::Repeated { head, tail } => {
                if let Some((open, close)) = condition(statement) {
                    self.editor.inline(statement, open + 1, &head);
                    self.editor.inline(statement, close, &tail);
                    let begin = place.begin.unwrap_or(index);
                    let known =
                        self.enclosing.entry(begin).or_insert_with(|| Calls::new(self.form));
                    known.merge(calls);
                }
                self.editor.after(statement, "", Phase::After);
            }
            _ => {}
        }
        if !after.is_empty() {
            self.editor.after(statement, &after, Phase::After);
        }
    }

    fn finish(mut self) -> Instrumented {
        for (begin, calls) in std::mem::take(&mut self.enclosing) {
            let end = self.places.get(begin).and_then(|place| place.end);
            let (Some(first), Some(last)) =
                (self.statements.get(begin), end.and_then(|end| self.statements.get(end)))
            else {
                continue;
            };
            self.editor.before(first, &calls.opening(), Phase::BeforeConstruct);
            self.editor.after(last, &calls.closing(), Phase::AfterConstruct);
        }
        Instrumented { insertions: self.editor.finish(), report: self.report }
    }
}

/// Returns the brackets around the condition of a statement.
fn condition(statement: &Statement) -> Option<(usize, usize)> {
    let piece = pieces(&statement.text).into_iter().next()?;
    let open = statement.text.iter().skip(piece.from).position(|byte| *byte == b'(')? + piece.from;
    closing(&statement.text, open).map(|close| (open, close))
}

/// Returns a number of the kind that inserted calls take.
pub(crate) fn number(value: impl Into<i64>) -> String {
    format!("{}_dwell_k", value.into())
}

/// Returns a call statement.
pub(crate) fn call(calls: &mut Calls, procedure: &'static str, arguments: &[String]) -> String {
    format!("call {}", calls.call(procedure, arguments))
}

fn code_of(it: &Reference) -> u8 {
    if it.access == Access::Write { Call::PUT.code() } else { Call::GET.code() }
}

/// Adds the call that names the team of the next access.
pub(crate) fn add_team(list: &mut Vec<String>, calls: &mut Calls, operand: &Operand) {
    if let Some(team) = &operand.team {
        list.push(call(calls, "team", std::slice::from_ref(team)));
    }
}
