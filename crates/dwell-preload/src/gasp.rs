//! GASP: language runtimes report events of the program to a tool, which defines five functions.
//!
//! Several models may report at once, each thread of each with a context of its own. An event with a beginning and an end is
//! a region, named by the event and the place in the source, as the runtime states it; calls of the layers below are inside.
//! The recording begins and ends with one of these layers, so events before its beginning are not recorded.
//!
//! Two of the functions have further arguments. Stable Rust defines no variadic functions, so one of them is a stub in
//! assembly, which stores its registers as a C compiler would, and calls the other.

use core::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_measure::entry::is_on;
use dwell_measure::guard;
use dwell_measure::thread::{enter_reported, leave_reported};
use dwell_model::archive::Meaning;
use dwell_model::gasp::{self, Model};
use dwell_model::layer::Layer;
use dwell_model::operation::{Mode, Progress};

use crate::arch::Arguments;

/// Context of a thread and a model. Runtimes pass its address back with every event.
pub(crate) struct Context {
    model: Model,
    /// Cleared while the program does not want events of this context to be recorded.
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Names of events that the program created, by number.
    created: Vec<String>,
    /// Open events: number, and name of the region.
    open: Vec<(c_uint, String)>,
}

/// Kinds of notifications (`gasp_evttype_t`).
const START: c_int = 0;
const END: c_int = 1;

/// Makes a context for the calling thread of a model. It is never freed: there is no call that ends a context.
#[unsafe(no_mangle)]
extern "C-unwind" fn gasp_init(
    model: c_uint,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
) -> *const Context {
    let (model, on) = (Model::from_number(model), AtomicBool::new(true));
    Box::leak(Box::new(Context { model, on, state: Mutex::default() }))
}

/// Pauses or resumes the recording of events of a context. Returns the former state.
///
/// # Safety
/// `context` is what [`gasp_init`] returned.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gasp_control(context: *const Context, on: c_int) -> c_int {
    // SAFETY: as promised; contexts are never freed.
    let context = unsafe { context.as_ref() };
    context.map_or(0, |context| context.on.swap(on != 0, Ordering::Relaxed).into())
}

/// Makes a number for events of the program. Returns 0 if there are no more.
///
/// # Safety
/// `context` is what [`gasp_init`] returned, and `name` is null or a text that ends in zero.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gasp_create_event(
    context: *const Context,
    name: *const c_char,
    _description: *const c_char,
) -> c_uint {
    // SAFETY: as promised.
    let (context, name) = unsafe { (context.as_ref(), text(name)) };
    let Some(Ok(mut state)) = context.map(|context| context.state.lock()) else { return 0 };
    let number = gasp::FIRST_OF_PROGRAM + state.created.len() as c_uint;
    if number >= gasp::END_OF_PROGRAM {
        return 0;
    }
    let name = name.unwrap_or_default();
    state.created.push(if name.is_empty() { format!("event {number}") } else { name });
    number
}

/// Receives an event, with its further arguments as a `va_list`.
///
/// # Safety
/// `context` is what [`gasp_init`] returned, `file` is null or a text that ends in zero, and `arguments` are those that GASP
/// defines for the event.
#[unsafe(no_mangle)]
#[allow(non_snake_case)] // GASP names it.
pub(crate) unsafe extern "C-unwind" fn gasp_event_notifyVA(
    context: *const Context,
    tag: c_uint,
    kind: c_int,
    file: *const c_char,
    line: c_int,
    _column: c_int,
    arguments: *mut Arguments,
) {
    if !is_on() {
        return;
    }
    // SAFETY: as promised; contexts are never freed.
    let Some(context) = (unsafe { context.as_ref() }) else { return };
    if !context.on.load(Ordering::Relaxed) && kind != END {
        return;
    }
    let here = 0_usize;
    let stack = core::ptr::from_ref(&here).addr();
    guard::walled(|| {
        let Ok(mut state) = context.state.lock() else { return };
        if kind == END {
            // Regions that are still open inside it never ended.
            let Some(at) = state.open.iter().rposition(|open| open.0 == tag) else { return };
            state.open.truncate(at + 1);
            if let Some((_, name)) = state.open.pop() {
                leave_reported(&name, &meaning(context.model, tag));
            }
            return;
        }
        // SAFETY: as promised.
        let name = unsafe { name(context.model, tag, &state, (file, line), arguments) };
        let meaning = meaning(context.model, tag);
        enter_reported(&name, &meaning, stack);
        if kind == START {
            state.open.push((tag, name));
        } else {
            leave_reported(&name, &meaning);
        }
    });
}

/// Returns the name of the region of an event.
///
/// # Safety
/// As for [`gasp_event_notifyVA`].
unsafe fn name(
    model: Model,
    tag: c_uint,
    state: &State,
    (file, line): (*const c_char, c_int),
    arguments: *mut Arguments,
) -> String {
    let event = gasp::find(tag).filter(|_| model == Model::UPC);
    let created = tag.checked_sub(gasp::FIRST_OF_PROGRAM);
    let created = created.and_then(|index| state.created.get(index as usize));
    let mut name = match (event, created) {
        (Some(event), _) if event.names_function => {
            // SAFETY: the only further argument of this event is a text, which may be null.
            let function = unsafe {
                arguments.as_mut().and_then(|arguments| text(arguments.next() as *const c_char))
            };
            return function.unwrap_or_else(|| event.region.into());
        }
        (Some(event), _) => event.region.to_owned(),
        (None, Some(created)) => created.clone(),
        (None, None) => format!("{}_{tag}", model.event()),
    };
    // SAFETY: as promised.
    if let Some(file) = unsafe { text(file) } {
        let file = file.rsplit('/').next().unwrap_or_default().to_owned();
        let _ = write!(name, " at {file}:{line}");
    }
    name
}

/// Returns the description of the region of an event: its meaning, if it is an event of UPC.
fn meaning(model: Model, tag: c_uint) -> String {
    let event = gasp::find(tag).filter(|event| model == Model::UPC && !event.names_function);
    event.map_or_else(String::new, |event| {
        let (layer, operation, mode) = (Layer::Upc, event.operation, Mode::Blocking);
        let (progress, completes_remote) = (Progress::Never, false);
        Meaning { layer, operation, mode, progress, completes_remote }.to_string()
    })
}

/// Longest text in bytes. Longer ones are cut.
const LONGEST: usize = 200;

/// Reads a text of the program. Returns `None` for a null pointer.
///
/// # Safety
/// `text` is null or the address of a text that ends in zero.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as promised.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Some(String::from_utf8_lossy(bytes.get(..bytes.len().min(LONGEST))?).into_owned())
}
