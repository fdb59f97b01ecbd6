//! Whether a run is alive, seen from any node, without a daemon.
//!
//! While a process records, it holds a shared lock on the file `open/HOST.alive` of its node, in the experiment
//! directory. The lock needs no renewal, so a process may compute or hang for hours. The system takes it back when the
//! process ends, in whatever way, and passes it on to other nodes where the file system does. Whoever wants to know
//! asks for an exclusive lock: it is refused as long as a process of that node is alive.
//!
//! # When a free lock proves that the processes are gone
//! A lock that is held always proves life. A free one proves the contrary only where locks of other nodes can be seen:
//! - on the node itself, by its name and its boot;
//! - if the nodes of the run tried it when it started, and the file says so;
//! - on a network file system whose documentation says so ([`SHARED`]);
//! - on a local file system, which other nodes cannot write to: what is there is a copy, or the node was rebooted.
//!
//! Otherwise the answer is [`Life::Unknown`], and recovery asks the user.
//!
//! # The file
//! | line | holds |
//! | --- | --- |
//! | `host NAME` | name of the node |
//! | `boot ID` | its boot, as `/proc/sys/kernel/random/boot_id` |
//! | `job ID` | the job in the batch system, if there is one |
//! | `since NS` | when the first process of the node began, in nanoseconds since 1970 |
//! | `locks shared` | a lock of another node was seen |
//!
//! There is one file a node, whatever the number of its processes, so that a single file a node for all events can take
//! its place later: the lock is the same on any file of the node.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use dwell_model::text::visible;
use dwell_model::units::utc;

use crate::experiment::open_files;

/// Ending of the names of lease files.
const ENDING: &str = ".alive";

/// Largest length of a lease file, in bytes. A longer file is not one.
const LONGEST: u64 = 4096;

/// Network file systems that pass locks on to other nodes, by their types in `/proc/self/mounts`, with an option that
/// the mount must have.
const SHARED: &[(&str, Option<&str>)] = &[
    ("nfs", None),
    ("nfs4", None),
    ("gpfs", None),
    ("ceph", None),
    ("fuse.glusterfs", None),
    ("lustre", Some("flock")),
];

/// Options of a mount by which locks stay on the node.
const LOCAL_LOCKS: &[&str] = &["localflock", "nolock", "local_lock=all", "local_lock=flock"];

/// File systems that only one machine can write to.
const LOCAL: &[&str] = &[
    "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay", "zfs", "f2fs", "bcachefs",
];

/// A node of a run, as its lease file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub host: String,
    /// Boot of the node, which tells it from others of the same name.
    pub boot: String,
    /// Job in the batch system; empty if there is none.
    pub job: String,
    /// Nanoseconds since 1970 at which the first process of the node began to record.
    pub since: u64,
    /// Set if this node saw a lock that another node held when the run began.
    pub sees_locks: bool,
}

impl Node {
    fn encode(&self) -> String {
        let Self { host, boot, job, since, sees_locks } = self;
        let mut text = format!("host {host}\nboot {boot}\nsince {since}\n");
        if !job.is_empty() {
            text += &format!("job {job}\n");
        }
        if *sees_locks {
            text += "locks shared\n";
        }
        text
    }

    /// Reads the lines that it knows. A file that is cut or damaged has fewer.
    fn decode(text: &str) -> Self {
        let mut node = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            match name {
                "host" => node.host = visible(value).to_string(),
                "boot" => node.boot = value.to_owned(),
                "job" => node.job = visible(value).to_string(),
                "since" => node.since = value.parse().unwrap_or(0),
                "locks" => node.sees_locks = value == "shared",
                _ => {}
            }
        }
        node
    }
}

/// Whether processes of a node are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// At least one process of the node holds the lock.
    Alive,
    /// No process of the node is left.
    Ended,
    /// The lock is free, but this file system may not show locks of other nodes.
    Unknown,
}

/// Returns the path of the lease file of a node.
pub fn file(directory: &Path, host: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let name: String = host.chars().map(plain).take(128).collect();
    open_files(directory).join(name + ENDING)
}

/// A lease of this process. The lock is held as long as the file is open, which includes mappings of it.
#[derive(Debug)]
pub struct Lease {
    /// The file of the node, locked by this process.
    pub file: File,
    /// Set if this process is the first of its node, and wrote the file.
    pub first: bool,
}

/// Number of times that a lock is tried again, with [`PAUSE`] in between: who asks whether a run is alive holds the
/// lock for an instant.
const TRIES: usize = 50;

const PAUSE: Duration = Duration::from_millis(10);

