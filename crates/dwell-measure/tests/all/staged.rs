//! Recorders that are killed, fork, have several threads or a full disk, while their chunks are staged or mapped.
//!
//! Each test starts this program again as a process that records calls with no runtime behind them. The process counts
//! its calls in a mapped file, which also survives a kill.

#![allow(unsafe_code)] // The counters, and where calls come from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dwell_measure::call::{end_transfer, transfer};
use dwell_measure::clock::Source;
use dwell_measure::entry::called_from;
use dwell_measure::filter::Selection;
use dwell_measure::hook::{Address, Bytes, Context, Hook, Rank, Transfer};
use dwell_measure::memory::{Filling, Memory};
use dwell_measure::process::{Plan, Process};
use dwell_model::{archive, shmem};
use dwell_unify::facts::Fact;
use dwell_unify::recover::{Caution, Recovered, recover};
use dwell_unify::stream::RunId;
use otf2::{Archive, Event};

use crate::needs;

const CHUNK: usize = 256 * 1024;
/// A few more calls than a chunk has room for: each takes 46 bytes.
const CALLS_OF_A_CHUNK: u64 = 6_000;
const MOST_THREADS: usize = 8;

/// The variable by which a test tells a process what to do.
const ORDERS: &str = "DWELL_TEST_STAGED";

/// What a process is to do.
#[derive(Clone, Copy, Debug)]
struct Orders {
    filling: &'static str,
    threads: usize,
    /// Number of calls of each thread.
    calls: u64,
    /// Forks now and then. The children make calls, which are not recorded.
    forks: bool,
    /// Ends the recording, instead of waiting to be killed.
    ends: bool,
}

const ORDERED: Orders =
    Orders { filling: "staged", threads: 1, calls: u64::MAX, forks: false, ends: false };

/// A directory with a process that records into it.
struct Run {
    directory: PathBuf,
    counts: PathBuf,
    child: Child,
}

/// Maps the counters of calls, one of each thread.
fn counters(path: &Path) -> &'static [AtomicU64] {
    let file =
        File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    let memory = Box::leak(Box::new(Memory::of_file(&file, 0, 4096).unwrap()));
    let (at, count) = (memory.as_mut_ptr().cast::<AtomicU64>(), MOST_THREADS);
    // SAFETY: aligned to a page, never unmapped, and used as counters only.
    unsafe { std::slice::from_raw_parts(at, count) }
}

