//! Requests: which are allowed, and how they are answered.
//!
//! Every request passes the same checks, in this order: the host it is meant for (421), the length of its address
//! (414), the site it comes from (403), the method (405), the secret (401). Only then is it answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::answers::answer;
use crate::connections::Guest;
use crate::keys::Keys;
use crate::many::Runs;
use crate::page::ASSETS;
use crate::question::{Answer, Fault};

use crate::types::{Refused, Session};

/// The number of requests that are answered concurrently. Others wait.
const AT_ONCE: usize = 4;

/// The largest body of a request in bytes: a code in JSON.
const LONGEST_BODY: usize = 512;

/// The longest address of a request in bytes.
const LONGEST_ADDRESS: usize = 2048;

/// The time that a client may take to send the short body of a request.
const BODY_TIME: Duration = Duration::from_secs(5);

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) runs: Runs,
    pub(crate) keys: Keys,
    /// Names of hosts that requests may be meant for, without ports.
    pub(crate) hosts: Vec<String>,
    working: Semaphore,
    started: Instant,
    /// Milliseconds from the start of the server to the last request.
    last: AtomicU64,
}

impl Shared {
    pub(crate) fn new(runs: Runs, hosts: Vec<String>) -> Self {
        Self {
            runs,
            keys: Keys::default(),
            hosts,
            working: Semaphore::new(AT_ONCE),
            started: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Returns the milliseconds since the last request.
    pub(crate) fn idle(&self) -> u64 {
        self.now().saturating_sub(self.last.load(Ordering::Relaxed))
    }
}

/// Returns the router of the whole server: the page, sessions, and the interface behind its checks.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for asset in ASSETS {
        let one = move || async move {
            ([(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind))], asset.bytes)
        };
        router = router.route(asset.path, get(one));
    }
    router
        .route("/api/v1/session", post(session))
        .route("/api/v1/{*question}", get(question))
        .fallback(|| async { fault(StatusCode::NOT_FOUND, "not found") })
        .layer(middleware::from_fn_with_state(shared.clone(), gate))
        .with_state(shared)
}

/// Headers that every response carries.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

