//! Loops of calls that test, and the processes that end them.

use super::*;

/// Region and time of a loop, and the processes that ended the loops with the time until then.
type Loops = (String, u64, Vec<(String, u64)>);

/// Returns the polling loops of rank 0, with the processes that ended them.
fn polling(ranks: usize, calls: Vec<(usize, &str, u64, u64, Events)>) -> Vec<Loops> {
    let directory = by_hand(ranks, calls);
    let of = |cut, threads| {
        let analysis = analysed(directory.path(), cut, threads);
        let mut list: Vec<Loops> = Vec::new();
        for it in analysis.polling() {
            let targets = it.targets.iter().map(|it| (it.who.clone(), it.nanoseconds)).collect();
            list.push((it.path.last().unwrap().region.clone(), it.nanoseconds, targets));
        }
        list
    };
    let whole = of(Cut::Budget, 1);
    assert_eq!(of(Cut::EveryEvent, 2), whole);
    whole
}

fn loops(region: &str, time: u64, targets: &[(&str, u64)]) -> Loops {
    let targets = targets.iter().map(|(who, time)| ((*who).to_owned(), *time)).collect();
    (region.to_owned(), time, targets)
}

/// The last message that the tests of a loop completed ended it, whenever its calls were.
#[test]
fn a_loop_of_tests_is_ended_by_the_last_message() {
    let tests = |enters: std::ops::Range<u64>| {
        enters.step_by(10).map(|enter| (0, "MPI_Test", enter, enter + 2, Events::new()))
    };
    let mut calls = vec![
        (0, "MPI_Irecv", 5, 6, posts(5, 1)),
        (0, "MPI_Irecv", 7, 8, posts(7, 2)),
        (1, "MPI_Send", 45, 46, sends(45, 0)),
        (2, "MPI_Send", 85, 86, sends(85, 0)),
    ];
    calls.extend(tests(20..50));
    calls.push((0, "MPI_Test", 50, 52, came(52, 1, 1, 8)));
    calls.extend(tests(60..90));
    calls.push((0, "MPI_Test", 90, 92, came(92, 2, 2, 8)));
    // From 20 to 92; rank 2 sent at 85.
    assert_eq!(polling(3, calls.clone()), [loops("MPI_Test", 72, &[("Rank 2", 65)])]);
    // A message that was there before the loop is nobody's fault.
    calls[3] = (2, "MPI_Send", 15, 16, sends(15, 0));
    calls[2] = (1, "MPI_Send", 18, 19, sends(18, 0));
    assert_eq!(polling(3, calls), [loops("MPI_Test", 72, &[])]);
}

/// A loop over probes is ended by the message that is received right behind it; one over a send by its receive; one over a
/// collective by the last to begin it.
#[test]
fn loops_of_probes_sends_and_collectives_have_culprits() {
    let ask = |name: &'static str, enter, records| (0, name, enter, enter + 2, records);
    let probes = vec![
        ask("MPI_Iprobe", 10, vec![]),
        ask("MPI_Test", 20, vec![]),
        ask("MPI_Iprobe", 30, vec![]),
        ask("MPI_Test", 40, vec![]),
        ask("MPI_Iprobe", 50, vec![]),
        (0, "MPI_Recv", 60, 61, receives(61, 1)),
        (1, "MPI_Send", 45, 46, sends(45, 0)),
    ];
    // From 10 to 52, of which 7 are after the message was sent.
    let found =
        [loops("MPI_Iprobe", 22, &[("Rank 1", 15)]), loops("MPI_Test", 20, &[("Rank 1", 20)])];
    assert_eq!(polling(2, probes), found);
    let receives_at = |posted| {
        vec![
            (0, "MPI_Isend", 5, 6, starts(5, 1, 1, 8)),
            ask("MPI_Test", 10, vec![]),
            ask("MPI_Test", 14, vec![]),
            ask("MPI_Test", 18, vec![]),
            ask("MPI_Test", 22, vec![]),
            ask("MPI_Test", 30, sent(32, 1)),
            (1, "MPI_Recv", posted, posted + 2, receives(posted + 2, 0)),
        ]
    };
    assert_eq!(polling(2, receives_at(26)), [loops("MPI_Test", 22, &[("Rank 1", 16)])]);
    assert_eq!(polling(2, receives_at(40)), [loops("MPI_Test", 22, &[])]);
    let begin = |time, request| -> Events {
        let request_id = RequestId(request);
        vec![(time, NonBlockingCollectiveRequest { request_id }.into())]
    };
    let end = |time, request| vec![collective_ends(time, request, CollectiveOp::Barrier, WORLD)];
    let consensus = vec![
        (0, "MPI_Ibarrier", 5, 6, begin(5, 1)),
        ask("MPI_Test", 10, vec![]),
        ask("MPI_Test", 14, vec![]),
        ask("MPI_Test", 18, vec![]),
        ask("MPI_Test", 22, vec![]),
        ask("MPI_Test", 30, end(32, 1)),
        (1, "MPI_Ibarrier", 28, 29, begin(28, 1)),
        (1, "MPI_Waitall", 30, 31, end(31, 1)),
        (2, "MPI_Ibarrier", 7, 8, begin(7, 1)),
        (2, "MPI_Waitall", 9, 31, end(31, 1)),
    ];
    assert_eq!(polling(3, consensus), [loops("MPI_Test", 22, &[("Rank 1", 18)])]);
}
