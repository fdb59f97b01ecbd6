//! The tables of a location: how its ids and its clock become those of the archive.

use std::sync::Arc;

use crate::clock::Clock;
use crate::def::Definition;
use crate::error::{Error, ErrorKind};
use crate::map::Maps;
use crate::read::records::DefReader;

/// Mapping tables and clock offsets of a location.
#[derive(Debug, Default)]
pub struct LocalTables {
    /// How ids are translated.
    pub maps: Arc<Maps>,
    /// How times are corrected.
    pub clock: Clock,
    /// What was wrong with the definitions of the location, if anything was.
    pub warnings: Vec<Error>,
}

impl LocalTables {
    /// Collects the tables from the definitions of a location. Damage ends the reading and becomes
    /// a warning: what was read before is used.
    pub(crate) fn read(mut reader: DefReader) -> Self {
        let mut maps = Maps::default();
        let mut tables = Self::default();
        loop {
            let problem = match reader.next() {
                Ok(Some(Definition::MappingTable(table))) => {
                    let new = maps.insert(table.mapping_type, table.id_map.into());
                    (!new).then_some(ErrorKind::DuplicateMap)
                }
                Ok(Some(Definition::ClockOffset(offset))) => {
                    let rises = tables.clock.push(&offset);
                    (!rises).then_some(ErrorKind::ClockOrder)
                }
                Ok(Some(_)) => None,
                Ok(None) => break,
                Err(error) => {
                    tables.warnings.push(error);
                    break;
                }
            };
            if let Some(kind) = problem {
                tables.warnings.push(reader.error(kind));
            }
        }
        tables.maps = Arc::new(maps);
        tables
    }
}
