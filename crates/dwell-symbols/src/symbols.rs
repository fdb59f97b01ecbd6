//! The symbol table: functions by address, for addresses that debug information does not cover.

use std::cmp::Reverse;
use std::ops::Range;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind, SymbolScope};

use crate::image::Image;

/// The largest number of functions ending before an address that the search passes on its way to one around it. Real
/// symbol tables have a label or two inside a function.
const NESTED: usize = 16;

/// The functions of a module, sorted by address.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    functions: Vec<Function>,
    names: Vec<u8>,
}

#[derive(Debug)]
struct Function {
    start: u64,
    end: u64,
    name: Range<usize>,
}

/// A symbol that competes with others of the same address.
struct Candidate<'a> {
    start: u64,
    /// Size in bytes. It is 0 for functions written in assembly without a size: they reach to the next function, or to
    /// the end of their section.
    size: u64,
    section_end: u64,
    rank: (usize, u8, Reverse<u64>, usize),
    name: &'a [u8],
}

impl Symbols {
    /// Reads `.symtab`, then `.dynsym`, of each file. Where several symbols are at one address, the earlier table wins,
    /// then the symbol with the wider visibility.
    pub(crate) fn new<'a>(images: impl IntoIterator<Item = &'a Image>) -> Self {
        let mut all = Vec::new();
        for (number, image) in images.into_iter().enumerate() {
            if let Ok(object) = image.object() {
                collect(&object, object.symbols(), number * 2, &mut all);
                collect(&object, object.dynamic_symbols(), number * 2 + 1, &mut all);
            }
        }
        all.sort_by(|a, b| {
            let order = a.start.cmp(&b.start);
            order.then_with(|| a.rank.cmp(&b.rank)).then_with(|| a.name.cmp(b.name))
        });
        all.dedup_by_key(|candidate| candidate.start);

        let mut symbols = Self::default();
        let mut next = all.iter().skip(1).map(|candidate| candidate.start);
        for candidate in &all {
            let begin = symbols.names.len();
            symbols.names.extend_from_slice(candidate.name);
            let name = begin..symbols.names.len();
            let next = next.next().unwrap_or(u64::MAX);
            let end = match candidate.size {
                0 => candidate.section_end.min(next),
                size => candidate.start.saturating_add(size),
            };
            symbols.functions.push(Function { start: candidate.start, end, name });
        }
        symbols
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the bytes of memory that the table occupies.
    pub(crate) fn size(&self) -> u64 {
        (self.names.len() + size_of_val(self.functions.as_slice())) as u64
    }

    /// Returns the mangled name of the function around an address, and the address of its beginning.
    pub(crate) fn find(&self, address: u64) -> Option<(String, u64)> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let before = self.functions.get(..after)?;
        let around = before.iter().rev().take(NESTED).find(|function| address < function.end)?;
        let name = self.names.get(around.name.clone())?;
        Some((String::from_utf8_lossy(name).into_owned(), around.start))
    }
}

fn collect<'a>(
    object: &object::File<'a>,
    symbols: object::SymbolIterator<'a, '_>,
    table: usize,
    all: &mut Vec<Candidate<'a>>,
) {
    for symbol in symbols {
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
            continue;
        }
        let Ok(name) = symbol.name_bytes() else { continue };
        if name.is_empty() {
            continue;
        }
        let (start, size) = (symbol.address(), symbol.size());
        let mut section_end = 0;
        if size == 0 {
            let section = symbol.section_index();
            let section = section.and_then(|index| object.section_by_index(index).ok());
            let Some(section) = section else { continue };
            section_end = section.address().saturating_add(section.size());
        }
        let seen = match symbol.scope() {
            SymbolScope::Dynamic => 0,
            SymbolScope::Linkage => 1,
            SymbolScope::Compilation | SymbolScope::Unknown => 2,
        };
        let underscores = name.iter().take_while(|byte| **byte == b'_').count();
        let weak = u8::from(symbol.is_weak());
        let rank = (table, seen * 2 + weak, Reverse(size), underscores);
        all.push(Candidate { start, size, section_end, rank, name });
    }
}
