//! A staged chunk, as a process leaves it that is killed at each step, and its way back into the event file.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use dwell_unify::stage::{self, Staged, put_back};
use otf2::close::scan_events;
use otf2::encode::{EncodeError, Encoder};
use otf2::event::{Enter, Event, Leave};
use otf2::files;
use otf2::id::{RegionRef, Time};

const CHUNK: usize = 256 * 1024;

/// A directory with the files of one thread.
struct Thread {
    folder: tempfile::TempDir,
    encoder: Encoder<Vec<u8>>,
    /// Number of chunks before the current one, the first of which is not staged.
    chunks: u64,
    events: u64,
    /// The current chunk once it is complete: filled up with zeros, and with its checksum.
    full: Option<Vec<u8>>,
}

impl Thread {
    /// A thread that has filled so many chunks, and begun another.
    fn new(chunks: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let encoder = Encoder::new(vec![0; CHUNK]).unwrap();
        let mut thread = Self { folder, encoder, chunks: 0, events: 0, full: None };
        fs::write(thread.events_path(), vec![0; CHUNK]).unwrap();
        while thread.chunks < chunks {
            thread.fill();
            thread.reserve();
            thread.copy(CHUNK);
            thread.begin_next();
        }
        thread
    }

    fn events_path(&self) -> PathBuf {
        self.folder.path().join("0.0.evt")
    }

    fn staged_path(&self) -> PathBuf {
        stage::path(&self.events_path())
    }

    /// Writes events until the chunk has no room for another.
    fn fill(&mut self) {
        while self.write() {}
    }

    fn write(&mut self) -> bool {
        let region = RegionRef(0);
        let event: Event<'_> = match self.events % 2 {
            0 => Enter { region }.into(),
            _ => Leave { region }.into(),
        };
        let written = self.encoder.write(Time(self.events * 7), event);
        assert!(matches!(written, Ok(()) | Err(EncodeError::Full)));
        self.events += u64::from(written.is_ok());
        written.is_ok()
    }

    /// Reserves the place of the next chunk.
    fn reserve(&self) {
        let file = fs::File::options().write(true).open(self.events_path()).unwrap();
        file.set_len((self.chunks + 2) * CHUNK as u64).unwrap();
    }

    /// Completes the chunk and copies so many bytes of it to its place.
    fn copy(&mut self, bytes: usize) {
        let file = fs::File::options().write(true).open(self.events_path()).unwrap();
        let at = self.chunks * CHUNK as u64;
        let mut full = self.encoder.memory().clone();
        full[self.encoder.used()..].fill(0);
        full[CHUNK - 8..CHUNK - 4].copy_from_slice(b"CRC1");
        let sum = crc32fast::hash(&full[..CHUNK - 4]);
        full[CHUNK - 4..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&full[..bytes], at).unwrap();
        self.full = Some(full);
    }

    fn begin_next(&mut self) {
        let full = self.full.take();
        let same = |chunk: &[u8]| full.is_none_or(|full| full == chunk).then_some(()).ok_or(());
        self.encoder.reuse(same).unwrap();
        self.chunks += 1;
    }

    /// Leaves the memory in the file, as a kill does.
    fn kill(&self) {
        let memory = self.full.as_ref().unwrap_or(self.encoder.memory());
        fs::write(self.staged_path(), memory).unwrap();
    }

    /// Puts the chunk back, twice, and checks that the event file is sound and has all events.
    #[track_caller]
    fn is_whole(&self) {
        assert_ne!(put_back(&self.events_path(), CHUNK as u64).unwrap(), Staged::Damaged);
        assert!(!self.staged_path().exists());
        let bytes = fs::read(self.events_path()).unwrap();
        self.has_all();
        // As if recovery had been killed before it removed the chunk.
        self.kill();
        assert_ne!(put_back(&self.events_path(), CHUNK as u64).unwrap(), Staged::Damaged);
        assert!(fs::read(self.events_path()).unwrap() == bytes);
    }

    #[track_caller]
    fn has_all(&self) {
        let scan = scan_events(&self.events_path(), CHUNK as u64, |_, _| true).unwrap();
        assert_eq!(scan.damage(), []);
        assert_eq!(scan.events(), self.events);
    }
}

#[test]
fn a_thread_killed_while_it_fills_a_chunk() {
    for chunks in [1, 3] {
        for events in [0, 1, 5000] {
            let mut thread = Thread::new(chunks);
            (0..events).for_each(|_| assert!(thread.write()));
            thread.kill();
            thread.is_whole();
        }
    }
}

#[test]
fn a_thread_killed_while_it_changes_chunks() {
    for chunks in 1..3 {
        // The chunk is full.
        let mut thread = Thread::new(chunks);
        thread.fill();
        thread.kill();
        thread.is_whole();
        // There is a place for the next one.
        thread.reserve();
        thread.kill();
        thread.is_whole();
        // Some of it has been copied.
        for pages in [0, 1, 63, 64] {
            let mut thread = Thread::new(chunks);
            thread.fill();
            thread.reserve();
            thread.copy(pages * 4096);
            thread.kill();
            thread.is_whole();
        }
        // All of it has been copied, and the next one is being begun: its header is not complete.
        let mut thread = Thread::new(chunks);
        thread.fill();
        thread.reserve();
        thread.copy(CHUNK);
        thread.begin_next();
        thread.kill();
        let staged = fs::File::options().write(true).open(thread.staged_path()).unwrap();
        staged.write_all_at(&[0], 0).unwrap();
        assert_eq!(put_back(&thread.events_path(), CHUNK as u64).unwrap(), Staged::Nothing);
        assert!(!thread.staged_path().exists());
        thread.has_all();
        // The next one has been begun.
        thread.kill();
        thread.is_whole();
    }
}