async fn gate(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match refuse(&shared, &request) {
        Some(refusal) => refusal,
        None => {
            shared.last.store(shared.now(), Ordering::Relaxed);
            next.run(request).await
        }
    };
    for &(name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the refusal of a request that is not allowed, or `None` for one that is.
fn refuse(shared: &Shared, request: &Request) -> Option<Response> {
    let headers = request.headers();
    let text = |name: HeaderName| headers.get(name).map(|it| it.to_str().unwrap_or("?"));
    let host = text(header::HOST).unwrap_or_default();
    // A foreign name that resolves to this machine is a sign of DNS rebinding.
    if headers.get_all(header::HOST).iter().count() > 1 || !is_known(&shared.hosts, host) {
        return Some(fault(
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not serve the requested host",
        ));
    }
    if request.uri().to_string().len() > LONGEST_ADDRESS {
        return Some(fault(StatusCode::URI_TOO_LONG, "the address is too long"));
    }
    if is_foreign(request, host) {
        return Some(fault(StatusCode::FORBIDDEN, "requests from other sites are refused"));
    }
    let path = request.uri().path();
    let is_session = path == "/api/v1/session";
    let allowed: &[Method] =
        if is_session { &[Method::POST] } else { &[Method::GET, Method::HEAD] };
    if !allowed.contains(request.method()) {
        return Some(fault(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed"));
    }
    if !path.starts_with("/api/") || is_session {
        return None;
    }
    if !is_known_to(shared, headers) {
        let why = "this tab has no key; open the address that `dwell view` prints";
        return Some(fault(StatusCode::UNAUTHORIZED, why));
    }
    if let Some(guest) = request.extensions().get::<Arc<Guest>>() {
        guest.is_welcome();
    }
    None
}

/// Returns `true` if a host, with or without a port, is one of ours. Any port will do: a tunnel has its own.
fn is_known(hosts: &[String], host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) && !port.is_empty() => {
            name
        }
        _ => host,
    };
    hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns `true` if another site makes the request. A person may come from anywhere to the page itself, which holds no
/// data and cannot be framed.
fn is_foreign(request: &Request, host: &str) -> bool {
    let header =
        |name: &'static str| request.headers().get(name).map(|it| it.to_str().unwrap_or("?"));
    if header("origin").is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
        return true;
    }
    let visit = request.uri().path() == "/"
        && header("sec-fetch-mode") == Some("navigate")
        && header("sec-fetch-dest") == Some("document");
    !visit && !matches!(header("sec-fetch-site"), None | Some("same-origin" | "none"))
}

fn is_known_to(shared: &Shared, headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    value.and_then(|it| it.strip_prefix("Bearer ")).is_some_and(|secret| shared.keys.knows(secret))
}

fn fault(status: StatusCode, why: &str) -> Response {
    (status, json(&Refused { error: why.to_owned() })).into_response()
}

/// Returns an answer in JSON.
fn json(value: &impl Serialize) -> Response {
    // The types that cross HTTP can always be written.
    let body = serde_json::to_string(value).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The body of a request for a session.
#[derive(Deserialize)]
struct Code {
    code: String,
}

/// Exchanges a one-time code for the secret of a new session.
async fn session(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let json_type = request.headers().get(header::CONTENT_TYPE);
    if json_type.is_none_or(|it| it != "application/json") {
        return fault(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the code must be sent as application/json",
        );
    }
    let body = to_bytes(request.into_body(), LONGEST_BODY);
    let body = match tokio::time::timeout(BODY_TIME, body).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return fault(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long for a code");
        }
        Err(_) => return fault(StatusCode::REQUEST_TIMEOUT, "the code was not received in time"),
    };
    let code = serde_json::from_slice(&body).map_or(String::new(), |it: Code| it.code);
    match shared.keys.exchange(&code) {
        Ok(Some(secret)) => json(&Session { secret }),
        Ok(None) => {
            let why = "the code is wrong, or was used before; press Enter where `dwell view` runs for another";
            fault(StatusCode::FORBIDDEN, why)
        }
        Err(_) => fault(StatusCode::INTERNAL_SERVER_ERROR, "the system provides no random numbers"),
    }
}

async fn question(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Ok(_permit) = shared.working.acquire().await else {
        return fault(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    };
    let of = shared.clone();
    let uri = request.uri().clone();
    let work = tokio::task::spawn_blocking(move || {
        let path = uri.path().strip_prefix("/api/v1/").unwrap_or_default();
        answer(&of.runs, path, uri.query().unwrap_or_default())
    });
    match work.await {
        Ok(Ok(Answer::Json(bytes))) => {
            ([(header::CONTENT_TYPE, "application/json")], Body::from(bytes)).into_response()
        }
        Ok(Ok(Answer::Numbers(bytes))) => {
            ([(header::CONTENT_TYPE, "application/octet-stream")], Body::from(bytes))
                .into_response()
        }
        Ok(Ok(Answer::Bytes(bytes))) => {
            ([(header::CONTENT_TYPE, "application/x-bytes")], Body::from(bytes)).into_response()
        }
        Ok(Err(Fault::Timeline(why))) => fault(
            StatusCode::UNPROCESSABLE_ENTITY,
            &format!("the index of the timeline cannot be read: {why}"),
        ),
        Ok(Err(Fault::Unknown)) => fault(StatusCode::NOT_FOUND, "unknown query or run"),
        Ok(Err(Fault::Bad(why))) => fault(StatusCode::BAD_REQUEST, &why),
        Ok(Err(Fault::Report(error))) => {
            fault(StatusCode::UNPROCESSABLE_ENTITY, &format!("the report cannot be read: {error}"))
        }
        Err(_) => fault(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error; please report it with the lines above",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::is_known;

    #[test]
    fn hosts_are_known_by_name_alone() {
        let hosts = ["127.0.0.1".to_owned(), "localhost".into(), "[::1]".into()];
        for good in ["127.0.0.1", "127.0.0.1:80", "LOCALHOST:9000", "[::1]:1", "[::1]"] {
            assert!(is_known(&hosts, good), "{good}");
        }
        for bad in
            ["", ":80", "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1:x"]
        {
            assert!(!is_known(&hosts, bad), "{bad}");
        }
    }
}
