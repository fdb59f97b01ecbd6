//! The setting `layer`: how the calls of single layers are recorded.

use crate::filter::{Detail, Details};

/// Names in the value of the setting, and the words that each of them may have, the default first.
const WORDS: [(&str, &[&str]); 6] = [
    ("ucx", &["off", "on"]),
    ("omp", &["off", "on"]),
    ("mpi-inner", &["first", "all"]),
    ("gasnet-handlers", Detail::WORDS),
    ("gasnet-locks", Detail::WORDS),
    ("gasnet-transfers", &["events", "count"]),
];

/// How the calls of single layers are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Set if calls of UCX are recorded.
    ucx: bool,
    /// Set if calls of OpenMP are recorded.
    omp: bool,
    /// Set if calls of MPI that another runtime makes again and again inside one of its own are counted, and not recorded
    /// one by one.
    pub(crate) counts_inner: bool,
    pub(crate) gasnet: Details,
}

impl Default for Layers {
    fn default() -> Self {
        Self { ucx: false, omp: false, counts_inner: true, gasnet: Details::default() }
    }
}

impl Layers {
    /// Parses a list such as `ucx=on,gasnet-locks=off`.
    ///
    /// # Errors
    /// A description of what is expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut layers = Self::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, word) = item.split_once('=').unwrap_or((item, ""));
            let Some((_, words)) = WORDS.iter().find(|it| it.0 == name) else {
                let known: Vec<String> = WORDS
                    .iter()
                    .map(|(name, words)| format!("{name}={}", words.join("|")))
                    .collect();
                return Err(format!("there is no {name:?}; there are {}", known.join(", ")));
            };
            if !words.contains(&word) {
                return Err(format!("{name} is one of {}", words.join(", ")));
            }
            match name {
                "ucx" => layers.ucx = word == "on",
                "omp" => layers.omp = word == "on",
                "mpi-inner" => layers.counts_inner = word == "first",
                "gasnet-handlers" => layers.gasnet.handlers = Detail::of(Some(word)),
                "gasnet-locks" => layers.gasnet.locks = Detail::of(Some(word)),
                _ => layers.gasnet.counts_shared = word == "count",
            }
        }
        Ok(layers)
    }

    /// Returns `true` if calls of the layer of this name are recorded.
    pub(crate) fn record(self, name: &str) -> bool {
        match name {
            "ucx" => self.ucx,
            "omp" => self.omp,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_has_words_of_its_own() {
        assert_eq!(Layers::parse(""), Ok(Layers::default()));
        let layers =
            Layers::parse("ucx=on, mpi-inner=all,gasnet-locks=off,gasnet-transfers=count").unwrap();
        assert!(layers.ucx && !layers.counts_inner && layers.gasnet.counts_shared);
        assert_eq!((layers.gasnet.handlers, layers.gasnet.locks), (Detail::Regions, Detail::Off));
        for (text, expected) in [
            ("ucx", "ucx is one of off, on"),
            ("mpi-inner=some", "mpi-inner is one of first, all"),
            ("upc=on", "there is no \"upc\"; there are ucx=off|on, "),
        ] {
            let error = Layers::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