#[test]
fn a_thread_killed_before_it_began_a_staged_chunk() {
    let mut thread = Thread::new(0);
    thread.fill();
    thread.copy(CHUNK);
    for length in [0, CHUNK] {
        fs::write(thread.staged_path(), vec![0; length]).unwrap();
        assert_eq!(put_back(&thread.events_path(), CHUNK as u64).unwrap(), Staged::Nothing);
        assert!(!thread.staged_path().exists());
        thread.has_all();
    }
    assert_eq!(put_back(&thread.events_path(), CHUNK as u64).unwrap(), Staged::Nothing);
}

/// Puts a damaged chunk back. It must be kept, and the event file must tell that events are missing.
#[track_caller]
fn damaged(thread: &Thread, change: impl FnOnce(&mut Vec<u8>)) {
    thread.kill();
    let mut bytes = fs::read(thread.staged_path()).unwrap();
    change(&mut bytes);
    fs::write(thread.staged_path(), &bytes).unwrap();
    assert_eq!(put_back(&thread.events_path(), CHUNK as u64).unwrap(), Staged::Damaged);
    assert!(fs::read(files::damaged(&thread.staged_path())).unwrap() == bytes);
    assert!(!thread.staged_path().exists());
}

#[test]
fn a_damaged_chunk_is_kept_and_its_events_are_missed() {
    let begun = || {
        let mut thread = Thread::new(2);
        (0..5000).for_each(|_| assert!(thread.write()));
        thread
    };
    let scan =
        |thread: &Thread| scan_events(&thread.events_path(), CHUNK as u64, |_, _| true).unwrap();
    // Events in the midst.
    let thread = begun();
    damaged(&thread, |bytes| bytes[8192..12288].fill(0));
    let found = scan(&thread);
    assert!(!found.is_sound() && found.lost().is_some_and(|lost| lost > 4000), "{found:?}");
    assert_eq!(found.events() + found.lost().unwrap(), thread.events);
    // The file is cut.
    let thread = begun();
    damaged(&thread, |bytes| bytes.truncate(10_000));
    assert!(!scan(&thread).is_sound());
    // The header: the number of chunks tells, and nothing is put back.
    let thread = begun();
    damaged(&thread, |bytes| bytes[0] = 7);
    assert_eq!(scan(&thread).chunks(), 2);
    let thread = begun();
    damaged(&thread, |bytes| bytes[..4096].fill(0));
    assert_eq!(scan(&thread).chunks(), 2);
}

#[test]
fn no_chunk_of_a_damaged_event_file_is_overwritten() {
    for cut in [0, CHUNK + 5000, 2 * CHUNK + 4096] {
        let mut thread = Thread::new(3);
        (0..5000).for_each(|_| assert!(thread.write()));
        thread.kill();
        let before = fs::read(thread.events_path()).unwrap();
        fs::write(thread.events_path(), &before[..cut]).unwrap();
        assert_eq!(put_back(&thread.events_path(), CHUNK as u64).unwrap(), Staged::PutBack);
        let after = fs::read(thread.events_path()).unwrap();
        assert!(after[..cut] == before[..cut], "{cut}");
        let scan = scan_events(&thread.events_path(), CHUNK as u64, |_, _| true).unwrap();
        assert!(!scan.is_sound() && scan.events() >= 5000, "{cut}: {scan:?}");
    }
    // The header of the last full chunk.
    let mut thread = Thread::new(3);
    (0..5000).for_each(|_| assert!(thread.write()));
    thread.kill();
    let file = fs::File::options().write(true).open(thread.events_path()).unwrap();
    file.write_all_at(&[0; 4096], 2 * CHUNK as u64).unwrap();
    let before = fs::read(thread.events_path()).unwrap();
    put_back(&thread.events_path(), CHUNK as u64).unwrap();
    let after = fs::read(thread.events_path()).unwrap();
    assert!(after[..3 * CHUNK] == before[..3 * CHUNK]);
}

#[test]
fn links_are_not_followed() {
    let thread = Thread::new(1);
    let victim = thread.folder.path().join("victim");
    let chunk: &Path = &thread.staged_path();
    fs::write(&victim, thread.encoder.memory()).unwrap();
    symlink(&victim, chunk).unwrap();
    assert!(put_back(&thread.events_path(), CHUNK as u64).is_err());
    fs::remove_file(chunk).unwrap();
    thread.kill();
    fs::rename(thread.events_path(), &victim).unwrap();
    symlink(&victim, thread.events_path()).unwrap();
    let before = fs::read(&victim).unwrap();
    assert!(put_back(&thread.events_path(), CHUNK as u64).is_err());
    assert!(fs::read(&victim).unwrap() == before);
    assert!(chunk.exists());
}
