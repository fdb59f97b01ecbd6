//! Programs of several compilers print the addresses that they were called from; the tests compare the resolved lines
//! with markers in the source.
//!
//! Tests say that they were skipped where a compiler is missing, unless `DWELL_REQUIRE_SYMBOLS=1`.

use dwell_symbols::{Quality, Reason, Resolver};

use crate::needs;
use crate::support::{Calls, Workshop, check, have};

/// An option with which clang describes functions only where something is inlined into them.
const LINES_ONLY: &str = "-gline-tables-only";

/// Checks that every call of `chain.c` is resolved to the last detail.
fn check_c(calls: &Calls, of: &str) {
    let mut resolver = Resolver::new();
    for (label, expected) in [
        ("inlined", &[("inner", "inner"), ("middle", "middle"), ("outer", "outer")][..]),
        ("hidden", &[("hidden", "hidden")]),
        ("last", &[("last", "last")]),
    ] {
        let (module, at) = &calls[label];
        let site = resolver.resolve(module, *at);
        if of != LINES_ONLY || label == "inlined" {
            assert_eq!(site.quality, Quality::Exact, "{of}: {label}");
        } else {
            assert_eq!(site.quality, Quality::Line { reason: Reason::LinesOnly }, "{label}");
        }
        check(&site, "chain.c", expected);
    }
}

#[test]
fn c_however_it_is_linked_and_written() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    for options in [
        "-fPIE -pie",
        "-no-pie",
        "-static",
        "-gdwarf-2",
        "-gdwarf-3",
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf64",
        "-gz=zlib",
        "-gz=zlib-gnu",
        "-ffunction-sections -Wl,--gc-sections",
        "-flto",
        "-O3 -g1",
        "-Wl,--build-id=md5",
        "-Wl,--build-id=none",
        "-Wl,-z,noseparate-code",
    ] {
        check_c(&workshop.c_program(options), options);
    }
}

#[test]
fn c_compressed_with_zstd() {
    if !have(&["gcc", "objcopy"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.c_program("");
    let output = std::process::Command::new("objcopy")
        .arg("--compress-debug-sections=zstd")
        .arg(workshop.path("program"))
        .output()
        .unwrap();
    if !output.status.success() {
        return needs::missing("SYMBOLS", "this objcopy knows no zstd");
    }
    check_c(&calls, "zstd");
}

#[test]
fn c_in_a_shared_library() {
    if !have(&["gcc"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -shared -fPIC chain.c probe.c -o libchain.so");
    workshop.run("gcc -O2 -g main.c -L. -lchain -Wl,-rpath,$ORIGIN -o program");
    let calls = workshop.calls("program");
    assert_eq!(calls["inlined"].0.path, workshop.path("libchain.so"));
    check_c(&calls, "shared library");
}

#[test]
fn c_of_clang() {
    if !have(&["clang"]) {
        return;
    }
    let workshop = Workshop::new();
    for options in ["-gdwarf-4", "-gdwarf-5", LINES_ONLY] {
        workshop.run(&format!("clang -O2 -g {options} chain.c main.c probe.c -o program"));
        check_c(&workshop.calls("program"), options);
    }
}

#[test]
fn cpp() {
    if !have(&["g++"]) {
        return;
    }
    let workshop = Workshop::new();
    let calls = workshop.cpp_program();
    let mut resolver = Resolver::new();
    let mut site = |label: &str| resolver.resolve(&calls[label].0, calls[label].1);
    let template = [
        ("grid::Halo<double>::inner(double)", "inner"),
        ("grid::Halo<double>::exchange(double)", "exchange"),
    ];
    check(&site("template"), "chain.cpp", &template);
    let lambda = site("lambda");
    let name = lambda.frames[0].function.clone().unwrap();
    assert!(name.starts_with("apply(") && name.contains("lambda"), "{name}");
    check(&lambda, "chain.cpp", &[(&name, "lambda")]);
}

#[test]
fn fortran() {
    if !have(&["gcc", "gfortran"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -c probe.c -o probe.o");
    workshop.run("gfortran -O2 -g -fno-inline chain.f90 probe.o -o program");
    let calls = workshop.calls("program");
    let mut resolver = Resolver::new();
    for (label, function, marker) in [
        ("module", "halo::exchange", "exchange"),
        ("outside", "outside", "outside"),
        ("internal", "within", "within"),
        ("main", "solver", "main"),
    ] {
        let site = resolver.resolve(&calls[label].0, calls[label].1);
        assert_eq!(site.quality, Quality::Exact);
        check(&site, "chain.f90", &[(function, marker)]);
    }
}

#[test]
fn rust() {
    if !have(&["gcc", "rustc"]) {
        return;
    }
    let workshop = Workshop::new();
    workshop.run("gcc -O2 -g -c probe.c -o probe.o");
    for (mangling, exchange) in [
        ("", "chain::Halo<T>::exchange"),
        ("-C symbol-mangling-version=v0", "<chain::Halo<f64>>::exchange"),
    ] {
        let options = "-O -g --edition 2024 -C link-arg=probe.o -C link-arg=-Wl,--build-id";
        workshop.run(&format!("rustc {options} {mangling} chain.rs -o program"));
        let calls = workshop.calls("program");
        let mut resolver = Resolver::new();
        let (module, at) = &calls["inlined"];
        let expected = [
            ("chain::grid::inner", "inner"),
            ("chain::grid::middle", "middle"),
            ("chain::outer", "outer"),
        ];
        check(&resolver.resolve(module, *at), "chain.rs", &expected);
        let (module, at) = &calls["generic"];
        check(&resolver.resolve(module, *at), "chain.rs", &[(exchange, "exchange")]);
    }
}
