//! Resolves call sites of archives, reads the archives again, and shows them to the C library of OTF2.

use std::fs;
use std::path::PathBuf;

use dwell_symbols::archive::{Error, Missing, Resolved};
use dwell_symbols::{Options, ReturnOffset, resolve_archive};
use otf2::def;
use otf2::enums::{GroupFlag, GroupType, Paradigm};
use otf2::id::{CallpathRef, GroupRef, RegionRef};
use otf2::{List, Result};

use crate::support::recorded::{CALLS, Recorded, address, region};
use crate::support::{Calls, Workshop, have, marked};

fn resolve(recorded: &Recorded) -> Resolved {
    resolve_archive(recorded.path(), &Options::new()).unwrap()
}

/// Builds the program whose functions call several times, and runs it.
fn steps(workshop: &Workshop, options: &str) -> Calls {
    workshop.run(&format!("gcc -O2 -g {options} steps.c main.c probe.c -o steps"));
    workshop.calls("steps")
}

/// Returns the addresses of all calls, in the order of their labels.
fn addresses(calls: &Calls) -> Vec<String> {
    calls.values().map(address).collect()
}

/// Returns the calling contexts that the calls of [`steps`] become.
fn steps_contexts() -> [String; 4] {
    let line = |marker| marked("steps.c", marker);
    [
        format!("advance steps.c:{}", line("first")),
        format!("swap steps.c:{} [advance (steps.c:{})]", line("swap"), line("advance")),
        format!("swap steps.c:{} [finish (steps.c:{})]", line("swap"), line("finish")),
        format!("advance steps.c:{}", line("second")),
    ]
}

fn names(functions: &[[String; 4]]) -> Vec<&str> {
    functions.iter().map(|[name, ..]| name.as_str()).collect()
}

/// Checks that a second resolution changes nothing.
#[track_caller]
fn check_again(recorded: &Recorded) -> Resolved {
    let before = recorded.bytes();
    let resolved = resolve(recorded);
    assert_eq!(recorded.bytes(), before);
    resolved
}

#[test]
fn functions_files_and_lines_take_the_place_of_addresses() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let recorded = Recorded::new(&addresses(&steps(&workshop, "")));
    recorded.check();
    let (before, events) = (recorded.bytes(), recorded.events());
    assert!(recorded.contexts()[0].starts_with("steps+0x"));

    let resolved = resolve(&recorded);
    assert_eq!((resolved.sites, resolved.exact), (4, 4));
    assert_eq!((resolved.incomplete, resolved.unresolved), (vec![], vec![]));
    recorded.check();
    assert_eq!(recorded.contexts(), steps_contexts());
    // One region for each function, in the order of their first sites.
    let functions = recorded.functions();
    assert_eq!(names(&functions), ["advance", "swap"]);
    for [name, canonical, file, description] in &functions {
        assert_eq!(name, canonical);
        assert!(file.ends_with("/steps.c"), "{file}");
        assert_eq!(description, "");
    }
    // Events and mapping tables are as they were.
    let after = recorded.bytes();
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (name, bytes) in &before {
        assert_eq!(after[name] == *bytes, name.starts_with("traces/"), "{name}");
    }
    assert_eq!(recorded.events(), events);
    let print = recorded.print("-G");
    if !print.is_empty() {
        assert_eq!(print.matches("SOURCE_CODE_LOCATION ").count(), 3, "{print}");
        assert_eq!(print.matches("DWELL::INLINED_INTO").count(), 3, "{print}");
        assert!(print.contains("advance (steps.c:"), "{print}");
    }
    assert_eq!(check_again(&recorded), Resolved::default());

    // A process dies when the anchor is in place and the definitions are not.
    fs::write(recorded.path().join("traces.def"), &before["traces.def"]).unwrap();
    assert_eq!(resolve(&recorded).exact, 4);
    assert_eq!(recorded.bytes(), after);
}

