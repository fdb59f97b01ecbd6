//! Any bytes as a message of unification, up or down the tree: what is read comes back when it is written.
//!
//! The first byte chooses the direction, and whether the bytes begin with the head of a sound message.

use dwell_unify::unify::tree::{Answer, MAGIC, Node, VERSION};
use dwell_unify::unify::{Host, Process, Property, Region, Shared};

/// A process that waits for an answer.
fn waiting() -> Node {
    let mut shared = Shared::default();
    let host = shared.add_host(Host { name: "node1".into() });
    shared.add_property(Property { name: "RUNTIME".into(), value: "Sandia".into() });
    for name in ["shmem_put", "shmem_get"] {
        shared.add_region(Region {
            name: name.into(),
            meaning: String::new(),
            role: 3,
            paradigm: 9,
        });
    }
    Node::leaf(shared, Process { rank: 3, host, ..Process::default() }).0
}

fn up(bytes: &[u8]) {
    let Ok(node) = Node::decode(bytes, 0, 64) else { return };
    // Numbers may be longer than they need to be, so it is the second time that gives the same bytes.
    let again = node.encode();
    let node = Node::decode(&again, 0, 64).expect("what was written is read");
    assert_eq!(node.encode(), again);
    let mut first = waiting();
    let child = first.take(node.clone());
    let (answer, global) = first.finish(64);
    assert!(global.processes().all(|(_, process)| process.rank < 64));
    let answer = answer.of_child(&child);
    let read = Answer::decode(&answer.encode(), &node.counts()).expect("what was written is read");
    assert_eq!(read, answer);
}

fn down(bytes: &[u8]) {
    let counts = waiting().counts();
    let Ok(answer) = Answer::decode(bytes, &counts) else { return };
    let again = Answer::decode(&answer.encode(), &counts).expect("what was written is read");
    assert_eq!(again, answer);
}

pub(crate) fn run(data: &[u8]) {
    let [kind, rest @ ..] = data else { return };
    let head = [MAGIC.as_slice(), &[VERSION]].concat();
    let bytes = if kind & 2 == 0 { [&head, rest].concat() } else { rest.to_vec() };
    if kind & 1 == 0 { up(&bytes) } else { down(&bytes) }
}
