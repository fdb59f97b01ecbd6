//! The nodes of the cluster: networks, authentication, file system, scheduler.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::daemons::{Daemon, until};
use crate::process;
use crate::workspace::Workspace;

/// Number of compute nodes.
pub(super) const NODES: usize = 3;

/// Name and address of the login node, which also runs the scheduler and serves the volume.
const LOGIN: (&str, &str) = ("login1", "10.77.0.254");

/// Path of the volume on each node.
const VOLUME: &str = "/mnt/dwell";

/// How long a command may take before it counts as hung: srun waits without end for nodes that are down.
const LIMIT: &str = "120";

/// A running cluster. It is taken down when the value is dropped.
pub(super) struct Cluster {
    /// Directory of the configuration and of programs, on the disk that all nodes share.
    folder: PathBuf,
    root: PathBuf,
    dwell: PathBuf,
    nodes: Vec<RefCell<Option<Daemon>>>,
    login: RefCell<Daemon>,
    _servers: Vec<Daemon>,
    _network: Network,
}

/// The virtual network between the nodes, removed when the value is dropped.
struct Network;

impl Drop for Network {
    fn drop(&mut self) {
        for node in 1..=NODES {
            let _ = ip(&["netns", "delete", &network(node)]);
        }
        let _ = ip(&["link", "delete", "dwell0"]);
    }
}

fn network(node: usize) -> String {
    format!("dwell-n{node}")
}

fn ip(words: &[&str]) -> Result<String> {
    process::output(Command::new("ip").args(words))
}

impl Cluster {
    /// Starts everything and waits until the nodes are idle.
    pub(super) fn start(workspace: &Workspace) -> Result<Self> {
        let user = process::output(Command::new("id").arg("-u"))?;
        ensure!(user.trim() == "0", "namespaces of networks and mounts need root");
        let folder = workspace.target.join("cluster");
        ensure!(!folder.starts_with("/tmp"), "each node has a /tmp of its own: build elsewhere");
        let _ = fs::remove_dir_all(&folder);
        for name in ["state", "log", "bricks/1", "bricks/2", "gluster", "munge", "home"] {
            fs::create_dir_all(folder.join(name)).context("cannot make directories")?;
        }
        let network = connect()?;
        write_hosts(&folder)?;
        let mut servers = vec![munge(&folder)?];
        servers.push(volume(&folder)?);
        write_configuration(&folder)?;
        let log = folder.join("log");
        let configuration = folder.join("slurm.conf");
        let login = login_script(&folder, &configuration);
        let login = Daemon::start("login", None, &["--uts"], &login, &log)?;
        let mut cluster = Self {
            root: workspace.root.clone(),
            dwell: workspace.target.join("debug/dwell"),
            nodes: Vec::new(),
            login: RefCell::new(login),
            _servers: servers,
            _network: network,
            folder,
        };
        for node in 1..=NODES {
            cluster.nodes.push(RefCell::new(None));
            cluster.boot(node)?;
        }
        cluster.wait_for_nodes()?;
        Ok(cluster)
    }

    /// Starts a node, or starts it again after [`Cluster::kill_node`].
    pub(super) fn boot(&self, node: usize) -> Result<()> {
        let script = node_script(&self.folder, node);
        let name = format!("n{node}");
        let log = self.folder.join("log");
        let daemon = Daemon::start(&name, Some(&network(node)), &["--uts"], &script, &log)?;
        *self.nodes[node - 1].borrow_mut() = Some(daemon);
        Ok(())
    }

    /// Ends all processes of a node at once, as a power failure does.
    pub(super) fn kill_node(&self, node: usize) {
        self.nodes[node - 1].borrow_mut().take();
    }

    /// Waits until all nodes can run jobs.
    pub(super) fn wait_for_nodes(&self) -> Result<()> {
        for daemon in &self.nodes {
            if let Some(daemon) = daemon.borrow_mut().as_mut() {
                daemon.still_runs()?;
            }
        }
        until(Duration::from_secs(60), || {
            let idle = format!("test \"$(sinfo -h -N -t idle -o %N | wc -l)\" = {NODES}");
            self.on_login(&["sh", "-c", &idle])
        })
        .context("the nodes do not become idle; see target/cluster/log")
    }

