//! Functions of wrappers that were linked into the program: inline functions of C++, crates of Rust, static libraries.
//!
//! They are known by the symbol table of the program's file, which is read once, when the recording begins. Numbers in the
//! file are not trusted: whatever does not fit yields no functions.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use dwell_model::wrappers::Wrappers;

use crate::modules;

/// Largest symbol table, and largest table of names, that is read. Those of larger programs are left alone.
const LARGEST: u64 = 64 << 20;

/// Functions of wrappers in the program, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// Begin, end and name of the wrapper, in the order of the addresses.
    list: Vec<(usize, usize, &'static str)>,
}

impl Functions {
    /// Reads the functions of wrappers from the file of a program. `bias` is the difference between addresses in memory and
    /// in the file. A file that cannot be read has none.
    fn of(path: &str, bias: usize, wrappers: Wrappers<'static>) -> Self {
        let file = File::open(path);
        let mut list = file.and_then(|it| read(&it, bias, wrappers)).unwrap_or_default();
        list.sort_unstable();
        Self { list }
    }

    /// Reads the functions of wrappers in this program.
    pub(crate) fn of_program(path: &str, wrappers: Wrappers<'static>) -> Self {
        let mut bias = 0;
        modules::each(|module| {
            let is_program = module.path().is_empty();
            if is_program {
                bias = module.whole().bias;
            }
            is_program
        });
        Self::of(path, bias, wrappers)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the name of the wrapper whose function has this address.
    pub(crate) fn at(&self, address: usize) -> Option<&'static str> {
        let behind = self.list.partition_point(|it| it.0 <= address);
        let (_, end, name) = self.list.get(behind.checked_sub(1)?)?;
        (address < *end).then_some(*name)
    }
}

/// Fields of the ELF format that are used: 64 bits, little endian.
const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const SYMBOL_TABLE: u64 = 2;
const FUNCTION: u64 = 2;

fn read(
    file: &File,
    bias: usize,
    wrappers: Wrappers<'static>,
) -> io::Result<Vec<(usize, usize, &'static str)>> {
    let header = bytes(file, 0, HEADER as u64)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(Vec::new());
    }
    let (at, count) = (number(&header, 40, 8), number(&header, 60, 2));
    let sections = bytes(file, at, count * SECTION as u64)?;
    let mut list = Vec::new();
    for section in sections.chunks_exact(SECTION) {
        if number(section, 4, 4) != SYMBOL_TABLE {
            continue;
        }
        let names = usize::try_from(number(section, 40, 4)).unwrap_or(usize::MAX);
        let Some(names) = sections.chunks_exact(SECTION).nth(names) else { continue };
        let content = |it: &[u8]| bytes(file, number(it, 24, 8), number(it, 32, 8));
        let (symbols, names) = (content(section)?, content(names)?);
        for symbol in symbols.chunks_exact(SYMBOL) {
            if number(symbol, 4, 1) & 15 != FUNCTION {
                continue;
            }
            let name = usize::try_from(number(symbol, 0, 4)).ok().and_then(|at| names.get(at..));
            let name = name.and_then(|it| it.split(|byte| *byte == 0).next());
            let name = name.and_then(|it| str::from_utf8(it).ok()).unwrap_or_default();
            if let Some(wrapper) = wrappers.of_symbol(name) {
                let begin = (number(symbol, 8, 8) as usize).wrapping_add(bias);
                list.push((begin, begin.wrapping_add(number(symbol, 16, 8) as usize), wrapper));
            }
        }
    }
    Ok(list)
}

/// Reads a part of the file, unless it is too large.
fn bytes(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    if length > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

/// Returns a number of up to eight bytes; 0 if it is not there.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let found = bytes.get(at..at + length).unwrap_or_default();
    found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_scope_are_found_in_this_program() {
        let program = std::env::current_exe().unwrap();
        let wrappers = Wrappers::new("dwell_measure::wrapping::symbols::");
        let functions = Functions::of(program.to_str().unwrap(), 0, wrappers);
        assert!(!functions.are_none());
        let (begin, end, name) = functions.list[0];
        assert_eq!(name, "dwell_measure::wrapping::symbols");
        assert_eq!((functions.at(begin), functions.at(end - 1)), (Some(name), Some(name)));
        assert_eq!(functions.at(functions.list[0].0 - 1), None);
    }

    #[test]
    fn other_files_have_none() {
        let wrappers = Wrappers::new("a::");
        assert!(Functions::of("/no/such/file", 0, wrappers).are_none());
        let file = tempfile::NamedTempFile::new().unwrap();
        for content in [&b"#!/bin/sh"[..], b"\x7fELF\x02\x01", &[0x7f; 200]] {
            std::fs::write(file.path(), content).unwrap();
            assert!(Functions::of(file.path().to_str().unwrap(), 0, wrappers).are_none());
        }
    }
}
