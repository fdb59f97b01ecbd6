//! Performance variables of the MPI library, which the recorder samples among other counters.
//!
//! The tools interface `MPI_T` is initialised only if variables are wanted, and stays so until the process ends: it does not
//! depend on `MPI_Finalize`. Variables of a communicator are read for `MPI_COMM_WORLD`. A variable that has a value for each
//! process of a communicator, as lengths of queues in Open MPI have, counts as the sum of all values. Variables of windows
//! and other objects that the program makes later are not offered.

use core::ffi::{c_int, c_void};

use dwell_measure::counters::{LIST, MPI_T, Variable, Wanted, nearest};

use super::abi::{Family, abi};
use super::pmpi;

/// Values of constants of `MPI_T`, which differ between libraries.
struct Constants {
    no_object: c_int,
    comm: c_int,
    /// Values of `MPI_T_PVAR_CLASS_COUNTER`, `MPI_T_PVAR_CLASS_AGGREGATE` and `MPI_T_PVAR_CLASS_TIMER`.
    growing: [c_int; 3],
    /// Handle of `MPI_DOUBLE`.
    double: usize,
}

/// Value of `MPI_THREAD_MULTIPLE` where `MPI_T` is supported.
const MULTIPLE: c_int = 3;

/// Longest name of a variable that is read.
const NAME: usize = 256;

/// Largest number of values of a variable.
const VALUES: usize = 1 << 16;

impl Constants {
    fn of(family: Family) -> Option<Self> {
        match family {
            Family::OpenMpi => Some(Self {
                no_object: 0,
                comm: 1,
                growing: [6, 7, 8],
                double: super::abi::variable(c"ompi_mpi_double"),
            }),
            Family::Mpich => Some(Self {
                no_object: 9700,
                comm: 9701,
                growing: [246, 247, 248],
                double: 0x4c00_080b,
            }),
            Family::Standard => None,
        }
    }
}

/// A variable that the library has.
struct Offered {
    index: c_int,
    name: String,
    class: c_int,
    datatype: usize,
    bind: c_int,
    is_continuous: bool,
}

/// Returns the wanted variables that the library has, and messages about the others.
pub(super) fn find(wanted: &Wanted) -> (Vec<Variable>, Vec<String>) {
    let (mut found, mut messages) = (Vec::new(), Vec::new());
    if wanted.variables.is_empty() {
        return (found, messages);
    }
    let Some(constants) = Constants::of(abi().family) else {
        messages.push("performance variables of MPI are not read with the standard ABI".into());
        return (found, messages);
    };
    let mut provided = 0;
    // SAFETY: a place for the answer. The interface may be initialised several times.
    if unsafe { pmpi::t_init_thread(MULTIPLE, &raw mut provided) } != 0 {
        messages.push("the MPI library does not offer performance variables".into());
        return (found, messages);
    }
    let offered = offered(&constants);
    for name in &wanted.variables {
        let all = || offered.iter().map(|it| it.name.as_str());
        if name == LIST {
            let names: Vec<String> = all().map(|name| format!("\n  {MPI_T}{name}")).collect();
            messages.push(match names.len() {
                0 => "this MPI library offers no performance variables".into(),
                _ => format!("performance variables of this MPI library:{}", names.concat()),
            });
            continue;
        }
        let Some(it) = offered.iter().find(|it| it.name == *name) else {
            let near = nearest(name, all());
            let more = match near {
                _ if offered.is_empty() => "it offers none".to_owned(),
                Some(near) => format!("did you mean {MPI_T}{near}?"),
                None => format!("{MPI_T}{LIST} lists all"),
            };
            messages.push(format!("the MPI library has no performance variable {name}; {more}"));
            continue;
        };
        match read(it, &constants) {
            Some(variable) => found.push(variable),
            None => messages.push(format!("the performance variable {name} cannot be read")),
        }
    }
    (found, messages)
}

/// Lists the variables that can be read: those of the process, and of communicators.
fn offered(constants: &Constants) -> Vec<Offered> {
    let mut count = 0;
    // SAFETY: a place for the answer.
    unsafe { pmpi::t_pvar_get_num(&raw mut count) };
    let one = |index: c_int| {
        let mut name = [0_u8; NAME];
        let (mut length, mut no_text) = (NAME as c_int, 0);
        let (mut class, mut bind, mut datatype, mut enumeration) = (0, 0, 0_usize, 0_usize);
        let (mut verbosity, mut read_only, mut continuous, mut atomic) = (0, 0, 0, 0);
        // SAFETY: places for all answers; the name has as much room as its length says, and no description is wanted.
        let code = unsafe {
            pmpi::t_pvar_get_info(
                index,
                name.as_mut_ptr().cast(),
                &raw mut length,
                &raw mut verbosity,
                &raw mut class,
                &raw mut datatype,
                &raw mut enumeration,
                core::ptr::null_mut(),
                &raw mut no_text,
                &raw mut bind,
                &raw mut read_only,
                &raw mut continuous,
                &raw mut atomic,
            )
        };
        let end = name.iter().position(|byte| *byte == 0)?;
        let name = core::str::from_utf8(name.get(..end)?).ok()?.to_owned();
        let can_be_read = [constants.no_object, constants.comm].contains(&bind);
        let is_continuous = continuous != 0;
        (code == 0 && can_be_read && !name.is_empty()).then_some(Offered {
            index,
            name,
            class,
            datatype,
            bind,
            is_continuous,
        })
    };
    (0..count).filter_map(one).collect()
}

/// Makes a variable readable. Returns `None` if the library refuses, or if its values are not numbers.
fn read(it: &Offered, constants: &Constants) -> Option<Variable> {
    let is_real = it.datatype == constants.double;
    let size = usize::try_from(abi().type_size(it.datatype)).ok()?;
    let (mut session, mut handle, mut count) = (0_usize, 0_usize, 0);
    let mut comm = abi().comm_world;
    let object =
        if it.bind == constants.comm { (&raw mut comm).cast() } else { core::ptr::null_mut() };
    // SAFETY: places for the answers, and the object that the variable belongs to.
    let code = unsafe {
        match pmpi::t_pvar_session_create(&raw mut session) {
            0 => pmpi::t_pvar_handle_alloc(
                session,
                it.index,
                object,
                &raw mut handle,
                &raw mut count,
            ),
            code => code,
        }
    };
    let count = usize::try_from(count).ok().filter(|count| (1..=VALUES).contains(count))?;
    if code != 0 || !matches!((size, is_real), (4 | 8, false) | (8, true)) {
        return None;
    }
    if !it.is_continuous {
        // SAFETY: the handle was just made in this session. What cannot be started is read all the same.
        unsafe { pmpi::t_pvar_start(session, handle) };
    }
    let words = std::sync::Mutex::new(vec![0_u64; (count * size).div_ceil(8)]);
    let read = move || {
        // A thread that finds another one reading has nothing to add.
        let Ok(mut words) = words.try_lock() else { return 0 };
        let words = words.as_mut_slice();
        // SAFETY: room for as many values as the library said the variable has.
        let code =
            unsafe { pmpi::t_pvar_read(session, handle, words.as_mut_ptr().cast::<c_void>()) };
        if code != 0 {
            return 0;
        }
        match (is_real, size) {
            (true, _) => words.iter().map(|bits| f64::from_bits(*bits)).sum::<f64>().to_bits(),
            (false, 8) => words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word)),
            (false, _) => {
                let halves = words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
                halves.take(count).map(u64::from).sum()
            }
        }
    };
    let accumulates = constants.growing.contains(&it.class);
    Some(Variable { name: it.name.clone(), accumulates, is_real, read: Box::new(read) })
}
