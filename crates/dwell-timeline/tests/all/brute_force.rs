//! Everything that the index says, compared with a search through the whole dependency log that shares no code with it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dwell_analyze::{Analysis, LocationNumber, Options, analyze};
use dwell_log::piece::Piece;
use dwell_log::read::{DependencyLog, Segment};
use dwell_model::waits::Wait;
use dwell_report::{Class, CnodeId, Query};
use dwell_synth::{halo, random, ring, sor, srumma};
use dwell_timeline::{
    CLASSES, CallPath, Index, Location, Sharpness, Span, Sums, Time, build, fingerprint,
};
use otf2::Archive;

/// An archive that was analysed, with its log and index.
struct Run {
    directory: tempfile::TempDir,
    analysis: Analysis,
    query: Query,
    index: Index,
    locations: Vec<Searched>,
}

/// All that the log says of a location, in the order of time.
struct Searched {
    segments: Vec<(Segment, bool)>,
    waits: Vec<Piece>,
    /// Numbers of call paths in the report, by their places in the log.
    paths: Vec<Option<CallPath>>,
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let file =
        |it: fs::DirEntry| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap());
    fs::read_dir(directory).unwrap().map(|it| file(it.unwrap())).collect()
}

fn on_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(work)
}

impl Run {
    fn of(archive: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut options = Options::default();
        options.log = Some(log.clone());
        let analysis = analyze(&Archive::open(archive).unwrap(), &options, &|_| ()).unwrap();
        let report = directory.path().join("trace.cubex");
        analysis.write_report(&report).unwrap();
        let query = Query::open(&report).unwrap();
        let classes = query.call_classes();
        let log = DependencyLog::open(&log).unwrap();
        let print = fingerprint(&report).unwrap();
        let make = |name: &str, threads: usize| {
            let at = directory.path().join(name);
            on_threads(threads, || build(&log, &classes, print, &at, &|_| ()).unwrap())
        };
        let index = make("one", 1);
        make("three", 3);
        let one = files(&directory.path().join("one"));
        let three = files(&directory.path().join("three"));
        assert!(one == three, "the bytes depend on the number of threads");
        // What was interrupted is continued, and becomes the same.
        for name in ["timeline", "timeline-0000"] {
            fs::remove_file(directory.path().join("three").join(name)).unwrap();
        }
        make("three", 2);
        assert!(
            files(&directory.path().join("three")) == one,
            "an index that was continued differs"
        );
        let mut known: BTreeMap<(Option<CallPath>, String), CallPath> = BTreeMap::new();
        let mut locations = Vec::new();
        for number in 0..log.locations() {
            let location = log.location(LocationNumber::new(number)).unwrap().unwrap();
            let mut segments: Vec<_> = location
                .segments()
                .map(|it| it.unwrap())
                .map(|it| (it, location.paths()[it.path].is_judged))
                .collect();
            segments.reverse();
            let mut waits: Vec<Piece> = location.waits().map(|it| it.unwrap()).collect();
            waits.reverse();
            let mut paths: Vec<Option<CallPath>> = Vec::new();
            for path in location.paths() {
                let above = paths.get(path.caller).copied().flatten();
                let next = CallPath(known.len() as u32);
                let is_root = paths.is_empty();
                let key = (above, format!("{:?}", path.step));
                paths.push((!is_root).then(|| *known.entry(key).or_insert(next)));
            }
            locations.push(Searched { segments, waits, paths });
        }
        assert_eq!(known.len(), query.meta().cnodes().len(), "call paths of the report");
        Self { directory, analysis, query, index, locations }
    }

