//! Programs that run in the background of the steps of a task.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::process;

/// A program in the background. Its output goes to a file, so that it can be shown in one piece when it has ended.
pub(crate) struct Background {
    /// The command, as it is shown.
    command: String,
    waiting: Option<JoinHandle<io::Result<(ExitStatus, Duration)>>>,
    log: PathBuf,
}

impl Background {
    /// Starts a program that writes to the file `log`.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Result<Self> {
        let output = fs::File::create(&log).with_context(|| log.display().to_string())?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let shown = process::display(command);
        let began = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
        let waiting = thread::spawn(move || Ok((child.wait()?, began.elapsed())));
        Ok(Self { command: shown, waiting: Some(waiting), log })
    }

    /// Waits for the end of the program and shows its output. Fails if the program failed.
    pub(crate) fn finish(mut self) -> Result<()> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let command = &self.command;
        let ended = waiting.join().map_err(|_| anyhow!("nobody waited for `{command}`"))?;
        let (status, time) = ended.with_context(|| format!("cannot wait for `{command}`"))?;
        println!("$ {command}");
        io::copy(&mut fs::File::open(&self.log)?, &mut io::stdout())?;
        println!("done in {:.1} s, beside the steps before", time.as_secs_f64());
        if !status.success() {
            bail!("`{command}` failed: {status}");
        }
        Ok(())
    }
}

impl Drop for Background {
    /// Waits for the end of the program, because a later one would find its locks.
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
    }
}
