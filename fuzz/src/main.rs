//! The program that libFuzzer drives. `DWELL_FUZZ_TARGET` names the target.
#![no_main]

use std::sync::LazyLock;

use dwell_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("DWELL_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("DWELL_FUZZ_TARGET names no target: `{wanted}`")).1
});

fuzz_target!(|data: &[u8]| CHOSEN(data));