    /// Returns the time of each class at a location in a span, second by second of the smallest kind.
    fn sums(&self, location: usize, span: Span) -> Sums {
        let classes = self.query.call_classes();
        let it = &self.locations[location];
        let mut sums = [0; CLASSES];
        for (segment, is_judged) in &it.segments {
            let own = Span { from: time(segment.begin), to: time(segment.end) };
            let own_part = own.common(span);
            if own_part.length() == 0 {
                continue;
            }
            // All waits of the call, as spans that may overlap.
            let mut waits: Vec<Span> = it
                .waits
                .iter()
                .filter(|it| it.what.wait().is_some() && *is_judged)
                .filter(|it| it.to > segment.begin && it.to <= segment.end)
                .map(|it| Span { from: time(it.from), to: time(it.to) }.common(own_part))
                .collect();
            waits.sort();
            let (mut covered, mut reached) = (0, own_part.from);
            for wait in waits {
                let rest = Span { from: wait.from.max(reached), to: wait.to };
                covered += rest.length();
                reached = reached.max(wait.to);
            }
            sums[Class::Wait as usize] += covered;
            let class = it.paths[segment.path].map_or(Class::Compute, |it| classes[it.0 as usize]);
            let class = if *is_judged && class == Class::Compute { Class::Runtime } else { class };
            sums[class as usize] += own_part.length() - covered;
        }
        sums
    }
}

fn time(time: dwell_trace::time::Time) -> Time {
    Time(time.nanoseconds())
}

struct Numbers(fastrand::Rng);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end.max(1))
    }

    fn span(&mut self, of: Span) -> Span {
        let length = of.length();
        let short = 1 << self.below(63 - u64::from(length.leading_zeros()));
        let from = of.from.0 + self.below(length);
        Span { from: Time(from), to: Time(from + 1 + self.below(short)) }
    }
}

fn check(archive: &Path) {
    let run = Run::of(archive);
    let index = &run.index;
    let all = index.span();
    let count = index.locations();
    let whole = Span { from: Time(0), to: all.to };
    assert_eq!(all.length(), run.analysis.length());
    let mut numbers = Numbers(fastrand::Rng::with_seed(count.into()));

    for location in 0..count {
        let (sums, _) = index.totals(Location(location)).unwrap();
        assert_eq!(sums, run.sums(location as usize, whole), "location {location}");
    }
    tiles(&run, &mut numbers);
    slices(&run, &mut numbers);
    worst(&run, &mut numbers);
    added(&run, &mut numbers);
    instances(&run);
    if let Some(path) = run.analysis.critical_path() {
        let steps: Vec<_> = index
            .critical_path()
            .iter()
            .map(|it| (it.location.0, it.span.from, it.span.to))
            .collect();
        let expected: Vec<_> =
            path.steps.iter().map(|it| (it.location.place(), time(it.from), time(it.to))).collect();
        assert_eq!(steps, expected);
    }
    let blame: u64 = (0..count).map(|it| index.totals(Location(it)).unwrap().1).sum();
    let waits: u64 =
        (0..count).map(|it| index.totals(Location(it)).unwrap().0[Class::Wait as usize]).sum();
    assert_eq!(blame, waits);
    damage(&run);
}

