//! The communication matrix: operations and bytes between pairs of processes, which the analysis stores in the report.

use std::collections::{BTreeMap, BTreeSet};

use cubex::{ErrorKind, Result};
use dwell_model::pairs::{self, Kind, Row};

use crate::query::Query;

/// Largest size of a list of pairs that is read. 1,024 parties that all communicate in all four kinds need half of it.
const MOST_BYTES: u64 = 512 << 20;

/// Amount of communication from one party to another, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number of operations, as the origin issued them.
    pub operations: f64,
    /// Bytes that the operations transferred, in either direction, without headers of the network.
    pub bytes: f64,
    /// Seconds that the origin spent in the calls that issued the operations.
    pub seconds: f64,
    /// Seconds that the origin waited for the target, as far as the analysis found wait states.
    pub wait_seconds: f64,
}

impl Flow {
    /// Adds the amounts of another flow to this one, for example to sum over kinds or over the processes of a node.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.wait_seconds += other.wait_seconds;
    }
}

/// Communication of one kind from one party to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index of the origin in the [parties](Pairs::parties): the process or node that issued the operations.
    pub origin: u32,
    /// Index of the target in the [parties](Pairs::parties): the process or node whose memory was accessed or that
    /// received the messages.
    pub target: u32,
    /// Kind of communication that the flow counts, such as puts, gets or messages. Each kind has a flow of its own.
    pub kind: Kind,
    /// Operations, bytes and seconds of this pair and kind.
    pub flow: Flow,
}

/// All pairs of processes or nodes that communicate. Pairs that are not listed exchanged nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Names of the processes, or of the nodes if the run had too many processes for a matrix, in the order of the
    /// system tree. Parties that the system tree lacks come last.
    pub parties: Vec<String>,
    /// Name of the node on which each party runs, parallel to [`Self::parties`]. Where the parties are nodes, it is the
    /// party itself.
    pub nodes: Vec<String>,
    /// The pairs, in the order in which the report lists them.
    pub list: Vec<Pair>,
}

impl Query {
    /// Reads the communication between pairs of processes or nodes. Returns `None` if the report does not contain it,
    /// as reports of other tools do not. Malformed lines and unknown kinds are skipped.
    ///
    /// # Errors
    /// Fails if the report cannot be read, or if its list of pairs has other columns than this version reads.
    pub fn pairs(&self) -> Result<Option<Pairs>> {
        let report = self.report();
        let Some(member) = report.member(pairs::MEMBER).filter(|it| it.size() <= MOST_BYTES) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&report.read_member(member)?).into_owned();
        let rows = pairs::read(&text).map_err(|why| ErrorKind::Unsupported(why.to_string()))?;
        Ok(Some(self.named_pairs(&rows.collect::<Vec<_>>())))
    }

    /// Numbers the parties of the rows in the order of the system tree.
    fn named_pairs(&self, rows: &[Row<'_>]) -> Pairs {
        let meta = self.meta();
        let mut pairs = Pairs::default();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let named: Vec<(String, String)> = meta
            .groups()
            .filter_map(|group| {
                let node = meta.node_of_group(group).and_then(|it| meta.system_node(it));
                Some((meta.group(group)?.name.to_owned(), node.map_or("", |it| it.name).to_owned()))
            })
            .collect();
        let wanted: BTreeSet<&str> =
            rows.iter().flat_map(|row| [row.origin.as_ref(), row.target.as_ref()]).collect();
        // Parties in the order of the system: first as processes, then as nodes, then as they come.
        let are_processes = named.iter().any(|(process, _)| wanted.contains(process.as_str()));
        let mut enter = |party: &str, node: &str, pairs: &mut Pairs| {
            if numbers.contains_key(party) {
                return;
            }
            numbers.insert(party.to_owned(), pairs.parties.len() as u32);
            pairs.parties.push(party.to_owned());
            pairs.nodes.push(node.to_owned());
        };
        for (process, node) in &named {
            match are_processes {
                true => enter(process, node, &mut pairs),
                false => enter(node, node, &mut pairs),
            }
        }
        for name in wanted {
            enter(name, name, &mut pairs);
        }
        for row in rows {
            let number = |name: &str| numbers.get(name).copied();
            let (Some(origin), Some(target)) = (number(&row.origin), number(&row.target)) else {
                continue;
            };
            let flow = Flow {
                operations: row.operations as f64,
                bytes: row.bytes as f64,
                seconds: row.seconds,
                wait_seconds: row.wait_seconds,
            };
            pairs.list.push(Pair { origin, target, kind: row.kind, flow });
        }
        pairs
    }
}
