//! Trials of Dwell on a cluster. Each trial returns a line about its result, or fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::nodes::{Cluster, output};

/// One use of Dwell on a cluster.
pub(super) struct Trial {
    pub(super) name: &'static str,
    pub(super) run: fn(&Cluster) -> Result<String>,
}

/// All trials.
#[rustfmt::skip]
pub(super) const TRIALS: &[Trial] = &[
    Trial { name: "openmpi-pmix", run: |it| record_and_analyze(it, Runtime::OpenMpi) },
    Trial { name: "mpich-pmi2", run: |it| record_and_analyze(it, Runtime::Mpich) },
    Trial { name: "openshmem-pmix", run: |it| record_and_analyze(it, Runtime::OpenShmem) },
    Trial { name: "exit-code", run: exit_code },
    Trial { name: "scancel", run: scancel },
    Trial { name: "signal", run: signal },
    Trial { name: "requeue", run: requeue },
    Trial { name: "array", run: array },
    Trial { name: "heterogeneous", run: heterogeneous },
    Trial { name: "multi-prog", run: multi_prog },
    Trial { name: "scratch", run: scratch },
    Trial { name: "alive", run: alive },
    Trial { name: "computes", run: computes },
    Trial { name: "directory-not-shared", run: directory_not_shared },
    Trial { name: "one-sentence", run: one_sentence },
    Trial { name: "bindfs", run: without_fallocate },
    Trial { name: "kills-volume", run: |it| kills(it, Cluster::volume()) },
    Trial { name: "node-dies", run: node_dies },
    Trial { name: "node-dies-in-analysis", run: node_dies_in_analysis },
    Trial { name: "time-limit", run: time_limit },
];

/// A runtime, and how Slurm starts its programs.
#[derive(Clone, Copy, Debug)]
enum Runtime {
    OpenMpi,
    Mpich,
    OpenShmem,
}

impl Runtime {
    fn program(self, cluster: &Cluster) -> Result<String> {
        let (compiler, flags): (_, &[&str]) = match self {
            Self::OpenMpi => ("mpicc.openmpi", &[]),
            Self::Mpich => ("mpicc.mpich", &[]),
            Self::OpenShmem => ("oshcc", &["-DSHMEM"]),
        };
        Ok(cluster.compile(compiler, flags, "counted.c")?.display().to_string())
    }

    fn launcher(self) -> &'static str {
        match self {
            Self::OpenMpi | Self::OpenShmem => "--mpi=pmix",
            Self::Mpich => "--mpi=pmi2",
        }
    }

    /// Runs a launch that must succeed. MPICH 4.0 with UCX over TCP hangs in its own `MPI_Finalize` in one of five
    /// launches, even without Dwell, after the recording is complete; such a launch is ended.
    fn launch(self, cluster: &Cluster, words: &[&str]) -> Result<()> {
        if !matches!(self, Self::Mpich) {
            return succeed(cluster, words).map(|_| ());
        }
        let output = output(cluster.on_login(&[&["timeout", "20"], words].concat()))?;
        ensure!(matches!(output.status.code(), Some(0 | 124)), "{}", output.status);
        Ok(())
    }
}

/// A recording of `counted.c` in a new directory.
struct Run {
    /// The experiment directory.
    directory: String,
    /// Directory of the counts that the processes keep themselves.
    counts: PathBuf,
    program: Vec<String>,
}

impl Run {
    /// Prepares a run of `barriers` barriers with a pause before each. The recording will be in `folder`.
    fn new(
        cluster: &Cluster,
        runtime: Runtime,
        folder: &Path,
        barriers: u64,
        pause: Duration,
    ) -> Result<Self> {
        let counts = cluster.home().join(format!("counts-{}", unique()));
        fs::create_dir(&counts).with_context(|| counts.display().to_string())?;
        let program = vec![
            runtime.program(cluster)?,
            counts.display().to_string(),
            barriers.to_string(),
            pause.as_micros().to_string(),
        ];
        let directory = folder.join(format!("run-{}", unique())).display().to_string();
        Ok(Self { directory, counts, program })
    }

