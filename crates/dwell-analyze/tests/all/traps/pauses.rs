//! Programs that stop recording for a while.

use super::*;

#[test]
fn recording_paused_while_the_target_may_have_served() {
    let get = || thread().get(0, 1, 100, 320).end();
    let check = |target: Vec<Thread>| {
        analyzed(&[vec![get()], target], |analysis| {
            not_computed(analysis, "wait_for_progress", 1, Quantity::Wait(Wait::WaitForProgress));
            assert_eq!(analysis.independent_pairs(), 0);
        });
    };
    // What it did in between is not known, even if it was seen later.
    check(vec![thread().off(120).on(180).call(QUIET, 300, 340).end()]);
    // Nor if nothing was seen.
    check(vec![thread().off(120).on(400).end()]);
    check(vec![thread().off(50).on(400).end()]);
    // Nor if recording was never resumed.
    let never = || thread().at(120, Leave { region: MAIN }).off(120);
    check(vec![never()]);
    // One of two threads is enough.
    check(vec![thread().off(120).on(400).end(), thread().end()]);
    check(vec![never(), thread().call(QUIET, 300, 340).end()]);
    // A pause before or after makes no difference.
    let apart = thread().off(20).on(90).call(QUIET, 300, 340).off(350).on(400).end();
    progress(&[vec![get()], vec![apart]], [200, 0, 0, 0]);
}

#[test]
fn recording_paused_after_the_target_had_served() {
    // One thread was there for sure when the get came, another stayed on. What was not recorded later
    // does not matter, however late the get was complete.
    let get = thread().get(0, 1, 41, 896).end();
    let sure = thread().call(QUIET, 10, 318).call(QUIET, 362, 442).off(442).on(464);
    let sure = sure.call(QUIET, 569, 569).call(MAYBE, 775, 775).end();
    let stays = thread().call(MAYBE, 69, 725).end();
    progress(&[vec![get], vec![sure, stays]], [0; 4]);
}

#[test]
fn recording_paused_in_one_of_several_targets() {
    // The wait for the other is known, and that something is missing.
    let origin = thread().put(0, 1, 8, 100).put(1, 2, 8, 110).quiet(1, 150, 320).end();
    let paused = thread().off(120).on(180).call(QUIET, 300, 340).end();
    let seen = thread().call(QUIET, 200, 210).end();
    analyzed(&[vec![origin], vec![paused], vec![seen]], |analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgressMulti)), 50);
        let calls: Vec<_> =
            analysis.not_computed().iter().map(|it| (it.pattern, it.calls)).collect();
        assert_eq!(calls, [("wait_for_progress", 1)]);
    });
}

#[test]
fn recording_paused_during_a_collective() {
    let one = thread()
        .barrier(0, None, 100, 110)
        .barrier(1, None, 200, 250)
        .barrier(2, None, 300, 400)
        .end();
    let two = thread().barrier(0, None, 105, 110).off(150).on(260).barrier(2, None, 390, 400).end();
    analyzed(&[vec![one], vec![two]], |analysis| {
        // The first and the third are matched by their numbers, the second is not taken for the third.
        assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::BarrierWait)), 5 + 90);
        let calls: Vec<_> =
            analysis.not_computed().iter().map(|it| (it.pattern, it.calls)).collect();
        assert_eq!(calls, [("collectives", 1)]);
    });
}

#[test]
fn recording_paused_while_a_signal_was_raised() {
    let waiter = thread().wait_until(64, 100, 320).end();
    let origin = thread().off(200).on(310).end();
    analyzed(&[vec![waiter], vec![origin]], |analysis| {
        not_computed(analysis, "late_signal", 1, Quantity::Wait(Wait::LateSignal));
    });
}