/// Shares of a tile against sums of the search, as parts of 255.
fn tiles(run: &Run, numbers: &mut Numbers) {
    let index = &run.index;
    let count = index.locations();
    for round in 0..24 {
        let span = match round {
            0 => index.span(),
            1 => Span { from: Time(0), to: Time(index.span().to.0 * 2) },
            _ => numbers.span(index.span()),
        };
        let first = numbers.below(count.into()) as u32;
        let end = first + 1 + numbers.below(u64::from(count - first)) as u32;
        let (first, end) = if round % 3 == 0 { (0, count) } else { (first, end) };
        let band = 1 + numbers.below(u64::from(end - first)) as u32;
        let columns = 1 + numbers.below(40) as usize;
        let range = Location(first)..Location(end);
        let tile = index.tile(range.clone(), band, span, columns, Sharpness::Exact).unwrap();
        let coarse = index.tile(range, band, span, columns, Sharpness::Coarse).unwrap();
        assert_eq!((tile.rows, tile.columns), ((end - first).div_ceil(band) as usize, columns));
        for row in 0..tile.rows {
            let from = first + row as u32 * band;
            let locations = from..(from + band).min(end);
            for column in 0..columns {
                let part = Span {
                    from: span.column(column, columns),
                    to: span.column(column + 1, columns),
                };
                let whole = part.length() as f64 * locations.len() as f64;
                let mut sums = [0; CLASSES];
                for location in locations.clone() {
                    let own = run.sums(location as usize, part);
                    sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                }
                for (class, sum) in sums.iter().enumerate() {
                    let exact = if whole > 0.0 { 255.0 * *sum as f64 / whole } else { 0.0 };
                    let said = f64::from(tile.cell(row, column)[class]);
                    assert!((said - exact).abs() <= 0.5 + 1e-6, "{said} for {exact} in {part:?}");
                }
            }
        }
        // A column that is much longer than the bins of the pyramid is nearly exact there too.
        if span.length() / columns as u64 > index.span().to.0 / 4 {
            let far = tile.shares.iter().zip(&coarse.shares).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(far.unwrap_or(0) <= 8, "{far:?} in {span:?} of {:?}", index.span());
        }
    }
    // Columns that are bins, where the pyramid is exact.
    let span = Span { from: Time(0), to: index.span().to };
    for band in [1, index.group_size(), count] {
        let range = Location(0)..Location(count);
        let exact = index.tile(range.clone(), band, span, 64, Sharpness::Exact).unwrap();
        let coarse = index.tile(range, band, span, 64, Sharpness::Coarse).unwrap();
        let far = exact.shares.iter().zip(&coarse.shares).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(far.unwrap_or(0) <= 1, "{far:?} with {band}");
    }
}

/// Sums over all slices of a span are those of the search.
fn added(run: &Run, numbers: &mut Numbers) {
    for round in 0..12 {
        let span = if round == 0 { run.index.span() } else { numbers.span(run.index.span()) };
        type Added = BTreeMap<Location, Sums>;
        let add = |sums: &mut Added, location, slice: &dwell_timeline::Slice, time| {
            sums.entry(location).or_default()[run.index.class(slice) as usize] += time;
        };
        let all = [run.index.all_locations()];
        let parts = run.index.add_up(&all, span, u64::MAX, Added::new, add).unwrap().unwrap();
        let found: Added = parts.into_iter().flatten().collect();
        for location in 0..run.index.locations() {
            let sums = found.get(&Location(location)).copied().unwrap_or_default();
            assert_eq!(sums, run.sums(location as usize, span), "{location} in {span:?}");
            assert_eq!(sums, run.index.sums(Location(location), span).unwrap());
        }
        if !found.is_empty() {
            assert!(run.index.add_up(&all, span, 0, || (), |(), _, _, _| ()).unwrap().is_none());
        }
        // Some locations, in two ranges.
        let (few, count) = (run.index.locations() / 3, run.index.locations());
        let some = [Location(0)..Location(few), Location(2 * few)..Location(count)];
        let parts = run.index.add_up(&some, span, u64::MAX, Added::new, add).unwrap().unwrap();
        let of_some: Added = parts.into_iter().flatten().collect();
        let expected =
            found.into_iter().filter(|it| some.iter().any(|range| range.contains(&it.0)));
        assert_eq!(of_some, expected.collect());
        let listed =
            |it: u32| run.index.slices(Location(it), span, usize::MAX).unwrap().unwrap().len();
        let slices =
            some.iter().flat_map(|it| it.start.0..it.end.0).map(listed).sum::<usize>() as u64;
        let least = run.index.least_slices(&some, span).unwrap();
        assert!(least <= slices && slices <= least + 128 * u64::from(count), "{least} of {slices}");
    }
}

