//! The browser explorer: a server for one person, and the page it serves.
//!
//! * [`Run`]: a report and the files beside it.
//! * [`Server`]: answers the page's requests about runs, on 127.0.0.1 or a Unix socket, for clients that have the key.
//! * [`export`]: the page and its answers in one file, which needs no server.
//!
//! The page is built from `web/` by `cargo xtask web` and is part of this crate, so that `cargo build` needs no Node.
//! Every number that it shows comes from `dwell-report`.
//!
//! # Access
//!
//! Loopback is not private on a machine that others use. So:
//!
//! * An address has a one-time code of 256 bits in its fragment, which no browser sends and no server logs. The page
//!   exchanges it for a secret that it keeps for its tab and sends as a bearer token. Codes and secrets are compared in
//!   constant time and never printed anywhere else.
//! * Requests for another host are refused (421), as are those that other sites make (403); there is no CORS. A person
//!   may follow a link to the page itself, which holds no data and cannot be framed.
//! * The interface only reads. Runs are named by number; no request names a file. Source is shown only from files whose
//!   name is that of a source file, and from directories that the user allows; no link is followed there.
//! * The sizes of heads, bodies and addresses and the numbers of connections and concurrent requests are limited, and
//!   each has its deadline. Connections that have not shown the secret compete with one another only: a client that has
//!   it is served at once.
//! * Names of regions come from strangers' programs: they travel as JSON and become text nodes, never markup.

#![forbid(unsafe_code)]
// Data from a file or a request must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod answers;
mod causes;
mod compare;
mod connections;
mod export;
mod http;
mod keys;
mod lengths;
mod many;
mod matrix;
mod node;
mod overview;
mod page;
mod progress;
mod question;
mod run;
mod server;
mod source;
mod span;
mod timeline;
mod types;
mod whatif;

pub use export::{Exported, export};
pub use many::{Directory, Listed, Runs};
pub use run::Run;
pub use server::{Addresses, Ended, Listen, Server};
pub use source::line as source_line;
pub use whatif::Played;