    /// Returns a command for the login node, where the volume is mounted and no process of a job can be seen.
    pub(super) fn on_login(&self, words: &[&str]) -> Command {
        let entered = self.login.borrow_mut().enter();
        self.prepared(entered, words)
    }

    /// Returns a command for a node, outside of any job.
    pub(super) fn on_node(&self, node: usize, words: &[&str]) -> Command {
        let entered = match self.nodes[node - 1].borrow_mut().as_mut() {
            Some(daemon) => daemon.enter(),
            None => Ok(Command::new("false")),
        };
        self.prepared(entered, words)
    }

    fn prepared(&self, entered: Result<Command>, words: &[&str]) -> Command {
        let mut command = entered.unwrap_or_else(|_| Command::new("false"));
        let home = format!("--wd={}", self.home().display());
        command.arg(home).args(["timeout", "--kill-after=5", LIMIT]).args(words);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        process::in_a_container(&mut command);
        // Without its own device, Open MPI's one-sided communication over RDMA fails in a network namespace.
        command.env("OMPI_MCA_osc", "^rdma").stdin(Stdio::null());
        // UCX tells machines apart by the id of their boot, and takes nodes that share it for one with shared memory.
        command.env("UCX_TLS", "self,tcp").env("UCX_NET_DEVICES", "eth0");
        command.env("OMPI_MCA_pml", "ob1").env("OMPI_MCA_btl", "self,vader,tcp");
        command
    }

    /// Directory in which commands run: on the disk that all nodes share.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// A directory of the volume.
    pub(super) fn volume() -> &'static Path {
        Path::new(VOLUME)
    }

    /// The `dwell` that is tried.
    pub(super) fn dwell(&self) -> &str {
        self.dwell.to_str().unwrap_or("dwell")
    }

    /// Compiles a program of `tests/programs` with a compiler of a runtime. Returns its path.
    pub(super) fn compile(&self, compiler: &str, flags: &[&str], source: &str) -> Result<PathBuf> {
        let stem = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
        let program = self.home().join(format!("{stem}.{compiler}"));
        if !program.exists() {
            let source = self.root.join("tests/programs").join(source);
            let mut command = Command::new(compiler);
            command.args(["-g", "-O1"]).args(flags).arg("-o").arg(&program).arg(source);
            process::output(&mut command)?;
        }
        Ok(program)
    }
}

