//! Any bytes as a report: its document, its indices and its rows are read, and what the trees say of
//! themselves holds together.

use cubex::{MetricKind, Owner, Place, Report};

pub(crate) fn run(data: &[u8]) {
    let Ok(report) = Report::from_bytes(data) else { return };
    let meta = report.meta();

    // Every element is in its tree once, below the parent that it names.
    assert_eq!(meta.cnodes_in_order().count(), meta.cnodes().len());
    for id in meta.cnodes() {
        assert!(meta.callee(id).is_some());
        assert!(meta.cnode_children(id).all(|child| meta.cnode_parent(child) == Some(id)));
        meta.parameters(id).for_each(|parameter| drop(format!("{parameter:?}")));
    }
    for kind in [MetricKind::Exclusive, MetricKind::Inclusive, MetricKind::Simple] {
        let mut rows: Vec<_> = meta.cnodes().map(|id| meta.row_numbers(kind).get(id)).collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq((0..meta.cnodes().len() as u32).map(Some)));
    }
    let groups: usize = meta.system_nodes().map(|id| meta.groups_of(id).count()).sum();
    assert_eq!(groups, meta.groups().len());
    for id in meta.groups() {
        assert!(meta.locations_of(id).all(|it| meta.group_of_location(it) == Some(id)));
        meta.attributes(Owner::Group(id)).for_each(|attribute| drop(format!("{attribute:?}")));
    }
    for id in meta.topologies() {
        let topology = meta.topology(id).expect("listed");
        for coordinate in meta.coordinates(id) {
            assert_eq!(coordinate.at.len(), topology.dimensions.len());
            if let Place::Location(location) = coordinate.place {
                assert!(meta.location(location).is_some());
            }
        }
    }
    for member in report.members() {
        assert!(member.offset() + member.size() <= data.len() as u64);
    }

    let locations = meta.locations().len();
    for id in meta.metrics() {
        let metric = meta.metric(id).expect("listed");
        drop(format!("{metric:?} {:?}", meta.expressions(id).collect::<Vec<_>>()));
        let Ok(values) = report.values(id) else { continue };
        assert!(values.len() <= meta.cnodes().len());
        // A few rows: sums over large trees take time without reaching new code.
        for cnode in meta.cnodes().take(8) {
            for row in [values.row(cnode), values.inclusive(cnode), values.exclusive(cnode)] {
                if let Ok(Some(row)) = row {
                    assert_eq!(row.len(), locations);
                    drop(meta.locations().map(|location| row.number(location)).collect::<Vec<_>>());
                }
            }
            if let (Ok(Some(row)), Some(first)) = (values.row(cnode), meta.locations().next()) {
                let cell = values.cell(cnode, first).expect("as the row").expect("as the row");
                assert_eq!(format!("{:?}", cell.number(first)), format!("{:?}", row.number(first)));
            }
        }
    }
}
