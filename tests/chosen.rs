//! One library of several for each test.
//!
//! A test that starts processes would take minutes with every MPI library that is installed. Each such test uses one of
//! them, chosen by the name of the test, so that a run of all tests uses all libraries and a repeated test uses the same.
//! `DWELL_TEST_MPI=all`, which `cargo xtask proofs` sets, runs each test with all of them.

/// Returns one of these, chosen by the name of the running test, or all with `DWELL_TEST_MPI=all`. Outside of the thread
/// of a test, where no name is known, it returns all. A test that is run alone has the main thread; cargo-nextest, which
/// does that, passes the name.
pub(crate) fn chosen<T>(mut candidates: Vec<T>) -> Vec<T> {
    let thread = std::thread::current();
    let passed = std::env::var("NEXTEST_TEST_NAME").ok();
    let name = passed.as_deref().or_else(|| thread.name().filter(|name| *name != "main"));
    let all = std::env::var_os("DWELL_TEST_MPI").is_some_and(|value| value == "all");
    match name {
        Some(name) if !all && !candidates.is_empty() => {
            vec![candidates.swap_remove(hash(name) % candidates.len())]
        }
        _ => candidates,
    }
}

/// Returns a hash (FNV-1a) that is the same in all builds, unlike that of the standard library.
fn hash(name: &str) -> usize {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    // The upper half, because the lowest bits of a product depend on few bits of its factors.
    (name.bytes().fold(0x811c_9dc5, mix) >> 16) as usize
}
