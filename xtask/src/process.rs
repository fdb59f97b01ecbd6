//! Running other programs.
//!
//! Every task here is mostly a list of programs to run. All of them are shown before they run, a failure names the
//! command, and every command runs in the directory that was intended.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns a command for the cargo that runs this program, in the directory `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Shows a command and runs it with the terminal of this program. Fails if the command fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", display(command));
    let status = command.status().with_context(|| format!("cannot run `{}`", display(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", display(command));
    }
    Ok(())
}

/// Runs a command silently and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{}`", display(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}\n{}", display(command), output.status, errors.trim_end());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something other than UTF-8", display(command)))
}

/// Returns `true` if a command runs and succeeds. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns how many processes want a core, on average over the last minute.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} on {cores} cores", text.split(' ').next().unwrap_or("unknown"))
}

/// Returns the last lines of a log, to be shown when the program that wrote it failed.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Returns `true` if a program of this name is on the search path.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// A directory that is removed when the value is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Lets a launcher of Open MPI work in a container, whose user is root and which has fewer slots than processes that
/// are to be started.
pub(crate) fn in_a_container(command: &mut Command) -> &mut Command {
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
}

/// Returns a command as a person would type it.
pub(crate) fn display(command: &Command) -> String {
    let mut words = vec![program_name(command.get_program())];
    words.extend(command.get_args().map(quote));
    words.join(" ")
}

/// Returns the name of a program as it is shown: cargo without its path, every other program in full.
fn program_name(program: &OsStr) -> String {
    match Path::new(program).file_name() {
        Some(name) if name == "cargo" => "cargo".to_owned(),
        _ => quote(program),
    }
}

fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains([' ', '"', '$', '*', '\'', '\\']) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_they_are_typed() {
        let mut command = Command::new("/opt/toolchain/bin/cargo");
        command.args(["test", "a b", "", "it's"]);
        assert_eq!(display(&command), r"cargo test 'a b' '' 'it'\''s'");
    }

    #[test]
    fn the_end_of_a_log() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }

    #[test]
    fn failure_names_the_command() {
        let error = output(Command::new("false").arg("x")).expect_err("false fails");
        assert!(error.to_string().starts_with("`false x` failed"), "{error}");
    }
}
