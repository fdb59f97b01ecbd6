//! What this machine has for a process: memory, cores, and files that may be open at once.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Assumed memory in bytes where the system does not say how much there is.
const ASSUMED: u64 = 4 << 30;

/// Returns the memory in bytes that this process may use: that of the machine, or the limit of its control group if
/// that is less. Batch systems and containers set such limits.
pub(crate) fn memory() -> u64 {
    let all = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| limit(line, Path::new("/sys/fs/cgroup")));
    all.into_iter().chain(limits).min().unwrap_or(ASSUMED)
}

/// Returns the number of cores of the machine, whether this process may use them or not. `None` where the system does
/// not tell.
pub(crate) fn cores() -> Option<usize> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    count(&online)
}

/// Returns how many numbers a list such as `0-3,8` has.
fn count(list: &str) -> Option<usize> {
    list.trim().split(',').try_fold(0, |sum: usize, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// Greatest number of files of an archive that are kept open. Each takes about 1 KiB of memory of the kernel.
const MOST_FILES: u64 = 1 << 16;
/// Number of files for everything else that is left in any case.
const OTHER_FILES: u64 = 128;

/// Raises the limit of open files as far as this process may, and returns the number of files of an archive that can be
/// kept open. A quarter of the limit is left for other files.
pub(crate) fn open_files() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => current,
    };
    let limit = limit.unwrap_or(u64::MAX);
    let others = (limit / 4).max(OTHER_FILES);
    limit.saturating_sub(others).clamp(1, MOST_FILES) as usize
}

/// Returns the memory of the machine in bytes, given the text of `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Returns the smallest limit of a control group and the groups around it in bytes, given its line of
/// `/proc/self/cgroup` and the directory of control groups.
fn limit(line: &str, root: &Path) -> Option<u64> {
    let mut words = line.splitn(3, ':');
    let (number, controllers, group) = (words.next()?, words.next()?, words.next()?);
    let (directory, file) = match controllers.split(',').any(|it| it == "memory") {
        true => (root.join("memory"), "memory.limit_in_bytes"),
        false if number == "0" => (root.to_path_buf(), "memory.max"),
        false => return None,
    };
    let mut place: PathBuf = directory.join(group.trim_start_matches('/'));
    let mut least: Option<u64> = None;
    loop {
        // A group without a limit says `max`, or a number that is greater than any memory.
        let text = fs::read_to_string(place.join(file)).unwrap_or_default();
        let found = text.trim().parse::<u64>().ok();
        least = [least, found].into_iter().flatten().min();
        if place == directory || !place.pop() {
            return least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_machine() {
        let text = "MemFree:   5 kB\nMemTotal:       24617856 kB\nMemAvailable:  1 kB\n";
        assert_eq!(total(text), Some(24_617_856 * 1024));
        assert_eq!(total("MemTotal: many kB"), None);
        assert_eq!(total(""), None);
        assert!(memory() > 0);
    }

    #[test]
    fn cores_are_counted_in_ranges() {
        assert_eq!(count("0-3,8,10-11\n"), Some(7));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("3-1"), None);
        assert_eq!(count(""), None);
        assert!(cores().is_none_or(|cores| cores > 0));
    }

    #[test]
    fn files_that_can_be_open() {
        let most = open_files();
        assert!(most >= 1 && most as u64 <= MOST_FILES);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert!(current == maximum && current.is_none_or(|limit| most as u64 <= limit));
    }

    #[test]
    fn the_smallest_limit_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let job = root.path().join("slurm/job");
        let step = job.join("step");
        fs::create_dir_all(&step).unwrap();
        let limit = |line| limit(line, root.path());
        assert_eq!(limit("0::/slurm/job/step"), None);
        fs::write(job.join("memory.max"), "1000\n").unwrap();
        fs::write(step.join("memory.max"), "max\n").unwrap();
        assert_eq!(limit("0::/slurm/job/step"), Some(1000));
        fs::write(root.path().join("slurm/memory.max"), "300\n").unwrap();
        assert_eq!(limit("0::/slurm/job/step"), Some(300));
        // The first version has a hierarchy for each controller.
        let old = root.path().join("memory/job");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("memory.limit_in_bytes"), "700\n").unwrap();
        assert_eq!(limit("7:cpu,memory:/job"), Some(700));
        assert_eq!(limit("3:cpuset:/job"), None);
        assert_eq!(limit("nonsense"), None);
    }
}
