//! Instructions that programs execute, counted by callgrind of valgrind.
//!
//! The count is the same on a busy machine and on an idle one. Two things could make it differ between machines, and are
//! taken away: variables of the environment, and functions of the C library that it picks by the processor. What a program
//! does once cancels out in the difference of two runs of different sizes.
//!
//! `cargo xtask bench` prints counts, and `cargo xtask bounds` holds them against a table.

pub(crate) mod calls;
pub(crate) mod replay;

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Options of valgrind with which [`collected`] finds the number of instructions in the output.
const CALLGRIND: [&str; 3] = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"];

/// Makes glibc copy and compare memory by instructions that all x86-64 processors have. Those that it picks otherwise
/// change the count of a replay by 2 %, and of a search for causes by 5 %.
const TUNABLES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512VL,-AVX2,-AVX,-ERMS,-SSE4_2,-SSSE3");

/// Sizes of two runs: numbers of calls, or sizes of archives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Size of the smaller run.
    pub(crate) few: u64,
    /// Size of the larger run.
    pub(crate) many: u64,
}

impl Sizes {
    /// Returns how much `count` grows for each unit of size.
    fn growth(self, mut count: impl FnMut(u64) -> Result<f64>) -> Result<f64> {
        Ok((count(self.many)? - count(self.few)?) / (self.many - self.few) as f64)
    }
}

/// Returns `true` if instructions can be counted here.
pub(crate) fn can_count() -> bool {
    process::is_on_path("valgrind")
}

/// Runs a program under callgrind, and returns the number of instructions that it executed. It has no variables of the
/// environment but those that the command sets.
pub(crate) fn of(command: &Command) -> Result<f64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(CALLGRIND).arg(command.get_program()).args(command.get_args());
    valgrind.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    valgrind.envs([TUNABLES]);
    valgrind.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    collected(&process::output(&mut valgrind)?).with_context(|| process::display(&valgrind))
}

/// Reads the number of instructions from the output of callgrind.
fn collected(text: &str) -> Result<f64> {
    text.lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
        .with_context(|| format!("callgrind counted nothing:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read() {
        let counted = "==7== \n==7== Collected : 123456\n";
        assert_eq!(collected(counted).expect("a number"), 123_456.0);
        assert!(collected("").is_err());
    }

    #[test]
    fn what_is_done_once_cancels_out() {
        let sizes = Sizes { few: 10, many: 30 };
        let count = sizes.growth(|size| Ok(1_000.0 + 7.0 * size as f64));
        assert_eq!(count.expect("no failure"), 7.0);
        assert!(sizes.growth(|_| anyhow::bail!("no valgrind")).is_err());
    }
}