    /// Returns the words of `srun … dwell run … program`.
    fn words(&self, cluster: &Cluster, srun: &[&str], options: &[&str]) -> Vec<String> {
        let mut words: Vec<String> = vec!["srun".into()];
        words.extend(srun.iter().map(|&word| word.into()));
        words.extend(self.recorded(cluster, options));
        words
    }

    /// Returns the words of `dwell run … program`.
    fn recorded(&self, cluster: &Cluster, options: &[&str]) -> Vec<String> {
        let mut words: Vec<String> =
            [cluster.dwell(), "run", "-o", &self.directory].map(Into::into).into();
        words.extend(options.iter().map(|&word| word.into()));
        words.extend(self.program.iter().cloned());
        words
    }

    /// Returns the number of barriers that each process has left, by its own count.
    fn counted(&self) -> Result<Vec<u64>> {
        let count = |rank: usize| fs::read(self.counts.join(format!("{rank}.count"))).ok();
        let counts = (0..).map_while(count);
        counts.map(|bytes| Ok(u64::from_ne_bytes(bytes.as_slice().try_into()?))).collect()
    }

    /// Waits until each of `processes` processes has left a barrier.
    fn wait_for_barriers(&self, processes: usize) -> Result<()> {
        let began = Instant::now();
        while !self.counted().is_ok_and(|it| it.len() == processes && !it.contains(&0)) {
            ensure!(began.elapsed() < Duration::from_secs(60), "the program does not start");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Compares the barriers of the recording with the counts of the processes. Each process must have all barriers
    /// that it counted, and may have one more that it entered and did not leave. Returns the number of recorded
    /// barriers.
    fn compare(&self, cluster: &Cluster) -> Result<u64> {
        let counted = self.counted()?;
        ensure!(!counted.is_empty(), "the program counted nothing");
        let recorded = barriers(cluster, &self.directory, counted.len())?;
        for (rank, (&counted, &recorded)) in counted.iter().zip(&recorded).enumerate() {
            let right = recorded == counted || recorded == counted + 1;
            ensure!(right, "rank {rank}: {recorded} barriers recorded, {counted} counted");
        }
        Ok(recorded.iter().sum())
    }
}

/// Returns a number that no other call returns.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

fn words(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{out}{err}")
}

/// Runs a command on the login node and fails if it fails.
fn succeed(cluster: &Cluster, words: &[&str]) -> Result<String> {
    let output = output(cluster.on_login(words))?;
    ensure!(output.status.success(), "`{}`: {}", words.join(" "), output.status);
    Ok(text(&output))
}

/// Runs `dwell` on the login node and fails if it fails.
fn dwell(cluster: &Cluster, words: &[&str]) -> Result<String> {
    succeed(cluster, &[&[cluster.dwell()], words].concat())
}

/// Counts the barriers that each location of a recording has entered.
fn barriers(cluster: &Cluster, directory: &str, locations: usize) -> Result<Vec<u64>> {
    let mut command = cluster.on_login(&[cluster.dwell(), "print", directory]);
    let output = command.output().context("cannot run dwell print")?;
    ensure!(output.status.success(), "dwell print {directory}: {}", text(&output));
    let mut counts = vec![0; locations];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split_whitespace();
        if fields.next() == Some("ENTER") && line.to_lowercase().contains("_barrier") {
            let location: Option<usize> = fields.next().and_then(|it| it.parse().ok());
            if let Some(count) = location.and_then(|it| counts.get_mut(it)) {
                *count += 1;
            }
        }
    }
    Ok(counts)
}

/// A pause that keeps runs short where only their end matters.
const SHORT: Duration = Duration::from_millis(10);

/// A pause that keeps a run going until it is ended.
const LONG: Duration = Duration::from_millis(50);

/// Records on three nodes; the analysis on three nodes gives the same bytes as that of one process.
fn record_and_analyze(cluster: &Cluster, runtime: Runtime) -> Result<String> {
    let run = Run::new(cluster, runtime, &cluster.home(), 50, SHORT)?;
    let srun = [runtime.launcher(), "-N3", "-n6"];
    runtime.launch(cluster, &words(&run.words(cluster, &srun, &["--next"])))?;
    let barriers = run.compare(cluster)?;
    ensure!(barriers == 300, "{barriers} barriers instead of 300");
    dwell(cluster, &["analyze", &run.directory])?;
    let findings = Path::new(&run.directory).join("findings.json");
    let alone = fs::read(&findings).context("the analysis wrote no findings")?;
    fs::remove_file(&findings)?;
    let analyze = [runtime.launcher(), "-N3", "-n3", cluster.dwell(), "analyze", &run.directory];
    runtime.launch(cluster, &[&["srun"], &analyze[..]].concat())?;
    ensure!(fs::read(&findings)? == alone, "the analysis on three nodes gives other findings");
    Ok(format!("{barriers} barriers of 6 processes on 3 nodes; same findings by 1 and 3 processes"))
}

fn exit_code(cluster: &Cluster) -> Result<String> {
    let mut run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 5, SHORT)?;
    run.program.push("7".into());
    let words = run.words(cluster, &["-N2", "-n2"], &[]);
    let output = output(cluster.on_login(&self::words(&words)))?;
    ensure!(output.status.code() == Some(7), "{}", output.status);
    run.compare(cluster)?;
    Ok("7, as the program's".into())
}

