//! Says by how much a run would be shorter without some waits.

use dwell_model::units::seconds;

use super::Gain;

/// Returns a predicted gain in words, for a run of this length in seconds.
pub fn words(gain: &Gain, length: f64) -> String {
    let Some(expected) = gain.seconds else {
        let reason = gain.reason.as_deref().unwrap_or("no reason is given");
        return format!("cannot be predicted: {reason}");
    };
    // Less than a thousandth of the run is nothing.
    if expected * 1000.0 < length {
        return "without these waits alone the run would not be shorter: processes would wait \
                elsewhere instead"
            .into();
    }
    let bounds =
        (gain.seconds_at_least.unwrap_or(expected), gain.seconds_at_most.unwrap_or(expected));
    let [least, most] = [bounds.0, bounds.1].map(|it| seconds(it.max(0.0)));
    let range = match least == most {
        true => String::new(),
        false => format!(", at least {least} and at most {most}"),
    };
    format!("without these waits the run would be {} shorter{range}", seconds(expected))
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
            "without these waits the run would be 2.000 s shorter, at least 1.000 s and at most 3.000 s"
        );
        assert_eq!(
            words(&gain(2.0, 2.0, 2.0), 10.0),
            "without these waits the run would be 2.000 s shorter"
        );
        assert!(words(&gain(-1.0, -2.0, 0.0), 10.0).contains("would not be shorter"));
        let none = Gain { reason: Some("why".into()), ..Gain::default() };
        assert_eq!(words(&none, 1.0), "cannot be predicted: why");
    }
}
