//! Compares with GNU addr2line: both must return the same frames for every byte of a program.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use dwell_symbols::{Module, Resolver, ReturnOffset, Site};

use crate::support::{Workshop, have};

/// Function, base name of the file and line, innermost first.
type Frames = Vec<(String, String, Option<u32>)>;

fn judged(program: &Path, addresses: &[u64]) -> Vec<Frames> {
    let mut child = Command::new("addr2line")
        .args(["--addresses", "--functions", "--inlines", "--demangle", "--exe"])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let question: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(question.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut all: Vec<Frames> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            continue;
        }
        let place = lines.next().unwrap();
        let (file, number) = place.rsplit_once(':').unwrap();
        let number = number.split(' ').next().unwrap().parse().ok().filter(|number| *number > 0);
        all.last_mut().unwrap().push((line.to_owned(), base(file), number));
    }
    all
}

fn base(file: &str) -> String {
    file.rsplit('/').next().unwrap_or(file).to_owned()
}

fn ours(site: &Site) -> Frames {
    site.frames
        .iter()
        .map(|frame| {
            let function = frame.function.clone().unwrap_or_else(|| "??".to_owned());
            (function, base(frame.file.as_deref().unwrap_or("??")), frame.line)
        })
        .collect()
}

#[test]
fn every_byte_of_a_program_is_as_the_judge_says() {
    if !have(&["gcc", "g++", "gfortran", "addr2line"]) {
        return;
    }
    for (build, compare_names) in [
        ("gcc -O2 -g chain.c main.c", true),
        ("gcc -O3 -gdwarf-4 chain.c main.c", true),
        ("gfortran -O2 -g chain.f90", false),
        ("g++ -O2 -g chain.cpp", false),
        ("g++ -O1 -g chain.cpp", false),
    ] {
        let workshop = Workshop::new();
        workshop.run("gcc -O2 -g -c probe.c -o probe.o");
        workshop.run(&format!("{build} probe.o -o program"));
        let calls = workshop.calls("program");
        let offsets = calls.values().map(|(_, at)| at.0);
        let (low, high) = (offsets.clone().min().unwrap(), offsets.max().unwrap());
        let addresses: Vec<u64> = (low - 500..high + 1500).collect();
        let program = workshop.path("program");
        let expected = judged(&program, &addresses);
        assert_eq!(expected.len(), addresses.len());
        let module = Module::new(&program, []);
        let sites = Resolver::new()
            .resolve_all(addresses.iter().map(|address| (&module, ReturnOffset(address + 1))));
        let (mut compared, mut padding) = (0, 0);
        for ((address, expected), site) in addresses.iter().zip(&expected).zip(&sites) {
            // Without debug information the judge takes a file from the symbol table.
            if expected.iter().all(|(_, _, line)| line.is_none()) {
                continue;
            }
            // Between functions, where nothing is called, lines go on; the judge lets functions go
            // on too.
            if site.frames.iter().all(|frame| frame.function.is_none()) {
                padding += 1;
                continue;
            }
            let mut found = ours(site);
            let mut expected = expected.clone();
            if !compare_names {
                // Names are spelt differently: `outside_`, `{lambda(int)#1}::operator()`.
                found.iter_mut().chain(&mut expected).for_each(|frame| frame.0.clear());
            }
            assert_eq!(found, expected, "{build}: {address:#x}");
            compared += 1;
        }
        println!("{build}: {compared} of {} addresses, {padding} of padding", addresses.len());
        assert!(compared > 300 && padding < compared / 5, "{build}: {compared}, {padding}");
    }
}
