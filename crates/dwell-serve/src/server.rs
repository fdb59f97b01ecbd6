//! Listening for connections, serving them, and shutting down.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};

use crate::connections::{Connections, Guest};
use crate::http::{Shared, router};
use crate::many::Runs;

/// The place where a [`Server`] listens. Everything but `Network` is reachable from the same machine only.
#[derive(Clone, Debug, Default)]
pub enum Listen {
    /// On 127.0.0.1, at a port that the operating system chooses. [`Server::address`] tells which one it is.
    #[default]
    Loopback,
    /// On 127.0.0.1, at this port. Binding fails if another process uses it.
    Port(u16),
    /// At a Unix socket with this path, which only its owner may use. A socket that a killed server left behind is
    /// replaced.
    Socket(PathBuf),
    /// At an address where others on the network can connect. The connection is not encrypted, so anyone on the way can
    /// read the secret.
    Network(SocketAddr),
}

/// The largest number of bytes of a request without its body.
const HEAD_BYTES: usize = 16 << 10;

/// The time that a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// The lifetime of a connection that has not shown a secret, and of one that has.
const STRANGER_TIME: Duration = Duration::from_secs(30);
const KNOWN_TIME: Duration = Duration::from_secs(60 * 60);

/// The time that a connection may then take to finish its current request.
const LAST_TIME: Duration = Duration::from_secs(10);

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// A server that listens already, and answers once it [runs](Server::run). Clients that connect earlier wait in the
/// backlog of the operating system.
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

/// The reason why a server has ended, as [`Server::run`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// No request came for as long as the caller allowed.
    Idle,
    /// A signal told the server to end: the number of SIGTERM, SIGINT or SIGHUP.
    Signal(i32),
}

/// A source of new addresses while the server runs, which can be cloned and sent to another thread.
#[derive(Clone, Debug)]
pub struct Addresses {
    shared: Arc<Shared>,
    address: String,
}

impl Addresses {
    /// Returns an address that starts one session. Its fragment, which browsers do not send, is a code that works once.
    ///
    /// The server remembers the 16 codes issued last; an older code no longer works, even if it was never used. Print
    /// the address only where its owner alone can read it.
    ///
    /// # Errors
    /// If the operating system gives no random numbers.
    pub fn next(&self) -> io::Result<String> {
        Ok(format!("{}/#code={}", self.address, self.shared.keys.code()?))
    }

    /// Returns `true` if nobody has used an address yet, and it still works.
    pub fn is_unused(&self, address: &str) -> bool {
        address.rsplit('=').next().is_some_and(|code| self.shared.keys.awaits(code))
    }
}

impl Server {
    /// Binds the server, which then listens. Requests refer to the runs by their position: 0, 1, and so on.
    ///
    /// # Errors
    /// If the server cannot listen there, because the port or the path is in use for instance, or if its threads cannot
    /// be started.
    pub fn bind(runs: impl Into<Runs>, listen: &Listen) -> io::Result<Self> {
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
        let shared = Arc::new(Shared::new(runs.into(), hosts));
        Ok(Self { runtime, listener, shared, address })
    }

    /// Returns the address without a code, such as `http://127.0.0.1:41234`. For a Unix socket it is
    /// `http://localhost:8080`, the local end of an SSH tunnel to the socket.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the source of new addresses. Take it before [`run`](Self::run), which consumes the server.
    pub fn addresses(&self) -> Addresses {
        Addresses { shared: self.shared.clone(), address: self.address.clone() }
    }

    /// Serves requests until none has come for the duration `idle`, or a signal tells the server to end. Without `idle`
    /// only a signal ends it. The call blocks; when it returns, a Unix socket has been removed, and requests in
    /// progress are abandoned.
    ///
    /// # Errors
    /// If the operating system does not let the process watch for signals.
    pub fn run(self, idle: Option<Duration>) -> io::Result<Ended> {
        let Self { runtime, listener, shared, .. } = self;
        let result = runtime.block_on(async {
            // Before the first answer: a client that has one may send a signal, and expects the socket to be removed.
            let signalled = signalled()?;
            Ok(tokio::select! {
                () = accept(&listener, &shared) => Ended::Idle,
                () = until_idle(&shared, idle) => Ended::Idle,
                signal = signalled => Ended::Signal(signal),
            })
        });
        if let Listener::Unix(_, path) = &listener {
            let _ = std::fs::remove_file(path);
        }
        runtime.shutdown_background();
        result
    }
}

/// Watches for SIGTERM, SIGINT and SIGHUP from now on, and returns a future that resolves to the first signal received.
fn signalled() -> io::Result<impl Future<Output = i32>> {
    let listen = |kind| signal(kind).map(|signal| (kind.as_raw_value(), signal));
    let (terminate, mut a) = listen(SignalKind::terminate())?;
    let (interrupt, mut b) = listen(SignalKind::interrupt())?;
    let (hangup, mut c) = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = a.recv() => terminate,
            _ = b.recv() => interrupt,
            _ = c.recv() => hangup,
        }
    })
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

async fn accept(listener: &Listener, shared: &Arc<Shared>) {
    let router = TowerToHyperService::new(router(shared.clone()));
    let connections = Arc::new(Connections::default());
    loop {
        let service = || Service { router: router.clone(), guest: connections.admit() };
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                let _ = stream.set_nodelay(true);
                drop(tokio::spawn(serve(stream, service())));
            }),
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| {
                drop(tokio::spawn(serve(stream, service())));
            }),
        };
        // Clients that give up, or too few descriptors, are temporary: try again.
        if accepted.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The router together with one connection. Each request carries the connection that it came by.
#[derive(Clone)]
struct Service {
    router: TowerToHyperService<axum::Router>,
    guest: Arc<Guest>,
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response =
        <TowerToHyperService<axum::Router> as hyper::service::Service<Request<Incoming>>>::Response;
    type Error =
        <TowerToHyperService<axum::Router> as hyper::service::Service<Request<Incoming>>>::Error;
    type Future =
        <TowerToHyperService<axum::Router> as hyper::service::Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.guest.clone());
        self.router.call(request)
    }
}

/// Serves a connection until it ends, must make room for another, or has reached its lifetime. Errors of one connection
/// do not concern the others.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: Service) {
    let guest = service.guest.clone();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = guest.told_to_leave() => return,
        () = lifetime(&guest) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = guest.told_to_leave() => {}
        () = tokio::time::sleep(LAST_TIME) => {}
    }
}

/// Waits for the lifetime of a connection.
async fn lifetime(guest: &Guest) {
    tokio::time::sleep(STRANGER_TIME).await;
    if guest.is_known() {
        tokio::time::sleep(KNOWN_TIME - STRANGER_TIME).await;
    }
}

/// Creates a socket that only its owner may use, from its first instant on: it is created inside a private directory
/// and then moved.
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
