//! Calls that come through a library that wraps a runtime, and the line of the user that called the wrapper.
//!
//! The return address of such a call is in the wrapper, where it says nothing to the user. So the stack is walked up to
//! the first frame outside of wrappers, which becomes the call site. What the walk has read of the stack is kept in a
//! [memo](memo::Memo) of the thread: a call from the same place of the same stack finds its site by comparing these words.
//!
//! Where the walk gets to the interpreter of Python, the line is that of the [function](python) which it is in.
//!
//! Nothing of this exists in a process without wrappers. They are looked for among the functions of the program when the
//! recording begins, and whenever a call comes from a new place.
//!
//! # Limits
//! * Functions of wrappers that were linked into the program are known by its symbol table. Without one they are the user's.
//! * Libraries that were closed, and in whose place others were loaded, are taken for the old ones.

use std::io;

use dwell_model::wrappers::Wrappers;

use crate::arch::Place;
use crate::lock::Lock;
use crate::modules;
use crate::process::{LOOKED_UP, Process};
use crate::sites::Sites;
use crate::stack;
use crate::unwind::{Rules, Stack};

pub(crate) mod memo;
mod python;
mod symbols;

use memo::{Memo, Seen};
use python::Python;
pub(crate) use symbols::Functions;

/// Frames of wrappers that are passed, at most.
const DEEPEST: usize = 64;

/// Result of a walk that ends in an interpreter.
const INTERPRETER: usize = 1;

/// Wrappers whose names are told apart.
const NAMES: usize = 64;

/// What is known of the wrappers in a process.
#[derive(Debug)]
pub(crate) struct Wrapping {
    wrappers: Wrappers<'static>,
    rules: Rules,
    /// What the code at a return address is: see [`Code`].
    known: Sites,
    turn: Lock<[&'static str; NAMES]>,
    functions: Functions,
    python: Option<Python>,
}

/// What the code at an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    User,
    /// An interpreter: the frames of its language say more.
    Interpreter,
    /// A wrapper, by the number of its name.
    Wrapper(u32),
}

impl Code {
    fn number(self) -> u32 {
        match self {
            Self::User => 0,
            Self::Interpreter => 1,
            Self::Wrapper(name) => 2 + name,
        }
    }

    fn of_number(number: u32) -> Self {
        match number {
            0 => Self::User,
            1 => Self::Interpreter,
            name => Self::Wrapper(name - 2),
        }
    }
}

impl Wrapping {
    /// Prepares for wrappers, of which `functions` were linked into the program.
    ///
    /// # Errors
    /// If there is no memory for the tables.
    pub(crate) fn new(wrappers: Wrappers<'static>, functions: Functions) -> io::Result<Self> {
        let turn = Lock::new([""; NAMES]);
        let (rules, known, python) = (Rules::new()?, Sites::new()?, Python::find());
        Ok(Self { wrappers, rules, known, turn, functions, python })
    }

    /// Returns `true` if the process has an interpreter of Python.
    pub(crate) fn has_python(&self) -> bool {
        self.python.is_some()
    }

    /// Bytes of memory that the tables take.
    pub(crate) fn bytes(&self) -> usize {
        self.rules.bytes() + self.known.bytes() + self.python.as_ref().map_or(0, Python::bytes)
    }

    /// Returns the key of the user's call site for a call that was made by a wrapper. Returns `None` if the caller is no
    /// wrapper, or no caller outside of wrappers can be found.
    pub(crate) fn site(
        &self,
        process: &Process,
        place: Place,
        stack: &mut Stack,
        memo: &mut Memo,
    ) -> Option<usize> {
        let Code::Wrapper(name) = self.code(place.address) else { return None };
        stack.find(place.stack);
        let found = match memo.find(place, stack) {
            Some(found) => found,
            None => self.walk(process, place, name, stack, memo),
        };
        if found == INTERPRETER {
            let wrapper = self.name(name);
            let is_wrapper = |file: &str| self.wrappers.of_file(file).is_some();
            let site = self.python.as_ref()?.site(process, wrapper, is_wrapper)?;
            return Some(LOOKED_UP | site as usize);
        }
        (found != 0).then_some(found)
    }

    /// Walks up to the first frame outside of wrappers. Returns the key of its site, or 0 if there is none.
    #[cold]
    #[inline(never)]
    fn walk(
        &self,
        process: &Process,
        from: Place,
        name: u32,
        stack: &Stack,
        memo: &mut Memo,
    ) -> usize {
        let mut seen = Seen::default();
        let mut place = from;
        let mut found = 0;
        for _ in 0..DEEPEST {
            let Some(next) = self.rules.leave(place, stack, &mut seen) else { break };
            place = next;
            let code = self.code(place.address);
            if code == Code::Interpreter {
                found = INTERPRETER;
                break;
            }
            if code == Code::User {
                let wrapper = self.name(name);
                let site = crate::entry::keeping_errno(|| {
                    process.wrapped_site(None, place.address, wrapper)
                });
                found = site.map_or(0, |site| LOOKED_UP | site as usize);
                break;
            }
        }
        memo.keep(from, &seen, found);
        found
    }

    /// Returns `true` if the code at a return address is in a wrapper.
    pub(crate) fn is_wrapper(&self, address: usize) -> bool {
        matches!(self.code(address), Code::Wrapper(_))
    }

    /// Returns how many of the first return addresses of a stack are in wrappers, and the name of the first.
    pub(crate) fn leading(&self, addresses: &[usize]) -> Option<(usize, &'static str)> {
        let Code::Wrapper(name) = self.code(*addresses.first()?) else { return None };
        let is_wrapper = |it: &&usize| self.is_wrapper(**it);
        Some((addresses.iter().take_while(is_wrapper).count(), self.name(name)))
    }

    fn name(&self, number: u32) -> &'static str {
        self.turn.with(|names| names.get(number as usize).copied().unwrap_or_default())
    }

    fn code(&self, address: usize) -> Code {
        let number = self.known.find(address).unwrap_or_else(|| {
            let look_up = || self.look_up(address).unwrap_or_default();
            let name = crate::entry::keeping_errno(|| stack::apart(stack::FOR_A_THREAD, look_up));
            let is_interpreter =
                name.is_empty() && self.python.as_ref().is_some_and(|it| it.has(address));
            self.turn.with(|names| {
                let code = match number_of(names, name) {
                    Some(name) => Code::Wrapper(name),
                    None if is_interpreter => Code::Interpreter,
                    None => Code::User,
                };
                self.known.add_numbered(address, || Some(code.number()));
                code.number()
            })
        });
        Code::of_number(number)
    }

    /// Returns the name of the wrapper that has this code.
    #[cold]
    fn look_up(&self, address: usize) -> Option<&'static str> {
        // The call is before it, and may be the last instruction of its function.
        let at = address.checked_sub(1)?;
        let mut name = None;
        modules::find(at, |module| {
            name = match module.path() {
                "" => self.functions.at(at),
                path => self.wrappers.of_file(path),
            };
        });
        name
    }
}

/// Returns the number of a name, and gives it one if it has none. Returns `None` for no name, or if there are too many.
fn number_of(names: &mut [&'static str; NAMES], name: &'static str) -> Option<u32> {
    if name.is_empty() {
        return None;
    }
    let place = names.iter().position(|it| it.is_empty() || *it == name)?;
    *names.get_mut(place)? = name;
    u32::try_from(place).ok()
}
