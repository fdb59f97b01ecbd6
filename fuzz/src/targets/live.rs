//! Any bytes as the facts and the last chunk of a process: what it is in, and for whom it waits, is found.
//!
//! The first four bytes are the length of the facts, little endian.

use dwell_unify::live::graph::Graph;
use dwell_unify::live::{Live, Process};
use dwell_unify::process_facts::ProcessFacts;

pub(crate) fn run(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let length = u32::from_le_bytes(*length) as usize;
    let (facts, chunk) = rest.split_at(length.min(rest.len()));
    let Ok(facts) = ProcessFacts::parse(facts) else { return };
    let process = Process::of(facts, |_| vec![chunk.to_vec()]);
    let size = process.facts.size.min(1 << 10);
    let graph = Graph::of(&Live { size, processes: vec![process], unreadable: Vec::new() });
    assert!(graph.circles.iter().all(|it| !it.0.is_empty()));
}
