//! Debug information outside of the program, or missing: stripped programs, debug files, split and shared debug
//! information.

use std::fs;
use std::path::PathBuf;

use dwell_symbols::{Module, Options, Quality, Reason, Resolver, Site};

use crate::support::{Calls, Workshop, check, have};

const INLINED: &[(&str, &str)] = &[("inner", "inner"), ("middle", "middle"), ("outer", "outer")];

/// Resolves a call with the files that are on disk now.
fn site(calls: &Calls, label: &str, options: Options) -> Site {
    let (module, at) = &calls[label];
    options.resolver().resolve(module, *at)
}

#[track_caller]
fn check_exact(calls: &Calls, options: &Options) {
    let site = site(calls, "inlined", options.clone());
    assert_eq!(site.quality, Quality::Exact);
    check(&site, "chain.c", INLINED);
}

/// Checks that a site has a function and nothing more.
#[track_caller]
fn check_symbol(site: &Site, function: &str) {
    let Quality::Symbol { offset, reason } = &site.quality else { panic!("{site:?}") };
    assert_eq!(*reason, Reason::Stripped);
    assert!((1..200).contains(offset), "{site:?}");
    assert_eq!(site.frames.len(), 1);
    assert_eq!(site.frames[0].function.as_deref(), Some(function));
    assert_eq!((&site.frames[0].file, site.frames[0].line), (&None, None));
}

#[test]
fn without_debug_information_symbols_remain() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    workshop.run("strip -g program");
    check_symbol(&site(&calls, "inlined", Options::new()), "outer");
    check_symbol(&site(&calls, "hidden", Options::new()), "hidden");
    check_symbol(&site(&calls, "last", Options::new()), "last");
    workshop.run("strip program");
    for label in ["inlined", "hidden", "last"] {
        let site = site(&calls, label, Options::new());
        assert_eq!(site.quality, Quality::Module { reason: Reason::Stripped });
        assert!(site.frames.is_empty());
    }
}

#[test]
fn a_stripped_library_has_what_it_exports() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -shared -fPIC chain.c probe.c -o libchain.so");
    workshop.run("gcc -O2 -g main.c -L. -lchain -Wl,-rpath,$ORIGIN -o program");
    let calls = workshop.calls("program");
    workshop.run("strip libchain.so");
    check_symbol(&site(&calls, "inlined", Options::new()), "outer");
    check_symbol(&site(&calls, "last", Options::new()), "last");
    // Not given to a neighbour that happens to be exported:
    let hidden = site(&calls, "hidden", Options::new());
    assert_eq!(hidden.quality, Quality::Module { reason: Reason::Stripped });
}

#[test]
fn debug_links_are_followed() {
    if !have(&["gcc", "strip", "objcopy"]) {
        return;
    }
    // With a build id as proof, and with a checksum.
    for options in ["", "-Wl,--build-id=none"] {
        let workshop = Workshop::new();
        let calls = workshop.c_program(options);
        assert_eq!(calls["inlined"].0.build_id.is_none(), !options.is_empty());
        workshop.run("objcopy --only-keep-debug program program.debug");
        workshop.run("strip program");
        workshop.run("objcopy --add-gnu-debuglink=program.debug program");
        check_exact(&calls, &Options::new());

        let elsewhere = workshop.path("elsewhere");
        let own = workshop.path("").strip_prefix("/").unwrap().to_owned();
        for place in [workshop.path(".debug"), elsewhere.clone(), elsewhere.join(own)] {
            fs::create_dir_all(&place).unwrap();
            let moved = place.join("program.debug");
            fs::rename(workshop.path("program.debug"), &moved).unwrap();
            check_exact(&calls, &Options::new().debug_directory(&elsewhere));
            fs::rename(moved, workshop.path("program.debug")).unwrap();
        }

        // The debug file of another program is not used.
        workshop.run("gcc -O1 -g -Wl,--build-id=none chain.c main.c probe.c -o other");
        workshop.run("objcopy --only-keep-debug other program.debug");
        let wrong = site(&calls, "inlined", Options::new());
        let path = workshop.path("program.debug");
        let reason = match options {
            "" => Reason::BuildId { path, found: None },
            _ => Reason::Checksum { path },
        };
        assert_eq!(wrong.quality, Quality::Module { reason });
        assert!(wrong.frames.is_empty());
    }
}