/// Takes the lease of a process that begins to record on the node `node`. The first process of the node writes its
/// file. Before, it tries the lock of `other`, the lease file of another node, if it is given.
///
/// # Errors
/// If the file cannot be written, or if the file system has no locks.
pub fn take(directory: &Path, node: &Node, other: Option<&Path>) -> io::Result<Lease> {
    let path = file(directory, &node.host);
    let made = File::options().read(true).write(true).create_new(true).open(&path);
    let (mut file, first) = match made {
        Ok(file) => (file, true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            (File::options().read(true).write(true).open(&path)?, false)
        }
        Err(error) => return Err(error),
    };
    let locked = lock(&file);
    if first {
        let sees_locks = other.is_some_and(|path| is_held(path) == Some(true));
        file.write_all(Node { sees_locks, ..node.clone() }.encode().as_bytes())?;
    }
    locked.map(|()| Lease { file, first })
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            other => return other.map_err(io::Error::from),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Returns whether the lock of a file is held, or `None` if that cannot be found out.
fn is_held(path: &Path) -> Option<bool> {
    // Over NFS, an exclusive lock needs a file that is open for writing.
    let writable = File::options().read(true).write(true).open(path);
    let file = writable.or_else(|_| File::open(path)).ok()?;
    match file.try_lock() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Returns the nodes of the run in `directory`, sorted by name, and whether their processes are alive.
///
/// # Errors
/// If the directory cannot be read. A run without lease files has no nodes.
pub fn nodes(directory: &Path) -> io::Result<Vec<(Node, Life)>> {
    let entries = match fs::read_dir(open_files(directory)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if !path.to_string_lossy().ends_with(ENDING) {
            continue;
        }
        // A pipe or a link that someone put there is not a lease.
        let Ok(bytes) = dwell_files::read(&path, LONGEST) else { continue };
        let node = Node::decode(&String::from_utf8_lossy(&bytes));
        let life = match is_held(&path) {
            Some(true) => Life::Alive,
            Some(false) if proves_end(&node, &path) => Life::Ended,
            _ => Life::Unknown,
        };
        found.push((node, life));
    }
    found.sort_by(|one, other| one.0.host.cmp(&other.0.host));
    Ok(found)
}

/// Returns `true` if a free lock proves that the processes of a node have ended.
fn proves_end(node: &Node, path: &Path) -> bool {
    node.sees_locks || node.boot == boot() && node.host == host() || shows_locks(path)
}

/// Returns the name of this node.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Returns the boot of this node.
pub fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Returns `true` if the file system of a path is known to show locks of all machines that can write to it.
fn shows_locks(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    path.canonicalize().is_ok_and(|path| mount_shows_locks(&mounts, &path))
}

/// Looks for the mount that `path` is in, in the text of `/proc/self/mounts`.
fn mount_shows_locks(mounts: &str, path: &Path) -> bool {
    let mut best: Option<(usize, &str, &str)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (Some(_), Some(place), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // The last of several mounts at one place is the visible one.
        let place = place.replace("\\040", " ");
        if path.starts_with(&place) && best.is_none_or(|(length, ..)| place.len() >= length) {
            best = Some((place.len(), kind, options));
        }
    }
    let Some((_, kind, options)) = best else { return false };
    let has = |option: &str| options.split(',').any(|it| it == option);
    if LOCAL_LOCKS.iter().any(|option| has(option)) {
        return false;
    }
    let shared = |(name, option): &(&str, Option<&str>)| kind == *name && option.is_none_or(has);
    LOCAL.contains(&kind) || SHARED.iter().any(shared)
}

/// Signs of life of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signs {
    /// Nodes with processes that are alive; if none is known to have any, nodes that may have some.
    pub nodes: Vec<Node>,
    /// Set if processes are known to be alive.
    pub certain: bool,
    /// Nanoseconds since 1970 at which a file of the run was last written, as far as this node sees.
    pub last: Option<u64>,
}

/// Looks for signs of life of the run in `directory`. Returns `None` if no process of it can be alive, or if an earlier
/// version recorded it, which held no leases.
///
/// # Errors
/// If the directory cannot be read.
pub fn signs(directory: &Path) -> io::Result<Option<Signs>> {
    let found = nodes(directory)?;
    let of = |life| -> Vec<Node> {
        found.iter().filter(|(_, it)| *it == life).map(|(node, _)| node.clone()).collect()
    };
    let (alive, unknown) = (of(Life::Alive), of(Life::Unknown));
    let certain = !alive.is_empty();
    let nodes = if certain { alive } else { unknown };
    let last = last_written(directory);
    Ok((!nodes.is_empty()).then_some(Signs { nodes, certain, last }))
}

/// Most nodes that a sentence names.
const NAMED: usize = 4;

impl fmt::Display for Signs {
    /// Writes where the run is, since when, and when it was last seen: `still running on n1 and n2 …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.nodes.iter().map(|node| node.host.as_str()).collect();
        let known = if self.certain { "still running" } else { "may still be running" };
        write!(f, "{known} on ")?;
        match names.as_slice() {
            [] => f.write_str("a node")?,
            [first, ..] if names.len() > NAMED => {
                write!(f, "{first} and {} other nodes", names.len() - 1)?;
            }
            all => f.write_str(&list(all))?,
        }
        if let Some(node) = self.nodes.iter().find(|node| !node.job.is_empty()) {
            write!(f, ", job {}", node.job)?;
        }
        let since = self.nodes.iter().map(|node| node.since).filter(|it| *it > 0).min();
        if let Some(since) = since {
            write!(f, ", since {}", moment(since))?;
        }
        if let Some(last) = self.last {
            write!(f, "; its files were last written at {}", moment(last))?;
        }
        Ok(())
    }
}

