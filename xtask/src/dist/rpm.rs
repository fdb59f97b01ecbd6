//! The RPM package, for Red Hat's, SUSE's and related systems.
//!
//! It installs the files of the tarball below `/usr`, with the library in a directory of its own, because no program is
//! linked to it. The file is written here like the other artefacts, so that its bytes depend on the input alone: a lead that
//! only `file` reads, a header with digests, one with everything that is known of the package, and the files as a compressed
//! archive of cpio. Both headers have the same form ([`Header`]).
//!
//! The package is not signed: that is done with a key that is kept elsewhere (`rpmsign --addsign`).

use anyhow::{Context, Result};

use super::Product;
use super::archive::gzip;
use super::sums::{hex, sha256};
use super::tree::File;

/// Build number of the package; that of a version that is packed once.
const RELEASE: &str = "1";

/// Returns the name of the package's file.
pub(crate) fn name(product: &Product<'_>) -> String {
    format!("dwell-{}-{RELEASE}.{}.rpm", product.version, product.arch())
}

/// Directories that belong to the package.
const OWN: &[&str] =
    &["usr/libexec/dwell", "usr/share/doc/dwell", "usr/share/dwell", "usr/share/dwell/skill"];

/// Modes of a directory and of a regular file, beside its permissions.
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// A file of the package, or one of its directories.
struct Entry<'a> {
    path: String,
    mode: u32,
    bytes: &'a [u8],
}

/// Returns the package with the files of an installation. `glibc` is the version of the C library that it needs.
pub(crate) fn write(product: &Product<'_>, files: &[File], glibc: &str) -> Result<Vec<u8>> {
    let own =
        OWN.iter().map(|path| Entry { path: (*path).into(), mode: DIRECTORY | 0o755, bytes: &[] });
    let mut entries: Vec<Entry<'_>> = files.iter().filter_map(entry).chain(own).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let archive = cpio(&entries, product.epoch)?;
    let payload = gzip(&archive)?;
    let header = described(product, &entries, glibc, &payload)?.finish(63)?;
    let mut digests = Header::default();
    digests.texts(273, STRING, &[&hex(&sha256(&header))]);
    digests.numbers(1000, &[(header.len() + payload.len()) as u32]);
    digests.numbers(1007, &[archive.len() as u32]);
    let mut digests = digests.finish(62)?;
    digests.resize(digests.len().next_multiple_of(8), 0);
    Ok([lead(product), digests, header, payload].concat())
}

/// Returns the place of a file of the installation in the system; none if the package leaves it out.
fn entry(file: &File) -> Option<Entry<'_>> {
    let path = match file.path.as_str() {
        // Programs in /usr need no module.
        path if path.starts_with("share/modulefiles") => return None,
        "lib/libdwell.so" => "usr/libexec/dwell/libdwell.so".to_owned(),
        path => format!("usr/{path}"),
    };
    Some(Entry { path, mode: REGULAR | file.mode, bytes: &file.bytes })
}

/// Returns the lead, which says little more than that this is a package.
fn lead(product: &Product<'_>) -> Vec<u8> {
    let processor: u16 = if product.arch() == "aarch64" { 19 } else { 1 };
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
    lead.extend(processor.to_be_bytes());
    lead.extend(format!("dwell-{}-{RELEASE}", product.version).bytes().take(65));
    lead.resize(76, 0);
    // Linux, and digests in a header.
    lead.extend([0, 1, 0, 5]);
    lead.resize(96, 0);
    lead
}

