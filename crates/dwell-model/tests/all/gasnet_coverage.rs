//! Compares the table of GASNet-EX with the headers that are installed.
//!
//! Needs GASNet-EX in the directory `DWELL_GASNET`, or where `cargo xtask install` puts it; without it the test says so and
//! passes, unless `DWELL_REQUIRE_GASNET=1`.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_model::gasnet::{TABLE, not_hooked};

use crate::needs;

/// Returns the directory of the headers.
fn headers() -> Option<PathBuf> {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gasnet");
    let directory = env::var_os("DWELL_GASNET").map_or_else(built, PathBuf::from).join("include");
    if !directory.is_dir() {
        needs::missing("GASNET", "there is no GASNet");
        return None;
    }
    Some(directory)
}

/// Returns the macros with arguments, the functions and the aliases of the public headers, for one thread mode.
fn public_names(mode: &str) -> Option<BTreeSet<String>> {
    let headers = headers()?;
    let names = ["gasnetex.h", "gasnet_vis.h", "gasnet_coll.h", "gasnet_ratomic.h", "gasnet.h"];
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-dD", "-x", "c", "-D_GNU_SOURCE=1"]).arg(format!("-DGASNET_{mode}"));
    compiler.arg("-I").arg(&headers).arg("-I").arg(headers.join("smp-conduit"));
    for name in names {
        compiler.args(["-include", name]);
    }
    let output = compiler.arg("/dev/null").output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let defined =
            line.strip_prefix("#define ").map(|rest| rest.split(|it| !is_name(it)).next());
        found.extend(defined.flatten().map(str::to_owned));
        for (at, _) in line.match_indices('(') {
            let before = line[..at].trim_end();
            let start = before.rfind(|it| !is_name(it)).map_or(0, |at| at + 1);
            found.insert(before[start..].to_owned());
        }
    }
    let is_call = |name: &String| {
        let of_ex =
            name.strip_prefix("gex_").is_some_and(|rest| rest.starts_with(char::is_uppercase));
        // The name with which the linker compares settings.
        let checks = name.contains("_GASNET_");
        (of_ex || name.starts_with("gasnet_")) && !name.ends_with("_t") && !checks
    };
    Some(found.into_iter().filter(is_call).collect())
}

#[test]
fn every_call_is_hooked_or_has_a_reason() {
    for mode in ["SEQ", "PAR"] {
        let Some(names) = public_names(mode) else { return };
        assert!(names.len() > 400, "{}", names.len());
        let lost: Vec<_> = names
            .iter()
            .filter(|name| TABLE.find(name).is_none() && not_hooked(name).is_none())
            .collect();
        assert!(lost.is_empty(), "{mode}: neither hooked nor on the list: {lost:?}");
    }
}

#[test]
fn every_row_is_a_call() {
    let Some(names) = public_names("PAR") else { return };
    for row in TABLE.rows {
        let name = row.name();
        // Messages of one form with any number of arguments are one row.
        let counted = names.contains(&format!("{name}0"));
        assert!(names.contains(name) || counted || name == "GASNET_BLOCKUNTIL", "{name}");
    }
}
