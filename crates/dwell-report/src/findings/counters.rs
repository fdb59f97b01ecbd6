//! Why a process computed longer than others, from the counters of its run.
//!
//! With t the time of computing, c the time on a core, i the instructions and y the cycles of a process, and T, C, I and Y the
//! means of the others, the excess t − T is the sum of these parts:
//!
//! | part | is |
//! |---|---|
//! | off the core | (t − c) − (T − C) |
//! | more instructions | C (i − I) / I |
//! | fewer instructions per cycle | C / Y (y − i Y / I) |
//! | lower clock rate | c − C y / Y |
//!
//! Where cycles were not counted, the last two are one part; without instructions the last three are. Without time on a core,
//! t and T take the place of c and C.

use dwell_model::units::{grouped, seconds};

use super::{Compared, Counters, Reason, Why};

/// Least part of the excess that makes a reason worth naming.
const LEAST: f64 = 0.05;

/// Returns why computing took longer than that of others, most first.
pub fn reasons(own: f64, others: f64, counters: &Counters) -> Vec<Reason> {
    let pair = |it: &Option<Compared>| it.as_ref().and_then(|it| Some((it.own, it.others?)));
    let counted = |it: &Option<Compared>| pair(it).filter(|it| it.0 > 0.0 && it.1 > 0.0);
    let excess = own - others;
    let instructions = counted(&counters.instructions);
    let on_core = pair(&counters.cpu_seconds);
    if excess <= 0.0 || (on_core.is_none() && instructions.is_none()) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    if let Some((on, others_on)) = on_core {
        parts.push((Why::OffCore, (own - on) - (others - others_on)));
    }
    let (on, others_on) = on_core.unwrap_or((own, others));
    match (instructions, counted(&counters.cycles)) {
        (None, _) => parts.push((Why::OnCore, on - others_on)),
        (Some((i, all_i)), cycles) => {
            parts.push((Why::MoreInstructions, others_on * (i - all_i) / all_i));
            match cycles {
                None => parts.push((Why::SlowerInstructions, on - others_on * i / all_i)),
                Some((y, all_y)) => {
                    let more_cycles = y - i * all_y / all_i;
                    parts.push((Why::FewerPerCycle, others_on / all_y * more_cycles));
                    parts.push((Why::LowerClockRate, on - others_on * y / all_y));
                }
            }
        }
    }
    parts.retain(|it| it.1 >= LEAST * excess);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts.into_iter().map(|(why, seconds)| Reason { seconds, why }).collect()
}

/// Puts the reasons into words, as parts of a sentence.
pub(super) fn said(own: f64, others: f64, counters: &Counters) -> Option<String> {
    let beside = |it: &Option<Compared>, what: &str| match *it {
        Some(Compared { own, others: Some(others) }) if own >= 1.0 || others >= 1.0 => {
            format!("; {} {what}, others {}", whole(own), whole(others))
        }
        _ => String::new(),
    };
    let per_cycle = |of: fn(&Compared) -> Option<f64>| {
        let [i, y] = [&counters.instructions, &counters.cycles].map(|it| it.as_ref().and_then(of));
        i.zip(y).filter(|it| it.1 > 0.0).map_or(0.0, |(i, y)| i / y)
    };
    let own_of = |it: &Compared| Some(it.own);
    let others_of = |it: &Compared| it.others;
    let one = |it: &Reason| {
        let time = seconds(it.seconds);
        match it.why {
            Why::OffCore => {
                let on = counters.cpu_seconds.clone().unwrap_or_default();
                let part = |on: f64, of: f64| format!("{:.0} %", 100.0 * (on / of).clamp(0.0, 1.0));
                let own = part(on.own, own);
                let others = part(on.others.unwrap_or(0.0), others);
                let switches = beside(&counters.involuntary_switches, "involuntary switches");
                let sleeps = beside(&counters.voluntary_switches, "voluntary switches");
                format!(
                    "{time} off its core, on which it is {own} of the time, others {others}{switches}{sleeps}"
                )
            }
            Why::MoreInstructions => {
                let numbers = beside(&counters.instructions, "instructions");
                format!("{time} for more instructions{numbers}")
            }
            Why::FewerPerCycle => format!(
                "{time} for fewer instructions per cycle; {:.2}, others {:.2}",
                per_cycle(own_of),
                per_cycle(others_of)
            ),
            Why::LowerClockRate => format!("{time} for a lower clock rate of its core"),
            Why::SlowerInstructions => format!("{time} for slower instructions"),
            Why::OnCore => {
                format!(
                    "{time} on its core, for more or for slower instructions, which were not counted"
                )
            }
        }
    };
    let said: Vec<String> = counters.reasons.iter().map(one).collect();
    (!said.is_empty()).then(|| said.join("; and "))
}

fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(own: f64, others: f64) -> Option<Compared> {
        Some(Compared { own, others: Some(others) })
    }

    /// Returns the reasons, which add up to the excess where none is negative or small.
    fn whys(own: f64, others: f64, counters: &Counters) -> Vec<(Why, f64)> {
        let reasons = reasons(own, others, counters);
        let sum: f64 = reasons.iter().map(|it| it.seconds).sum();
        assert!(reasons.is_empty() || (sum - (own - others)).abs() < 1e-9, "{reasons:?}");
        reasons.iter().map(|it| (it.why, (it.seconds * 1e6).round() / 1e6)).collect()
    }

    #[test]
    fn parts_add_up_to_the_excess() {
        let cpu_seconds = compared(2.5, 1.0);
        let (instructions, cycles) = (compared(4e9, 2e9), compared(7.5e9, 3e9));
        let counters = Counters { cpu_seconds, ..Counters::default() };
        assert_eq!(whys(4.0, 1.0, &counters), [(Why::OffCore, 1.5), (Why::OnCore, 1.5)]);
        let counters = Counters { instructions, ..counters };
        let expected =
            [(Why::OffCore, 1.5), (Why::MoreInstructions, 1.0), (Why::SlowerInstructions, 0.5)];
        assert_eq!(whys(4.0, 1.0, &counters), expected);
        let counters = Counters { cycles, ..counters };
        let expected =
            [(Why::OffCore, 1.5), (Why::MoreInstructions, 1.0), (Why::FewerPerCycle, 0.5)];
        assert_eq!(whys(4.0, 1.0, &counters), expected);
        // Half of the instructions' excess is due to the clock.
        let counters = Counters { cycles: compared(6e9, 3e9), ..counters };
        let expected =
            [(Why::OffCore, 1.5), (Why::MoreInstructions, 1.0), (Why::LowerClockRate, 0.5)];
        assert_eq!(whys(4.0, 1.0, &counters), expected);
    }

    #[test]
    fn without_an_excess_or_counters_there_is_no_reason() {
        let counters = Counters { cpu_seconds: compared(1.0, 1.0), ..Counters::default() };
        assert_eq!(whys(1.0, 1.0, &counters), []);
        assert_eq!(whys(2.0, 1.0, &Counters::default()), []);
        let alone = Some(Compared { own: 1.0, others: None });
        let counters = Counters { cpu_seconds: alone, ..Counters::default() };
        assert_eq!(whys(2.0, 1.0, &counters), []);
    }

    #[test]
    fn reasons_are_told_in_words() {
        let mut counters = Counters {
            cpu_seconds: compared(0.5, 0.5),
            involuntary_switches: compared(40.0, 2.0),
            ..Counters::default()
        };
        counters.reasons = reasons(1.0, 0.5, &counters);
        assert_eq!(
            said(1.0, 0.5, &counters).unwrap(),
            "500 ms off its core, on which it is 50 % of the time, others 100 %; 40 involuntary switches, others 2"
        );
        let mut counters = Counters {
            instructions: compared(4e9, 2e9),
            cycles: compared(8e9, 2e9),
            ..Counters::default()
        };
        counters.reasons = reasons(4.0, 1.0, &counters);
        assert_eq!(
            said(4.0, 1.0, &counters).unwrap(),
            "2.00 s for fewer instructions per cycle; 0.50, others 1.00; and 1.00 s for more instructions; 4,000,000,000 \
             instructions, others 2,000,000,000"
        );
    }
}
