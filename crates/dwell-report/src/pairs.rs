//! The communication matrix: operations and bytes between pairs of processes, which the analysis stores in the report.

use std::collections::BTreeMap;

use cubex::Result;

use crate::query::Query;

/// Name of the extra member of a Cube report that lists pairs as comma-separated values: origin, target, kind,
/// operations, bytes, seconds and seconds of waits.
pub const PAIRS: &str = "dwell-pairs.csv";

/// Kinds of communication by the names that the list of pairs uses. [`Pair::kind`] is an index into this array.
pub const KINDS: [&str; 4] = ["put", "get", "atomic", "message"];

/// Largest size of a list of pairs that is read. 1,024 parties that all communicate in all four kinds need half of it.
const MOST_BYTES: u64 = 512 << 20;

/// Amount of communication from one party to another, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number of operations, as the origin issued them.
    pub operations: f64,
    /// Bytes that the operations transferred.
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
    /// Index of the kind of communication in [`KINDS`].
    pub kind: u8,
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
    /// as reports of other tools and of runs without a trace do not. Malformed lines and unknown kinds are skipped.
    ///
    /// # Errors
    /// Fails if the report cannot be read.
    pub fn pairs(&self) -> Result<Option<Pairs>> {
        let report = self.report();
        let Some(member) = report.member(PAIRS).filter(|it| it.size() <= MOST_BYTES) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&report.read_member(member)?).into_owned();
        Ok(Some(self.parse_pairs(&text)))
    }

    fn parse_pairs(&self, text: &str) -> Pairs {
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
        let lines: Vec<(Vec<String>, [f64; 4])> = text.lines().skip(1).filter_map(line).collect();
        let wanted: std::collections::BTreeSet<&str> =
            lines.iter().flat_map(|(names, _)| names.iter().take(2)).map(String::as_str).collect();
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
        for (names, numbers_of) in &lines {
            let [origin, target, kind] = names.as_slice() else { continue };
            let kind = KINDS.iter().position(|it| it == kind);
            let (Some(&origin), Some(&target), Some(kind)) =
                (numbers.get(origin), numbers.get(target), kind)
            else {
                continue;
            };
            let [operations, bytes, seconds, wait_seconds] = *numbers_of;
            let flow = Flow { operations, bytes, seconds, wait_seconds };
            pairs.list.push(Pair { origin, target, kind: kind as u8, flow });
        }
        pairs
    }
}

/// Parses a line: origin and target in quotes, the kind without, and four finite numbers. Returns `None` for anything
/// else.
fn line(text: &str) -> Option<(Vec<String>, [f64; 4])> {
    let mut rest = text;
    let mut names = Vec::with_capacity(3);
    for _ in 0..2 {
        let (name, after) = quoted(rest)?;
        names.push(name);
        rest = after.strip_prefix(',')?;
    }
    let mut fields = rest.split(',');
    names.push(fields.next()?.to_owned());
    let mut numbers = [0.0; 4];
    for number in &mut numbers {
        *number = fields.next()?.parse().ok().filter(|it: &f64| it.is_finite())?;
    }
    fields.next().is_none().then_some((names, numbers))
}

/// Splits a quoted field off the beginning of a line and returns it together with the rest. Two quotes within the field
/// stand for one.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::line;

    #[test]
    fn names_may_hold_anything() {
        let (names, numbers) = line("\"a \"\"b\"\", c\",\"<b>\",put,3,24,0.5,0.25").unwrap();
        assert_eq!(names, ["a \"b\", c", "<b>", "put"]);
        assert_eq!(numbers, [3.0, 24.0, 0.5, 0.25]);
        for bad in ["", "a,b,put,1,2,3,4", "\"a\",\"b\",put,1,2,3", "\"a\",\"b\",put,1,2,3,NaN"] {
            assert_eq!(line(bad), None, "{bad}");
        }
    }
}