/// Runs a command and returns its output, whatever its exit code is.
pub(super) fn output(mut command: Command) -> Result<Output> {
    let shown = process::display(&command);
    println!("$ {}", shown.rsplit("120 ").next().unwrap_or(&shown));
    let output = command.output().with_context(|| shown)?;
    print!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

/// Connects the networks of the nodes by a bridge.
fn connect() -> Result<Network> {
    // What an earlier run left when it was killed.
    drop(Network);
    let network = Network;
    ip(&["link", "add", "dwell0", "type", "bridge"])?;
    ip(&["address", "add", &format!("{}/24", LOGIN.1), "dev", "dwell0"])?;
    ip(&["link", "set", "dwell0", "up"])?;
    for node in 1..=NODES {
        let (name, link) = (self::network(node), format!("dwell{node}"));
        ip(&["netns", "add", &name])?;
        ip(&["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
        ip(&["link", "set", &link, "master", "dwell0", "up"])?;
        let address = format!("10.77.0.{node}/24");
        ip(&["-n", &name, "address", "add", &address, "dev", "eth0"])?;
        ip(&["-n", &name, "link", "set", "eth0", "up"])?;
        ip(&["-n", &name, "link", "set", "lo", "up"])?;
    }
    Ok(network)
}

fn write_hosts(folder: &Path) -> Result<()> {
    let mut hosts = format!("127.0.0.1 localhost\n{} {}\n", LOGIN.1, LOGIN.0);
    for node in 1..=NODES {
        hosts += &format!("10.77.0.{node} n{node}\n");
    }
    fs::write(folder.join("hosts"), hosts).context("cannot write hosts")
}

/// Starts the authentication that Slurm uses, with a key of its own.
fn munge(folder: &Path) -> Result<Daemon> {
    let place = folder.join("munge");
    let script = format!(
        "cd {place}; dd if=/dev/urandom of=key bs=1024 count=1 status=none; chmod 400 key; chmod 755 .
         exec munged --foreground --force --key-file={place}/key --socket={place}/socket \
         --pid-file={place}/pid --log-file={place}/log --seed-file={place}/seed",
        place = place.display()
    );
    let daemon = Daemon::start("munge", None, &[], &script, &folder.join("log"))?;
    let socket = format!("--socket={}", place.join("socket").display());
    until(Duration::from_secs(20), || {
        let mut command = Command::new("munge");
        command.args(["--no-input", &socket]);
        command
    })
    .context("munge does not start; see target/cluster/log")?;
    Ok(daemon)
}

/// Starts GlusterFS with one volume over two bricks.
fn volume(folder: &Path) -> Result<Daemon> {
    let place = folder.join("gluster");
    let options = format!(
        "volume management
    type mgmt/glusterd
    option working-directory {0}
    option run-directory {0}
    option transport-type socket
end-volume
",
        place.display()
    );
    let file = place.join("glusterd.vol");
    fs::write(&file, options).context("cannot write the options of GlusterFS")?;
    let script = format!("exec glusterd --no-daemon --volfile={}", file.display());
    let mut daemon = Daemon::start("gluster", None, &[], &script, &folder.join("log"))?;
    let mut gluster = |words: String| -> Result<()> {
        until(Duration::from_secs(30), || {
            let mut command = daemon.enter().unwrap_or_else(|_| Command::new("false"));
            command.args(["gluster", "--mode=script"]).args(words.split(' '));
            command
        })
    };
    gluster("volume list".to_owned())?;
    let brick = |number| format!("{}:{}", LOGIN.1, folder.join("bricks").join(number).display());
    gluster(format!("volume create dwell {} {} force", brick("1"), brick("2")))?;
    // A client that is gone frees its locks after this many seconds.
    gluster("volume set dwell network.ping-timeout 5".to_owned())?;
    gluster("volume start dwell".to_owned())?;
    Ok(daemon)
}

fn write_configuration(folder: &Path) -> Result<()> {
    let mut text = format!(
        "ClusterName=dwell
SlurmctldHost={name}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/state/%n
SlurmctldPidFile={folder}/state/slurmctld.pid
SlurmdPidFile={folder}/state/%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmix
MpiParams=ports=12000-12999
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=5
SlurmdTimeout=10
MinJobAge=300
SlurmdParameters=config_overrides
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=YES
",
        name = LOGIN.0,
        address = LOGIN.1,
        folder = folder.display(),
    );
    for node in 1..=NODES {
        text += &format!("NodeName=n{node} NodeAddr=10.77.0.{node} CPUs=4 RealMemory=2000\n");
    }
    fs::write(folder.join("slurm.conf"), text).context("cannot write slurm.conf")?;
    let cgroups = "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n";
    fs::write(folder.join("cgroup.conf"), cgroups).context("cannot write cgroup.conf")
}

/// Mounts what a node has of its own, and the volume.
fn mounts(folder: &Path, name: &str) -> String {
    format!(
        "hostname {name}
mount --bind {folder}/hosts /etc/hosts
mount -t tmpfs tmp /tmp && chmod 1777 /tmp
mount -t tmpfs shm /dev/shm
mkdir -p {VOLUME}
glusterfs --volfile-server={server} --volfile-id=dwell --log-file={folder}/log/mount.{name}.log {VOLUME}
",
        folder = folder.display(),
        server = LOGIN.1,
    )
}

fn login_script(folder: &Path, configuration: &Path) -> String {
    let mounts = mounts(folder, LOGIN.0);
    format!("{mounts}exec slurmctld -D -c -f {}", configuration.display())
}

fn node_script(folder: &Path, node: usize) -> String {
    let mounts = mounts(folder, &format!("n{node}"));
    let configuration = folder.join("slurm.conf");
    let configuration = configuration.display();
    format!("{mounts}export SLURM_CONF={configuration}\nexec slurmd -D -f {configuration}")
}
