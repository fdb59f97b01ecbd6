use super::*;

#[test]
fn names_of_reports_are_recognised() {
    let id = |name| Wait::of_metric(name).map(|wait| wait.about().id);
    assert_eq!(id("mpi_latesender"), Some("late_sender"));
    assert_eq!(id("mpi_latesender_wo"), Some("late_sender_wrong_order"));
    assert_eq!(id("shmem_rma_comm_wait_for_progress"), Some("wait_for_progress"));
    assert_eq!(id("barrier_wait"), Some("barrier_wait"));
    assert_eq!(id("omp_lock_contention"), Some("lock_contention"));
    assert_eq!(id("time"), None);
    assert_eq!(id("delay_latesender"), None);
    assert_eq!(id("mpi_wait_indirect_latesender"), None);
    assert_eq!(id("isolatesender"), None);
}

#[test]
fn every_wait_is_complete_and_unique() {
    for wait in Wait::ALL {
        let about = wait.about();
        assert_eq!(Wait::of_id(about.id), Some(*wait));
        assert!(!about.places.is_empty(), "{}", about.id);
        for text in [about.measured, about.meaning, about.remedy] {
            assert!(text.len() > 15, "{}: {text:?}", about.id);
        }
        assert!(about.remedy.ends_with('.'), "{}", about.id);
        for other in Wait::ALL.iter().filter(|it| *it != wait).map(|it| it.about()) {
            assert_ne!((about.meaning, about.remedy), (other.meaning, other.remedy));
        }
        for place in about.places {
            assert_eq!(Wait::of_metric(place.metric), Some(*wait), "{}", place.metric);
            let hung = TREE.iter().flat_map(Group::waits).filter(|it| it.2 == place).count();
            assert_eq!(hung, 1, "{} is in the tree {hung} times", place.metric);
        }
    }
}

#[test]
fn parts_follow_their_wholes() {
    for group in TREE {
        let mut whole = None;
        for (depth, wait, _) in group.waits() {
            match wait.about().part_of {
                None => whole = Some(wait),
                part_of => assert_eq!((part_of, depth), (whole, group.depth + 2)),
            }
        }
    }
}
