//! Calls that come through libraries that wrap a runtime belong to the lines that called the wrapper.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use dwell_model::archive::THROUGH;
use otf2::id::{RefKind, StringRef};
use otf2::{AttributeValue, Definition, Event};
use serde_json::Value;

use crate::armci;
use crate::lab::Lab;
use crate::mpi::{Mpi, analysed, lines};
use crate::needs;
use crate::trace::Trace;

/// A called function, the line of the call, and the wrapper between them.
type Site = (String, u32, String);

/// Returns the sites that a program has said, `wrapped NAME line=L through=W calls=N`, with the numbers of calls.
fn said(text: &str) -> BTreeMap<Site, u64> {
    let mut sites = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("wrapped ")) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let word = |key: &str| {
            let found = words.iter().find_map(|word| word.strip_prefix(key));
            found.unwrap_or_else(|| panic!("no {key} in {line}"))
        };
        let through = word("through=").trim_matches('-').to_owned();
        let site = (words[1].to_owned(), word("line=").parse().unwrap(), through);
        *sites.entry(site).or_default() += word("calls=").parse::<u64>().unwrap();
    }
    sites
}

/// Returns the sites in a file of source code that a process has recorded calls from, and the functions that they are in.
fn recorded(trace: &Trace, process: u64, file: &str) -> BTreeMap<Site, (u64, String)> {
    let definitions = &trace.definitions;
    let text = |id: StringRef| definitions.string(id).map(|text| text.to_string()).unwrap();
    let mut through = BTreeMap::new();
    for definition in definitions.iter() {
        if let Definition::CallingContextProperty(property) = definition
            && text(property.name) == THROUGH
            && let AttributeValue::String(value) = property.value
        {
            let other = through.insert(property.calling_context, text(value));
            assert_eq!(other, None, "one wrapper for each site");
        }
    }
    let mut sites: BTreeMap<Site, (u64, String)> = BTreeMap::new();
    for (location, _) in trace.locations().into_iter().filter(|it| it.1 == process) {
        let mut reader = trace.archive.events(location).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let Event::Enter(enter) = record.event else { continue };
            let site = record.attributes.iter().find_map(|it| match it.value {
                AttributeValue::CallingContext(context) => Some(context),
                _ => None,
            });
            let Some(context) = site else { continue };
            let found = definitions.calling_context(context).unwrap();
            let place = found.source_code_location.0.into();
            let Some(Definition::SourceCodeLocation(place)) =
                definitions.find(RefKind::SourceCodeLocation, place)
            else {
                continue;
            };
            if text(place.file).ends_with(file) {
                let through = through.get(&context).cloned().unwrap_or_default();
                let site = (trace.region(enter.region), place.line_number, through);
                let found = sites.entry(site).or_insert((0, trace.region(found.region)));
                found.0 += 1;
            }
        }
    }
    sites
}

/// Compiles the program and its library, in the directory of the lab.
fn compile(mpi: &Mpi, lab: &Lab) -> PathBuf {
    let library = mpi.compile(lab, "tests/programs/libwrapped.c", &["-shared", "-fPIC"]);
    fs::rename(library, lab.path("libwrapped.so")).unwrap();
    let here = lab.path("");
    let [search, at_run] = ["-L", "-Wl,-rpath,"].map(|it| format!("{it}{}", here.display()));
    mpi.compile(lab, "tests/programs/wrapped.cpp", &[&search, "-lwrapped", &at_run, "-lstdc++"])
}

#[test]
fn headers_and_libraries_that_wrap_mpi_are_passed() {
    if !needs::tools("MPI", &["g++"]) {
        return;
    }
    let wrappers = OsStr::new("DWELL_WRAPPERS=halo::,libwrapped.so");
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile(&mpi, &lab);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let expected = said(&plain.stdout);
        assert_eq!(expected.len(), 7, "{plain:?}");
        for option in ["", "--sample", "--unwind=16", "--overhead=2%"] {
            let command = [OsStr::new(option), program.as_os_str()];
            let command = if option.is_empty() { &command[1..] } else { &command[..] };
            let run = mpi.measured_with(&lab, 2, &[wrappers], command);
            assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{option} {run:?}");
            analysed(&lab, &lab.experiment());
            lab.accepted_by_otf2_print(&lab.experiment());
            let trace = Trace::read(&lab.experiment());
            for process in 0..2 {
                let found = recorded(&trace, process, "wrapped.cpp");
                assert!(found.values().all(|it| it.1 == "step" || it.1 == "main"), "{found:?}");
                let calls = |(site, (calls, _)): (Site, (u64, String))| (site, calls);
                let mut found: BTreeMap<Site, u64> = found.into_iter().map(calls).collect();
                found.retain(|site, _| !["MPI_Init", "MPI_Finalize"].contains(&site.0.as_str()));
                assert_eq!(found, expected, "{option} process {process}");
            }
        }
        // The headline of a finding is the user's line.
        let text = fs::read_to_string(lab.experiment().join("findings.json")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let steps = document["findings"].as_array().unwrap().iter();
        let steps = steps.filter_map(|it| it["path"].as_array()?.last());
        let wrapped: Vec<&Value> = steps.filter(|it| it["through"] == "libwrapped.so").collect();
        assert!(!wrapped.is_empty(), "{text}");
        assert!(wrapped.iter().all(|it| it["caller"] == "step"), "{wrapped:?}");
        // Without the setting the wrappers are not known, and nothing in the archive says anything of them.
        let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{run:?}");
        analysed(&lab, &lab.experiment());
        let found = recorded(&Trace::read(&lab.experiment()), 0, ".c");
        assert!(found.keys().all(|it| it.2.is_empty() && it.0 == "MPI_Bcast"), "{found:?}");
        assert_eq!(found.values().map(|it| it.0).sum::<u64>(), 16);
    }
}

