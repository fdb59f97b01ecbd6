//! Another user of the login node opens connections and never finishes a request: a client that has the key is served
//! all the same, and at once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{Serving, alone, synthetic};

/// Number of connections of each kind, more than the server keeps open.
const CROWD: usize = 300;

/// The time that a valid request may take. The machine may be busy, so the best of several attempts counts.
const AT_MOST: Duration = Duration::from_millis(100);

fn connect(server: &Serving, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    // A refused client may find the connection closed already.
    let _ = stream.write_all(request.as_bytes());
    stream
}

/// Returns the shortest time in which a request was answered.
fn best(server: &Serving, secret: &str) -> Duration {
    let ask = || {
        let begin = Instant::now();
        assert_eq!(server.ask(secret, "runs").status, 200);
        begin.elapsed()
    };
    (0..10).map(|_| ask()).min().unwrap()
}

fn unfinished(server: &Serving) -> Vec<(&'static str, String)> {
    let host = &server.host;
    vec![
        ("says nothing", String::new()),
        ("half a head", format!("GET / HTTP/1.1\r\nHost: {host}\r\n")),
        (
            "half a body",
            format!(
                "POST /api/v1/session HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                 Content-Length: 100\r\n\r\n{{"
            ),
        ),
        (
            "a body for a question",
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nx"),
        ),
        ("stays after its answer", format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")),
        ("never reads", format!("GET /app.js HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(20)),
    ]
}

#[test]
fn a_crowd_holds_up_nobody_who_has_the_key() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let server = Serving::of(&[&synthetic(directory.path())]);
    let secret = server.secret();
    best(&server, &secret);
    let all = unfinished(&server);
    for (what, request) in &all {
        let _crowd: Vec<_> = (0..CROWD).map(|_| connect(&server, request)).collect();
        let took = best(&server, &secret);
        assert!(took < AT_MOST, "{what}: {took:?}");
    }
    // Slow bodies and silence at once, and a new tab of the owner's.
    let mixed = all.iter().filter(|(what, _)| ["says nothing", "half a body"].contains(what));
    let _crowd: Vec<_> =
        mixed.flat_map(|(_, request)| (0..CROWD).map(|_| connect(&server, request))).collect();
    let begin = Instant::now();
    let another = server.secret();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(best(&server, &another) < AT_MOST);
}

#[test]
fn nobody_keeps_a_connection_without_finishing() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let server = Serving::of(&[&synthetic(directory.path())]);
    let begin = Instant::now();
    let streams: Vec<_> = (unfinished(&server).into_iter())
        .filter(|(what, _)| *what != "never reads")
        .map(|(what, request)| (what, connect(&server, &request)))
        .collect();
    for (what, mut stream) in streams {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut bytes = Vec::new();
        let ended = stream.read_to_end(&mut bytes);
        assert!(ended.is_ok(), "{what}: {ended:?} after {:?}", begin.elapsed());
    }
}

#[test]
fn who_has_the_key_keeps_the_connection() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let server = Serving::of(&[&synthetic(directory.path())]);
    let secret = server.secret();
    let request = format!(
        "GET /api/v1/runs HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {secret}\r\n\r\n",
        server.host
    );
    let mut mine = connect(&server, &request);
    mine.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut buffer = [0; 4096];
    assert!(mine.read(&mut buffer).unwrap() > 0);
    let _crowd: Vec<_> = (0..CROWD).map(|_| connect(&server, "")).collect();
    assert!(best(&server, &secret) < AT_MOST);
    mine.write_all(request.as_bytes()).unwrap();
    let length = mine.read(&mut buffer).unwrap();
    assert!(buffer[..length].starts_with(b"HTTP/1.1 200"), "the crowd took its place");
}
