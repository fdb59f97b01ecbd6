//! Sentences about findings that the terminal and the page share, so that both say the same.
//!
//! Names of processes and nodes are passed as they are to be shown: a terminal needs control characters escaped, a page
//! does not.

use dwell_model::units::{bounds, grouped, seconds};

/// Formats a number of things, in singular or plural: `1 call`, `1,200 calls`.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// Begins a text with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Names the wrapper library behind a call site, as ` through mpi4py`; empty if there is none.
pub fn through(wrapper: &str) -> String {
    if wrapper.is_empty() { String::new() } else { format!(" through {wrapper}") }
}

/// Writes the name of a process as it stands within a sentence: `rank 0` and `image 1`, but `PE 0`.
pub fn within(who: &str) -> String {
    let is_word = |it: &str| it.chars().skip(1).all(char::is_lowercase) && it.len() > 1;
    match who.split_once(' ') {
        Some((word, number))
            if is_word(word) && number.starts_with(|it: char| it.is_ascii_digit()) =>
        {
            format!("{} {number}", word.to_lowercase())
        }
        _ => who.to_owned(),
    }
}

/// States the latency of requests that waits for progress assume. It is 0 if the archive does not contain one.
pub fn latency(in_seconds: f64) -> String {
    match in_seconds {
        0.0 => "assuming no latency of requests, which the archive does not contain".into(),
        latency => format!("assuming that requests take at least {}", seconds(latency)),
    }
}

/// Number of calls of a finding, as [`how_often`] describes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Often {
    /// Number of visits of the call path over all locations, whether they waited or not.
    pub visits: u64,
    /// Number of visits that waited. `None` if the report does not say.
    pub waited: Option<u64>,
    /// Both bounds of the waiting time of all visits, in seconds.
    pub seconds: (f64, f64),
    /// Number of locations that waited, and of all locations.
    pub locations: (u64, u64),
}

/// States how many calls waited, how long on average, and at how many locations.
pub fn how_often(of: &Often) -> String {
    let calls = counted(of.visits, "call", "calls");
    let waited = match of.waited {
        None => calls,
        Some(1) if of.visits == 1 => "the only call waited".into(),
        Some(all) if all == of.visits => format!("all {calls} waited"),
        Some(some) => format!("{} of {calls} waited", grouped(some)),
    };
    let mean = match of.waited {
        None | Some(0 | 1) => String::new(),
        Some(calls) => {
            let (least, most) = (of.seconds.0 / calls as f64, of.seconds.1 / calls as f64);
            format!(", {} on average", bounds(least, most))
        }
    };
    let locations = counted(of.locations.1, "location", "locations");
    format!("{waited}{mean}; {} of {locations}", grouped(of.locations.0))
}

/// A wait of a single call, as [`one_wait`] describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneWait<'a> {
    /// Name of the process that waited, such as `PE 3` or `Rank 3`.
    pub who: &'a str,
    /// Name of the process that was waited for, if it is known.
    pub on_whom: Option<&'a str>,
    /// Length of the wait in seconds, or its upper bound if there are two bounds.
    pub seconds: f64,
    /// True if `seconds` is an upper bound.
    pub is_bound: bool,
    /// Begin of the wait, in seconds after the first event.
    pub begin: f64,
}

/// States who waited how long for whom, and when.
pub fn one_wait(of: &OneWait<'_>) -> String {
    let up_to = if of.is_bound { "up to " } else { "" };
    let partner = of.on_whom.map_or(String::new(), |who| format!(" for {who}"));
    format!(
        "{} waited {up_to}{}{partner}, from {} on",
        of.who,
        seconds(of.seconds),
        seconds(of.begin)
    )
}

/// States that a node has more processes than cores.
pub fn crowd(node: &str, processes: u32, cores: u32) -> String {
    format!("more processes than cores on {node}: {processes} processes share {cores} cores")
}

/// States that calls poll for a time that is not counted as a wait. `most` names the calls with the longest loops.
pub fn polling(calls: u64, in_seconds: f64, most: &str) -> String {
    let (calls, time) = (counted(calls, "call", "calls"), seconds(in_seconds));
    format!("{calls} ask again and again, for {time} that no wait explains. Most: {most}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_waited_are_counted() {
        let of = Often { visits: 40, waited: Some(20), seconds: (0.02, 0.02), locations: (2, 2) };
        assert_eq!(how_often(&of), "20 of 40 calls waited, 1.00 ms on average; 2 of 2 locations");
        let all = Often { waited: Some(40), seconds: (0.04, 0.08), ..of };
        assert_eq!(
            how_often(&all),
            "all 40 calls waited, 1.00 to 2.00 ms on average; 2 of 2 locations"
        );
        let only = Often { visits: 1, waited: Some(1), locations: (1, 1), ..of };
        assert_eq!(how_often(&only), "the only call waited; 1 of 1 location");
        assert_eq!(how_often(&Often { waited: None, ..of }), "40 calls; 2 of 2 locations");
    }

    #[test]
    fn a_wait_has_partner_and_bound_where_they_are_known() {
        let of = OneWait {
            who: "PE 0",
            on_whom: Some("PE 1"),
            seconds: 0.5,
            is_bound: true,
            begin: 2.0,
        };
        assert_eq!(one_wait(&of), "PE 0 waited up to 500 ms for PE 1, from 2.00 s on");
        let of = OneWait { on_whom: None, is_bound: false, ..of };
        assert_eq!(one_wait(&of), "PE 0 waited 500 ms, from 2.00 s on");
    }

    #[test]
    fn a_latency_that_is_not_known_is_no_latency() {
        assert!(latency(0.0).contains("does not contain"));
        assert_eq!(latency(2e-6), "assuming that requests take at least 2.00 µs");
    }

    #[test]
    fn names_stand_within_sentences() {
        let said = ["Rank 0", "Image 12", "PE 3", "Rank x", "Cn12", "rank 1"].map(within);
        assert_eq!(said, ["rank 0", "image 12", "PE 3", "Rank x", "Cn12", "rank 1"]);
    }
}
