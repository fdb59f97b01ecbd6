//! Requests that are allowed, and requests that are refused.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::RwLockReadGuard;
use std::thread;
use std::time::Duration;

use dwell_serve::{Listen, Run, Server};
use tempfile::TempDir;

use crate::needs;
use crate::support::{Serving, beside_others, synthetic};

/// Starts a server. What comes with it has to be kept until the test ends.
fn serving() -> ((TempDir, RwLockReadGuard<'static, ()>), Serving) {
    let beside = beside_others();
    let directory = tempfile::tempdir().unwrap();
    let file = synthetic(directory.path());
    let serving = Serving::of(&[&file]);
    ((directory, beside), serving)
}

#[test]
fn without_a_secret_there_are_no_data() {
    let (_kept, server) = serving();
    for question in ["runs", "runs/0/overview", "runs/0/calls", "nothing"] {
        assert_eq!(server.send("GET", &format!("/api/v1/{question}"), &[], "").status, 401);
    }
    for wrong in ["", "Bearer", "Bearer ", "Basic YTpi", &format!("Bearer {}", "0".repeat(64))] {
        let header = format!("Authorization: {wrong}");
        let reply = server.send("GET", "/api/v1/runs", &[&header], "");
        assert_eq!(reply.status, 401, "{wrong}");
        assert!(reply.json()["error"].as_str().unwrap().contains("dwell view"));
    }
    // A code is not a secret, and not a thing that a query may hold.
    let code = server.code();
    assert_eq!(server.ask(&code, "runs").status, 401);
    assert_eq!(server.send("GET", &format!("/api/v1/runs?code={code}"), &[], "").status, 401);
    assert_eq!(server.exchange(&code).status, 200, "and it still works");
}

#[test]
fn a_code_works_once() {
    let (_kept, server) = serving();
    assert_eq!(server.exchange(&"0".repeat(64)).status, 403);
    assert_eq!(server.exchange("").status, 403);
    let code = server.code();
    let secret = server.exchange(&code).json()["secret"].as_str().unwrap().to_owned();
    assert_eq!(server.ask(&secret, "runs").status, 200);
    assert_eq!(server.exchange(&code).status, 403, "replayed");
    assert_eq!(server.ask(&secret, "runs").status, 200, "and that harms nobody");
    // Of many concurrent attempts one succeeds.
    let code = server.code();
    let wins: usize = thread::scope(|scope| {
        let tries: Vec<_> =
            (0..16).map(|_| scope.spawn(|| server.exchange(&code).status)).collect();
        tries.into_iter().filter(|_| true).map(|it| usize::from(it.join().unwrap() == 200)).sum()
    });
    assert_eq!(wins, 1);
}

#[test]
fn other_hosts_are_refused() {
    let (_kept, server) = serving();
    let secret = server.secret();
    let bearer = format!("Authorization: Bearer {secret}");
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "169.254.1.1", ""] {
        let header = format!("Host: {host}");
        for path in ["/", "/app.js", "/api/v1/runs"] {
            assert_eq!(
                server.send("GET", path, &[&header, &bearer], "").status,
                421,
                "{host} {path}"
            );
        }
    }
    assert_eq!(server.send("GET", "/", &["Host: localhost:8080"], "").status, 200, "a tunnel");
    let double = server.send("GET", "/", &["Host: localhost", "Host: evil.example"], "");
    assert!(matches!(double.status, 400 | 421), "{}", double.status);
    let none = server.raw(b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(none.status, 421);
}

#[test]
fn other_sites_are_refused() {
    let (_kept, server) = serving();
    let secret = server.secret();
    let bearer = format!("Authorization: Bearer {secret}");
    for site in ["cross-site", "same-site", "?"] {
        let header = format!("Sec-Fetch-Site: {site}");
        for path in ["/api/v1/runs", "/app.js", "/"] {
            assert_eq!(
                server.send("GET", path, &[&header, &bearer], "").status,
                403,
                "{site} {path}"
            );
        }
        let body = format!("{{\"code\":\"{}\"}}", server.code());
        let headers = [header.as_str(), "Content-Type: application/json"];
        assert_eq!(server.send("POST", "/api/v1/session", &headers, &body).status, 403);
    }
    let origin = server.send("GET", "/api/v1/runs", &["Origin: http://evil.example", &bearer], "");
    assert_eq!(origin.status, 403);
    for site in ["same-origin", "none"] {
        let header = format!("Sec-Fetch-Site: {site}");
        assert_eq!(server.send("GET", "/api/v1/runs", &[&header, &bearer], "").status, 200);
    }
    // A person may follow a link to the page, which holds no data; no site may frame it.
    let visit =
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    let page = server.send("GET", "/", &visit, "");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let frame =
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"];
    assert_eq!(server.send("GET", "/", &frame, "").status, 403);
    assert_eq!(page.header("access-control-allow-origin"), None);
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

#[test]
fn there_is_no_way_to_a_file() {
    let (_kept, server) = serving();
    let secret = server.secret();
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/app.js/../../Cargo.toml",
        "/index.html",
        "/.git/config",
        "/app.js%00",
    ] {
        let reply = server.send("GET", path, &[], "");
        assert!(matches!(reply.status, 400 | 404), "{path}: {}", reply.status);
        assert!(!String::from_utf8_lossy(&reply.body).contains("root:"), "{path}");
    }
    for question in [
        "runs/..%2f..%2fetc/passwd",
        "runs/0/../1/overview",
        "runs/1/overview",
        "runs/-1/overview",
        "runs/99999999999999999999/overview",
        "runs/0/source?call=/etc/passwd",
        "runs/0/source?call=0&file=/etc/passwd",
    ] {
        let reply = server.ask(&secret, question);
        assert!(!String::from_utf8_lossy(&reply.body).contains("root:"), "{question}");
        assert!(matches!(reply.status, 200 | 400 | 404), "{question}: {}", reply.status);
    }
}

#[test]
fn it_only_reads() {
    let (_kept, server) = serving();
    let bearer = format!("Authorization: Bearer {}", server.secret());
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        assert_eq!(server.send(method, "/api/v1/runs", &[&bearer], "").status, 405, "{method}");
        assert_eq!(server.send(method, "/", &[], "").status, 405, "{method}");
    }
    assert_eq!(server.send("GET", "/api/v1/session", &[], "").status, 405);
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    assert_eq!(server.send("POST", "/api/v1/session", &form, "code=0").status, 415);
}