/// Calls of ARMCI that Global Arrays makes belong to the line that called Global Arrays.
#[test]
fn global_arrays_is_passed() {
    let Some((mpi, lab)) = armci::open() else { return };
    let program = armci::compile(&mpi, &lab, "tests/programs/ga_tasks.c", Some("ga"), armci::GA);
    let run = mpi.measured(&lab, 2, &[program.as_os_str(), OsStr::new("12")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    analysed(&lab, &lab.experiment());
    let found = recorded(&Trace::read(&lab.experiment()), 0, "ga_tasks.c");
    for name in ["ARMCI_Malloc", "ARMCI_Rmw", "ARMCI_Free"] {
        assert!(found.keys().any(|it| it.0 == name), "{name} {found:?}");
    }
    for (name, _, through) in found.keys() {
        // The program and Global Arrays both call MPI.
        if !name.starts_with("MPI_") {
            let is_ga = name.starts_with("GA_") || name.starts_with("NGA_");
            let expected = if is_ga { "" } else { "Global Arrays" };
            assert_eq!(through, expected, "{name} {found:?}");
        }
    }
}

/// Lines of Python, by mpi4py with the interpreter that `DWELL_MPI4PY` names.
#[test]
fn lines_of_python_are_told() {
    let Some(python) = std::env::var_os("DWELL_MPI4PY") else {
        return needs::missing("MPI4PY", "DWELL_MPI4PY names no Python");
    };
    let program = Lab::repository().join("tests/programs/wrapped.py");
    for mpi in Mpi::of_the_system() {
        let lab = Lab::bare();
        let command = [python.as_os_str(), program.as_os_str()];
        let plain = mpi.run(&lab, 2, &command);
        let expected = said(&plain.stdout);
        if plain.code != Some(0) || !plain.stdout.contains("of 2") {
            eprintln!("skipped: {mpi:?} does not start this Python");
            continue;
        }
        let functions = |text: &str| -> BTreeMap<u32, String> {
            let word = |line: &str, key: &str| {
                line.split(' ').find_map(|it| Some(it.strip_prefix(key)?.to_owned())).unwrap()
            };
            let lines = text.lines().filter(|it| it.starts_with("wrapped "));
            lines.map(|it| (word(it, "line=").parse().unwrap(), word(it, "function="))).collect()
        };
        for option in ["--set=clock=system", "--unwind=16", "--sample"] {
            let run = mpi.measured(&lab, 2, &[&[OsStr::new(option)], &command[..]].concat());
            assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{option} {run:?}");
            analysed(&lab, &lab.experiment());
            let trace = Trace::read(&lab.experiment());
            for process in 0..2 {
                let found = recorded(&trace, process, "wrapped.py");
                for (line, function) in functions(&plain.stdout) {
                    // Up to 3.11 a comprehension is a function of its own inside.
                    let at =
                        |it: &(&Site, &(u64, String))| it.0.1 == line && it.0.0 == "MPI_Barrier";
                    let named = found.iter().find(at).map(|it| it.1.1.clone()).unwrap_or_default();
                    assert!(named.starts_with(&function), "{option} {line} {found:?}");
                }
                let calls = |(site, (calls, _)): (Site, (u64, String))| (site, calls);
                let mut found: BTreeMap<Site, u64> = found.into_iter().map(calls).collect();
                found.retain(|site, _| site.0 == "MPI_Barrier");
                assert_eq!(found, expected, "{option} process {process}");
            }
        }
    }
}
