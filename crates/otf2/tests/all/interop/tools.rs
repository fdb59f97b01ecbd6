//! The C side: its programs, where archives are put, and how lines are compared.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Locations of the archives that `writer wild` and `writer plain` make.
pub(crate) const LOCATIONS: [u64; 10] = [0, 1, 2, 0x0123_4567_89AB, 100, 101, 102, 103, 104, 105];

/// The compiled programs that use libotf2.
pub(crate) struct Tools {
    writer: PathBuf,
    reader: PathBuf,
}

/// Returns the programs, compiled at first use, or `None` with a message if that is not possible here.
pub(crate) fn tools() -> Option<&'static Tools> {
    static TOOLS: OnceLock<Result<Tools, String>> = OnceLock::new();
    match TOOLS.get_or_init(Tools::make) {
        Ok(tools) => Some(tools),
        Err(why) => {
            crate::needs::missing("OTF2", why);
            None
        }
    }
}

/// Runs a program and returns its output, or a message if it cannot be run or fails.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name} cannot be run: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    String::from_utf8(done.stdout).map_err(|error| format!("{name}: {error}"))
}

impl Tools {
    fn make() -> Result<Self, String> {
        let flags = |what| output(Command::new("otf2-config").arg(what));
        let (cflags, ldflags, libs) = (flags("--cflags")?, flags("--ldflags")?, flags("--libs")?);
        let include = cflags.split_whitespace().find_map(|flag| flag.strip_prefix("-I"));
        let include = include.unwrap_or("/usr/include");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/interop");
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned();
        let make = |what: &str| {
            let text = output(
                Command::new("python3").arg(sources.join("generate.py")).args([what, include]),
            )?;
            // Under a name of this process first: another one may be at the same.
            let draft = made.join(format!("otf2-{what}-{}", std::process::id()));
            let source = draft.with_extension("c");
            fs::write(&source, text).map_err(|error| error.to_string())?;
            output(
                Command::new("cc")
                    .args(["-std=gnu11", "-O1", "-w", "-o"])
                    .arg(&draft)
                    .arg("-I")
                    .arg(&sources)
                    .args(cflags.split_whitespace())
                    .arg(&source)
                    .args(ldflags.split_whitespace())
                    .args(libs.split_whitespace()),
            )?;
            let program = made.join(format!("otf2-{what}"));
            fs::rename(&source, program.with_extension("c")).map_err(|error| error.to_string())?;
            fs::rename(&draft, &program).map_err(|error| error.to_string())?;
            Ok::<_, String>(program)
        };
        Ok(Self { writer: make("writer")?, reader: make("reader")? })
    }

    /// Makes libotf2 write an archive, and returns the lines that it printed.
    pub(crate) fn write(&self, mode: &str, seed: u32, directory: &Path) -> Vec<String> {
        let mut command = Command::new(&self.writer);
        let text = output(command.arg(mode).arg(seed.to_string()).arg(directory)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Makes libotf2 read an archive, and returns the lines that it printed.
    pub(crate) fn read(&self, directory: &Path, locations: &[u64]) -> Vec<String> {
        let mut command = Command::new(&self.reader);
        command.arg(directory.join("traces.otf2"));
        let text = output(command.args(locations.iter().map(u64::to_string))).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// Runs `otf2-print` on an archive, for a few seconds at most, and returns its output.
pub(crate) fn otf2_print(directory: &Path) -> String {
    let printed = directory.join("printed.txt");
    let mut child = Command::new("otf2-print")
        .arg(directory.join("traces.otf2"))
        .stdout(File::create(&printed).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("otf2-print does not come to an end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "otf2-print: {status}");
    fs::read_to_string(printed).unwrap()
}

/// A temporary directory that is removed at the end of the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("interop-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns a path in the directory, for a new archive.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the lines of one kind, which begin with this letter.
pub(crate) fn of_kind(lines: &[String], kind: char) -> Vec<&str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with(kind)).collect()
}

/// Compares lines one by one, and prints the first that differ.
#[track_caller]
pub(crate) fn assert_same(what: &str, theirs: &[impl AsRef<str>], ours: &[impl AsRef<str>]) {
    for (at, (a, b)) in theirs.iter().zip(ours).enumerate() {
        let (a, b) = (a.as_ref(), b.as_ref());
        assert!(a == b, "{what}, line {}:\n  libotf2: {a}\n  ours:    {b}", at + 1);
    }
    assert_eq!(theirs.len(), ours.len(), "{what}: number of lines of libotf2 and ours");
}
