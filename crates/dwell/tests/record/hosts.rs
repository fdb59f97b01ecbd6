//! Hosts of their own: network namespaces, with a name, an address and a clock each.
//!
//! Launchers reach them through a script in place of a remote shell, so the programs are started, connected and
//! measured as on several machines. The tests below set their clocks apart by time namespaces, and let them drift by the
//! recorder. Needs the right to make namespaces; without it the tests say so and pass.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use otf2::Definition;

use crate::clocks::{Messages, Skew, Times, furthest, is_followed, property, waits};
use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::needs;
use crate::trace::Trace;

/// Seconds by which the clock of each host is ahead of the previous one.
const APART: u64 = 1000;

/// Hosts that exist until the value is dropped.
pub(crate) struct Hosts {
    pub(crate) names: Vec<String>,
    bridge: String,
    /// Script that runs a command on a host.
    pub(crate) agent: PathBuf,
    /// Address of this machine in their network.
    pub(crate) here: String,
}

/// Runs `ip` with these words. Returns `true` if it succeeds.
pub(crate) fn ip(words: &str) -> bool {
    let output = Command::new("ip").args(words.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}

impl Hosts {
    /// Creates `count` hosts whose agent is in a folder, or returns `None` if the user is not allowed to. The clock of each
    /// is `apart` seconds ahead of the previous one.
    pub(crate) fn open(folder: &Path, count: usize, apart: u64) -> Option<Self> {
        // Several tests of one process, and several processes, have hosts at once.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = std::process::id().wrapping_mul(16) + NEXT.fetch_add(1, Ordering::Relaxed);
        let (net, bridge) = (format!("10.231.{}", own % 256), format!("dw{own}"));
        let names: Vec<String> = (0..count).map(|host| format!("dwell{own}-{host}")).collect();
        let agent = agent(folder, &names, apart);
        let hosts = Self { names, bridge, agent, here: format!("{net}.254") };
        let bridge = &hosts.bridge;
        let mut made = (apart == 0 || clocks_can_be_set_apart())
            && ip(&format!("link add {bridge} type bridge"))
            && ip(&format!("addr add {}/24 dev {bridge}", hosts.here))
            && ip(&format!("link set {bridge} up"));
        for (at, name) in hosts.names.iter().enumerate() {
            let (end, address) = (hosts.link(at), at + 1);
            made = made
                && ip(&format!("netns add {name}"))
                && ip(&format!("link add {end} type veth peer name eth0 netns {name}"))
                && ip(&format!("link set {end} master {bridge} up"))
                && ip(&format!("-n {name} addr add {net}.{address}/24 dev eth0"))
                && ip(&format!("-n {name} link set eth0 up"))
                && ip(&format!("-n {name} link set lo up"));
        }
        if !made {
            needs::missing("RIGHTS", "this user may not make namespaces, or there is no ip");
        }
        made.then_some(hosts)
    }

    /// Returns the name of this machine's end of the link of a host.
    pub(crate) fn link(&self, host: usize) -> String {
        format!("{}-{host}", self.bridge)
    }

    /// Records a program with one process on each host.
    fn measured(&self, lab: &Lab, mpi: &Mpi, variables: &[&OsStr], command: &[&OsStr]) -> Run {
        let experiment = lab.experiment();
        let _ = fs::remove_dir_all(&experiment);
        let mut launcher = mpi.across(&self.names, &self.agent, &self.here);
        let mut library = std::ffi::OsString::from("DWELL_LIBRARY=");
        library.push(lab.library());
        launcher.arg("env").arg(&library).args(variables);
        launcher.args([env!("CARGO_BIN_EXE_dwell"), "run", "-o"]).arg(experiment).args(command);
        lab.launch(launcher, |_| false)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The other end of a link goes with its namespace.
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
        ip(&format!("link del {}", self.bridge));
    }
}

fn clocks_can_be_set_apart() -> bool {
    let words = ["--uts", "--time", "--monotonic", "1000", "true"];
    let output = Command::new("unshare").args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Writes a script that launchers call like a remote shell: options, a host, a command.
fn agent(folder: &Path, names: &[String], apart: u64) -> PathBuf {
    let ahead = |(host, name): (u64, &String)| match apart {
        0 => String::new(),
        _ => format!("{name}) ahead='--time --monotonic {}' ;;\n", host * apart),
    };
    let ahead: String = (0..).zip(names).map(ahead).collect();
    let text = format!(
        "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1; shift\nahead=\n\
         case $host in\n{ahead}esac\n\
         exec ip netns exec $host unshare --uts $ahead sh -c \"hostname $host; $*\"\n"
    );
    let script = folder.join("agent.sh");
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// Returns the hosts that an archive names.
fn named(trace: &Trace) -> Vec<String> {
    let names = trace.definitions.iter().filter_map(|definition| match definition {
        Definition::SystemTreeNode(node) => trace.definitions.string(node.name),
        _ => None,
    });
    let names = names.map(|name| name.to_string()).filter(|name| name.starts_with("dwell"));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// Clocks differ by minutes, and their drift changes its sign. The correction in the archive holds within its stated
/// error.
#[test]
fn clocks_that_are_far_apart_and_turn() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let Some(hosts) = Hosts::open(&lab.path(""), 3, APART) else { return };
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    let ahead = i128::from(APART) * 1_000_000_000;
    let skew = Skew { offset: 3_000_000, drift: 5_000_000, turn: 800_000_000, ahead };
    let command = [program.as_os_str(), "150".as_ref(), "2000".as_ref(), "3".as_ref()];
    let period = OsStr::new("DWELL_CLOCK_PERIOD=40ms");
    let run = hosts.measured(&lab, &mpi, &[&skew.variable(), period], &command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 300\n"), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    assert_eq!(named(&trace), hosts.names);
    let residual = property(&trace, "DWELL::CLOCK_RESIDUAL");
    let before = Messages::read(&trace, Times::Written).violations();
    let after = Messages::read(&trace, Times::Corrected).violations();
    if !is_followed(&trace, skew) {
        return;
    }
    let furthest = furthest(&trace, skew, |_, _| true);
    eprintln!("before {before:?}, after {after:?}, off by {furthest} ns, residual {residual} ns");
    assert_eq!((before.messages, after.messages), (450, 450));
    assert!(before.count >= 150 && before.largest > APART * 1_000_000_000, "{before:?}");
    assert!(furthest <= residual, "{furthest} and {residual} ns");
    // Both sides may be wrong by that much.
    assert!(after.largest <= 2 * residual, "{after:?}, {residual} ns");

    let (found, right) =
        (waits(&lab)["late_sender"], Messages::read(&trace, Times::True(skew)).late());
    let doubt = 450.0 * 2.0 * residual as f64 / 1e9;
    eprintln!("late senders {found} s, by true clocks {right} s, in doubt {doubt} s");
    assert!((found - right).abs() <= doubt, "{found} and {right}, in doubt {doubt}");
    lab.accepted_by_otf2_print(&lab.experiment());
}

/// The recorder injects no error here. The system has set the clocks apart, and they are read by the time stamp
/// counter, under every launcher.
#[test]
fn clocks_that_the_system_has_set_apart() {
    let lab = Lab::bare();
    let Some(hosts) = Hosts::open(&lab.path(""), 2, APART) else { return };
    for mpi in Mpi::chosen_of_the_system() {
        let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
        let run = hosts.measured(&lab, &mpi, &[], &[program.as_os_str(), "50".as_ref()]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 50\n"), "{run:?}");
        let trace = Trace::read(&lab.experiment());
        assert_eq!(named(&trace), hosts.names);
        let residual = property(&trace, "DWELL::CLOCK_RESIDUAL");
        let before = Messages::read(&trace, Times::Written).violations();
        let after = Messages::read(&trace, Times::Corrected).violations();
        eprintln!("{}: before {before:?}, after {after:?}, residual {residual} ns", mpi.name());
        assert!(before.count >= 50 && before.largest > (APART - 10) * 1_000_000_000, "{before:?}");
        // One side is the clock that counts, so only the other can be wrong.
        assert!(after.largest <= residual, "{after:?}, {residual} ns");
    }
}
