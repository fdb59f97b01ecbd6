//! Damaged files give a site and a reason, never a panic, and in good time.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dwell_symbols::{Module, Options, Quality, Reason, Resolver, ReturnOffset, Site};

use crate::support::{Calls, Workshop, have};

/// Number of rounds that pass in a second or two. Raise it for a thorough search.
const ROUNDS: usize = 400;

/// Resolves addresses at and around the calls of a program whose file was damaged.
fn resolve(workshop: &Workshop, calls: &Calls, name: &str) -> Vec<Site> {
    let options = Options::new().debug_directory(workshop.path("debug"));
    let mut resolver = options.memory(64 << 20).resolver();
    let module = Module { path: workshop.path(name), build_id: None };
    let _ = resolver.status(&module);
    let offsets = calls.values().flat_map(|(_, at)| [at.0, at.0 + 7, at.0 / 2]);
    let offsets: Vec<u64> = offsets.chain([u64::MAX]).collect();
    offsets.iter().map(|at| resolver.resolve(&module, ReturnOffset(*at))).collect()
}

/// Damages one file, and resolves a program that needs it.
fn damage(workshop: &Workshop, calls: &Calls, victim: &str, program: &str, seed: u64) {
    let rounds = std::env::var("DWELL_DAMAGE_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let path = workshop.path(victim);
    let whole = fs::read(&path).unwrap();
    let intact = resolve(workshop, calls, program);
    let sections = interesting(&whole);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut changed = 0;
    for round in 0..rounds {
        let mut bytes = whole.clone();
        match round % 4 {
            0 => bytes.truncate(random.usize(..whole.len())),
            1 => {
                for _ in 0..=random.usize(..8) {
                    let at = random.usize(..whole.len());
                    bytes[at] ^= 1 << random.usize(..8);
                }
            }
            // Where it hurts: headers of the file and of sections, debug sections.
            _ => {
                let (start, size) = sections[random.usize(..sections.len())];
                for _ in 0..=random.usize(..20) {
                    let at = start + random.usize(..size);
                    let extreme = [0, 1, 0x7f, 0x80, 0xff, random.u8(..)];
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = extreme[random.usize(..extreme.len())];
                    }
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        let begin = Instant::now();
        let sites = resolve(workshop, calls, program);
        changed += usize::from(sites != intact);
        assert!(begin.elapsed() < Duration::from_secs(20), "round {round} of {victim}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(resolve(workshop, calls, program), intact);
    assert!(changed > rounds / 20, "{victim}: {changed} of {rounds} rounds made a difference");
}

/// Returns offsets and sizes of the headers and of the sections that are read, for a 64-bit little-endian file.
fn interesting(bytes: &[u8]) -> Vec<(usize, usize)> {
    let number = |at: usize, size: usize| {
        let field = bytes[at..at + size].iter().rev();
        field.fold(0_usize, |value, byte| value << 8 | usize::from(*byte))
    };
    let (headers, count) = (number(0x28, 8), number(0x3c, 2));
    let mut places = vec![(0, 64), (headers, count * 64)];
    let names = number(headers + number(0x3e, 2) * 64 + 0x18, 8);
    for header in (0..count).map(|index| headers + index * 64) {
        let name = &bytes[names + number(header, 4)..];
        let name = name.split(|byte| *byte == 0).next().unwrap();
        let is_read = [&b".debug"[..], b".symtab", b".dynsym", b".strtab", b".note", b".gnu_debug"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let size = number(header + 0x20, 8);
        if is_read && size > 0 {
            places.push((number(header + 0x18, 8), size));
        }
    }
    places
}

#[test]
fn damaged_programs() {
    if !have(&["gcc"]) {
        return;
    }
    for (seed, options) in ["-gdwarf-4", "-gdwarf-5", "-gz=zlib"].into_iter().enumerate() {
        let workshop = Workshop::new();
        let calls = workshop.c_program(options);
        damage(&workshop, &calls, "program", "program", seed as u64);
    }
}

#[test]
fn damaged_symbol_tables() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("-rdynamic");
    workshop.run("strip -g program");
    damage(&workshop, &calls, "program", "program", 10);
}

#[test]
fn damaged_programs_in_other_languages() {
    if !have(&["gcc", "g++", "gfortran"]) {
        return;
    }
    for (seed, build) in ["g++ -O2 -g chain.cpp", "gfortran -O2 -g chain.f90"].iter().enumerate() {
        let workshop = Workshop::new();
        workshop.run("gcc -O2 -g -c probe.c -o probe.o");
        workshop.run(&format!("{build} probe.o -o program"));
        let calls = workshop.calls("program");
        damage(&workshop, &calls, "program", "program", 20 + seed as u64);
    }
}

#[test]
fn damaged_debug_files() {
    if !have(&["gcc", "objcopy", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    let id = calls["last"].0.build_id.clone().unwrap().to_string();
    let place = PathBuf::from(format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    fs::create_dir_all(workshop.path("").join(place.parent().unwrap())).unwrap();
    workshop.run(&format!("objcopy --only-keep-debug program {}", place.display()));
    workshop.run("strip program");
    damage(&workshop, &calls, place.to_str().unwrap(), "program", 30);
}

#[test]
fn damaged_split_debug_information() {
    if !have(&["gcc", "dwp"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -gsplit-dwarf -gdwarf-4 -c chain.c main.c probe.c");
    workshop.run("gcc chain.o main.o probe.o -o program");
    let calls = workshop.calls("program");
    damage(&workshop, &calls, "chain.dwo", "program", 40);
    workshop.run("dwp chain.dwo main.dwo probe.dwo -o program.dwp");
    fs::remove_file(workshop.path("chain.dwo")).unwrap();
    damage(&workshop, &calls, "program.dwp", "program", 41);
}

#[test]
fn nesting_beyond_reason_does_not_exhaust_the_stack() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    for (depth, quality) in [
        (390, Quality::Exact),
        (1_000_000, {
            let (path, why) = (workshop.path("deep"), "debug information nested too deeply".into());
            Quality::Symbol { offset: 2, reason: Reason::Damaged { path, why } }
        }),
    ] {
        let linked = "-nostdlib -shared -Wl,-Ttext=0x10000 deep.s -o deep";
        workshop.run(&format!("gcc -Wa,--defsym,DEPTH={depth} {linked}"));
        let module = Module::new(workshop.path("deep"), []);
        let site = Resolver::new().resolve(&module, ReturnOffset(0x10002));
        assert_eq!(site.quality, quality);
        let outermost = site.frames.last().and_then(|frame| frame.function.as_deref());
        assert_eq!(outermost, Some("deep"));
    }
}
