//! Queries of the viewer, compared with the plain queries and with formulas.

use std::fs;
use std::path::{Path, PathBuf};

use dwell_report::{Call, Class, Flavour, Item, MetricId, Part, Query, System};
use dwell_synth::report;

fn synthetic(directory: &Path, options: &report::Options) -> PathBuf {
    let file = directory.join("r.cubex");
    report::generate(options, &file, &|_| {}).unwrap();
    file
}

const SMALL: report::Options =
    report::Options { locations: 150, paths: 50, metrics: 3, dense: 1, sparsity: 0.5, seed: 5 };

#[test]
fn rows_of_the_system_have_the_values_of_their_parts() {
    let directory = tempfile::tempdir().unwrap();
    let query = Query::open(synthetic(directory.path(), &SMALL)).unwrap();
    let system = System::of(query.meta());
    // A machine, three nodes of 64 processes, and each process for its one location.
    assert_eq!((system.len(), system.roots()), (1 + 3 + 150, 1));
    assert_eq!(system.children(), [(3, 1), (64, 2), (22, 1), (0, 150)]);
    for metric in query.meta().metrics() {
        let row = query.row(metric, Call::All).unwrap();
        let sums = system.sums(&row);
        for (number, sum) in sums.iter().enumerate() {
            let part = match system.item(number).unwrap() {
                Item::Node(node) => Part::Node(node),
                Item::Group(group) => Part::Group(group),
                Item::Location(location) => Part::Location(location),
            };
            // Values are multiples of 1/1024, so sums are exact in any order.
            assert_eq!(*sum, query.value(metric, Call::All, part).unwrap());
        }
    }
    for location in query.locations(Part::All) {
        let row = system.of_location(location).unwrap() as usize;
        let Some(Item::Group(group)) = system.item(row) else { panic!("row {row}") };
        assert_eq!(query.meta().group_of_location(location), Some(group));
    }
}

#[test]
fn totals_are_the_sums_of_rows() {
    let directory = tempfile::tempdir().unwrap();
    let query = Query::open(synthetic(directory.path(), &SMALL)).unwrap();
    query.prepare();
    for metric in query.meta().metrics() {
        let totals = query.totals(metric).unwrap();
        for cnode in query.meta().cnodes() {
            for flavour in [Flavour::Inclusive, Flavour::Exclusive] {
                let value = query.value(metric, Call::Path(cnode, flavour), Part::All).unwrap();
                assert_eq!(totals.get(cnode, flavour), value);
            }
        }
        assert_eq!(
            query.total(metric).unwrap(),
            query.value(metric, Call::All, Part::All).unwrap()
        );
    }
}

#[test]
fn totals_of_large_reports_are_kept_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = synthetic(directory.path(), &SMALL);
    let totals = |query: &Query| {
        query.prepare_keeping(0);
        query.meta().metrics().map(|it| query.totals(it).unwrap()).collect::<Vec<_>>()
    };
    let expected = totals(&Query::open(&file).unwrap());
    let beside = directory.path().join("r.cubex.dwell-totals");
    let kept = fs::read(&beside).unwrap();
    assert_eq!(totals(&Query::open(&file).unwrap()), expected);
    // A file that is damaged, cut short or of another report counts for nothing and is made anew.
    for damage in [20, 40, 50, kept.len() / 2, kept.len() - 1] {
        let mut bytes = kept.clone();
        bytes[damage] ^= 1;
        fs::write(&beside, &bytes).unwrap();
        assert_eq!(totals(&Query::open(&file).unwrap()), expected, "byte {damage}");
        assert_eq!(fs::read(&beside).unwrap(), kept);
        fs::write(&beside, &kept[..damage]).unwrap();
        assert_eq!(totals(&Query::open(&file).unwrap()), expected, "{damage} bytes");
    }
    // Without it, and where it cannot be written, everything is the same.
    fs::remove_file(&beside).unwrap();
    fs::create_dir(&beside).unwrap();
    assert_eq!(totals(&Query::open(&file).unwrap()), expected);
}

#[test]
fn classes_add_up_to_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let query = Query::open(synthetic(directory.path(), &SMALL)).unwrap();
    let time = query.row(MetricId(0), Call::All).unwrap();
    let classes = query.classes().unwrap();
    for (location, time) in time.iter().enumerate() {
        let of = |class: Class| classes.row(class).get(location).copied().unwrap_or(0.0);
        let sum: f64 = Class::ALL.iter().map(|&it| of(it)).sum();
        assert!((sum - time).abs() < 1e-9 * time, "{sum} and {time}");
    }
    for (class, total) in Class::ALL.iter().zip(query.class_totals().unwrap()) {
        let sum: f64 = classes.row(*class).iter().sum();
        assert!((sum - total).abs() <= 1e-9 * sum, "{class:?}: {sum} and {total}");
    }
    assert!(classes.row(Class::Compute).iter().all(|it| *it > 0.0), "functions of the program");
    assert_eq!(query.pairs().unwrap(), None);
}
