//! The Rust side of `cargo xtask bench otf2`: reads an archive, or encodes to memory, and prints
//! `events=… seconds=… checksum=…` as its counterpart over the C library does.
//!
//! The checksum folds the location, and for each event its kind, its time and every field, so that
//! no side can win by leaving out work: `fold(h, v) = rotl(h, 5) ^ v`.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use otf2::encode::{EncodeError, Encoder};
use otf2::event::{AnyEvent, Enter, Leave, RmaGet, RmaOpCompleteBlocking};
use otf2::id::{LocationRef, MatchingId, Rank, RegionRef, RmaWinRef, Time};
use otf2::read::{EventRecord, Visitor};
use otf2::{Archive, Event};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args.as_slice() {
        ["read", anchor] => read(anchor, 1),
        ["read", anchor, "--threads", threads] => read(anchor, threads.parse().unwrap_or(1)),
        ["write-memory", locations, events, "regular"] => match (locations.parse(), events.parse())
        {
            (Ok(locations), Ok(events)) => write_memory(locations, events),
            _ => Err("not a number".into()),
        },
        _ => {
            Err("usage: bench read ANCHOR [--threads N] | write-memory LOCATIONS EVENTS regular"
                .into())
        }
    };
    match result {
        Ok((events, time, checksum)) => {
            println!("events={events} seconds={:.6} checksum={checksum:016x}", time.as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(u64, Duration, u64), Box<dyn std::error::Error + Send + Sync>>;

#[inline(always)]
fn fold(hash: u64, value: u64) -> u64 {
    hash.rotate_left(5) ^ value
}

/// Folds an event and all of its fields into a hash.
#[inline(always)]
fn fold_event(hash: u64, time: Time, event: &Event<'_>) -> u64 {
    let head = |kind: u64| fold(hash, time.0 ^ kind << 56);
    match event {
        Event::Enter(e) => fold(head(12), u64::from(e.region.0)),
        Event::Leave(e) => fold(head(13), u64::from(e.region.0)),
        Event::RmaGet(e) => {
            let h = fold(fold(head(47), u64::from(e.win.0)), u64::from(e.remote.0));
            fold(fold(h, e.bytes), e.matching_id.0)
        }
        Event::RmaPut(e) => {
            let h = fold(fold(head(46), u64::from(e.win.0)), u64::from(e.remote.0));
            fold(fold(h, e.bytes), e.matching_id.0)
        }
        Event::RmaOpCompleteBlocking(e) => {
            fold(fold(head(49), u64::from(e.win.0)), e.matching_id.0)
        }
        Event::RmaOpCompleteNonBlocking(e) => {
            fold(fold(head(50), u64::from(e.win.0)), e.matching_id.0)
        }
        Event::RmaOpCompleteRemote(e) => fold(fold(head(52), u64::from(e.win.0)), e.matching_id.0),
        Event::RmaAtomic(e) => {
            let h = fold(fold(head(48), u64::from(e.win.0)), u64::from(e.remote.0));
            let h = fold(fold(h, u64::from(u8::from(e.kind))), e.bytes_sent);
            fold(fold(h, e.bytes_received), e.matching_id.0)
        }
        Event::RmaCollectiveBegin(_) => head(37),
        Event::RmaCollectiveEnd(e) => {
            let h = fold(
                fold(head(38), u64::from(u8::from(e.collective_op))),
                u64::from(e.sync_level.0),
            );
            let h = fold(fold(h, u64::from(e.win.0)), u64::from(u32::from(e.root)));
            fold(fold(h, e.bytes_sent), e.bytes_received)
        }
        Event::RmaWaitChange(e) => fold(head(45), u64::from(e.win.0)),
        Event::RmaSync(e) => {
            let h = fold(fold(head(44), u64::from(e.win.0)), u64::from(e.remote.0));
            fold(h, u64::from(u8::from(e.sync_type)))
        }
        Event::RmaAcquireLock(e) => {
            let h = fold(fold(head(41), u64::from(e.win.0)), u64::from(e.remote.0));
            fold(fold(h, e.lock_id.0), u64::from(u8::from(e.lock_type)))
        }
        Event::RmaReleaseLock(e) => {
            let h = fold(fold(head(43), u64::from(e.win.0)), u64::from(e.remote.0));
            fold(h, e.lock_id.0)
        }
        other => head(u64::from(other.id())),
    }
}

/// Counts events and folds them into a hash.
struct Fold {
    events: u64,
    hash: u64,
}

impl Visitor for Fold {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.hash = fold_event(self.hash, record.time, &record.event);
        self.events += 1;
        ControlFlow::Continue(())
    }
}

impl Sink for Fold {
    fn put(
        &mut self,
        time: Time,
        event: impl AnyEvent + Into<Event<'static>>,
    ) -> Result<(), EncodeError> {
        self.hash = fold_event(self.hash, time, &event.into());
        Ok(())
    }
}

impl Sink for Encoder<Vec<u8>> {
    #[inline(always)]
    fn put(
        &mut self,
        time: Time,
        event: impl AnyEvent + Into<Event<'static>>,
    ) -> Result<(), EncodeError> {
        match self.write(time, event) {
            Err(EncodeError::Full) => {
                self.reuse(|_| Ok(()))?;
                self.write(time, event)
            }
            done => done,
        }
    }
}

fn read(anchor: &str, threads: usize) -> Outcome {
    let archive = Archive::open(anchor)?;
    let locations: Vec<LocationRef> = archive.definitions()?.locations().map(|l| l.id).collect();
    let next = AtomicUsize::new(0);
    let work = || -> otf2::Result<(u64, u64)> {
        let (mut events, mut sum) = (0_u64, 0_u64);
        while let Some(&location) = locations.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut reader = archive.events(location)?;
            let mut fold = Fold { events: 0, hash: location.0 };
            reader.visit(&mut fold)?;
            events += fold.events;
            sum = sum.wrapping_add(fold.hash);
        }
        Ok((events, sum))
    };
    let begin = Instant::now();
    let (mut events, mut sum) = (0, 0_u64);
    std::thread::scope(|scope| -> otf2::Result<()> {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let results = others.into_iter().map(|t| t.join().unwrap_or(Ok((0, 0))));
        for result in results.chain([mine]) {
            let (count, part) = result?;
            events += count;
            sum = sum.wrapping_add(part);
        }
        Ok(())
    })?;
    Ok((events, begin.elapsed(), sum))
}

/// Receives the events that [`regular`] makes.
trait Sink {
    fn put(
        &mut self,
        time: Time,
        event: impl AnyEvent + Into<Event<'static>>,
    ) -> Result<(), EncodeError>;
}

/// Makes the events of a location: a blocking get, again and again.
#[inline(always)]
fn regular(
    location: u64,
    locations: u64,
    events: u64,
    sink: &mut impl Sink,
) -> Result<(), EncodeError> {
    let (region, win) = (RegionRef(1), RmaWinRef(0));
    for k in 0..events.div_ceil(4) {
        let matching_id = MatchingId(k);
        let remote = Rank(((location + 1 + k) % locations) as u32);
        let time = |i: u64| Time(1000 + location + 100 * (4 * k + i));
        let left = events - 4 * k;
        sink.put(time(0), Enter { region })?;
        if left > 1 {
            sink.put(time(1), RmaGet { win, remote, bytes: 8192, matching_id })?;
        }
        if left > 2 {
            sink.put(time(2), RmaOpCompleteBlocking { win, matching_id })?;
        }
        if left > 3 {
            sink.put(time(3), Leave { region })?;
        }
    }
    Ok(())
}

fn write_memory(locations: u64, events: u64) -> Outcome {
    // One warm chunk, used again and again, as the other side has it.
    let mut memory = vec![1_u8; 1024 * 1024];
    let mut time = Duration::ZERO;
    let mut count = 0;
    for location in 0..locations {
        let mut encoder = Encoder::new(memory)?;
        let begin = Instant::now();
        regular(location, locations, events, &mut encoder)?;
        time += begin.elapsed();
        count += encoder.events();
        memory = encoder.finish().memory;
    }
    let mut sum = 0_u64;
    for location in 0..locations {
        let mut fold = Fold { events: 0, hash: location };
        regular(location, locations, events, &mut fold)?;
        sum = sum.wrapping_add(fold.hash);
    }
    Ok((count, time, sum))
}
