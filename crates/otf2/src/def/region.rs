//! The definition of a region, whose older forms lack fields.

use super::legacy;
use crate::enums::{self, RegionFlag, RegionRole};
use crate::id::{RegionRef, StringRef};
use crate::output::Output;
use crate::record::{Framing, Record};
use crate::value::Value;
use crate::wire::{Fault, Input, Wire};

/// Defines a code region: a function, a loop or another part of a program that can be entered and left.
///
/// Record 15, since OTF2 1.0. Fields on disk:
///
/// | field | code |
/// |---|---|
/// | `id` | v32 |
/// | `name` | v32 |
/// | `description` | v32 |
/// | legacy type | u8, written for readers before 1.1 |
/// | `source_file` | v32 |
/// | `begin_line_number` | v32 |
/// | `end_line_number` | v32 |
/// | `canonical_name` | v32, if bytes are left; else `name` |
/// | `region_role` | u8, if bytes are left; else from the legacy type |
/// | `paradigm` | u8, if bytes are left; else from the legacy type |
/// | `region_flags` | v32, if bytes are left; else from the legacy type |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Id of this definition, by which events and other definitions refer to the region.
    pub id: RegionRef,
    /// Name of the region for people, such as a function name without its mangling.
    pub name: StringRef,
    /// Mangled name of the region as the linker knows it, or the same as `name`. Archives before OTF2 1.1 do not state
    /// it.
    pub canonical_name: StringRef,
    /// Longer description of the region, or undefined if it has none.
    pub description: StringRef,
    /// Role of the region in the program, for example function, barrier or RMA operation.
    pub region_role: RegionRole,
    /// Programming model or library to which the region belongs, for example MPI or SHMEM.
    pub paradigm: enums::Paradigm,
    /// Flags of the region, which mark dynamic regions and phases.
    pub region_flags: RegionFlag,
    /// Name of the source file of the region, or undefined if it is not known.
    pub source_file: StringRef,
    /// First line of the region in its source file, or 0 if it is not known.
    pub begin_line_number: u32,
    /// Last line of the region in its source file, or 0 if it is not known.
    pub end_line_number: u32,
}

impl<'a> Record<'a> for Region {
    const ID: u8 = 15;
    const NAME: &'static str = "Region";
    const FRAMING: Framing = Framing::Length;

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let id = Wire::read(input)?;
        let name = Wire::read(input)?;
        let description = Wire::read(input)?;
        let legacy = legacy::region(u8::read(input)?);
        let source_file = Wire::read(input)?;
        let begin_line_number = Wire::read(input)?;
        let end_line_number = Wire::read(input)?;
        let canonical_name = if input.has_more() { Wire::read(input)? } else { name };
        Ok(Self {
            id,
            name,
            canonical_name,
            description,
            region_role: if input.has_more() { Wire::read(input)? } else { legacy.0 },
            paradigm: if input.has_more() { Wire::read(input)? } else { legacy.1 },
            region_flags: if input.has_more() { Wire::read(input)? } else { legacy.2 },
            source_file,
            begin_line_number,
            end_line_number,
        })
    }

    fn write(&self, output: &mut impl Output) {
        self.id.write(output);
        self.name.write(output);
        self.description.write(output);
        legacy::region_type(self.region_role, self.paradigm, self.region_flags).write(output);
        self.source_file.write(output);
        self.begin_line_number.write(output);
        self.end_line_number.write(output);
        self.canonical_name.write(output);
        self.region_role.write(output);
        self.paradigm.write(output);
        self.region_flags.write(output);
    }

    fn bound(&self) -> usize {
        8 * 5 + 3
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
        visit("id", self.id.value());
        visit("name", self.name.value());
        visit("canonical_name", self.canonical_name.value());
        visit("description", self.description.value());
        visit("region_role", self.region_role.value());
        visit("paradigm", self.paradigm.value());
        visit("region_flags", self.region_flags.value());
        visit("source_file", self.source_file.value());
        visit("begin_line_number", self.begin_line_number.value());
        visit("end_line_number", self.end_line_number.value());
    }
}
