//! Programs that run until the cluster is taken down.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// A program in the foreground of a process-id namespace of its own. When it is dropped, the namespace ends, and with
/// it everything that the program started, so that no id has to be looked for.
#[derive(Debug)]
pub(super) struct Daemon {
    name: String,
    child: Child,
}

impl Daemon {
    /// Starts a shell script in new namespaces: always those of processes and mounts, and those that `more` names as
    /// options of unshare(1). With `network`, it runs in that network. It writes to `NAME.log` in `logs`.
    pub(super) fn start(
        name: &str,
        network: Option<&str>,
        more: &[&str],
        script: &str,
        logs: &Path,
    ) -> Result<Self> {
        let log = File::create(logs.join(format!("{name}.log"))).context("cannot write a log")?;
        let mut command = Command::new("env");
        if let Some(network) = network {
            command.arg("nsenter").arg(format!("--net=/run/netns/{network}"));
        }
        command.args(["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]);
        command.args(more).args(["sh", "-ec", script]);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child })
    }

    /// Runs a command inside of the namespaces of this program.
    pub(super) fn enter(&mut self) -> Result<Command> {
        // The child is unshare(1), and its only child is the first process of the namespace.
        let path = format!("/proc/{0}/task/{0}/children", self.child.id());
        let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let Some(first) = text.split_whitespace().next() else {
            bail!("{} has ended", self.name);
        };
        let mut command = Command::new("nsenter");
        command.args(["--target", first, "--mount", "--uts", "--net", "--pid"]);
        Ok(command)
    }

    /// Fails if the program has ended.
    pub(super) fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} has ended: {status}", self.name),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a command succeeds, and fails after `limit`.
pub(super) fn until(limit: Duration, mut command: impl FnMut() -> Command) -> Result<()> {
    let began = Instant::now();
    loop {
        if process::succeeds(&mut command()) {
            return Ok(());
        }
        if began.elapsed() > limit {
            let output = process::output(&mut command());
            return output.map(|_| ()).context("waited too long for it");
        }
        thread::sleep(Duration::from_millis(200));
    }
}
