//! Energy of the processors, and their temperature, from files of the kernel in `/sys/class`.
//!
//! Energy is that of all processor packages of the node, from the RAPL interface: `powercap/intel-rapl:N/energy_uj`, also on
//! processors of AMD. A package counts in microjoules up to `max_energy_range_uj`, and starts again at 0. Only root may read
//! it on most systems. Temperature is that of the hottest package, in thousandths of a degree Celsius:
//! `hwmon/hwmonN/temp1_input` of the drivers in [`DRIVERS`].
//!
//! The kernel renews both about every millisecond, and reading takes longer than a system call usually does. So a sample
//! repeats the values before unless [`RENEWED`] has passed. Files are opened for each reading: see the module
//! [`perf`](super::perf) about descriptors.
#![allow(unsafe_code)] // System calls.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Source;

/// Directory of the kernel.
pub(super) const SYSTEM: &str = "/sys/class";

/// Drivers whose first temperature is that of a processor package.
const DRIVERS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];

/// Largest number of packages of a node that are read.
const MOST: usize = 8;

/// Nanoseconds after which files are read again.
const RENEWED: u64 = 1_000_000;

/// Files of the sensors of a node.
#[derive(Debug, Default)]
pub(super) struct Sensors {
    /// Counter of each package, and the value after which it starts again.
    energy: Vec<(CString, u64)>,
    temperature: Vec<CString>,
}

/// What a location has read of sensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensed {
    read_at: u64,
    packages: [Option<u64>; MOST],
    /// Microjoules since the first reading.
    pub(super) energy: u64,
    pub(super) temperature: u64,
}

impl Sensors {
    /// Finds the sensors below a directory like [`SYSTEM`].
    pub(super) fn find(directory: &Path) -> Self {
        let mut found = Self::default();
        for zone in sorted(&directory.join("powercap")) {
            // Parts of packages have a second colon, and other interfaces to the same packages another prefix.
            let name = zone.file_name().map(|it| it.to_string_lossy().into_owned());
            let number = name.as_deref().and_then(|it| it.strip_prefix("intel-rapl:"));
            let is_package = text(&zone.join("name")).is_some_and(|it| it.starts_with("package"));
            if is_package && number.is_some_and(|it| !it.contains(':')) && found.energy.len() < MOST
            {
                let range = text(&zone.join("max_energy_range_uj")).and_then(|it| it.parse().ok());
                let file = c_path(zone.join("energy_uj"));
                found.energy.extend(file.map(|it| (it, range.unwrap_or(u64::MAX))));
            }
        }
        for chip in sorted(&directory.join("hwmon")) {
            let is_known = text(&chip.join("name")).is_some_and(|it| DRIVERS.contains(&&*it));
            if is_known && found.temperature.len() < MOST {
                found.temperature.extend(c_path(chip.join("temp1_input")));
            }
        }
        found
    }

    /// Returns why a counter cannot be read, or `None` if it can.
    pub(super) fn refusal(&self, source: Source) -> Option<io::Error> {
        let mut files: Box<dyn Iterator<Item = &CString>> = match source {
            Source::Energy => Box::new(self.energy.iter().map(|it| &it.0)),
            _ => Box::new(self.temperature.iter()),
        };
        let missing = || io::Error::from_raw_os_error(libc::ENODEV);
        let error = files.next().map_or_else(|| Err(missing()), |first| number(first)).err()?;
        match error.kind() {
            io::ErrorKind::PermissionDenied => Some(io::Error::other("only root may read it here")),
            _ => Some(error),
        }
    }

    /// Reads the sensors into the state of a location, at a `time` in nanoseconds.
    pub(super) fn read(&self, of: &mut Sensed, time: u64) {
        if of.read_at > 0 && time.wrapping_sub(of.read_at) < RENEWED {
            return;
        }
        of.read_at = time.max(1);
        for ((file, range), last) in self.energy.iter().zip(&mut of.packages) {
            let Ok(now) = number(file) else { continue };
            let before = last.replace(now).unwrap_or(now);
            of.energy += match now.checked_sub(before) {
                Some(used) => used,
                None => range.saturating_sub(before) + now,
            };
        }
        let degrees = self.temperature.iter().filter_map(|file| number(file).ok());
        of.temperature = degrees.max().unwrap_or(of.temperature);
    }
}

impl Sensed {
    pub(super) const NONE: Self =
        Self { read_at: 0, packages: [None; MOST], energy: 0, temperature: 0 };
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn c_path(path: PathBuf) -> Option<CString> {
    CString::new(path.into_os_string().into_vec()).ok()
}

/// Reads the number in a file, without allocating.
fn number(path: &CStr) -> io::Result<u64> {
    // SAFETY: the path ends with a zero.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut digits = [0_u8; 32];
    // SAFETY: as many bytes as there is room for.
    let read = unsafe { libc::read(file, digits.as_mut_ptr().cast(), digits.len()) };
    let error = io::Error::last_os_error();
    // SAFETY: the descriptor was opened above.
    unsafe { libc::close(file) };
    let Ok(count) = usize::try_from(read) else { return Err(error) };
    let digits = digits.get(..count).unwrap_or_default().trim_ascii();
    let number = str::from_utf8(digits).ok().and_then(|it| it.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) -> io::Result<()> {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, format!("{text}\n"))
    }

    #[test]
    fn packages_are_added_and_the_hottest_counts() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        for (zone, name, energy) in [
            ("intel-rapl:0", "package-0", "900"),
            ("intel-rapl:0:0", "core", "70"),
            ("intel-rapl:1", "package-1", "5000"),
            ("intel-rapl:2", "psys", "80"),
            ("intel-rapl-mmio:0", "package-0", "900"),
        ] {
            write(root, &format!("powercap/{zone}/name"), name)?;
            write(root, &format!("powercap/{zone}/energy_uj"), energy)?;
            write(root, &format!("powercap/{zone}/max_energy_range_uj"), "1000000")?;
        }
        for (chip, name, degrees) in [
            ("hwmon0", "nvme", "70000"),
            ("hwmon1", "coretemp", "41000"),
            ("hwmon2", "coretemp", "43500"),
        ] {
            write(root, &format!("hwmon/{chip}/name"), name)?;
            write(root, &format!("hwmon/{chip}/temp1_input"), degrees)?;
        }
        let sensors = Sensors::find(root);
        assert!(sensors.refusal(Source::Energy).is_none());
        assert!(sensors.refusal(Source::Temperature).is_none());
        let mut of = Sensed::NONE;
        let mut read = |time| {
            sensors.read(&mut of, time);
            (of.energy, of.temperature)
        };
        assert_eq!(read(1), (0, 43_500));
        write(root, "powercap/intel-rapl:0/energy_uj", "1900")?;
        write(root, "powercap/intel-rapl:1/energy_uj", "999900")?;
        write(root, "hwmon/hwmon1/temp1_input", "50000")?;
        assert_eq!(read(RENEWED / 2), (0, 43_500));
        assert_eq!(read(2 * RENEWED), (1_000 + 994_900, 50_000));
        // The second package starts again at 0.
        write(root, "powercap/intel-rapl:1/energy_uj", "200")?;
        assert_eq!(read(4 * RENEWED), (1_000 + 994_900 + 300, 50_000));
        Ok(())
    }

    #[test]
    fn a_machine_without_sensors_says_so() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let sensors = Sensors::find(folder.path());
        for source in [Source::Energy, Source::Temperature] {
            let error = sensors.refusal(source).unwrap();
            assert!(super::super::perf::said(&error).starts_with("this machine does not count it"));
        }
        Ok(())
    }
}
