//! Collective operations among the recorders of all processes, made of messages along the tree of unification.
//!
//! The runtime's own collectives block until all processes have arrived, and cannot be given up. These wait for one
//! message after the other, each within the deadline of the step.

use std::collections::BTreeSet;
use std::io;

use dwell_unify::unify::{Upcalls, below, parent};

/// Brings the bytes of rank 0, which alone passes `mine`, to all processes.
///
/// # Errors
/// If a message does not arrive.
pub(crate) fn broadcast(up: &mut impl Upcalls, mine: Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    let (rank, size) = (up.rank(), up.size());
    let bytes = match mine {
        Some(bytes) => bytes,
        None => up.receive(parent(rank).unwrap_or(0))?,
    };
    for child in below(rank, size).rev() {
        up.send(child, &bytes)?;
    }
    Ok(bytes)
}

/// Joins the numbers of all processes, place by place. Rank 0 gets those of all, any other process those of its
/// subtree.
///
/// # Errors
/// If a message does not arrive.
pub(crate) fn reduce<const N: usize>(
    up: &mut impl Upcalls,
    mut own: [u64; N],
    join: impl Fn(u64, u64) -> u64,
) -> io::Result<[u64; N]> {
    let (rank, size) = (up.rank(), up.size());
    for child in below(rank, size) {
        let theirs = numbers::<N>(&up.receive(child)?)?;
        for (own, theirs) in own.iter_mut().zip(theirs) {
            *own = join(*own, theirs);
        }
    }
    if let Some(parent) = parent(rank) {
        up.send(parent, &own.map(u64::to_le_bytes).concat())?;
    }
    Ok(own)
}

/// Largest number of names that [`collect`] collects. More are cut off.
const NAMES: usize = 64;

/// Collects names, of which each process passes at most one. Rank 0 gets those of all, any other process those of its
/// subtree.
///
/// # Errors
/// If a message does not arrive.
pub(crate) fn collect(up: &mut impl Upcalls, own: Option<String>) -> io::Result<BTreeSet<String>> {
    let (rank, size) = (up.rank(), up.size());
    let mut names = BTreeSet::from_iter(own);
    for child in below(rank, size) {
        let theirs = up.receive(child)?;
        let theirs = String::from_utf8_lossy(&theirs);
        names.extend(theirs.lines().map(str::to_owned));
    }
    let names: BTreeSet<String> = names.into_iter().take(NAMES).collect();
    if let Some(parent) = parent(rank) {
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        up.send(parent, all.join("\n").as_bytes())?;
    }
    Ok(names)
}

/// The numbers that a message has.
///
/// # Errors
/// If the message is shorter.
pub(crate) fn numbers<const N: usize>(bytes: &[u8]) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    let damaged = || io::Error::other("a message of another process is damaged");
    let words = bytes.as_chunks::<8>().0;
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = u64::from_le_bytes(*words.get(place).ok_or_else(damaged)?);
    }
    Ok(numbers)
}

/// Longest reason of a failure, in bytes. Longer ones are shortened in the middle, where a path is written: the cause of
/// the failure is at the end.
const LONGEST: usize = 400;

/// Returns success at all processes if all of them pass success. Otherwise all get the error of one of them, which
/// names it. No process returns before all have called it, except one that cannot wait any longer.
///
/// # Errors
/// The first error of any process, or why this process could not learn of one. Only the latter is of a kind other than
/// [`io::ErrorKind::Other`].
pub(crate) fn agree(up: &mut impl Upcalls, own: io::Result<()>) -> io::Result<()> {
    let (rank, size) = (up.rank(), up.size());
    let mut verdict = match own {
        Ok(()) => Vec::new(),
        Err(error) => reason(rank, &error),
    };
    // Every message is sent and received whatever fails, or others would wait in vain.
    for child in below(rank, size) {
        let theirs = up.receive(child).unwrap_or_else(|error| reason(rank, &error));
        if verdict.is_empty() {
            verdict = theirs;
        }
    }
    let mut kind = io::ErrorKind::Other;
    if let Some(parent) = parent(rank) {
        let answer = up.send(parent, &verdict).and_then(|()| up.receive(parent));
        verdict = answer.unwrap_or_else(|error| {
            kind = error.kind();
            reason(rank, &error)
        });
    }
    for child in below(rank, size).rev() {
        if let Err(error) = up.send(child, &verdict)
            && verdict.is_empty()
        {
            verdict = reason(rank, &error);
        }
    }
    if verdict.is_empty() {
        return Ok(());
    }
    Err(io::Error::new(kind, String::from_utf8_lossy(&verdict).into_owned()))
}

fn reason(rank: u64, error: &io::Error) -> Vec<u8> {
    let text = format!("process {rank}: {error}");
    if text.len() <= LONGEST {
        return text.into_bytes();
    }
    let (begin, _) = text.split_at(text.floor_char_boundary(LONGEST / 4));
    let (_, end) = text.split_at(text.ceil_char_boundary(text.len() - LONGEST * 3 / 4));
    format!("{begin} … {end}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_keeps_its_end() {
        let error = io::Error::other(format!("/{}: File name too long", "é".repeat(1000)));
        let text = String::from_utf8(reason(3, &error)).unwrap_or_default();
        assert!(text.starts_with("process 3: /é") && text.ends_with("é: File name too long"));
        assert!(text.len() <= LONGEST + 8, "{}", text.len());
        assert_eq!(reason(0, &io::Error::other("full")), b"process 0: full");
    }
}