impl Run {
    fn start(directory: &Path, counts: &Path, orders: Orders) -> Self {
        fs::create_dir_all(directory.join("open")).unwrap();
        let _ = fs::remove_file(counts);
        counters(counts);
        let Orders { filling, threads, calls, forks, ends } = orders;
        let (at, count) = (directory.display(), counts.display());
        let orders = format!("{at},{count},{filling},{threads},{calls},{forks},{ends}");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["staged::record_calls", "--exact", "--ignored", "--nocapture"])
            .env(ORDERS, orders)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { directory: directory.into(), counts: counts.into(), child }
    }

    /// Waits until so many calls were made, by all threads together.
    fn wait_for(&mut self, calls: u64) {
        let (counters, began) = (counters(&self.counts), Instant::now());
        while counters.iter().map(|it| it.load(Ordering::Relaxed)).sum::<u64>() < calls {
            assert!(began.elapsed() < Duration::from_secs(120), "it makes no calls");
            assert_eq!(self.child.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Kills the process, recovers what it left, and checks that all complete calls of all threads are there. Returns
    /// the number of calls that are said to be lost.
    #[track_caller]
    fn killed(mut self) -> u64 {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        self.recovered()
    }

    #[track_caller]
    fn recovered(&self) -> u64 {
        let counts = counters(&self.counts);
        let made: Vec<u64> = counts.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        let Recovered { damage, .. } = match recover(&self.directory, &[], Caution::Refuse) {
            Ok(recovered) => recovered,
            // A process that is killed while it starts may have left nothing.
            Err(_) if made.iter().all(|count| *count == 0) => return 0,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(damage, Vec::<String>::new());
        let archive = Archive::open(&self.directory).unwrap();
        let lost = archive.anchor().property(archive::LOST).unwrap_or("0 calls");
        let lost: u64 = lost.strip_suffix(" calls").and_then(|it| it.parse().ok()).unwrap();
        let mut missing = 0;
        for location in archive.definitions().unwrap().locations() {
            let mut reader = archive.events(location.id).unwrap();
            let mut gets = 0;
            while let Some(record) = reader.next().unwrap() {
                gets += u64::from(matches!(record.event, Event::RmaGet(_)));
            }
            let made = made[location.id.0 as usize];
            missing += made.saturating_sub(gets);
            assert!(gets <= made + 1, "{gets} of {made} calls");
        }
        // Calls that were not recorded are counted, also one that was in progress.
        assert!((missing..=missing + MOST_THREADS as u64).contains(&lost), "{missing} {lost}");
        assert!(!self.directory.join("open").exists(), "nothing is left");
        lost
    }
}

/// Not a test, but the process that the tests kill.
#[test]
#[ignore = "run by other tests"]
fn record_calls() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split(',').collect();
    let [directory, counts, filling, threads, calls, forks, ends] = orders[..] else { panic!() };
    let counters = counters(Path::new(counts));
    let open_files = format!("{directory}/open");
    dwell_measure::clock::prepare();
    let process = Process::prepare(&Plan {
        run: RunId::default(),
        rank: 0,
        size: 1,
        open_files: &open_files,
        program: "record_calls",
        chunk: CHUNK,
        filling: Filling::parse(filling).unwrap(),
        budget: u64::MAX,
        memory: u64::MAX,
        clock: Source::best(),
        trace: true,
        profile: false,
        unwind: 0,
        samples: false,
        wrappers: "",
        selection: Selection::default(),
        window: (0, u64::MAX),
    });
    // A disk may be too full for anything.
    let Ok(process) = process else { return };
    let (pid, host, program) = (std::process::id().into(), "node", "record_calls");
    let fact = Fact::Process { rank: 0, size: 1, pid, host, program, layer: 13 };
    if process.define(&fact).is_err() {
        return;
    }
    let row = shmem::TABLE.find("shmem_getmem").unwrap();
    let get: &Hook = Box::leak(Box::new(Hook::new(&shmem::TABLE, row)));
    process.begin(get);
    let (calls, forks): (u64, bool) = (calls.parse().unwrap(), forks.parse().unwrap());
    let make_call = || {
        let word = 0_usize;
        // SAFETY: a word on this stack that stays what it is until the call has returned.
        unsafe { called_from(record_calls as fn() as usize, (&raw const word) as usize, 0) };
        let (target, context) = (Rank(0), Context::DEFAULT);
        let it = Transfer { target, bytes: Bytes(8), address: Address(64), context };
        if let Some(call) = transfer(get, it) {
            end_transfer(call);
        }
    };
    let threads: usize = threads.parse().unwrap();
    // A thread that begins when another has ended would continue in its location.
    let ended = std::sync::Barrier::new(threads);
    let (ended, make_call) = (&ended, &make_call);
    std::thread::scope(|scope| {
        for counter in &counters[..threads] {
            scope.spawn(move || {
                for number in 0..calls {
                    make_call();
                    counter.fetch_add(1, Ordering::Relaxed);
                    if forks && number % (CALLS_OF_A_CHUNK / 4) == 0 {
                        fork(make_call);
                    }
                }
                ended.wait();
            });
            // Locations are numbered in the order of the first calls.
            while counter.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
        }
    });
    if ends == "true" {
        process.end();
    } else {
        // SAFETY: a signal to this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
}

/// Makes calls in a child, which shares the mapped files, and waits until it has ended.
fn fork(make_call: &impl Fn()) {
    // SAFETY: the child makes calls that allocate nothing, and ends.
    unsafe {
        match libc::fork() {
            0 => {
                (0..2 * CALLS_OF_A_CHUNK).for_each(|_| make_call());
                libc::_exit(0);
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                assert_eq!(status, 0);
            }
        }
    }
}

/// Kills processes with one and with several threads at random moments, the first before they record.
fn random_kills(rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..rounds {
        let mut below = |most: u64| random.u64(..most);
        let filling = if below(8) == 0 { "mapped" } else { "staged" };
        let orders = Orders { filling, threads: 1 + below(3) as usize, ..ORDERED };
        let directory = folder.path().join(round.to_string());
        let mut run = Run::start(&directory, &folder.path().join("counts"), orders);
        match round % 10 {
            0 => std::thread::sleep(Duration::from_millis(below(20))),
            1 => run.wait_for(1),
            _ => {
                run.wait_for(below(6 * CALLS_OF_A_CHUNK));
                std::thread::sleep(Duration::from_micros(below(3000)));
            }
        }
        assert_eq!(run.killed(), 0, "{round}: {orders:?}");
        fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn recorders_killed_at_random_moments() {
    random_kills(5);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_of_killed_recorders() {
    random_kills(100);
}

/// Every process here fills some chunks. They end in all ways.
#[test]
fn the_file_of_a_staged_chunk_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    for (number, ends, calls) in [(0, true, 5), (1, false, 5), (2, true, 0), (3, false, 0)] {
        let directory = folder.path().join(number.to_string());
        let counts = folder.path().join("counts");
        let calls = calls * CALLS_OF_A_CHUNK + 100;
        let orders = Orders { threads: 2, calls, ends, ..ORDERED };
        let mut run = Run::start(&directory, &counts, orders);
        run.child.wait().unwrap();
        // It is there from the second chunk until the location is closed.
        let staged = directory.join("open/0.1.now").exists();
        assert_eq!(staged, !ends && calls > CALLS_OF_A_CHUNK, "{orders:?}");
        assert_eq!(run.recovered(), 0, "{orders:?}");
    }
}

#[test]
fn forked_children_do_not_touch_a_staged_chunk() {
    let folder = tempfile::tempdir().unwrap();
    for ends in [false, true] {
        let directory = folder.path().join(ends.to_string());
        let orders = Orders { calls: 3 * CALLS_OF_A_CHUNK, forks: true, ends, ..ORDERED };
        let mut run = Run::start(&directory, &folder.path().join("counts"), orders);
        run.child.wait().unwrap();
        assert_eq!(run.recovered(), 0);
    }
}

/// A small file system, which is unmounted at the end.
struct Disk {
    path: PathBuf,
    kind: &'static str,
}

impl Disk {
    /// Mounts a file system in memory or on a file, if this user may.
    fn mount(folder: &Path, kind: &'static str) -> Option<Self> {
        let disk = Self { path: folder.join("disk"), kind };
        fs::create_dir(&disk.path).unwrap();
        let run = |command: &str, arguments: &[&str]| {
            let output = Command::new(command).args(arguments).output();
            output.is_ok_and(|output| output.status.success())
        };
        let path = disk.path.to_str().unwrap();
        let mounted = if kind == "tmpfs" {
            run("mount", &["-t", "tmpfs", "tmpfs", path])
        } else {
            let image = folder.join("image");
            File::create(&image).unwrap().set_len(24 << 20).unwrap();
            let image = image.to_str().unwrap();
            run("mkfs.ext4", &["-q", "-F", "-m", "0", image])
                && run("mount", &["-o", "loop", image, path])
        };
        if !mounted {
            needs::missing("RIGHTS", &format!("this user may not mount {kind}"));
        }
        mounted.then_some(disk)
    }

    /// Leaves so much room, or all that there is.
    fn set_room(&self, bytes: Option<usize>) {
        let status = if self.kind == "tmpfs" {
            let option = format!("remount,size={}", bytes.unwrap_or(64 << 20));
            Command::new("mount").args(["-o", &option]).arg(&self.path).status()
        } else {
            let ballast = self.path.join("ballast");
            let _ = fs::remove_file(&ballast);
            let Some(bytes) = bytes else { return };
            let mut about = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
            let path = std::ffi::CString::new(self.path.to_str().unwrap()).unwrap();
            // SAFETY: the path ends in zero, and `about` is valid for writing and was zero before.
            let about = unsafe {
                libc::statvfs(path.as_ptr(), about.as_mut_ptr());
                about.assume_init()
            };
            let taken = about.f_bavail * about.f_frsize - bytes as u64;
            Command::new("fallocate").args(["-l", &taken.to_string()]).arg(&ballast).status()
        };
        assert!(status.unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// Records into file systems that have room for so many quarters of a chunk, and become full at the borders of chunks or
/// in the midst of them.
fn full_disks(kind: &'static str, quarters: &[usize]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path(), kind) else { return };
    let counts = folder.path().join("counts");
    let calls = (quarters[quarters.len() - 1] as u64 / 4 + 3) * CALLS_OF_A_CHUNK;
    let mut kept = Vec::new();
    for quarters in quarters {
        // Facts and directories take a little.
        let room = quarters * CHUNK / 4 + 160 * 1024;
        for (filling, ends) in [("staged", false), ("staged", true), ("mapped", true)] {
            let directory = disk.path.join("x");
            let _ = fs::remove_dir_all(&directory);
            disk.set_room(Some(room));
            let orders = Orders { filling, calls, ends, ..ORDERED };
            let mut run = Run::start(&directory, &counts, orders);
            run.child.wait().unwrap();
            disk.set_room(None);
            kept.push(calls - run.recovered());
            assert!(kept.last() < Some(&calls), "the disk was never full");
        }
    }
    // A larger disk has more calls, and a staged chunk takes the space of one more.
    assert!(kept.chunks(3).is_sorted_by(|a, b| a[2] <= b[2] && a[1] <= b[1]), "{kept:?}");
    let close = |it: &[u64]| it[0] == it[1] && it[1] + 2 * CALLS_OF_A_CHUNK >= it[2];
    assert!(kept.chunks(3).all(close), "{kept:?}");
}

#[test]
fn disks_full_at_each_chunk() {
    full_disks("tmpfs", &[4, 8, 9, 12, 13]);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_of_full_disks() {
    for kind in ["tmpfs", "ext4"] {
        full_disks(kind, &(3..28).collect::<Vec<_>>());
    }
}
