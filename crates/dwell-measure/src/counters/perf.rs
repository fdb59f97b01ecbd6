//! Counters of the kernel's `perf_event_open`, for one thread.
//!
//! They are the only thing for which the recorder keeps descriptors: the kernel has no other way to read them that always
//! works. Programs may close descriptors that they do not know, and then get the same number for a file of their own. So
//! each reading first asks the kernel for the id of the counter, which fails for anything else, and the descriptors have
//! high numbers.
#![allow(unsafe_code)] // System calls.

use std::io;

use super::{MOST, Source};

/// The attributes of an event in the first version of the interface, which every kernel accepts.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Times that the group was enabled and was counting, and all values of a group at once.
const READ_FORMAT: u64 = 1 | 2 | 8;
/// `PERF_EVENT_IOC_ID`.
const GET_ID: libc::c_ulong = 0x8008_2407;
/// Descriptors get numbers from here on, if the limit allows.
const HIGH: libc::c_int = 700;

/// The counters of one thread, read together.
#[derive(Debug)]
pub(super) struct Group {
    /// Descriptors, the leader of the group first.
    descriptors: [libc::c_int; MOST],
    count: usize,
    id: u64,
}

fn open(source: Source, leader: libc::c_int) -> io::Result<libc::c_int> {
    let Source::Perf { kind, config, user_only } = source else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        period: 0,
        sample_type: 0,
        read_format: READ_FORMAT,
        flags: if user_only { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 },
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    let close_on_exec: libc::c_ulong = 8;
    // SAFETY: the attributes are as large as they say; this thread, on any core.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            0 as libc::pid_t,
            -1 as libc::c_int,
            leader,
            close_on_exec,
        )
    };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    let low = opened as libc::c_int;
    // SAFETY: the descriptor is ours.
    let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, HIGH) };
    if high < 0 {
        return Ok(low);
    }
    // SAFETY: as above, and the copy keeps the counter.
    unsafe { libc::close(low) };
    Ok(high)
}

fn close(descriptor: libc::c_int) {
    if id_of(descriptor).is_some() {
        // SAFETY: it is a counter, so it is one of ours.
        unsafe { libc::close(descriptor) };
    }
}

/// Returns the id of a counter, or `None` if the descriptor is of something else.
fn id_of(descriptor: libc::c_int) -> Option<u64> {
    let mut id = 0_u64;
    // SAFETY: a place for the answer. Files that are not counters reject the request.
    (unsafe { libc::ioctl(descriptor, GET_ID, &raw mut id) } == 0).then_some(id)
}

impl Group {
    /// Opens counters for the calling thread. Returns `None` if one of them cannot be opened.
    pub(super) fn open(sources: impl Iterator<Item = Source>) -> Option<Self> {
        let mut group = Self { descriptors: [-1; MOST], count: 0, id: 0 };
        for source in sources {
            let leader = group.descriptors.first().copied().unwrap_or(-1);
            let opened = open(source, leader);
            let (Ok(descriptor), Some(place)) = (opened, group.descriptors.get_mut(group.count))
            else {
                group.close();
                return None;
            };
            *place = descriptor;
            group.count += 1;
        }
        group.id = id_of(*group.descriptors.first()?)?;
        Some(group)
    }

    /// Reads all counters in the order in which they were opened. Returns `None` if the program closed them. Where the
    /// processor has fewer registers than counters are wanted, values are scaled by the time in which they were counted.
    pub(super) fn read(&self, values: &mut [u64; MOST]) -> Option<usize> {
        let leader = *self.descriptors.first()?;
        if id_of(leader)? != self.id {
            return None;
        }
        let mut words = [0_u64; 3 + MOST];
        // SAFETY: as many bytes as there is room for. It was seen to be a counter.
        let read = unsafe { libc::read(leader, words.as_mut_ptr().cast(), size_of_val(&words)) };
        let [count, enabled, running, counted @ ..] = words;
        if read < 24 || count as usize != self.count {
            return None;
        }
        for (value, word) in values.iter_mut().zip(counted).take(self.count) {
            let scaled = u128::from(word) * u128::from(enabled) / u128::from(running.max(1));
            *value = if running == enabled { word } else { scaled as u64 };
        }
        Some(self.count)
    }

    /// Closes all counters.
    pub(super) fn close(&mut self) {
        self.descriptors.iter().take(self.count).for_each(|descriptor| close(*descriptor));
        self.count = 0;
    }
}

/// Returns why the calling thread cannot use a counter, or `None` if it can.
pub(super) fn refusal(source: Source) -> Option<io::Error> {
    match open(source, -1) {
        Ok(descriptor) => {
            close(descriptor);
            None
        }
        Err(error) => Some(error),
    }
}

/// Says why a counter cannot be used.
pub(super) fn said(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "this machine does not count it; virtual machines often do not".into()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "not permitted; see /proc/sys/kernel/perf_event_paranoid".into()
        }
        Some(libc::ENOSYS) => "the kernel has no perf_event_open".into(),
        _ => error.to_string(),
    }
}
