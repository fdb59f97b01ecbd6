//! Severities of synthetic archives equal their closed forms, to the nanosecond.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Cut, Inefficiency, Options, Quantity};
use dwell_model::waits::Wait;
use dwell_synth::slow::{self, What};
use dwell_synth::{Severities, Truth, halo, ring, sor, srumma};
use otf2::Archive;

use crate::support::sums;

fn run(directory: &std::path::Path, options: &Options) -> Analysis {
    sums::analyze(&Archive::open(directory).unwrap(), options)
}

fn severities(analysis: &Analysis, location: usize) -> Severities {
    let at = |what| analysis.at_location(location, what);
    Severities {
        wait_for_progress: at(Quantity::Wait(Wait::WaitForProgress)),
        wait_for_progress_multi: at(Quantity::Wait(Wait::WaitForProgressMulti)),
        barrier_wait: at(Quantity::Wait(Wait::BarrierWait)),
        barrier_completion: at(Quantity::Wait(Wait::BarrierCompletion)),
        nxn_wait: at(Quantity::Wait(Wait::NxnWait)),
        nxn_completion: at(Quantity::Wait(Wait::NxnCompletion)),
        late_signal: at(Quantity::Wait(Wait::LateSignal)),
        late_partner: at(Quantity::Wait(Wait::LatePartner)),
        late_sender: at(Quantity::Wait(Wait::LateSender)),
        late_sender_wrong_order: at(Quantity::Wait(Wait::LateSenderWrongOrder)),
        late_receiver: at(Quantity::Wait(Wait::LateReceiver)),
    }
}

fn check(analysis: &Analysis, truth: &Truth) {
    let found: Vec<Severities> =
        (0..analysis.locations()).map(|location| severities(analysis, location)).collect();
    assert_eq!(found, truth.severities_ns_by_rank);
    assert_eq!(analysis.events(), truth.totals.events);
    assert_eq!(analysis.total(Quantity::Gets), truth.totals.gets);
    assert_eq!(analysis.total(Quantity::BytesGet), truth.totals.bytes_get);
    assert_eq!(analysis.total(Quantity::Sends), truth.totals.messages);
    assert_eq!(analysis.total(Quantity::Receives), truth.totals.messages);
    assert_eq!(analysis.total(Quantity::BytesSent), truth.totals.bytes_sent);
    assert_eq!(analysis.total(Quantity::BytesReceived), truth.totals.bytes_sent);
    assert_eq!(analysis.total(Quantity::Margin(Wait::WaitForProgress)), 0);
    assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
    assert!(analysis.not_computed().is_empty(), "{:?}", analysis.not_computed());
}

#[test]
fn srumma_for_any_window_and_any_threads() {
    for (ranks, blocks, rounds, seed) in [(2, 3, 2, 1), (6, 5, 2, 2), (16, 4, 3, 3), (7, 6, 1, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let options = srumma::Options { ranks, blocks, rounds, seed };
        let truth = srumma::generate(&options, directory.path(), &|_| {}).unwrap();
        check_all(directory.path(), &truth);
    }
}

/// Checks an archive for several windows and numbers of threads. Returns the inefficiencies, which are the same for
/// all.
fn check_all(directory: &std::path::Path, truth: &Truth) -> Vec<Inefficiency> {
    let mut inefficient: Option<Vec<Inefficiency>> = None;
    for cut in [Cut::Budget, Cut::EveryEvent, Cut::Nanoseconds(777), Cut::Nanoseconds(99_999)] {
        for threads in [1, 3] {
            let mut options = Options::default();
            (options.cut, options.threads) = (cut, threads);
            let analysis = run(directory, &options);
            check(&analysis, truth);
            let found = analysis.inefficient().to_vec();
            assert_eq!(*inefficient.get_or_insert_with(|| found.clone()), found, "{cut:?}");
        }
    }
    inefficient.unwrap_or_default()
}

#[test]
fn sor_for_any_window_and_any_threads() {
    for (ranks, iterations, seed) in [(2, 2, 1), (9, 3, 2), (12, 2, 3), (7, 2, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let options = sor::Options { ranks, iterations, seed };
        let truth = sor::generate(&options, directory.path(), &|_| {}).unwrap();
        assert!(truth.severities_ns.unwrap().nxn_wait > 0);
        // Most ranks of a large mesh get several halos, one after the other, some of which wait.
        let inefficient = check_all(directory.path(), &truth);
        let in_a_row = inefficient.iter().any(|it| it.pattern == "blocking_in_a_row");
        assert_eq!(in_a_row, ranks >= 9, "{inefficient:?}");
    }
}

#[test]
fn halo_for_any_window_and_any_threads() {
    for (ranks, rounds, seed) in [(2, 1, 1), (4, 2, 2), (5, 1, 3), (11, 1, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let options = halo::Options { ranks, rounds, seed };
        let truth = halo::generate(&options, directory.path(), &|_| {}).unwrap();
        let sum = truth.severities_ns.unwrap();
        assert!(sum.late_partner > 0 && sum.late_signal > 0 && sum.wait_for_progress > 0);
        check_all(directory.path(), &truth);
    }
}

#[test]
fn ring_for_any_window_and_any_threads() {
    let make = |ranks, steps, seed| {
        let directory = tempfile::tempdir().unwrap();
        let options = ring::Options { ranks, steps, seed };
        let truth = ring::generate(&options, directory.path(), &|_| {}).unwrap();
        (directory, truth)
    };
    for (ranks, steps, seed) in
        [(2, 5, 1), (2, 24, 2), (3, 20, 3), (4, 13, 4), (7, 10, 5), (12, 5, 6)]
    {
        let (directory, truth) = make(ranks, steps, seed);
        check_all(directory.path(), &truth);
    }
    // Large enough for what happens seldom: a small message whose receive is posted inside its send.
    for (ranks, steps, seed) in [(64, 40, 7), (101, 25, 8)] {
        let (directory, truth) = make(ranks, steps, seed);
        let sum = truth.severities_ns.unwrap();
        assert!(sum.late_sender > sum.late_sender_wrong_order && sum.late_sender_wrong_order > 0);
        assert!(sum.late_receiver > 0 && sum.barrier_wait > 0 && sum.barrier_completion > 0);
        check(&run(directory.path(), &Options::default()), &truth);
    }
}

#[test]
fn causes_are_what_the_last_rank_computed() {
    for (what, ranks) in [(What::Node, 48), (What::Drift, 7), (What::Phase, 20)] {
        let (directory, log) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let slow = slow::Options { ranks, steps: 60, what, seed: 3 };
        let truth = slow::generate(&slow, directory.path(), &|_| {}).unwrap();
        let costs = slow.costs().expect("no all-reduce is entered last by two ranks");
        assert_eq!(costs.iter().sum::<u64>(), truth.severities_ns.unwrap().nxn_wait);
        for threads in [1, 3] {
            let mut options = Options::default();
            (options.log, options.threads) = (Some(log.path().into()), threads);
            let analysis = run(directory.path(), &options);
            check(&analysis, &truth);
            let mut found = vec![0; ranks as usize];
            for delay in analysis.delays().unwrap() {
                found[delay.location.0 as usize] += delay.direct;
                assert_eq!((delay.propagated, delay.margin), (0, 0), "{delay:?}");
            }
            assert_eq!(found, costs, "{what:?}");
        }
    }
}