/// Starts a run and does not wait for its end.
fn start(cluster: &Cluster, run: &Run, srun: &[&str], options: &[&str]) -> Result<Child> {
    let words = run.words(cluster, srun, options);
    let mut command = cluster.on_login(&self::words(&words));
    command.stdout(std::process::Stdio::null());
    Ok(command.spawn()?)
}

/// Ends all jobs and waits for the end of `child`.
fn cancel(cluster: &Cluster, mut child: Child, options: &[&str]) -> Result<()> {
    let user = ["scancel", "--user=root"];
    succeed(cluster, &[&user[..], options].concat())?;
    child.wait()?;
    cluster.wait_for_nodes()
}

fn scancel(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 10_000, LONG)?;
    let child = start(cluster, &run, &["-N3", "-n3"], &[])?;
    run.wait_for_barriers(3)?;
    cancel(cluster, child, &[])?;
    dwell(cluster, &["recover", &run.directory])?;
    Ok(format!("{} barriers recovered, as counted", run.compare(cluster)?))
}

fn signal(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 10_000, LONG)?;
    let child = start(cluster, &run, &["-N2", "-n2"], &[])?;
    run.wait_for_barriers(2)?;
    cancel(cluster, child, &["--signal=KILL"])?;
    dwell(cluster, &["recover", &run.directory])?;
    Ok(format!("{} barriers recovered, as counted", run.compare(cluster)?))
}

/// Submits `script` as a batch job, and returns the number of the job.
fn submit(cluster: &Cluster, options: &[&str], script: &str) -> Result<String> {
    let path = cluster.home().join(format!("job-{}.sh", unique()));
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    let path = path.display().to_string();
    let said = succeed(cluster, &[&["sbatch", "--parsable"], options, &[&path]].concat())?;
    let number = said.lines().find_map(|line| line.trim().parse::<u64>().ok());
    Ok(number.context("sbatch says no number")?.to_string())
}

/// Waits until a job has left the queue.
fn wait_for_job(cluster: &Cluster, job: &str, limit: Duration) -> Result<()> {
    let began = Instant::now();
    loop {
        let output = cluster.on_login(&["squeue", "-h", "-j", job, "-o", "%i"]).output()?;
        // Slurm forgets jobs some minutes after their end.
        let forgotten = text(&output).contains("Invalid job id");
        ensure!(output.status.success() || forgotten, "squeue: {}", text(&output));
        if output.stdout.is_empty() || forgotten {
            return Ok(());
        }
        ensure!(began.elapsed() < limit, "job {job} does not end");
        thread::sleep(Duration::from_millis(500));
    }
}

/// A job that is put back into the queue records again, in a directory next to the one that its first attempt left.
fn requeue(cluster: &Cluster) -> Result<String> {
    let mut run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 40, LONG)?;
    let command = words(&run.words(cluster, &["-n2"], &["--next"])).join(" ");
    let job = submit(cluster, &["-N2", "-n2", "--requeue"], &command)?;
    run.wait_for_barriers(2)?;
    succeed(cluster, &["scontrol", "requeue", &job])?;
    // Slurm starts it again after the node is clean, at the earliest after a minute unless it is released.
    succeed(cluster, &["scontrol", "update", &format!("JobId={job}"), "StartTime=now"])?;
    wait_for_job(cluster, &job, Duration::from_secs(180))?;
    let first = run.directory.clone();
    run.directory = format!("{first}-2");
    ensure!(run.compare(cluster)? == 80, "the second attempt is not complete");
    dwell(cluster, &["recover", &first])?;
    Ok("second attempt complete in NAME-2, first one recovered".into())
}