#[test]
fn requests_have_their_size() {
    let (_kept, server) = serving();
    let secret = server.secret();
    let long = "x".repeat(8_000);
    assert_eq!(server.ask(&secret, &format!("runs/0/system/find?text={long}")).status, 414);
    let huge = format!("X-Filler: {}", "x".repeat(60_000));
    let reply = server.send("GET", "/", &[&huge], "");
    assert!(matches!(reply.status, 0 | 400 | 431), "{}", reply.status);
    let body = format!("{{\"code\":\"{}\"}}", "0".repeat(100_000));
    let json = ["Content-Type: application/json"];
    assert_eq!(server.send("POST", "/api/v1/session", &json, &body).status, 413);
    // Numbers out of range.
    for question in [
        "runs/0/system/names?chunk=4294967295",
        "runs/0/locations?first=4294967295&count=4294967295",
        "runs/0/bars?from=4294967295&count=4294967295",
        "runs/0/matrix?rows=4294967295-4294967295&columns=0-0",
        "runs/0/calls/values?metric=4294967295",
        "runs/0/spread?metric=0&call=4294967295",
        "runs/0/spread?metric=0&flavour=<b>",
        "runs/0/system/values?metric=x",
    ] {
        let status = server.ask(&secret, question).status;
        assert!(matches!(status, 200 | 400), "{question}: {status}");
    }
    // A silent client does not delay others.
    let _silent: Vec<_> =
        (0..32).map(|_| std::net::TcpStream::connect(&server.host).unwrap()).collect();
    assert_eq!(server.ask(&secret, "runs").status, 200);
}

/// Checks that another user of the machine gets no access, if this test is allowed to become another user.
#[test]
fn another_user_of_the_machine_sees_nothing() {
    let _beside = beside_others();
    let directory = tempfile::tempdir().unwrap();
    let file = synthetic(directory.path());
    let socket = directory.path().join("view.sock");
    let server =
        Server::bind(vec![Run::open(&file).unwrap()], &Listen::Socket(socket.clone())).unwrap();
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let other = Server::bind(vec![Run::open(&file).unwrap()], &Listen::Loopback).unwrap();
    let address = other.address().to_owned();
    thread::spawn(move || server.run(None));
    thread::spawn(move || other.run(None));
    // The owner can.
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    // Anybody can reach the directory, but not the socket in it.
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |script: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", script]).uid(65534).gid(65534);
        python.output()
    };
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n s.connect({:?})\n print('in')\nexcept \
         PermissionError:\n print('refused')",
        socket.display().to_string()
    );
    let Ok(output) = run(&script) else {
        return needs::missing("RIGHTS", "this user cannot become another, or there is no python3");
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "refused");
    let script = format!(
        "import urllib.request, urllib.error\ntry:\n urllib.request.urlopen('{address}/api/v1/runs')\n \
         print('in')\nexcept urllib.error.HTTPError as error:\n print(error.code)"
    );
    let output = run(&script).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "401");
}

#[test]
fn it_ends_when_nobody_asks() {
    let _beside = beside_others();
    let directory = tempfile::tempdir().unwrap();
    let file = synthetic(directory.path());
    let server = Server::bind(vec![Run::open(&file).unwrap()], &Listen::Loopback).unwrap();
    server.run(Some(Duration::from_millis(80))).unwrap();
}
