//! Fuzz targets: functions that take any bytes and panic if a reader of untrusted input breaks a promise.
//!
//! `cargo xtask fuzz` lets libFuzzer look for such bytes, with the program of this crate. The test below replays the kept
//! corpora without it, in every build, so that a defect that was found once stays away.

/// Function of a target: panics if the bytes break a promise.
pub type Target = fn(&[u8]);

/// Declares the modules of the targets, and a list with the name and the function of each.
macro_rules! targets {
    ($($name:ident),*) => {
        mod targets {
            $(pub(crate) mod $name;)*
        }

        /// Name of each target, which is that of its corpus, and its function.
        pub const TARGETS: &[(&str, Target)] = &[$((stringify!($name), targets::$name::run)),*];
    };
}

targets!(
    anchor,
    blocks,
    cubex,
    definitions,
    events,
    facts,
    findings,
    fortran,
    live,
    messages,
    pairs,
    timeline
);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn kept_corpora_break_no_promise() {
        for (name, target) in super::TARGETS {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let mut inputs = 0;
            for entry in fs::read_dir(&corpus).unwrap() {
                let path = entry.unwrap().path();
                // A panic does not say which input caused it.
                println!("{}", path.display());
                target(&fs::read(&path).unwrap());
                inputs += 1;
            }
            assert!(inputs > 0, "{}", corpus.display());
        }
    }
}
