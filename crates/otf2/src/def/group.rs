//! The definition of a group, whose older forms lack fields.

use super::legacy;
use crate::enums::{self, GroupFlag, GroupType};
use crate::id::{GroupRef, StringRef};
use crate::output::Output;
use crate::record::{Framing, Record};
use crate::value::{List, Value};
use crate::wire::{Fault, Input, Wire};

/// Defines a group of locations, ranks, regions or metrics. Communicators refer to a group for the
/// list of their processes.
///
/// Record 18, since OTF2 1.0. Fields on disk:
///
/// | field | code |
/// |---|---|
/// | `id` | v32 |
/// | `name` | v32 |
/// | legacy type | u8, written for readers before 1.2 |
/// | `members` | list32 of v64 |
/// | `group_type` | u8, if bytes are left; else from the legacy type |
/// | `paradigm` | u8, if bytes are left; else from the legacy type |
/// | `group_flags` | v32, if bytes are left; else no flag |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group<'a> {
    /// Id of this definition, by which communicators and events refer to the group.
    pub id: GroupRef,
    /// Name of the group, which may be the empty string.
    pub name: StringRef,
    /// Kind of the members, which decides whether the numbers in `members` are ids of locations, of regions or of
    /// metrics, or ranks.
    pub group_type: GroupType,
    /// Programming model whose processes the members are; unknown for groups that are not part of a communicator.
    pub paradigm: enums::Paradigm,
    /// Flags of the group. With [`GroupFlag::GLOBAL_MEMBERS`], ranks in events are not positions in `members` but indices
    /// into the group of type `COMM_LOCATIONS`.
    pub group_flags: GroupFlag,
    /// The members, in the order of their ranks. For a communicator group, each number is an index into the group of
    /// type `COMM_LOCATIONS` of the same paradigm.
    pub members: List<'a, u64>,
}

impl<'a> Record<'a> for Group<'a> {
    const ID: u8 = 18;
    const NAME: &'static str = "Group";
    const FRAMING: Framing = Framing::Length;

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let id = Wire::read(input)?;
        let name = Wire::read(input)?;
        let legacy = legacy::group(u8::read(input)?);
        let members = Wire::read(input)?;
        Ok(Self {
            id,
            name,
            group_type: if input.has_more() { Wire::read(input)? } else { legacy.0 },
            paradigm: if input.has_more() { Wire::read(input)? } else { legacy.1 },
            group_flags: if input.has_more() { Wire::read(input)? } else { GroupFlag::NONE },
            members,
        })
    }

    fn write(&self, output: &mut impl Output) {
        self.id.write(output);
        self.name.write(output);
        legacy::group_type(self.group_type, self.paradigm, self.group_flags).write(output);
        self.members.write(output);
        self.group_type.write(output);
        self.paradigm.write(output);
        self.group_flags.write(output);
    }

    fn bound(&self) -> usize {
        5 + 5 + 1 + self.members.bound() + 1 + 1 + 5
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
        visit("id", self.id.value());
        visit("name", self.name.value());
        visit("group_type", self.group_type.value());
        visit("paradigm", self.paradigm.value());
        visit("group_flags", self.group_flags.value());
        visit("members", self.members.value());
    }
}
