//! Listening, and ending.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

use crate::http::{Shared, router};
use crate::run::Run;

/// Where to listen.
#[derive(Clone, Debug, Default)]
pub enum Listen {
    /// On 127.0.0.1, at a port that the system chooses.
    #[default]
    Loopback,
    /// On 127.0.0.1 at a port.
    Port(u16),
    /// At a socket in the file system that only its owner may use.
    Socket(PathBuf),
    /// Where others on the network can connect, without encryption.
    Network(SocketAddr),
}

/// Connections that are open at once; others are not accepted until one ends.
const CONNECTIONS: usize = 256;

/// Most bytes of a request without its body.
const HEAD_BYTES: usize = 16 << 10;

/// How long a client may take to say what it wants.
const HEAD_TIME: Duration = Duration::from_secs(10);

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// A server that listens already, and answers once it [runs](Server::run).
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: Listener,
    shared: Arc<Shared>,
    address: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Gives new addresses while the server runs.
#[derive(Clone, Debug)]
pub struct Addresses {
    shared: Arc<Shared>,
    address: String,
}

impl Addresses {
    /// An address that starts one session: its fragment, which browsers send to nobody, is a code that
    /// works once.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn next(&self) -> io::Result<String> {
        Ok(format!("{}/#code={}", self.address, self.shared.keys.code()?))
    }
}

impl Server {
    /// Listens. The runs are known as 0, 1, and so on.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn bind(runs: Vec<Run>, listen: &Listen) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(4)
            .enable_all()
            .build()?;
        let _inside = runtime.enter();
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into();
        let tcp = |address: SocketAddr| runtime.block_on(TcpListener::bind(address));
        let (listener, address) = match listen {
            Listen::Loopback | Listen::Port(_) => {
                let port = if let Listen::Port(port) = listen { *port } else { 0 };
                let listener = tcp(loopback(port))?;
                let address = format!("http://{}", listener.local_addr()?);
                (Listener::Tcp(listener), address)
            }
            Listen::Network(address) => {
                let listener = tcp(*address)?;
                let bound = listener.local_addr()?;
                let ip = match bound.ip() {
                    ip if ip.is_unspecified() => machine_name(),
                    IpAddr::V6(ip) => format!("[{ip}]"),
                    ip => ip.to_string(),
                };
                hosts.push(ip.clone());
                (Listener::Tcp(listener), format!("http://{ip}:{}", bound.port()))
            }
            Listen::Socket(path) => {
                let listener = private_socket(path)?;
                (Listener::Unix(listener, path.clone()), "http://localhost:8080".to_owned())
            }
        };
        let runs = runs.into_iter().map(Arc::new).collect();
        let shared = Arc::new(Shared::new(runs, hosts));
        Ok(Self { runtime, listener, shared, address })
    }

    /// The address without a code.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What gives new addresses.
    pub fn addresses(&self) -> Addresses {
        Addresses { shared: self.shared.clone(), address: self.address.clone() }
    }

    /// Answers until nobody has asked anything for a while; for ever without an end.
    ///
    /// # Errors
    /// If connections can no longer be accepted.
    pub fn run(self, idle: Option<Duration>) -> io::Result<()> {
        let Self { runtime, listener, shared, .. } = self;
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let result = runtime.block_on(async {
            tokio::select! {
                result = accept(&listener, &shared, &connections) => result,
                () = until_idle(&shared, idle) => Ok(()),
            }
        });
        if let Listener::Unix(_, path) = &listener {
            let _ = std::fs::remove_file(path);
        }
        runtime.shutdown_background();
        result
    }
}

async fn until_idle(shared: &Shared, idle: Option<Duration>) {
    let Some(idle) = idle else { return std::future::pending().await };
    let most = idle.as_millis() as u64;
    loop {
        let past = shared.idle();
        if past >= most {
            return;
        }
        tokio::time::sleep(Duration::from_millis((most - past).max(10))).await;
    }
}

async fn accept(
    listener: &Listener,
    shared: &Arc<Shared>,
    connections: &Arc<Semaphore>,
) -> io::Result<()> {
    let service = router(shared.clone());
    loop {
        let Ok(permit) = connections.clone().acquire_owned().await else { return Ok(()) };
        let service = TowerToHyperService::new(service.clone());
        match listener {
            Listener::Tcp(listener) => match listener.accept().await {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(async move {
                        serve(stream, service).await;
                        drop(permit);
                    });
                }
                // Clients that give up and a lack of descriptors pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Listener::Unix(listener, _) => match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(async move {
                        serve(stream, service).await;
                        drop(permit);
                    });
                }
                // Clients that give up and a lack of descriptors pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: TowerToHyperService<axum::Router>,
) {
    // What goes wrong with one connection is that client's affair.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// A socket that only its owner may use, from its first instant on: it is made inside a directory of the
/// owner's and then moved.
fn private_socket(path: &std::path::Path) -> io::Result<UnixListener> {
    if let Ok(there) = std::fs::symlink_metadata(path) {
        // A server that was killed leaves its socket behind.
        let dead =
            there.file_type().is_socket() && std::os::unix::net::UnixStream::connect(path).is_err();
        if !dead {
            let why = format!("{} exists; name another file", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        std::fs::remove_file(path)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let room = PathBuf::from(name);
    std::fs::DirBuilder::new().mode(0o700).create(&room)?;
    let inside = room.join("s");
    let made = (|| {
        let listener = UnixListener::bind(&inside)?;
        std::fs::set_permissions(&inside, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&inside, path)?;
        Ok(listener)
    })();
    let _ = std::fs::remove_file(&inside);
    let _ = std::fs::remove_dir(&room);
    made
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".into() } else { name.to_owned() }
}