/// Each task of an array gets a directory of its own, named after its job.
fn array(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 10, SHORT)?;
    let folder = cluster.home().join(format!("array-{}", unique()));
    fs::create_dir(&folder)?;
    let program = run.program.join(" ");
    let script = format!("cd {}; srun {} run {program}", folder.display(), cluster.dwell());
    let job = submit(cluster, &["-n2", "--array=0-3"], &script)?;
    wait_for_job(cluster, &job, Duration::from_secs(90))?;
    let mut complete = 0;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        complete += usize::from(path.join("traces.otf2").is_file());
    }
    ensure!(complete == 4, "{complete} complete recordings instead of 4");
    Ok("4 tasks, 4 complete recordings".into())
}

/// A job of two components is one program with one recording.
fn heterogeneous(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 20, SHORT)?;
    let recorded = run.recorded(cluster, &[]);
    let recorded = words(&recorded);
    let all = [&["srun", "-n1"], &recorded[..], &[":", "-n1"], &recorded[..]].concat();
    let output = output(cluster.on_login(&all))?;
    if !output.status.success() && text(&output).contains("heterogeneous") {
        return Ok(format!(
            "refused by Slurm: {}",
            text(&output).lines().next().unwrap_or_default()
        ));
    }
    ensure!(output.status.success(), "{}", output.status);
    Ok(format!("{} barriers", run.compare(cluster)?))
}

fn multi_prog(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 20, SHORT)?;
    let path = cluster.home().join(format!("multi-{}.conf", unique()));
    let command = words(&run.recorded(cluster, &[])).join(" ");
    fs::write(&path, format!("0 {command}\n1-2 {command}\n"))?;
    succeed(cluster, &["srun", "-N3", "-n3", "--multi-prog", &path.display().to_string()])?;
    ensure!(run.compare(cluster)? == 60, "not all barriers");
    Ok("3 processes of 2 lines".into())
}

fn scratch(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, Cluster::volume(), 20, SHORT)?;
    let words = run.words(cluster, &["-N3", "-n3"], &["--scratch", "/tmp"]);
    succeed(cluster, &self::words(&words))?;
    ensure!(run.compare(cluster)? == 60, "not all barriers");
    Ok("recorded on the disks of 3 nodes, brought to the volume".into())
}

/// Commands on the login node during a run report that it is running, and change nothing.
fn alive(cluster: &Cluster) -> Result<String> {
    const TRIES: usize = 20;
    for folder in [&cluster.home(), Cluster::volume()] {
        let run = Run::new(cluster, Runtime::OpenMpi, folder, 150, LONG)?;
        let mut child = start(cluster, &run, &["-N2", "-n2"], &[])?;
        run.wait_for_barriers(2)?;
        for _ in 0..TRIES / 2 {
            let recover = [cluster.dwell(), "recover", &run.directory];
            let output = cluster.on_login(&recover).output()?;
            let said = text(&output);
            ensure!(output.status.code() == Some(2), "recover: {} {said}", output.status);
            ensure!(said.contains("still running on n1"), "recover says {said}");
        }
        for command in ["analyze", "info", "timeline", "view"] {
            let output = output(cluster.on_login(&[cluster.dwell(), command, &run.directory]))?;
            let said = text(&output);
            ensure!(said.contains("still running on n1"), "{command} says {said}");
            ensure!(!said.contains("dwell recover"), "{command} advises recovery: {said}");
        }
        ensure!(child.wait()?.success(), "the program failed");
        ensure!(run.compare(cluster)? == 300, "not all barriers");
    }
    Ok(format!("recovery refused {TRIES} of {TRIES} times on two file systems, both runs complete"))
}

