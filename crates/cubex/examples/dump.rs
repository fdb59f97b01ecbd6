//! Prints a report as text: `dump FILE` lists its metrics and call tree, `dump FILE METRIC` the stored
//! rows of a metric.

use std::error::Error;
use std::io::{BufWriter, Write};

use cubex::{Cells, MetricId, Report};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which report?")?;
    let report = Report::open(path)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    match arguments.next() {
        Some(name) => {
            let metric = report.meta().find_metric(&name).ok_or("no such metric")?;
            rows(&report, metric, &mut out)?;
        }
        None => trees(&report, &mut out)?,
    }
    Ok(out.flush()?)
}

fn trees(report: &Report, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let meta = report.meta();
    for id in meta.metrics() {
        let Some(metric) = meta.metric(id) else { continue };
        let kind = metric.kind.name();
        writeln!(out, "metric {id} {} {} {kind} {}", metric.uniq_name, metric.dtype, metric.uom)?;
    }
    let mut path: Vec<_> = meta.root_cnodes().map(|root| (root, 0)).collect();
    path.reverse();
    while let Some((cnode, depth)) = path.pop() {
        let name = meta.callee(cnode).map(|region| region.name).unwrap_or_default();
        writeln!(out, "{:depth$}{name} ({cnode})", "", depth = 2 * depth)?;
        let mut children: Vec<_> = meta.cnode_children(cnode).map(|it| (it, depth + 1)).collect();
        children.reverse();
        path.append(&mut children);
    }
    let nodes = (meta.system_nodes().len(), meta.groups().len(), meta.locations().len());
    writeln!(out, "{} system nodes, {} groups, {} locations", nodes.0, nodes.1, nodes.2)?;
    for member in report.extras() {
        writeln!(out, "extra {} {} bytes", member.name(), member.size())?;
    }
    Ok(())
}

fn rows(report: &Report, metric: MetricId, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let values = report.values(metric)?;
    for cnode in report.meta().cnodes() {
        let Some(row) = values.row(cnode)? else { continue };
        match row.cells() {
            Cells::Unsigned(cells) => writeln!(out, "{cnode} {cells:?}")?,
            Cells::Signed(cells) => writeln!(out, "{cnode} {cells:?}")?,
            Cells::Double(cells) => writeln!(out, "{cnode} {cells:?}")?,
            Cells::Doubles { values, .. } => writeln!(out, "{cnode} {values:?}")?,
            Cells::Tau(cells) => writeln!(out, "{cnode} {cells:?}")?,
            other => writeln!(out, "{cnode} {other:?}")?,
        }
    }
    Ok(())
}
