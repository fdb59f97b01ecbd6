//! Who communicates with whom, as the analysis listed it in the report.

use std::collections::BTreeMap;

use cubex::Result;

use crate::query::Query;

/// Name of the member of a report that lists pairs, as comma-separated values.
pub const PAIRS: &str = "dwell-pairs.csv";

/// Kinds of communication, as pairs name them.
pub const KINDS: [&str; 4] = ["put", "get", "atomic", "message"];

/// More bytes than this are not taken for a list of pairs: 1,024 parties of four kinds take half of it.
const MOST_BYTES: u64 = 512 << 20;

/// What went from one party to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Operations.
    pub operations: f64,
    /// Bytes.
    pub bytes: f64,
    /// Seconds in the calls that issued them.
    pub seconds: f64,
    /// Seconds of waits for the target.
    pub wait_seconds: f64,
}

impl Flow {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.wait_seconds += other.wait_seconds;
    }
}

/// One pair and kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Number of the origin among the [parties](Pairs::parties).
    pub origin: u32,
    /// Number of the target.
    pub target: u32,
    /// Number of the kind among [`KINDS`].
    pub kind: u8,
    /// How much.
    pub flow: Flow,
}

/// All pairs that communicate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Processes, or nodes where there are too many processes to list, in the order of the system.
    pub parties: Vec<String>,
    /// The node of each party; the party itself where parties are nodes.
    pub nodes: Vec<String>,
    /// The pairs, in the order of the report.
    pub list: Vec<Pair>,
}

impl Query {
    /// The pairs that communicate; nothing if the report does not list them. Lines that make no sense are
    /// passed over.
    ///
    /// # Errors
    /// If the report cannot be read.
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

/// A line: three names, of which the first two are quoted, and four numbers.
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

/// A quoted text at the beginning, in which a quote is written twice, and what follows.
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
