//! Unification: one set of definitions for the whole run.
//!
//! While a program runs, every process numbers its regions, call sites, groups and windows as it meets
//! them. In the end the numbers must mean the same everywhere. Events stay as they were written; each
//! location gets [maps](Maps) from its numbers to those of the run.
//!
//! * [`Shared`]: definitions that many processes have in common. Merging two lists finds what is equal.
//! * [`Process`]: what only one has, itself and its threads. There is nothing to compare, so these rows
//!   are only gathered, and never sent back.
//! * [`unify`]: the [tree](mod@tree) over ⌈log2 P⌉ rounds through the communication of the program
//!   ([`Upcalls`]).
//! * [`Offline`], [`unify_offline`]: the same from files, when the program is gone.
//! * [`gather`]: for runs in which few processes write the files of many; see [`blocks`].
//!
//! # Invariants
//!
//! * The definitions of the run are sorted by content. They are the same bytes for every order of
//!   merging, whether by a tree or from files.
//! * Ids in a list never change while others are merged into it; what is new comes last.
//! * Every process does all its sends and receives whatever fails, so that no process waits in vain.
//! * Nothing here panics on what it received, or takes memory out of proportion to it.
//!
//! # What travels
//!
//! Up the tree: the definitions that the ranks of a subtree have between them, and their rows. Down:
//! where those definitions went, and the first location. A group travels as [runs](Run), in under 20
//! bytes for the world, a node or any strided team, whatever their size.
//!
//! Numbers are of variable length (seven bits a byte, low bits first). A *step* is the difference from
//! the same field of the definition before, with the sign in the lowest bit. A *text* is the number of
//! bytes that it shares with the beginning of the same field before (255 at most), the number of bytes
//! that follow, and these. References are ids plus one, 0 if unknown.
//!
//! | bytes of | are |
//! |---|---|
//! | [`Shared`] | version (u8 = 7), then of each kind in this order the number of definitions, and these |
//! | [`Host`] | name (text) |
//! | [`Property`] | name, value (texts) |
//! | [`Region`] | name, meaning (texts), role, paradigm (u8) |
//! | [`Module`] | path (text), length of the build id, build id |
//! | [`Site`] | module (step), offset (step), function, wrapper (texts) |
//! | [`Group`] | paradigm (u8), number of runs; of each: count, start (step from the run before), and the stride (step from 1) if count > 1 |
//! | [`Comm`] | group (step), remote group (step), name (text), identity |
//! | [`Window`] | group (step), communicator (step), name (text), context |
//! | [`Parameter`] | name (text), kind (u8) |
//! | [`Counter`] | 1 if it is sampled (u8), number of members; of each: name, unit (texts), kind, source, mode (u8) |
//! | [`Text`] | text |
//! | [`Stack`] | how many sites it begins with as the one before, how many follow, these |
//! | [`Topology`] | communicator (step), name (text), number of dimensions; of each: twice its size, plus 1 if periodic |
//! | [`Coordinates`] | topology (step), rank (step), number of coordinates, these |
//! | [`Maps`] | of each kind, until every id has its image: length of a run of consecutive images, first image (step from the end of the run before) |
//! | [`Process`] | rank, pid, name (text), begin, end (step from begin), number of words of cores, these, number of numbers, numbers, number of threads, threads |
//! | [`Thread`] | label (0 main, 1 and a text, 2 + number), events, first (step from begin), last (step from first), lost, number of numbers, numbers |
//! | head of a message | `dwun`, version (u8 = 5), kind (u8) |
//! | message up | head with kind 2, length of [`Shared`], [`Shared`], number of processes, number of locations, number of runs of hosts, of each: host (step), count; then the processes |
//! | message down | head with kind 1, first location, number of locations, number of definitions, [`Maps`]; or head with kind 0 and nothing |
//!
//! # Limits
//!
//! * Equal means equal in content. Two teams with the same members must differ in name or context, in
//!   the same way at all their processes.
//! * A group without order costs three to five bytes a member on its way, and a rectangle of a grid its
//!   rows.
//! * Rank 0 must hold the definitions of the run. For 294,912 processes, with a host and a team for
//!   every four of them, these are 31 MB: 19 of rows, 12 of what is shared. While the last messages are
//!   merged (6 MB the largest) it is, by estimate, twice as much. The maps that a process keeps for its
//!   children are four bytes for each definition of each child.
//! * The rounds are as many as log2 P, but what is unique travels to rank 0 whole: the last rounds
//!   take a time that grows with P. `examples/unify_scale.rs` measures it.
//! * Definitions that every process has for itself alone, such as a window of its own, are shared ones
//!   of which there are as many as processes. They are merged all the same, at the price of as many
//!   bytes and look-ups at rank 0. Better is one definition for all of them, with a group of unknown
//!   members.

// Data from another process or from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod blocks;
mod group;
mod maps;
mod offline;
mod process;
mod shared;
mod table;
pub mod tree;
mod wire;

pub use blocks::{Part, block, gather};
pub use group::{Group, Run};
pub use maps::{Id, Map};
pub use offline::{Offline, unify_offline};
pub use process::{Global, Label, Process, Processes, Thread};
pub(crate) use shared::MOST_DIMENSIONS;
pub use shared::{
    Comm, CommId, Coordinates, CoordinatesId, Counter, CounterId, Counts, Dimension, GroupId, Host,
    HostId, Maps, Member, Module, ModuleId, Parameter, ParameterId, Property, PropertyId, Region,
    RegionId, Shared, Site, SiteId, Stack, StackId, Text, TextId, Topology, TopologyId, Window,
    WindowId,
};
pub use tree::{Round, Unified, Upcalls, below, parent, rounds, unify};
pub use wire::Damaged;
