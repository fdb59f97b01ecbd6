//! Writers of tar and ar archives and gzip streams that depend on their input alone.
//!
//! System tools write owners, times and the order of a directory into archives, and each version compresses a little
//! differently. Artefacts of one commit must be the same bytes everywhere, so these formats are written here: ustar as
//! POSIX.1-1988 has it, the common form of ar (which Debian packages use), and gzip without a name or a time.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::tree::File;

/// Size of a tar block in bytes.
const BLOCK: usize = 512;

/// Kind of a tar entry: a regular file.
const REGULAR: u8 = b'0';

/// Kind of a tar entry: a directory.
const DIRECTORY: u8 = b'5';

/// Returns a tar archive of files, with an entry for each directory that contains any. All belong to root and have the
/// time `epoch` in seconds. Entries are in the order of their paths, below the directory `root`.
pub(crate) fn tar(files: &[File], root: &str, epoch: u64) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directories: Vec<String> = Vec::new();
    let mut sorted: Vec<(String, &File)> =
        files.iter().map(|file| (format!("{root}{}", file.path), file)).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, file) in sorted {
        for (at, _) in path.match_indices('/') {
            let directory = path.get(..=at).unwrap_or_default().to_owned();
            if directory != "./" && !directories.contains(&directory) {
                entry(&mut archive, &directory, DIRECTORY, 0o755, &[], epoch)?;
                directories.push(directory);
            }
        }
        entry(&mut archive, &path, REGULAR, file.mode, &file.bytes, epoch)?;
    }
    // The end of an archive is two empty blocks.
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Ok(archive)
}

/// Adds the header of an entry and its content.
fn entry(
    archive: &mut Vec<u8>,
    path: &str,
    kind: u8,
    mode: u32,
    bytes: &[u8],
    epoch: u64,
) -> Result<()> {
    let (prefix, name) = split_name(path)?;
    let mut header = [0_u8; BLOCK];
    put(&mut header, 0, name.as_bytes());
    put(&mut header, 100, format!("{mode:07o}").as_bytes());
    put(&mut header, 108, b"0000000\x000000000\x00");
    put(&mut header, 124, format!("{:011o}", bytes.len()).as_bytes());
    put(&mut header, 136, format!("{epoch:011o}").as_bytes());
    put(&mut header, 148, b"        ");
    put(&mut header, 156, &[kind]);
    put(&mut header, 257, b"ustar\x0000root");
    put(&mut header, 297, b"root");
    put(&mut header, 345, prefix.as_bytes());
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
    archive.extend(header);
    archive.extend(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    Ok(())
}

/// Writes bytes at a place of a header.
fn put(header: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    header[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Divides a path into the two fields of a ustar header: at most 155 bytes of directories and 100 bytes of name.
fn split_name(path: &str) -> Result<(&str, &str)> {
    if path.len() <= 100 {
        return Ok(("", path));
    }
    let found = path.match_indices('/').map(|(at, _)| path.split_at(at)).find(|(prefix, name)| {
        let name = name.len() - 1;
        prefix.len() <= 155 && name > 0 && name <= 100
    });
    let (prefix, name) = found.with_context(|| format!("{path} is too long for tar"))?;
    Ok((prefix, name.trim_start_matches('/')))
}

/// Compresses bytes with gzip at the highest level.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns an ar archive of files given by their names and contents, in this order.
pub(crate) fn ar(members: &[(&str, &[u8])], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        ensure!(name.len() <= 16, "{name} is too long for ar");
        let size = bytes.len();
        writeln!(archive, "{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{size:<10}`", 0, 0, "100644")?;
        archive.extend(*bytes);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn listing(program: &str, arguments: &[&str], archive: &[u8]) -> Result<String> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child.stdin.take().context("no pipe")?.write_all(archive)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{program} failed");
        Ok(String::from_utf8(output.stdout)?)
    }

    #[test]
    fn tar_reads_what_was_written() -> Result<()> {
        let long = format!("{}/{}", "d".repeat(90), "n".repeat(90));
        let files = [File::text("bin/b", 0o755, "two"), File::text(&long, 0o644, "one")];
        let archive = gzip(&tar(&files, "root/", 1_000_000_000)?)?;
        let shown =
            listing("tar", &["--utc", "--full-time", "--numeric-owner", "-tzvf", "-"], &archive)?;
        let lines: Vec<String> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let time = "2001-09-09 01:46:40";
        let directory = "d".repeat(90);
        let expected = [
            format!("drwxr-xr-x 0/0 0 {time} root/"),
            format!("drwxr-xr-x 0/0 0 {time} root/bin/"),
            format!("-rwxr-xr-x 0/0 3 {time} root/bin/b"),
            format!("drwxr-xr-x 0/0 0 {time} root/{directory}/"),
            format!("-rw-r--r-- 0/0 3 {time} root/{long}"),
        ];
        assert_eq!(lines, expected);
        Ok(())
    }

    #[test]
    fn members_of_ar_begin_at_even_places() -> Result<()> {
        let archive = ar(&[("debian-binary", b"2.0\n"), ("a", b"x"), ("b", b"")], 0)?;
        assert_eq!(archive.len(), 8 + 60 + 4 + 60 + 2 + 60);
        assert_eq!(archive.get(8..24), Some(&b"debian-binary   "[..]));
        assert!(ar(&[("a-name-of-17-bytes", b"")], 0).is_err());
        Ok(())
    }
}