/// Slices cover the time of a location without gaps, and say what the log says.
fn slices(run: &Run, numbers: &mut Numbers) {
    for (number, it) in run.locations.iter().enumerate() {
        let location = Location(number as u32);
        let all =
            run.index.slices(location, Span { from: Time(0), to: Time(u64::MAX) }, usize::MAX);
        let all = all.unwrap().unwrap();
        assert!(all.windows(2).all(|it| it[0].span.to == it[1].span.from));
        if let (Some(first), Some(last)) = (it.segments.first(), it.segments.last()) {
            let ends = all.first().zip(all.last()).map(|it| (it.0.span.from, it.1.span.to));
            assert_eq!(ends, Some((time(first.0.begin), time(last.0.end))));
        }
        for _ in 0..8 {
            let span = numbers.span(run.index.span());
            let some = run.index.slices(location, span, usize::MAX).unwrap().unwrap();
            let few = numbers.below(200) as usize;
            let first = run.index.first_slices(location, few).unwrap();
            assert_eq!(first, all[..few.min(all.len())], "the first {few} of {location:?}");
            let expected: Vec<_> =
                all.iter().filter(|it| it.span.common(span).length() > 0).copied().collect();
            assert_eq!(some, expected);
            let at = run.index.at(location, span.from).unwrap();
            let is_at =
                |it: &&dwell_timeline::Slice| it.span.from <= span.from && span.from < it.span.to;
            assert_eq!(at, all.iter().find(is_at).copied());
            assert_eq!(run.index.sums(location, span).unwrap(), run.sums(number, span));
            let sum: u64 =
                run.index.meanwhile(location, span).unwrap().iter().map(|it| it.nanoseconds).sum();
            assert_eq!(sum, expected.iter().map(|it| it.span.common(span).length()).sum::<u64>());
        }
        for slice in all.iter().filter(|it| it.wait.is_some()) {
            let waiting = slice.wait.unwrap();
            let is_of = |piece: &&Piece| {
                time(piece.to) >= slice.span.to
                    && time(piece.from) <= slice.span.from
                    && piece.culprit.place() == waiting.culprit.0
            };
            assert!(it.waits.iter().any(|it| is_of(&it)), "{slice:?}");
        }
    }
}

/// The longest waits of rectangles.
fn worst(run: &Run, numbers: &mut Numbers) {
    let count = run.index.locations();
    let every = Span { from: Time(0), to: Time(u64::MAX) };
    let mut waits = Vec::new();
    for number in 0..count {
        let list = run.index.slices(Location(number), every, usize::MAX).unwrap().unwrap();
        let list = list.into_iter().filter(|it| it.wait.is_some());
        waits.extend(list.map(|it| (Location(number), it)));
    }
    waits.sort_by_key(|(location, it)| {
        (std::cmp::Reverse(it.span.length()), it.span.from, *location)
    });
    for round in 0..12 {
        let span = if round == 0 { every } else { numbers.span(run.index.span()) };
        let first = numbers.below(count.into()) as u32;
        let end = first + 1 + numbers.below(u64::from(count - first)) as u32;
        let most = 1 + numbers.below(50) as usize;
        let odd = round % 2 == 1;
        let wanted = |it: &dwell_timeline::Slice| !odd || it.span.length() % 2 == 1;
        let found =
            run.index.worst_waits(Location(first)..Location(end), span, most, &wanted).unwrap();
        let is_inside = |it: &&(Location, dwell_timeline::Slice)| {
            (first..end).contains(&it.0.0) && it.1.span.common(span).length() > 0 && wanted(&it.1)
        };
        let expected: Vec<_> = waits.iter().filter(is_inside).take(most).copied().collect();
        assert_eq!(found, expected);
    }
}