#[test]
fn files_keep_their_permissions_and_anchors_can_be_named() {
    use std::os::unix::fs::PermissionsExt as _;
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let recorded = Recorded::new(&addresses(&steps(&workshop, "")));
    let mode = |file: &str| fs::metadata(recorded.path().join(file)).unwrap().permissions().mode();
    for file in ["traces.otf2", "traces.def"] {
        let permissions = fs::Permissions::from_mode(0o640);
        fs::set_permissions(recorded.path().join(file), permissions).unwrap();
    }
    let anchor = recorded.path().join("traces.otf2");
    assert_eq!(resolve_archive(&anchor, &Options::new()).unwrap().exact, 4);
    for file in ["traces.otf2", "traces.def"] {
        assert_eq!(mode(file) & 0o777, 0o640, "{file}");
    }
}

#[test]
fn names_are_demangled_and_linkage_names_kept() {
    if !have(&["gcc", "g++"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.cpp_program();
    let recorded = Recorded::new(&[address(&calls["template"]), address(&calls["lambda"])]);
    resolve(&recorded);
    recorded.check();
    let line = |marker| marked("chain.cpp", marker);
    let expected = format!(
        "grid::Halo<double>::inner(double) chain.cpp:{} \
         [grid::Halo<double>::exchange(double) (chain.cpp:{})",
        line("inner"),
        line("exchange"),
    );
    assert!(recorded.contexts()[0].starts_with(&expected), "{:?}", recorded.contexts());
    let functions = recorded.functions();
    assert_eq!(functions[0][1], "_ZN4grid4HaloIdE5innerEd");
    // Its mangled name comes from the symbol table.
    assert!(functions[1][0].contains("{lambda(int)#1}::operator()"), "{functions:?}");
    assert!(functions[1][1].starts_with("_ZZ"), "{functions:?}");
}

#[test]
fn what_is_missing_is_said_and_found_later() {
    if !have(&["gcc", "strip", "objcopy"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = steps(&workshop, "");
    workshop.run("objcopy --only-keep-debug steps kept");
    workshop.run("strip steps");
    let recorded = Recorded::new(&addresses(&calls));
    let module = workshop.path("steps").to_str().unwrap().to_owned();

    // Without symbols nothing changes.
    let resolved = check_again(&recorded);
    assert_eq!((resolved.sites, resolved.exact, resolved.symbol_only), (4, 0, 0));
    let [Missing { module: of, reason, sites: 4 }] = &resolved.unresolved[..] else {
        panic!("{resolved:?}");
    };
    assert_eq!(*of, module);
    assert!(reason.contains("compile with -g"), "{reason}");
    assert!(recorded.contexts()[3].starts_with("steps+0x"));

    // A debug file turns up.
    let id = calls["first"].0.build_id.clone().unwrap().to_string();
    fs::create_dir_all(workshop.path("debug").join(&id)).unwrap();
    fs::rename(workshop.path("kept"), workshop.path("debug").join(&id).join("debuginfo")).unwrap();
    let options = Options::new().debug_directory(workshop.path("debug"));
    assert_eq!(resolve_archive(recorded.path(), &options).unwrap().exact, 4);
    recorded.check();
    assert_eq!(recorded.contexts(), steps_contexts());
}

#[test]
fn symbols_are_functions_without_lines() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let mut calls = addresses(&steps(&workshop, ""));
    workshop.run("strip -g steps");
    // Functions of the same name in another program are others.
    let other = workshop.path("other").to_str().unwrap().to_owned();
    fs::copy(workshop.path("steps"), &other).unwrap();
    calls.push(calls[0].replace(workshop.path("steps").to_str().unwrap(), &other));
    let recorded = Recorded::new(&calls);
    let resolved = resolve(&recorded);
    assert_eq!((resolved.sites, resolved.symbol_only), (5, 5));
    assert_eq!(resolved.unresolved, []);
    assert_eq!(resolved.incomplete.iter().map(|missing| missing.sites).collect::<Vec<_>>(), [1, 4]);
    recorded.check();
    assert_eq!(recorded.contexts(), ["advance", "advance", "finish", "advance", "advance"]);
    let functions = recorded.functions();
    assert_eq!(names(&functions), ["advance", "finish", "advance"]);
    assert!(functions.iter().all(|[_, _, file, _]| file.is_empty()));
    check_again(&recorded);
}

#[test]
fn lines_alone_come_with_the_functions_of_symbols() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -gsplit-dwarf -c steps.c main.c probe.c");
    workshop.run("gcc steps.o main.o probe.o -o steps");
    let calls = workshop.calls("steps");
    fs::remove_file(workshop.path("steps.dwo")).unwrap();
    let recorded = Recorded::new(&[address(&calls["first"]), address(&calls["inlined in finish"])]);
    let resolved = resolve(&recorded);
    assert_eq!((resolved.sites, resolved.line_only), (2, 2));
    assert!(resolved.incomplete[0].reason.contains("steps.dwo"), "{resolved:?}");
    recorded.check();
    let line = |marker| marked("steps.c", marker);
    assert_eq!(
        recorded.contexts(),
        [format!("advance steps.c:{}", line("first")), format!("finish steps.c:{}", line("swap"))]
    );
}

#[test]
fn some_are_found_now_and_others_later() {
    if !have(&["gcc", "strip"]) {
        return;
    }
    let workshop = Workshop::new();
    let here = addresses(&steps(&workshop, ""));
    let (there, gone) = (workshop.path("steps"), workshop.path("gone"));
    let moved = |text: &str| text.replace(there.to_str().unwrap(), gone.to_str().unwrap());
    let id = here[0].split(' ').nth(1).unwrap();
    let sites = [
        moved(&here[0]),
        here[1].clone(),
        here[0].replace(id, "build_id=what"),
        moved(&here[2]),
        here[3].clone(),
    ];
    let recorded = Recorded::new(&sites);
    let events = recorded.events();
    let resolved = resolve(&recorded);
    assert_eq!((resolved.sites, resolved.exact), (5, 2));
    let missing: Vec<_> = resolved
        .unresolved
        .iter()
        .map(|it| (it.module.clone(), it.reason.clone(), it.sites))
        .collect();
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(
        missing,
        [
            (text(&gone), format!("{}: no such file", gone.display()), 2),
            (text(&there), "the build id in the archive cannot be read".into(), 1),
        ]
    );
    recorded.check();
    let [first, advance, finish, second] = steps_contexts();
    let contexts = recorded.contexts();
    assert_eq!((&contexts[1], &contexts[4]), (&advance, &second));
    for (site, name) in [(0, "gone+0x"), (2, "steps+0x"), (3, "gone+0x")] {
        assert!(contexts[site].starts_with(name), "{contexts:?}");
    }
    // Those that are still addresses come last, and are what they were.
    let functions = recorded.functions();
    assert_eq!(names(&functions[..2]), ["swap", "advance"]);
    let still: Vec<&str> = functions[2..].iter().map(|[.., text]| text.as_str()).collect();
    assert_eq!(still, [&sites[0], &sites[2], &sites[3]]);
    check_again(&recorded);

    // The program is back: its functions are those that are there already.
    fs::copy(&there, &gone).unwrap();
    let resolved = resolve(&recorded);
    assert_eq!((resolved.sites, resolved.exact), (3, 2));
    recorded.check();
    let contexts = recorded.contexts();
    assert_eq!(contexts[..2], [first, advance]);
    assert_eq!(contexts[3..], [finish, second]);
    let functions = recorded.functions();
    assert_eq!(names(&functions[..2]), ["swap", "advance"]);
    assert_eq!(functions.len(), 3);
    assert_eq!(recorded.events(), events);
    check_again(&recorded);
}

#[test]
fn archives_without_addresses_are_left_alone() {
    let recorded = Recorded::new::<&str>(&[]);
    recorded.check();
    assert_eq!(check_again(&recorded), Resolved::default());
}

/// Checks that an archive is refused and stays as it was.
#[track_caller]
fn check_refused(recorded: &Recorded) -> Error {
    let before = recorded.bytes();
    let error = resolve_archive(recorded.path(), &Options::new()).unwrap_err();
    assert_eq!(recorded.bytes(), before);
    error
}

#[test]
fn other_layouts_are_refused() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let sites = addresses(&steps(&workshop, ""));
    let site = CALLS.len() as u32;
    type More = fn(&mut otf2::write::DefWriter, u32) -> Result<()>;
    let cases: [(&str, More); 4] = [
        ("not the last ones", |defs, site| {
            let name = defs.string("a loop")?;
            defs.write(region(site + 4, name, name, Paradigm::User))
        }),
        ("not only calling contexts", |defs, site| {
            let (id, parent) = (CallpathRef(0), CallpathRef::UNDEFINED);
            defs.write(def::Callpath { id, parent, region: RegionRef(site) })
        }),
        ("not only calling contexts", |defs, site| {
            let name = defs.string("")?;
            defs.write(def::Group {
                id: GroupRef(2),
                name,
                group_type: GroupType::Regions,
                paradigm: Paradigm::User,
                group_flags: GroupFlag::NONE,
                members: List::from(&[0, u64::from(site)][..]),
            })
        }),
        ("same id", |defs, site| {
            let description = defs.string("offset=0x1 build_id= module=/a")?;
            defs.write(region(site, description, description, Paradigm::Compiler))
        }),
    ];
    for (expected, more) in cases {
        let recorded = Recorded::with(&sites, |defs| more(defs, site));
        let error = check_refused(&recorded);
        assert!(matches!(error, Error::Layout { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("traces.def") && text.contains(expected), "{text}");
    }
}

#[test]
fn damage_is_an_error_or_harmless() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let sites = addresses(&steps(&workshop, ""));
    let recorded = Recorded::new(&sites);
    let path = recorded.path().join("traces.def");
    let anchor = recorded.path().join("traces.otf2");
    let (whole, whole_anchor) = (fs::read(&path).unwrap(), fs::read(&anchor).unwrap());
    for length in 0..whole.len() - 1 {
        fs::write(&path, &whole[..length]).unwrap();
        check_refused(&recorded);
    }
    fs::remove_file(&path).unwrap();
    assert!(resolve_archive(recorded.path(), &Options::new()).is_err());

    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=random.usize(..3) {
            let place = random.usize(..bytes.len());
            bytes[place] = random.u8(..);
        }
        fs::write(&path, &bytes).unwrap();
        fs::write(&anchor, &whole_anchor).unwrap();
        let before = recorded.bytes();
        match resolve_archive(recorded.path(), &Options::new()) {
            Ok(resolved) => {
                let archive = otf2::Archive::open(recorded.path()).unwrap();
                let definitions = archive.definitions().unwrap();
                assert!(definitions.warning().is_none());
                if resolved.exact + resolved.line_only + resolved.symbol_only > 0 {
                    assert_eq!(archive.anchor().definitions, definitions.len() as u64);
                }
            }
            Err(_) => assert_eq!(recorded.bytes(), before),
        }
        assert_eq!(fs::read_dir(recorded.path()).unwrap().count(), 3);
    }
}

#[test]
fn many_sites_make_many_chunks() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = steps(&workshop, "");
    let (module, _) = &calls["first"];
    // Everywhere in the program, and around it.
    let sites: Vec<String> =
        (0..40_000).map(|at| address(&(module.clone(), ReturnOffset(at)))).collect();
    let recorded = Recorded::new(&sites);
    assert!(recorded.bytes()["traces.def"].len() > 4 << 20);
    let resolved = resolve(&recorded);
    assert_eq!(resolved.sites, 40_000);
    assert!(resolved.exact > 0 && resolved.symbol_only > 0, "{resolved:?}");
    let unresolved: u64 = resolved.unresolved.iter().map(|missing| missing.sites).sum();
    assert_eq!(resolved.exact + resolved.line_only + resolved.symbol_only + unresolved, 40_000);
    recorded.check_ids(); // The C library would take a minute.
    assert_eq!(check_again(&recorded).sites, unresolved);
}