#[test]
fn debug_files_are_found_by_build_id() {
    if !have(&["gcc", "strip", "objcopy"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    let module = calls["inlined"].0.clone();
    let id = module.build_id.clone().unwrap().to_string();
    let (first, rest) = id.split_at(2);
    workshop.run("objcopy --only-keep-debug program kept");
    workshop.run("strip program");
    let system = format!("system/.build-id/{first}/{rest}.debug");
    let places: [(&str, &str, PathBuf); 3] = [
        ("system", &system, workshop.path("system")),
        ("inside", &format!("{first}/{rest}.debug"), workshop.path("")),
        ("debuginfod", &format!("cache/{id}/debuginfo"), workshop.path("cache")),
    ];
    for (what, place, directory) in places {
        let place = workshop.path(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(workshop.path("kept"), &place).unwrap();
        println!("{what}");
        let options = Options::new().debug_directory(directory);
        check_exact(&calls, &options);
        let status = options.resolver().status(&module);
        assert_eq!(status.debug.as_deref(), Some(&*place));
        assert!(status.verified && status.symbols && status.problems.is_empty(), "{status:?}");
        fs::remove_file(place).unwrap();
    }

    // The program is gone, or has been built again, and its debug file is still there.
    let place = workshop.path(&system);
    fs::rename(workshop.path("kept"), &place).unwrap();
    let options = Options::new().debug_directory(workshop.path("system"));
    fs::remove_file(workshop.path("program")).unwrap();
    check_exact(&calls, &options);
    workshop.c_program("-O1");
    check_exact(&calls, &options);
    let status = options.resolver().status(&module);
    assert!(matches!(&status.problems[..], [Reason::BuildId { .. }]), "{status:?}");
}

#[test]
fn split_debug_information_is_loaded() {
    if !have(&["gcc"]) {
        return;
    }
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let workshop = Workshop::new();
        workshop.run(&format!("gcc -O2 -gsplit-dwarf {version} -c chain.c main.c probe.c"));
        workshop.run("gcc chain.o main.o probe.o -o program");
        let calls = workshop.calls("program");
        check_exact(&calls, &Options::new());

        // Another compilation of the same file.
        fs::copy(workshop.path("main.dwo"), workshop.path("chain.dwo")).unwrap();
        let path = workshop.path("chain.dwo");
        let missing = Quality::Line { reason: Reason::SplitMissing { path } };
        assert_eq!(site(&calls, "inlined", Options::new()).quality, missing);

        // Lines are in the program itself.
        fs::remove_file(workshop.path("chain.dwo")).unwrap();
        let mut resolver = Resolver::new();
        for _ in 0..2 {
            let (module, at) = &calls["inlined"];
            let site = resolver.resolve(module, *at);
            assert_eq!(site.quality, missing);
            check(&site, "chain.c", &[("outer", "inner")]);
        }
    }
}

#[test]
fn packed_split_debug_information_is_loaded() {
    if !have(&["gcc", "dwp"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -gsplit-dwarf -gdwarf-4 -c chain.c main.c probe.c");
    workshop.run("gcc chain.o main.o probe.o -o program");
    let calls = workshop.calls("program");
    workshop.run("dwp chain.dwo main.dwo probe.dwo -o program.dwp");
    for unit in ["chain.dwo", "main.dwo", "probe.dwo"] {
        fs::remove_file(workshop.path(unit)).unwrap();
    }
    check_exact(&calls, &Options::new());
}

#[test]
fn what_dwz_has_shared_is_found() {
    if !have(&["gcc", "g++", "dwz"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -c probe.c -o probe.o");
    for program in ["one", "two"] {
        workshop.run(&format!("g++ -O2 -g chain.cpp probe.o -o {program}"));
    }
    let calls = workshop.calls("one");
    workshop.run("dwz -m shared one two");
    let expected = [
        ("grid::Halo<double>::inner(double)", "inner"),
        ("grid::Halo<double>::exchange(double)", "exchange"),
    ];
    let exact = site(&calls, "template", Options::new());
    assert_eq!(exact.quality, Quality::Exact);
    check(&exact, "chain.cpp", &expected);

    fs::remove_file(workshop.path("shared")).unwrap();
    let mut resolver = Resolver::new();
    let module = &calls["template"].0;
    let status = resolver.status(module);
    assert_eq!(status.problems, [Reason::Gone { path: workshop.path("shared") }]);
    let site = resolver.resolve(module, calls["template"].1);
    let outermost = site.frames.last().and_then(|frame| frame.function.as_deref());
    assert_eq!(outermost, Some("grid::Halo<double>::exchange(double)"));
}

#[test]
fn another_file_is_not_believed() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let before = workshop.c_program("");
    let after = workshop.c_program("-O1");
    let (module, _) = &before["inlined"];
    let site = site(&before, "inlined", Options::new());
    let found = after["inlined"].0.build_id.clone();
    let reason = Reason::BuildId { path: module.path.clone(), found };
    assert!(reason.to_string().contains("another file than was measured"));
    assert_eq!(site.quality, Quality::Module { reason });
    assert!(site.frames.is_empty());

    // Without a recorded build id the file is believed.
    let unknown = Module { build_id: None, ..module.clone() };
    let mut resolver = Resolver::new();
    assert!(!resolver.status(&unknown).verified);
    assert_eq!(resolver.resolve(&unknown, after["inlined"].1).quality, Quality::Exact);
}

#[test]
fn what_is_no_module_is_said() {
    let workshop = Workshop::new();
    let mut resolver = Resolver::new();
    let mut reason = |path: PathBuf| {
        let module = Module::new(path, []);
        let site = resolver.resolve(&module, dwell_symbols::ReturnOffset(0x1234));
        assert!(site.frames.is_empty());
        site.quality.reason().unwrap().clone()
    };
    for absent in ["absent", "main.c/absent", ""] {
        let path = workshop.path(absent);
        assert_eq!(reason(path.clone()), Reason::Gone { path });
    }
    assert_eq!(reason("linux-vdso.so.1".into()), Reason::Gone { path: "linux-vdso.so.1".into() });
    assert_eq!(reason(PathBuf::new()), Reason::Gone { path: PathBuf::new() });
    assert!(matches!(reason(workshop.path("main.c")), Reason::Damaged { .. }));
}
