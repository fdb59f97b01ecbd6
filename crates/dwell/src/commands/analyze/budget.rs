//! Whether the causes of waits are searched for if the user does not say so: if that is expected to keep to a time, and to
//! the memory of the analysis.

use crate::format::bytes;

/// Time that the search takes for an event in one thread, in seconds. Programs whose waits are close to each other take half
/// of it.
const PER_EVENT: f64 = 400e-9;

/// Longest search that nobody asked for, in seconds.
const LONGEST: f64 = 300.0;

/// Memory that every machine has, whatever the limit says, in bytes.
const LITTLE: u64 = 512 << 20;

/// Returns what speaks against the search, as a clause, or `None`. `workers` are the threads of all processes. The analysis
/// without causes needs `least` bytes in each process and has `memory`.
pub(super) fn obstacle(events: u64, workers: usize, (least, memory): (u64, u64)) -> Option<String> {
    let seconds = events as f64 * PER_EVENT / workers.max(1) as f64;
    if seconds > LONGEST {
        let (minutes, most) = (seconds / 60.0, LONGEST / 60.0);
        return Some(format!(
            "that may take {minutes:.0} minutes, and {most:.0} are allowed; --causes always allows any"
        ));
    }
    // Each location has its state a second time while the search goes back through all of them.
    let needed = least.saturating_add(least / 2);
    (needed > memory.max(LITTLE)).then(|| {
        let (needed, memory) = (bytes(needed as f64), bytes(memory as f64));
        format!("that may need {needed} of memory, and the limit is {memory}; raise --memory, or use --causes always")
    })
}

#[cfg(test)]
mod tests {
    use super::obstacle;

    const ROOM: (u64, u64) = (1 << 30, 8 << 30);

    #[test]
    fn a_thousand_million_events_on_two_cores_are_searched() {
        assert_eq!(obstacle(1_000_000_000, 2, ROOM), None);
    }

    #[test]
    fn what_takes_too_long_or_needs_too_much_is_said() {
        let said = obstacle(2_000_000_000, 2, ROOM).unwrap();
        assert!(said.starts_with("that may take 7 minutes, and 5 are allowed"), "{said}");
        assert_eq!(obstacle(2_000_000_000, 4, ROOM), None);
        let said = obstacle(1000, 2, (6 << 30, 8 << 30)).unwrap();
        assert!(said.starts_with("that may need 9216.0 MiB of memory"), "{said}");
    }
}
