//! The communication matrix, folded until it fits a screen.

use std::collections::{BTreeMap, BTreeSet};

use dwell_report::{Flow, Kind, Pair, Pairs};

use crate::question::{Fault, Parameters};
use crate::run::Run;
use crate::types::Matrix;

/// The largest number of rows and of columns in an answer.
const MOST: u32 = 192;

/// Returns part of the matrix. Parameters are `kinds` (all if not given), `fold=node`, `rows` and `columns` as
/// `first-count`, and `waits=1` for waits of all kinds, which the index of the timeline has, or of one `finding`.
pub(crate) fn matrix(run: &Run, parameters: &Parameters<'_>) -> Result<Matrix, Fault> {
    let pairs = run.pairs()?;
    let empty = Pairs::default();
    let pairs_of = pairs.as_ref().as_ref();
    let all = pairs_of.unwrap_or(&empty);
    let fold = parameters.get("fold") == Some("node");
    let (names, place) = parties(all, fold);
    let count = names.len() as u32;
    let range = |name: &'static str| -> Result<(u32, u32), Fault> {
        let Some(text) = parameters.get(name) else { return Ok((0, count)) };
        let bad = || Fault::Bad(format!("`{name}` is first-count").into());
        let (first, length) = text.split_once('-').ok_or_else(bad)?;
        let first: u32 = first.parse().map_err(|_| bad())?;
        let length: u32 = length.parse().map_err(|_| bad())?;
        let first = first.min(count);
        Ok((first, length.min(count - first)))
    };
    let (rows, columns) = (range("rows")?, range("columns")?);
    let step = rows.1.max(columns.1).div_ceil(MOST).max(1);
    let wanted: Vec<&str> = parameters.get("kinds").unwrap_or_default().split(',').collect();
    let is_wanted = |kind: Kind| wanted.first() == Some(&"") || wanted.contains(&kind.name());
    let (height, width) = (rows.1.div_ceil(step), columns.1.div_ceil(step));
    let mut cells = vec![Flow::default(); (height * width) as usize];
    let mut kinds = BTreeSet::new();
    let waits = crate::span::waits_between(run, parameters, &all.parties)?;
    let has_waits = waits.is_some();
    let waits = waits.map(|waits| {
        let one = |((origin, target), time): ((u32, u32), u64)| {
            let flow = Flow { wait_seconds: time as f64 / 1e9, ..Flow::default() };
            (Pair { origin, target, kind: Kind::Message, flow }, true)
        };
        let mut list: Vec<(Pair, bool)> = waits.into_iter().map(one).collect();
        list.sort_by_key(|(it, _)| (it.origin, it.target));
        list
    });
    // In a span of time it is known who waited for whom, and nothing else.
    let in_span = parameters.get("t").is_some();
    let communication = all.list.iter().filter(|_| !in_span).map(|pair| {
        let mut pair = *pair;
        // The waits for progress are among the others.
        pair.flow.wait_seconds = if has_waits { 0.0 } else { pair.flow.wait_seconds };
        (pair, false)
    });
    for (pair, is_wait) in waits.into_iter().flatten().chain(communication) {
        if !is_wait {
            kinds.insert(pair.kind);
        }
        let of = |party: u32| place.get(party as usize).copied();
        let (Some(origin), Some(target)) = (of(pair.origin), of(pair.target)) else { continue };
        let inside = |at: u32, (first, length): (u32, u32)| {
            at.checked_sub(first).filter(|&at| at < length).map(|at| at / step)
        };
        if let (true, Some(row), Some(column)) =
            (is_wait || is_wanted(pair.kind), inside(origin, rows), inside(target, columns))
            && let Some(cell) = cells.get_mut((row * width + column) as usize)
        {
            cell.add(&pair.flow);
        }
    }
    let label = |(first, length): (u32, u32), cells: u32| -> Vec<String> {
        let name = |at: u32| names.get(at as usize).copied().unwrap_or("?");
        (0..cells)
            .map(|cell| {
                let from = first + cell * step;
                let to = (from + step).min(first + length) - 1;
                match from == to {
                    true => name(from).to_owned(),
                    false => format!("{} … {}", name(from), name(to)),
                }
            })
            .collect()
    };
    let mut matrix = Matrix {
        present: pairs_of.is_some(),
        parties: count,
        unit: if fold || all.parties == all.nodes { "node" } else { "process" }.into(),
        rows,
        columns,
        step,
        row_names: label(rows, height),
        column_names: label(columns, width),
        origin: Vec::new(),
        target: Vec::new(),
        operations: Vec::new(),
        bytes: Vec::new(),
        seconds: Vec::new(),
        wait: Vec::new(),
        kinds: kinds.into_iter().map(|kind| kind.name().to_owned()).collect(),
        waits: match (has_waits, run.is_searched()) {
            (true, _) => "all",
            (false, true) => "progress",
            (false, false) => "none",
        }
        .into(),
    };
    for (at, cell) in (0..).zip(&cells) {
        if *cell != Flow::default() {
            matrix.origin.push(at / width);
            matrix.target.push(at % width);
            matrix.operations.push(cell.operations);
            matrix.bytes.push(cell.bytes);
            matrix.seconds.push(cell.seconds);
            matrix.wait.push(cell.wait_seconds);
        }
    }
    Ok(matrix)
}

/// Returns the names of rows and columns, and the index of the row that each party belongs to.
fn parties(pairs: &Pairs, fold: bool) -> (Vec<&str>, Vec<u32>) {
    if !fold {
        let places = (0..pairs.parties.len() as u32).collect();
        return (pairs.parties.iter().map(String::as_str).collect(), places);
    }
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeMap::new();
    let places = pairs
        .nodes
        .iter()
        .map(|node| {
            *known.entry(node.as_str()).or_insert_with(|| {
                names.push(node);
                names.len() as u32 - 1
            })
        })
        .collect();
    (names, places)
}
