//! The default run of commands that are given none: the newest one in the current directory.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

use anyhow::{Context, bail};
use dwell_unify::lease;

/// Name of the anchor file of a run's archive.
pub(crate) const ANCHOR: &str = "traces.otf2";

/// Name of the directory that a run has until it has ended.
pub(crate) const UNFINISHED: &str = "open";

/// Returns the run that was named, or the newest one in the current directory.
pub(crate) fn or_latest(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => latest(&env::current_dir()?),
    }
}

/// Returns a run like [`or_latest`]. Fails if the run is not complete: says where it is running, or how to recover it.
pub(crate) fn ended_or_latest(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = or_latest(named)?;
    check_ended(&path)?;
    Ok(path)
}

/// Fails if a run is not complete: says where it is running, or how to recover it.
pub(crate) fn check_ended(path: &Path) -> anyhow::Result<()> {
    if path.join(UNFINISHED).is_dir() && !path.join(ANCHOR).exists() {
        let signs = lease::signs(path)?;
        let path = path.display();
        match signs {
            Some(signs) if signs.certain => {
                bail!("{path}: {signs}. It can be looked at when it has ended")
            }
            Some(signs) => bail!(
                "{path}: {signs}, because locks of other nodes are not shown here. If it was killed, next on one of \
                 these nodes: dwell recover {path}"
            ),
            None => bail!("{path}: the run was not completed; next: dwell recover {path}"),
        }
    }
    Ok(())
}

/// Returns `true` if the processes of a run that is not complete have all ended.
pub(crate) fn was_killed(path: &Path) -> bool {
    lease::signs(path).is_ok_and(|it| it.is_none())
}

/// Returns the newest run in a directory, whatever its name.
fn latest(directory: &Path) -> anyhow::Result<PathBuf> {
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    let place = || directory.display().to_string();
    for entry in fs::read_dir(directory).with_context(place)? {
        let path = entry?.path();
        let ages = [ANCHOR, UNFINISHED].map(|name| fs::metadata(path.join(name)));
        let age = ages.into_iter().flatten().find_map(|it| it.modified().ok());
        if let Some(age) = age {
            newest = newest.max(Some((age, path)));
        }
    }
    match newest {
        Some((_, path)) => Ok(path),
        None => bail!(
            "no run in this directory: nothing here has a {ANCHOR}; name a run, or make one with `dwell run`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_run_is_meant_and_it_must_have_ended() {
        let home = tempfile::tempdir().unwrap();
        let error = latest(home.path()).unwrap_err().to_string();
        assert!(error.contains("no run in this directory"), "{error}");
        let seconds = |n| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n);
        let old = home.path().join("dwell-b-old");
        fs::create_dir(&old).unwrap();
        let anchor = fs::File::create(old.join(ANCHOR)).unwrap();
        anchor.set_modified(seconds(1_000)).unwrap();
        fs::create_dir(home.path().join("dwell-c-empty")).unwrap();
        assert_eq!(latest(home.path()).unwrap(), old);
        let killed = home.path().join("killed");
        fs::create_dir_all(killed.join(UNFINISHED)).unwrap();
        assert_eq!(latest(home.path()).unwrap(), killed);
        let error = ended_or_latest(Some(&killed)).unwrap_err().to_string();
        assert!(error.ends_with(&format!("next: dwell recover {}", killed.display())), "{error}");
        assert_eq!(ended_or_latest(Some(&old)).unwrap(), old);
    }
}
