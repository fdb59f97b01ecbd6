//! A running server, and raw requests to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use dwell_serve::{Addresses, Listen, Run, Server};
use dwell_synth::report;
use serde_json::Value;

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Generates a report of moderate size.
pub(crate) fn synthetic(directory: &Path) -> PathBuf {
    let file = directory.join("r.cubex");
    let options =
        report::Options { locations: 70, paths: 60, metrics: 4, dense: 2, sparsity: 0.5, seed: 3 };
    report::generate(&options, &file, &|_| {}).unwrap();
    file
}

/// Tests that open hundreds of descriptors, of which a process may have 1,024, or take times run alone. The others run
/// beside each other.
static TURN: RwLock<()> = RwLock::new(());

/// Waits until no other test runs, and keeps them waiting.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no test runs that has to be alone, and keeps those waiting.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// A server that runs until the tests end.
pub(crate) struct Serving {
    pub(crate) addresses: Addresses,
    /// Host and port of the server.
    pub(crate) host: String,
}

impl Serving {
    pub(crate) fn of(files: &[&Path]) -> Self {
        let runs: Vec<Run> = files.iter().map(|file| Run::open(file).unwrap()).collect();
        let server = Server::bind(runs, &Listen::Loopback).unwrap();
        let host = server.address().strip_prefix("http://").unwrap().to_owned();
        let addresses = server.addresses();
        thread::spawn(move || server.run(None));
        Self { addresses, host }
    }

    /// Returns the code of a new address.
    pub(crate) fn code(&self) -> String {
        self.addresses.next().unwrap().split_once("#code=").unwrap().1.to_owned()
    }

    /// Sends bytes, and reads until the other side closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A server that has seen enough may close before all is sent.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        parse(&bytes)
    }

    /// Sends a request with a host, further headers and a body.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let host = match headers.iter().any(|it| it.to_lowercase().starts_with("host:")) {
            true => String::new(),
            false => format!("Host: {}\r\n", self.host),
        };
        let more: String = headers.iter().map(|it| format!("{it}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{more}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.raw(request.as_bytes())
    }

    pub(crate) fn exchange(&self, code: &str) -> Reply {
        let body = format!("{{\"code\":\"{code}\"}}");
        self.send("POST", "/api/v1/session", &["Content-Type: application/json"], &body)
    }

    /// Starts a session, and returns its secret.
    pub(crate) fn secret(&self) -> String {
        self.exchange(&self.code()).json()["secret"].as_str().unwrap().to_owned()
    }

    /// Sends a request of a session.
    pub(crate) fn ask(&self, secret: &str, question: &str) -> Reply {
        let bearer = format!("Authorization: Bearer {secret}");
        self.send("GET", &format!("/api/v1/{question}"), &[&bearer], "")
    }
}

fn parse(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    Reply { status, head, body }
}