/// Writes names for people: `n1, n2 and n3`.
pub fn list(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        all => all.join(""),
    }
}

/// Writes a time for people, in UTC.
fn moment(nanos: u64) -> String {
    let [year, month, day, hour, minute, second] = utc(nanos);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Removes the lease files of a run that is complete.
pub fn remove(directory: &Path) {
    let Ok(entries) = fs::read_dir(open_files(directory)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.to_string_lossy().ends_with(ENDING) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns when a file of the run was last written, in nanoseconds since 1970. Events are written into mapped memory,
/// and the system notes the time at most about half a minute late.
pub fn last_written(directory: &Path) -> Option<u64> {
    let entries = fs::read_dir(open_files(directory)).ok()?;
    let times = entries.flatten().filter_map(|entry| entry.metadata().ok()?.modified().ok());
    let last = times.max()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(last.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(open_files(folder.path())).unwrap();
        folder
    }

    fn node(host: &str, boot: &str) -> Node {
        Node { host: host.into(), boot: boot.into(), since: 7, ..Node::default() }
    }

    #[test]
    fn a_node_is_alive_until_its_last_process_ends() {
        let run = run();
        let here = node(&host(), &boot());
        let first = take(run.path(), &here, None).unwrap();
        let second = take(run.path(), &here, None).unwrap();
        assert!(first.first && !second.first);
        let life = || nodes(run.path()).unwrap();
        assert_eq!(life(), [(here.clone(), Life::Alive)]);
        drop(first);
        assert_eq!(life(), [(here.clone(), Life::Alive)]);
        drop(second);
        assert_eq!(life(), [(here, Life::Ended)]);
        remove(run.path());
        assert_eq!(life(), []);
    }

    #[test]
    fn a_node_that_sees_the_lock_of_another_says_so() {
        let run = run();
        let lock = take(run.path(), &node("n1", "a"), None).unwrap();
        let other = file(run.path(), "n1");
        drop(take(run.path(), &node("n2", "b"), Some(&other)).unwrap());
        drop(lock);
        drop(take(run.path(), &node("n3", "c"), Some(&other)).unwrap());
        let sees: Vec<bool> =
            nodes(run.path()).unwrap().iter().map(|(node, _)| node.sees_locks).collect();
        assert_eq!(sees, [false, true, false]);
    }

    #[test]
    fn file_systems_that_show_locks_are_known() {
        let mounts = "\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,vers=4.2,local_lock=none 0 0
server:/old /old nfs rw,vers=3,nolock,local_lock=all 0 0
mds:/l1 /lustre/one lustre rw,flock,lazystatfs 0 0
mds:/l2 /lustre/two lustre rw,lazystatfs 0 0
mds:/l3 /lustre/three lustre rw,localflock 0 0
user@host:/ /remote fuse.sshfs rw 0 0
server:/v /my\\040volume fuse.glusterfs rw 0 0
";
        let shows = |path: &str| mount_shows_locks(mounts, Path::new(path));
        for path in ["/tmp/x", "/home/me/run", "/lustre/one/run", "/my volume/run"] {
            assert!(shows(path), "{path}");
        }
        for path in ["/old/run", "/lustre/two/run", "/lustre/three/run", "/remote/run"] {
            assert!(!shows(path), "{path}");
        }
    }

    #[test]
    fn signs_of_life_are_one_sentence() {
        let nodes = |names: &[&str]| names.iter().map(|name| node(name, "b").since(0)).collect();
        let said = |names: &[&str], certain| {
            Signs { nodes: nodes(names), certain, last: None }.to_string()
        };
        assert_eq!(said(&["n1"], true), "still running on n1");
        assert_eq!(said(&["n1", "n2", "n3"], true), "still running on n1, n2 and n3");
        let many = ["n1", "n2", "n3", "n4", "n5", "n6"];
        assert_eq!(said(&many, false), "may still be running on n1 and 5 other nodes");
        let job = Node { job: "7.0".into(), ..node("n1", "b") };
        let signs = Signs { nodes: vec![job], certain: true, last: Some(1_000_000_000) };
        assert_eq!(
            signs.to_string(),
            "still running on n1, job 7.0, since 1970-01-01 00:00:00 UTC; its files were last written at \
             1970-01-01 00:00:01 UTC"
        );
    }

    #[test]
    fn names_of_nodes_are_names_of_files() {
        let path = file(Path::new("/run"), "../n1/x y");
        assert_eq!(path, Path::new("/run/open/.._n1_x_y.alive"));
    }

    #[test]
    fn damaged_files_describe_what_they_can() {
        assert_eq!(Node::decode("host n1\nsince x\nlo"), node("n1", "").since(0));
        let full = Node { job: "7.0".into(), sees_locks: true, ..node("n1", "b") };
        assert_eq!(Node::decode(&full.encode()), full);
    }

    impl Node {
        fn since(self, since: u64) -> Self {
            Self { since, ..self }
        }
    }
}
