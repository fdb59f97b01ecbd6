//! Any bytes as the stream of facts of a process: what is read can be unified, and gives tables.
//!
//! The first byte chooses how the rest becomes a stream: as it is, or as facts, each from a tag, a length
//! and fields, with sums that are right, so that the fields are looked at.

use dwell_unify::facts;
use dwell_unify::process_facts::ProcessFacts;
use dwell_unify::stream::{BLOCK, Headed, RunId};
use dwell_unify::unify::Offline;

/// Facts with sums.
fn framed(mut data: &[u8]) -> Vec<u8> {
    let head = Headed { run: RunId(7), size: 4, rank: 1, ..Headed::default() };
    let mut stream: Vec<u8> = head.fixed().into_iter().flat_map(u64::to_le_bytes).collect();
    stream.resize(BLOCK, 0);
    while let [tag, length, rest @ ..] = data {
        let (fields, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        stream.extend(facts::frame(*tag, fields).unwrap_or_default());
        data = rest;
    }
    stream
}

pub(crate) fn run(data: &[u8]) {
    let [kind, rest @ ..] = data else { return };
    let stream = if kind % 2 == 0 { framed(rest) } else { rest.to_vec() };
    let Ok(mut local) = ProcessFacts::parse(&stream) else { return };
    local.process.stand_in();
    local.shift(i64::from(*kind));
    let mut offline = Offline::default();
    offline.add(&local.shared, local.process.clone());
    let mut global = offline.finish();
    let maps = global.locate(&local.shared).expect("what was added is found");
    let _ = local.tables(&maps);
}
