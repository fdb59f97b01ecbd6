//! Parts of requests and answers that all modules of the interface share: parameters, the content of an answer, and reasons why there is
//! none.

use std::borrow::Cow;

use serde::Serialize;

type Result<T> = std::result::Result<T, Fault>;

/// The content of an answer.
#[derive(Debug)]
pub(crate) enum Answer {
    Json(Vec<u8>),
    /// Floating-point numbers of eight bytes, little-endian.
    Numbers(Vec<u8>),
    /// Bytes, each a number from 0 to 255.
    Bytes(Vec<u8>),
}

/// The reason why a request cannot be answered.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The path is none of the interface.
    Unknown,
    /// A parameter is missing or has no valid value.
    Bad(Cow<'static, str>),
    /// The report is damaged.
    Report(dwell_report::Error),
    /// The index of the timeline cannot be read.
    Timeline(String),
}

impl From<dwell_report::Error> for Fault {
    fn from(error: dwell_report::Error) -> Self {
        Self::Report(error)
    }
}

/// The parameters of a request.
pub(crate) struct Parameters<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Parameters<'a> {
    pub(crate) fn parse(query: &'a str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref())
    }

    /// Returns a parameter that must be a number, or `None` if it is not given.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<u32>> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Fault::Bad(format!("`{name}` must be a number").into()))
        };
        self.get(name).map(parse).transpose()
    }
}

/// Returns a value as an answer.
pub(crate) fn json(value: &impl Serialize) -> Result<Answer> {
    serde_json::to_vec(value)
        .map(Answer::Json)
        .map_err(|error| Fault::Bad(error.to_string().into()))
}