/// Recovery is refused while a process computes, even if it has made no runtime call for a long time.
fn computes(cluster: &Cluster) -> Result<String> {
    let pause = Duration::from_secs(20);
    let run = Run::new(cluster, Runtime::OpenMpi, Cluster::volume(), 2, pause)?;
    let mut child = start(cluster, &run, &["-N2", "-n2"], &[])?;
    run.wait_for_barriers(2)?;
    thread::sleep(Duration::from_secs(15));
    let output = output(cluster.on_login(&[cluster.dwell(), "recover", &run.directory]))?;
    ensure!(text(&output).contains("still running on n1"), "{}", text(&output));
    ensure!(child.wait()?.success(), "the program failed");
    run.compare(cluster)?;
    Ok("recovery refused after 15 s without a call".into())
}

/// If the directory of a run is a different one on each node, Dwell prints one message at the start and one at the end,
/// and no events are lost.
fn directory_not_shared(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, Path::new("/tmp"), 20, SHORT)?;
    let words = run.words(cluster, &["-N3", "-n3"], &[]);
    let said = succeed(cluster, &self::words(&words))?;
    let sentence =
        "is not the same directory on all nodes: n2 and n3 cannot write to the one of n1";
    ensure!(said.matches(sentence).count() == 1, "{said}");
    ensure!(said.matches("dwell: ").count() == 2, "{said}");
    ensure!(said.contains("is not complete"), "{said}");
    // As the message advises: bring the files of the nodes together.
    for node in 1..=3 {
        let copy = format!(
            "cp -r {0} {0}-* {1}/ 2>/dev/null || true",
            run.directory,
            cluster.home().display()
        );
        output(cluster.on_node(node, &["sh", "-c", &copy]))?;
    }
    let name =
        Path::new(&run.directory).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut from = Vec::new();
    for entry in fs::read_dir(cluster.home())? {
        let path = entry?.path();
        if path.display().to_string().contains(&format!("/{name}-")) {
            from.push(path.display().to_string());
        }
    }
    let directory = cluster.home().join(&name).display().to_string();
    let mut words = vec!["recover", directory.as_str()];
    words.extend(from.iter().map(String::as_str));
    dwell(cluster, &words)?;
    let run = Run { directory, ..run };
    Ok(format!(
        "one sentence; {} barriers recovered from 3 nodes, as counted",
        run.compare(cluster)?
    ))
}

/// A message that concerns all processes is printed once.
fn one_sentence(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 5, SHORT)?;
    fs::create_dir(&run.directory)?;
    fs::write(Path::new(&run.directory).join("file"), "")?;
    let words = run.words(cluster, &["-N2", "-n4"], &[]);
    let output = output(cluster.on_login(&self::words(&words)))?;
    let said = text(&output);
    ensure!(!output.status.success(), "a used directory was not refused");
    ensure!(said.matches("the directory is not empty").count() == 1, "{said}");
    Ok("a used directory is refused by one sentence for 4 processes".into())
}

/// On a file system without `fallocate` and without locks across nodes, a run that is killed loses no events.
fn without_fallocate(cluster: &Cluster) -> Result<String> {
    let (from, to) = (cluster.home().join("bindfs-source"), "/dev/shm/bindfs");
    fs::create_dir_all(&from)?;
    let mount = format!("mkdir -p {to} && bindfs {} {to}", from.display());
    let mounted = output(cluster.on_node(1, &["sh", "-c", &mount]))?;
    ensure!(mounted.status.success(), "bindfs: {}", mounted.status);
    let run = Run::new(cluster, Runtime::OpenMpi, Path::new(to), 10_000, LONG)?;
    let child = start(cluster, &run, &["-N1", "-n2", "-w", "n1"], &[])?;
    run.wait_for_barriers(2)?;
    thread::sleep(Duration::from_secs(1));
    cancel(cluster, child, &["--signal=KILL"])?;
    let recovered = output(cluster.on_node(1, &[cluster.dwell(), "recover", &run.directory]))?;
    ensure!(recovered.status.success(), "recovery: {}", recovered.status);
    let name = Path::new(&run.directory).file_name().context("a run has a name")?;
    let directory = from.join(name).display().to_string();
    Ok(format!("{} barriers recovered, as counted", Run { directory, ..run }.compare(cluster)?))
}