/// The worst instance of each finding is the one that the analysis names.
fn instances(run: &Run) {
    let begin = run.index.span().from.0;
    let mut compared = 0;
    for finding in run.analysis.findings() {
        let what = Wait::ALL.iter().find(|it| it.about().id == finding.pattern).unwrap();
        let path = CallPath(finding.call_path);
        let name = run.query.call_name(CnodeId(finding.call_path));
        assert_eq!(Some(&name), finding.path.last().map(|it| &it.region), "numbers of call paths");
        let Some(instances) = run.index.instances(path, *what) else { continue };
        let order = |it: &dwell_timeline::Instance| std::cmp::Reverse(it.nanoseconds);
        assert!(instances.worst.is_sorted_by_key(order));
        assert!(instances.count >= instances.worst.len() as u64);
        let (Some(first), Some(worst)) = (instances.worst.first(), &finding.worst) else {
            continue;
        };
        let what = (&finding.pattern, &name, worst, first);
        if *finding.pattern == *"lock_contention" {
            // The analysis names the longest wait for one holder, which may be a part of the wait of a call.
            assert!(first.nanoseconds >= worst.nanoseconds, "{what:?}");
        } else {
            assert_eq!(first.nanoseconds, worst.nanoseconds, "{what:?}");
            let same = instances.worst.iter().filter(|it| it.nanoseconds == worst.nanoseconds);
            let begins: Vec<u64> = same.map(|it| it.span.from.0 - begin).collect();
            assert!(begins.contains(&worst.begin), "{begins:?} {what:?}");
        }
        compared += 1;
    }
    let some = run.index.findings().count();
    assert!(some == 0 || compared > 0, "nothing was compared");
}

/// Bytes that change or are missing are noticed.
fn damage(run: &Run) {
    let directory = run.directory.path().join("one");
    let print = fingerprint(&run.directory.path().join("trace.cubex")).unwrap();
    let every = Span { from: Time(0), to: run.index.span().to };
    let read = || -> dwell_timeline::Result<()> {
        let index = Index::open(&directory, print)?;
        let all = Location(0)..Location(index.locations());
        for sharpness in [Sharpness::Coarse, Sharpness::Exact] {
            index.tile(all.clone(), 1, every, 7, sharpness)?;
        }
        index.worst_waits(all, every, usize::MAX, &|_| true)?;
        Ok(())
    };
    read().unwrap();
    let mut numbers = Numbers(fastrand::Rng::with_seed(7));
    for name in ["timeline", "timeline-0000"] {
        let path = directory.join(name);
        let good = fs::read(&path).unwrap();
        for _ in 0..6 {
            let mut bad = good.clone();
            let at = numbers.below(bad.len() as u64) as usize;
            bad[at] ^= 1 << numbers.below(8);
            fs::write(&path, &bad).unwrap();
            // Rows and blocks that nothing reads may be damaged; no damage leads to a panic.
            let _ = read();
            fs::write(&path, &good[..at]).unwrap();
            assert!(read().is_err(), "{name} cut at {at}");
        }
        fs::write(&path, &good).unwrap();
    }
    let other = dwell_timeline::Fingerprint(print.0 ^ 1);
    let error = Index::open(&directory, other).unwrap_err();
    assert!(matches!(error, dwell_timeline::Error::Stale(_)), "{error}");
}

#[test]
fn random_mixes_of_all_operations() {
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 2 + seed, segments: 5, operations: 12, seed };
        random::generate(&options, directory.path(), &|_| ()).unwrap();
        check(directory.path());
    }
}

#[test]
fn programs_whose_waits_are_known() {
    type Make = dyn Fn(&Path);
    let makers: [&Make; 4] = [
        &|at| drop(halo::generate(&halo::Options { ranks: 5, rounds: 3, seed: 1 }, at, &|_| ())),
        &|at| drop(ring::generate(&ring::Options { ranks: 4, steps: 30, seed: 1 }, at, &|_| ())),
        &|at| drop(sor::generate(&sor::Options { ranks: 70, iterations: 3, seed: 1 }, at, &|_| ())),
        &|at| {
            let options = srumma::Options { ranks: 4, blocks: 200, rounds: 3, seed: 1 };
            drop(srumma::generate(&options, at, &|_| ()));
        },
    ];
    for make in makers {
        let directory = tempfile::tempdir().unwrap();
        make(directory.path());
        check(directory.path());
    }
}

#[test]
fn recorded_programs() {
    let archives = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/archives"));
    let mut count = 0;
    for archive in fs::read_dir(archives).unwrap() {
        let archive = archive.unwrap().path();
        if archive.join("traces.otf2").exists() {
            check(&archive);
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
