//! Says by how much a run would be shorter without some waits.

use dwell_model::units::{bounds, short_percents};

use super::Gain;

/// Returns a predicted gain in words, for a run of this length in seconds.
pub fn words(gain: &Gain, length: f64) -> String {
    let Some(expected) = gain.seconds else {
        let reason = gain.reason.as_deref().unwrap_or("no reason is given");
        return format!("cannot be predicted: {reason}");
    };
    // Less than a thousandth of the run is nothing.
    if expected * 1000.0 < length {
        return "fixing this alone gains nothing: the time moves to other waits".into();
    }
    let least = gain.seconds_at_least.unwrap_or(expected).max(0.0);
    let most = gain.seconds_at_most.unwrap_or(expected).max(0.0);
    let share = short_percents(least / length, most / length);
    format!("saves {} of the run ({share})", bounds(least, most))
}

#[cfg(test)]
mod tests {
    use super::{Gain, words};

    #[test]
    fn gains_in_words() {
        let gain = |seconds: f64, least: f64, most: f64| Gain {
            reason: None,
            seconds: Some(seconds),
            seconds_at_least: Some(least),
            seconds_at_most: Some(most),
        };
        assert_eq!(
            words(&gain(2.0, 1.0, 3.0), 10.0),
            "saves 1.00 to 3.00 s of the run (10 to 30 %)"
        );
        assert_eq!(words(&gain(2.0, 2.0, 2.0), 10.0), "saves 2.00 s of the run (20 %)");
        assert!(words(&gain(-1.0, -2.0, 0.0), 10.0).contains("gains nothing"));
        let none = Gain { reason: Some("why".into()), ..Gain::default() };
        assert_eq!(words(&none, 1.0), "cannot be predicted: why");
    }
}
