//! The files of the web page that shows a report, as `cargo xtask web` built them.

/// A file of the web page: the path of its URL, its media type and its contents.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

pub(crate) const HTML: &str = include_str!("../page/index.html");
pub(crate) const SCRIPT: &str = include_str!("../page/app.js");
pub(crate) const STYLE: &str = include_str!("../page/app.css");

/// All files of the web page. The server cannot serve any other file.
pub(crate) const ASSETS: &[Asset] = &[
    Asset { path: "/", kind: "text/html; charset=utf-8", bytes: HTML.as_bytes() },
    Asset { path: "/app.js", kind: "text/javascript; charset=utf-8", bytes: SCRIPT.as_bytes() },
    Asset { path: "/app.css", kind: "text/css; charset=utf-8", bytes: STYLE.as_bytes() },
];
