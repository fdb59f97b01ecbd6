//! A writer of zip archives that depends on its input alone; wheels of Python are zip archives.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::Crc;
use flate2::write::DeflateEncoder;

use super::tree::File;

/// Date of all entries: the first of January 1980, the earliest that the format can express.
const DATE: u16 = 0x21;

/// Version of the format that extracting needs: 2.0, for compressed entries.
const NEEDS: u16 = 20;

/// Version of the writer: 2.0 under Unix, so that modes of files count.
const MADE_BY: u16 = 0x0314;

/// Compression method: deflate.
const DEFLATE: u16 = 8;

/// Returns a zip archive of files in the order given.
pub(crate) fn zip(files: &[File]) -> Result<Vec<u8>> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let offset = u32::try_from(archive.len()).context("the archive is too large")?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&file.bytes)?;
        let packed = encoder.finish()?;
        let mut sum = Crc::new();
        sum.update(&file.bytes);
        // What the header of an entry and its line in the directory have in common.
        let mut common = Vec::new();
        common.extend([NEEDS, 0, DEFLATE, 0, DATE].map(u16::to_le_bytes).concat());
        common.extend(sum.sum().to_le_bytes());
        common.extend(u32::try_from(packed.len())?.to_le_bytes());
        common.extend(u32::try_from(file.bytes.len())?.to_le_bytes());
        common.extend(u16::try_from(file.path.len())?.to_le_bytes());
        common.extend([0; 2]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(file.path.as_bytes());
        archive.extend(packed);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | file.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(file.path.as_bytes());
    }
    let start = u32::try_from(archive.len()).context("the archive is too large")?;
    let count = u16::try_from(files.len()).context("too many files for a wheel")?;
    let size = u32::try_from(directory.len())?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].map(u16::to_le_bytes).concat());
    archive.extend([size, start].map(u32::to_le_bytes).concat());
    archive.extend([0; 2]);
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{self, Folder};
    use std::process::Command;

    #[test]
    fn python_reads_what_was_written() -> Result<()> {
        let files =
            [File::text("a/b", 0o755, &"text ".repeat(100)), File::text("empty", 0o644, "")];
        let folder = Folder(std::env::temp_dir().join(format!("dwell-zip-{}", std::process::id())));
        std::fs::create_dir_all(&folder.0)?;
        let path = folder.0.join("a.zip");
        std::fs::write(&path, zip(&files)?)?;
        let script = "import sys, zipfile\n\
            z = zipfile.ZipFile(sys.argv[1])\n\
            assert z.testzip() is None\n\
            for i in z.infolist(): print(i.filename, i.file_size, oct(i.external_attr >> 16), i.date_time[0])";
        let mut python = Command::new("python3");
        let shown = process::output(python.args(["-c", script]).arg(&path))?;
        assert_eq!(shown, "a/b 500 0o100755 1980\nempty 0 0o100644 1980\n");
        Ok(())
    }
}
