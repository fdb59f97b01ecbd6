//! The local definitions of a location, which turn its ids and times into those of the archive.

use std::sync::Arc;

use crate::clock::Clock;
use crate::def::Definition;
use crate::error::{Error, ErrorKind};
use crate::map::Maps;
use crate::read::records::DefReader;

/// Mapping tables and clock offsets of a location. The default value leaves ids and times unchanged.
#[derive(Debug, Default)]
pub struct LocalTables {
    /// Mapping tables that translate the ids of the location to global ids. Several readers can share them.
    pub maps: Arc<Maps>,
    /// Clock offsets that convert the times of the location to global time.
    pub clock: Clock,
    /// Damage found in the local definitions: duplicate tables, offsets out of order, or the error that ended the
    /// reading.
    pub warnings: Vec<Error>,
}

impl LocalTables {
    /// Collects the tables from the local definitions of a location. Damage ends the reading and becomes a warning; the
    /// definitions before it are used.
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
