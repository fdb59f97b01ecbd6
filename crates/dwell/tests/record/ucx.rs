//! UCX below OpenSHMEM, recorded if a setting asks for it.

use std::ffi::OsStr;

use crate::lab::Lab;
use crate::trace::Trace;

#[test]
fn calls_of_ucx_are_inside_those_of_openshmem() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/heat/heat.c", &[]);
    let experiment = lab.experiment();
    let dwell = OsStr::new(env!("CARGO_BIN_EXE_dwell"));
    let options = ["run", "--layer=ucx=on", "-o"].map(OsStr::new);
    let command = [program.as_os_str(), OsStr::new("64"), OsStr::new("5")];
    let whole = [&[dwell][..], &options, &[experiment.as_os_str()], &command].concat();
    let plain = lab.oshrun(2, &[], &command);
    let measured = lab.oshrun(2, &[], &whole);
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    lab.accepted_by_otf2_print(&experiment);
    let counts = Trace::read(&experiment).counts;
    let has = |prefix: &str| counts.keys().any(|(_, name)| name.starts_with(prefix));
    assert!(has("ucp_get") && has("ucp_worker_flush") && has("shmem_"), "{:?}", counts.keys());
    // Not if it is not asked for.
    assert_eq!(lab.measured(2, &[], &command).code, plain.code);
    let counts = Trace::read(&experiment).counts;
    assert!(!counts.keys().any(|(_, name)| name.starts_with("ucp_")), "{:?}", counts.keys());
}