/// Runs that are killed at different times are recovered without a loss of events.
fn kills(cluster: &Cluster, folder: &Path) -> Result<String> {
    let (mut barriers, tries) = (0, 5);
    for attempt in 0..tries {
        let run = Run::new(cluster, Runtime::OpenMpi, folder, 100_000, Duration::from_micros(200))?;
        let child = start(cluster, &run, &["-N3", "-n3"], &[])?;
        run.wait_for_barriers(3)?;
        thread::sleep(Duration::from_millis(300 * attempt));
        cancel(cluster, child, &["--signal=KILL"])?;
        dwell(cluster, &["recover", &run.directory])?;
        barriers += run.compare(cluster)?;
    }
    Ok(format!("{tries} kills, {barriers} barriers recovered, as counted"))
}

/// If a node fails, its processes end and Slurm kills the others. Recovery is refused until the file system has noticed
/// the failure.
fn node_dies(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, Cluster::volume(), 100_000, LONG)?;
    let child = start(cluster, &run, &["-N3", "-n3"], &[])?;
    run.wait_for_barriers(3)?;
    thread::sleep(Duration::from_secs(2));
    cluster.kill_node(3);
    let died = Instant::now();
    let result = cancel_without(cluster, child);
    let recovered = recover_when_free(cluster, &run.directory);
    let waited = died.elapsed();
    cluster.boot(3)?;
    cluster.wait_for_nodes()?;
    result?;
    let said = recovered?;
    let counted = run.counted()?;
    let recorded = barriers(cluster, &run.directory, counted.len())?;
    // Data that the node had not yet sent to the file servers was lost with it.
    let lost: u64 =
        counted.iter().zip(&recorded).map(|(all, kept)| all.saturating_sub(*kept)).sum();
    let first = said.lines().find(|it| it.contains(" events of ")).unwrap_or_default();
    Ok(format!(
        "recovered after {:.0} s: {first}; {lost} barriers lost with the node",
        waited.as_secs_f64()
    ))
}

/// Ends all jobs although a node is down.
fn cancel_without(cluster: &Cluster, mut child: Child) -> Result<()> {
    succeed(cluster, &["scancel", "--user=root", "--signal=KILL"])?;
    child.wait()?;
    Ok(())
}

/// Repeats the recovery of a run until none of its processes is considered alive.
fn recover_when_free(cluster: &Cluster, directory: &str) -> Result<String> {
    let began = Instant::now();
    loop {
        let output = output(cluster.on_login(&[cluster.dwell(), "recover", directory]))?;
        match output.status.code() {
            Some(0 | 1) => return Ok(text(&output)),
            _ if began.elapsed() > Duration::from_secs(120) => bail!("{}", text(&output)),
            _ => thread::sleep(Duration::from_secs(2)),
        }
    }
}

/// An analysis that loses a node leaves nothing that prevents a later analysis.
fn node_dies_in_analysis(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, Cluster::volume(), 300, Duration::ZERO)?;
    succeed(cluster, &words(&run.words(cluster, &["-N3", "-n6"], &[])))?;
    let analyze = ["srun", "-N3", "-n3", cluster.dwell(), "analyze", &run.directory];
    let child = cluster.on_login(&analyze).spawn()?;
    thread::sleep(Duration::from_millis(1200));
    cluster.kill_node(3);
    let result = cancel_without(cluster, child);
    cluster.boot(3)?;
    cluster.wait_for_nodes()?;
    result?;
    let left = cluster.on_login(&["ls", "-A", &run.directory]).output()?;
    let said = dwell(cluster, &["analyze", &run.directory])?;
    ensure!(said.contains("6 processes"), "the analysis afterwards says {said}");
    let left =
        String::from_utf8_lossy(&left.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(format!("left {left}; the analysis afterwards is complete"))
}

/// A job that reaches its time limit is killed by Slurm, and can be recovered.
fn time_limit(cluster: &Cluster) -> Result<String> {
    let run = Run::new(cluster, Runtime::OpenMpi, &cluster.home(), 1_000_000, LONG)?;
    let command = words(&run.words(cluster, &["-n2"], &[])).join(" ");
    let job = submit(cluster, &["-N2", "-n2", "--time=1"], &command)?;
    run.wait_for_barriers(2)?;
    wait_for_job(cluster, &job, Duration::from_secs(180))?;
    dwell(cluster, &["recover", &run.directory])?;
    Ok(format!("{} barriers recovered, as counted", run.compare(cluster)?))
}
