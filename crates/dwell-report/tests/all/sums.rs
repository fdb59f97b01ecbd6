//! Sums that are kept beside a report are the sums of its rows.

use std::fs;
use std::path::Path;

use cubex::{
    Cnode, CnodeId, Group, Location, MetaBuilder, Metric, MetricId, Region, Rows, SystemNode,
};
use dwell_report::{Call, Flavour, Query};

const LOCATIONS: usize = 5;

/// Returns a random number that depends on `number` alone.
fn mix(number: u64) -> u64 {
    fastrand::Rng::with_seed(number).u64(..)
}

/// Writes a report whose call tree has chains, wide nodes and shapes between, with rows at only some call paths.
fn write(file: &Path, paths: u64) -> [MetricId; 4] {
    let mut builder = MetaBuilder::new();
    let metrics = ["UINT64", "DOUBLE", "MINDOUBLE", "MAXDOUBLE"]
        .map(|dtype| builder.metric(None, Metric { uniq_name: dtype, dtype, ..Metric::default() }));
    let region = builder.region(Region { name: "f", ..Region::default() });
    let mut cnodes: Vec<CnodeId> = Vec::new();
    for path in 0..paths {
        let parent = match path {
            0 => None,
            // Half a chain, half a bush.
            path if path < paths / 2 => cnodes.last().copied(),
            path => cnodes.get((mix(path) % path / 4) as usize).copied(),
        };
        cnodes.push(builder.cnode(parent, Cnode { region, ..Cnode::default() }));
    }
    let machine = builder.system_node(None, SystemNode::default());
    let process = builder.group(machine, Group::default());
    for _ in 0..LOCATIONS {
        builder.location(process, Location::default());
    }
    let writer = cubex::ReportWriter::create(file, builder.finish().unwrap()).unwrap();
    for metric in metrics {
        let sheet = writer.metric(metric, Rows::Spooled).unwrap();
        for &cnode in cnodes.iter().filter(|cnode| !mix(cnode.0.into()).is_multiple_of(3)) {
            let luck = |at: usize| mix(u64::from(cnode.0) * 8 + at as u64) % 1000;
            let values: Vec<u64> = (0..LOCATIONS).map(luck).collect();
            if metric == metrics[0] {
                sheet.write(cnode, &values).unwrap();
            } else {
                // Sums of these are exact, in any order.
                let values: Vec<f64> = values.iter().map(|it| *it as f64 / 4.0).collect();
                sheet.write(cnode, &values).unwrap();
            }
        }
    }
    writer.finish().unwrap();
    metrics
}

fn rows(query: &Query, metrics: &[MetricId]) -> Vec<Vec<f64>> {
    let cnodes: Vec<CnodeId> = query.meta().cnodes().collect();
    let row = |metric, call| query.row(metric, call).unwrap();
    let of_metric = |&metric: &MetricId| {
        let paths =
            cnodes.iter().map(move |&cnode| row(metric, Call::Path(cnode, Flavour::Inclusive)));
        paths.chain([row(metric, Call::All)])
    };
    metrics.iter().flat_map(of_metric).collect()
}

#[test]
fn kept_sums_are_those_of_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    for paths in [1, 30, 300] {
        let file = folder.path().join(format!("{paths}.cubex"));
        let metrics = write(&file, paths);
        let expected = rows(&Query::open(&file).unwrap(), &metrics);
        let sums = folder.path().join(format!("{paths}.cubex.dwell-sums"));
        // Made, found, and made anew where it is damaged or of another report.
        for round in 0..4 {
            let query = Query::open(&file).unwrap();
            query.prepare_keeping(0);
            assert_eq!(rows(&query, &metrics), expected, "{paths} paths, round {round}");
            assert_eq!(sums.exists(), paths > 32);
            let Ok(mut bytes) = fs::read(&sums) else { continue };
            let most = 4 * paths as usize / 32 * LOCATIONS * 8 + 40;
            assert!(bytes.len() > 40 && bytes.len() <= most, "{} of {most}", bytes.len());
            match round {
                1 => bytes.truncate(bytes.len() - 1),
                2 => bytes[20] ^= 1,
                _ => continue,
            }
            fs::write(&sums, bytes).unwrap();
        }
    }
}
