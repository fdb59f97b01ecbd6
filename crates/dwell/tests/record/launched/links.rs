//! Three hosts that are network namespaces, over TCP, of which one loses its link.
//!
//! Launchers reach the hosts through a script in place of a remote shell, so processes are started and connected as on
//! several machines. Needs the right to make namespaces; without it the tests say so and pass.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{
    DEADLINE, DWELL, RANK, Results, SEGMENTS, SOON, end, end_within, is_running, long, process,
    random, reads_events,
};
use crate::hosts::{Hosts, ip};
use crate::launchers::{INTEL, Mpi, OPEN_MPI, all};
use crate::support::path;

/// Number of hosts, with a process each.
const HOSTS: usize = 3;

/// Returns a command that starts a process on each host; the program and its arguments have to be added. Nothing
/// but TCP connects them: on one machine, libraries would find that hosts share memory.
fn launch(hosts: &Hosts, mpi: &Mpi) -> Command {
    let plain = mpi.launch(HOSTS);
    let mut command = match mpi.version {
        // Its processes connect to the name of the machine, which means another one on every host.
        INTEL => {
            let mut command = Command::new("unshare");
            command.args(["--uts", "sh", "-c", "hostname $0; exec \"$@\"", &hosts.here]);
            command.arg(plain.get_program()).args(plain.get_args());
            let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
            command.envs(variables).env_remove("DWELL_MPI_LIBRARY");
            command
        }
        _ => plain,
    };
    command.envs([("UCX_TLS", "tcp,self"), ("FI_PROVIDER", "tcp"), ("I_MPI_FABRICS", "ofi")]);
    let names = hosts.names.join(",");
    if mpi.version == OPEN_MPI {
        let network = format!("{}/24", hosts.here);
        command.args(["-mca", "plm_rsh_agent"]).arg(&hosts.agent);
        // The launcher of Open MPI 5 has names of its own.
        command.env("PRTE_MCA_plm_ssh_agent", &hosts.agent);
        command.env("PRTE_MCA_prte_if_include", &network);
        // Otherwise it puts all processes on the first host, if it may put more there than it has cores.
        command.env("PRTE_MCA_rmaps_default_mapping_policy", "ppr:1:node");
        command.args(["-mca", "pml", "ob1", "-mca", "btl", "self,tcp"]);
        command.args(["-mca", "btl_tcp_if_include", &network]);
        command.args(["-mca", "oob_tcp_if_include", &network, "-host", &names]);
    } else {
        command.args(["-launcher", "rsh", "-launcher-exec"]).arg(&hosts.agent);
        if mpi.version != INTEL {
            command.args(["-localhost", &hosts.here]);
        }
        command.args(["-ppn", "1", "-hosts", &names]);
    }
    command
}

/// Cuts the link of a host while its process reads events. Returns `false` if the analysis ended before.
fn cut(hosts: &Hosts, mpi: &Mpi, host: usize, archive: &Path) -> bool {
    let own = tempfile::tempdir_in(archive.parent().unwrap()).unwrap();
    // What a process says reaches the launcher no more after the cut.
    let script = format!(
        "echo $$ > {0}/new-{RANK} && mv {0}/new-{RANK} {0}/{RANK} && \
         DWELL_PEER_TIMEOUT={DEADLINE} exec {DWELL} analyze --events-per-rank 1 {1} 2> {0}/said-{RANK}",
        path(own.path()),
        path(archive)
    );
    let script_file = own.path().join("process.sh");
    fs::write(&script_file, script).unwrap();
    let mut command = launch(hosts, mpi);
    command.arg("sh").arg(script_file);
    let mut took = None;
    let limit = 3 * SOON;
    let run = end_within(&mut command, limit, || {
        if !reads_events(&own.path().join(host.to_string())) {
            return;
        }
        assert!(ip(&format!("link set {} down", hosts.link(host))));
        let began = Instant::now();
        let runs = |rank| process(own.path(), rank).is_some_and(|process| is_running(&process));
        while (0..HOSTS).any(runs) && began.elapsed() < limit {
            thread::sleep(Duration::from_millis(20));
        }
        took = Some(began.elapsed());
        // Launchers that wait for their daemon there can end now.
        assert!(ip(&format!("link set {} up", hosts.link(host))));
    });
    let said: Vec<String> = (0..HOSTS)
        .map(|rank| fs::read_to_string(own.path().join(format!("said-{rank}"))).unwrap_or_default())
        .collect();
    let Some(took) = took.filter(|_| run.code != Some(0)) else {
        return false;
    };
    let end = if run.was_endless { "does not end".into() } else { format!("{:?}", run.code) };
    eprintln!("{mpi:?}: host {host} cut off: processes ended in {took:?}; the launcher: {end}");
    assert!(took < SOON, "{mpi:?}: {took:?}: {said:?} {run:?}");
    // The process that was cut off says it, and so does one of the others, which ends the rest.
    let late = |rank: usize| {
        let name = format!("rank {rank} of {HOSTS} on {}: not all processes", hosts.names[rank]);
        said[rank].contains(&name)
    };
    let others = (0..HOSTS).any(|rank| rank != host && late(rank));
    assert!(late(host) && others, "{mpi:?}: {said:?} {run:?}");
    true
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_hosts_find_what_one_process_finds() {
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::open(folder.path(), HOSTS, 0) else { return };
    let archive = random(folder.path());
    let expected = Results::alone(&archive);
    // Each process leaves the name of its host.
    let script = folder.path().join("process.sh");
    let text = format!(
        "cat /proc/sys/kernel/hostname > {}/on-{RANK}; exec {DWELL} analyze --events-per-rank 1 {}",
        path(folder.path()),
        path(&archive)
    );
    fs::write(&script, text).unwrap();
    for mpi in all() {
        let mut command = launch(&hosts, &mpi);
        command.arg("sh").arg(&script);
        let mut run = end(&mut command);
        let on = |rank: usize| fs::read_to_string(folder.path().join(format!("on-{rank}")));
        let names: Vec<String> = (0..HOSTS).map(|rank| on(rank).unwrap_or_default()).collect();
        assert!(names.iter().map(|name| name.trim()).eq(&hosts.names), "{names:?} {run:?}");
        (0..HOSTS)
            .for_each(|rank| fs::remove_file(folder.path().join(format!("on-{rank}"))).unwrap());
        // MPICH 4.0.2 sometimes does not come back from MPI_Finalize here.
        let kept = run.stderr.lines().filter(|line| !line.contains("MPI_Finalize did not return"));
        run.stderr = kept.collect::<Vec<_>>().join("\n");
        expected.are_left_by(&run, &archive, &format!("{mpi:?}"));
    }
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_a_cut_link_ends_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::open(folder.path(), HOSTS, 0) else { return };
    for mpi in all() {
        for host in [2, 0] {
            let is_cut = SEGMENTS.iter().any(|segments| {
                thread::sleep(Duration::from_secs(2)); // A link that comes back needs a moment.
                cut(&hosts, &mpi, host, &long(folder.path(), *segments))
            });
            assert!(is_cut, "{mpi:?}: the analysis always ended before the cut");
        }
    }
}