/// Returns an archive in the form of cpio that RPM knows, with names that begin with `./`.
fn cpio(entries: &[Entry<'_>], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let last = Entry { path: "TRAILER!!!".into(), mode: 0, bytes: &[] };
    for (number, it) in (1..).zip(entries.iter().chain([&last])) {
        let is_last = number > entries.len();
        let name = if is_last { it.path.clone() } else { format!("./{}", it.path) };
        let time = if is_last { 0 } else { u32::try_from(epoch)? };
        let inode = if is_last { 0 } else { u32::try_from(number)? };
        let (size, length) = (u32::try_from(it.bytes.len())?, u32::try_from(name.len() + 1)?);
        let fields = [inode, it.mode, 0, 0, 1, time, size, 0, 0, 0, 0, length, 0];
        archive.extend(b"070701");
        fields.iter().for_each(|field| archive.extend(format!("{field:08x}").bytes()));
        archive.extend(name.bytes().chain([0]));
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(it.bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    Ok(archive)
}

/// Flags of what the package needs: a feature of RPM, up to a version of it.
const FEATURE: u32 = 1 << 24 | 1 << 3 | 1 << 1;

/// Returns everything that is known of the package. The numbers of the fields are those of RPM's `rpmtag.h`.
fn described(
    product: &Product<'_>,
    entries: &[Entry<'_>],
    glibc: &str,
    payload: &[u8],
) -> Result<Header> {
    let release = format!("{}-{RELEASE}", product.version);
    let time = u32::try_from(product.epoch)?;
    let mut header = Header::default();
    header.texts(100, TEXTS, &["C"]);
    header.texts(1000, STRING, &["dwell"]);
    header.texts(1001, STRING, &[product.version]);
    header.texts(1002, STRING, &[RELEASE]);
    header.texts(1004, TRANSLATED, &["Finds wait states of one-sided parallel programs"]);
    header.texts(
        1005,
        TRANSLATED,
        &["Dwell records programs with OpenSHMEM, MPI RMA, ARMCI, Global Arrays,\ncoarrays and GASNet without \
           relinking, and says where their processes\nwait, why, and what would remove the wait."],
    );
    header.numbers(1006, &[time]);
    let size: usize = entries.iter().map(|it| it.bytes.len()).sum();
    header.numbers(1009, &[u32::try_from(size)?]);
    header.texts(1014, STRING, &["MIT OR Apache-2.0"]);
    header.texts(1016, TRANSLATED, &["Development/Tools"]);
    header.texts(1021, STRING, &["linux"]);
    header.texts(1022, STRING, &[product.arch()]);
    let each = |value: &dyn Fn(&Entry<'_>) -> u32| entries.iter().map(value).collect::<Vec<u32>>();
    let zeros = each(&|_| 0);
    header.numbers(1028, &each(&|it| it.bytes.len() as u32));
    header.halves(1030, &each(&|it| it.mode));
    header.halves(1033, &zeros);
    header.numbers(1034, &each(&|_| time));
    let digest = |it: &Entry<'_>| match it.mode & DIRECTORY == 0 {
        true => hex(&sha256(it.bytes)),
        false => String::new(),
    };
    header.texts(1035, TEXTS, &entries.iter().map(digest).collect::<Vec<_>>());
    header.texts(1036, TEXTS, &vec![""; entries.len()]);
    // Documents are marked, so that an installation can leave them out.
    let is_document =
        |it: &Entry<'_>| it.path.contains("/share/doc/") || it.path.contains("/share/man/");
    header.numbers(1037, &each(&|it| u32::from(is_document(it)) << 1));
    header.texts(1039, TEXTS, &vec!["root"; entries.len()]);
    header.texts(1040, TEXTS, &vec!["root"; entries.len()]);
    header.texts(1044, STRING, &[&format!("dwell-{release}.src.rpm")]);
    header.numbers(1045, &each(&|_| u32::MAX));
    header.texts(1047, TEXTS, &["dwell"]);
    let libc = format!("libc.so.6(GLIBC_{glibc})(64bit)");
    let needs = [
        (FEATURE, "rpmlib(CompressedFileNames)", "3.0.4-1"),
        (FEATURE, "rpmlib(FileDigests)", "4.6.0-1"),
        (FEATURE, "rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
        (0, libc.as_str(), ""),
        (0, "libgcc_s.so.1()(64bit)", ""),
    ];
    header.numbers(1048, &needs.map(|it| it.0));
    header.texts(1049, TEXTS, &needs.map(|it| it.1));
    header.texts(1050, TEXTS, &needs.map(|it| it.2));
    header.numbers(1095, &each(&|_| 1));
    header.numbers(1096, &(1..=u32::try_from(entries.len())?).collect::<Vec<_>>());
    header.texts(1097, TEXTS, &vec![""; entries.len()]);
    // Equal to the version of the package.
    header.numbers(1112, &[1 << 3]);
    header.texts(1113, TEXTS, &[&release]);
    let split = |it: &Entry<'_>| {
        let (directory, base) = it.path.rsplit_once('/').unwrap_or_default();
        (format!("/{directory}/"), base.to_owned())
    };
    let (directories, bases): (Vec<String>, Vec<String>) = entries.iter().map(split).unzip();
    let mut known = directories.clone();
    known.sort_unstable();
    known.dedup();
    let place = |it: &String| known.binary_search(it).map(|at| at as u32);
    let places: Result<Vec<u32>, _> = directories.iter().map(place).collect();
    header.numbers(1116, &places.ok().context("a directory is not known")?);
    header.texts(1117, TEXTS, &bases);
    header.texts(1118, TEXTS, &known);
    header.texts(1124, STRING, &["cpio"]);
    header.texts(1125, STRING, &["gzip"]);
    header.texts(1126, STRING, &["9"]);
    // Digests are those of SHA-256.
    header.numbers(5011, &[8]);
    header.texts(5092, TEXTS, &[&hex(&sha256(payload))]);
    header.numbers(5093, &[8]);
    Ok(header)
}

/// Types of values in a header.
const HALVES: u32 = 3;
const NUMBERS: u32 = 4;
const STRING: u32 = 6;
const BYTES: u32 = 7;
const TEXTS: u32 = 8;
const TRANSLATED: u32 = 9;

/// Fields in the order of their numbers, and their values one after the other.
#[derive(Default)]
struct Header {
    /// For each field its number, type, place and number of values.
    index: Vec<[u32; 4]>,
    values: Vec<u8>,
}

impl Header {
    /// Adds a field whose values are aligned to their size.
    fn add(
        &mut self,
        field: u32,
        kind: u32,
        size: usize,
        count: usize,
        values: impl IntoIterator<Item = u8>,
    ) {
        self.values.resize(self.values.len().next_multiple_of(size), 0);
        self.index.push([field, kind, self.values.len() as u32, count as u32]);
        self.values.extend(values);
    }

    fn texts(&mut self, field: u32, kind: u32, texts: &[impl AsRef<str>]) {
        let bytes = texts.iter().flat_map(|text| text.as_ref().bytes().chain([0]));
        self.add(field, kind, 1, texts.len(), bytes);
    }

    fn numbers(&mut self, field: u32, numbers: &[u32]) {
        self.add(field, NUMBERS, 4, numbers.len(), numbers.iter().flat_map(|it| it.to_be_bytes()));
    }

    fn halves(&mut self, field: u32, numbers: &[u32]) {
        let bytes = numbers.iter().flat_map(|it| (*it as u16).to_be_bytes());
        self.add(field, HALVES, 2, numbers.len(), bytes);
    }

    /// Returns the bytes of the header. Its first field, `region`, says that all others belong together; its value lies
    /// behind theirs, and is an entry of the index that points back.
    fn finish(mut self, region: u32) -> Result<Vec<u8>> {
        let count = u32::try_from(self.index.len() + 1)?;
        let at = u32::try_from(self.values.len())?;
        self.index.insert(0, [region, BYTES, at, 16]);
        let back = (16 * count).wrapping_neg();
        self.values.extend([region, BYTES, back, 16].iter().flat_map(|it| it.to_be_bytes()));
        let mut bytes = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        bytes.extend(count.to_be_bytes());
        bytes.extend(u32::try_from(self.values.len())?.to_be_bytes());
        bytes.extend(self.index.iter().flatten().flat_map(|it| it.to_be_bytes()));
        bytes.extend(self.values);
        Ok(bytes)
    }
}
