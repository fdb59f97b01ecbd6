//! Progress bars for long work, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Creates a bar that counts up to `total`, with rate and remaining time. It is drawn on standard error, only if that
/// is a terminal, and only once the work has taken a moment.
pub(crate) fn bar(total: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    let template =
        format!("{{bar:32}} {{human_pos}}/{{human_len}} {unit} ({{per_sec}}, {{eta}} left)");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Advances a bar. Once it is full, it says what else is done instead of a rate.
pub(crate) fn advance(bar: &ProgressBar, by: u64, then: Option<&'static str>) {
    bar.inc(by);
    if let Some(then) = then
        && bar.length().is_some_and(|length| bar.position() >= length)
        && let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}")
    {
        bar.set_style(style);
        bar.set_message(then);
    }
}
