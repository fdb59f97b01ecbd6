//! Facts about programs and libraries that decide where they can be loaded, as readelf tells them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// What a file asks of the system that loads it, and what it offers.
#[derive(Debug, Default)]
pub(crate) struct Elf {
    /// Names of the shared libraries that it needs.
    pub(crate) needed: Vec<String>,
    /// Newest version of glibc whose symbols it uses: major and minor number.
    pub(crate) glibc: (u32, u32),
    /// Names of the symbols that it defines for others.
    pub(crate) exports: BTreeSet<String>,
}

/// Reads these facts from a file.
pub(crate) fn read(path: &Path) -> Result<Elf> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--dynamic", "--version-info", "--dyn-syms"]).arg(path);
    let text = process::output(readelf.env("LC_ALL", "C"))
        .context("readelf is a part of Debian's binutils")?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Elf {
    let mut elf = Elf::default();
    for line in text.lines() {
        if line.contains("(NEEDED)") {
            let name = line.split(['[', ']']).nth(1).unwrap_or_default();
            elf.needed.push(name.to_owned());
        }
        let versions = line.split("Name: GLIBC_").skip(1);
        elf.glibc = versions.filter_map(number).chain([elf.glibc]).max().unwrap_or_default();
        // Number, value, size, type, binding, visibility, section, name.
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, _, "GLOBAL" | "WEAK", _, section, name] = words.as_slice()
            && *section != "UND"
        {
            elf.exports.insert(name.split('@').next().unwrap_or(name).to_owned());
        }
    }
    elf
}

/// Reads the number of a version from the beginning of a text, such as `2.17` or `2.3.4`.
fn number(text: &str) -> Option<(u32, u32)> {
    let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
    let mut parts = text.get(..end.unwrap_or(text.len()))?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_from_the_output_of_readelf() {
        let text = " 0x0001 (NEEDED)             Shared library: [libc.so.6]\n\
             Symbol table '.dynsym' contains 3 entries:\n\
                1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND read@GLIBC_2.2.5 (2)\n\
                2: 0000000000012340    46 FUNC    GLOBAL DEFAULT   12 MPI_Send\n\
             Version needs section '.gnu.version_r' contains 1 entry:\n\
               000000: Version: 1  File: libc.so.6  Cnt: 2\n\
               0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 3\n\
               0x0020:   Name: GLIBC_2.17  Flags: none  Version: 2\n";
        let elf = parse(text);
        assert_eq!(elf.needed, ["libc.so.6"]);
        assert_eq!(elf.glibc, (2, 17));
        assert_eq!(elf.exports, BTreeSet::from(["MPI_Send".to_owned()]));
    }
}
