//! Sums that hold for every archive.

#![allow(clippy::unwrap_used)]

use dwell_analyze::{Analysis, CallTime, Options, Quantity};
use otf2::Archive;

/// Analyses an archive, and checks the sums of the result.
pub(crate) fn analyze(archive: &Archive, options: &Options) -> Analysis {
    let analysis = dwell_analyze::analyze(archive, options, &|_| {}).unwrap();
    hold(&analysis);
    analysis
}

/// Compares the parts of the time of every call path with its time: waits, transfer and unexplained time must add up to
/// it, and no wait may be longer than its call.
pub(crate) fn hold(analysis: &Analysis) {
    assert_eq!(analysis.waits_beyond_calls(), 0, "waits that are longer than their calls");
    let times = analysis.call_times();
    for it in &times {
        let CallTime { time, waits, transfer, unexplained, .. } = *it;
        assert_eq!(waits + transfer + unexplained, time, "{it:?}");
    }
    let booked = |what| analysis.total(what);
    let sum = |of: fn(&CallTime) -> u64| times.iter().map(of).sum::<u64>();
    assert_eq!(sum(|it| it.transfer), booked(Quantity::Transfer));
    assert_eq!(sum(|it| it.unexplained), booked(Quantity::Unexplained));
    let upper =
        |(wait, more): (_, Option<_>)| booked(Quantity::Wait(wait)) + more.map_or(0, booked);
    let all = Quantity::waits().map(upper).sum::<u64>();
    assert_eq!(sum(|it| it.waits), all, "waits outside of calls of a runtime");
    assert!(sum(|it| it.time) <= analysis.time());
}
