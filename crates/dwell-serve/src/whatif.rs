//! What a run would gain without a cause, played while someone waits for it.
//!
//! The server cannot play a run: who starts it hands over a function that does. One prediction is made at a time, because
//! it takes the memory and the cores of an analysis, and each is made once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::run::Run;
use crate::types::WhatIf;

/// Largest number of predictions that are kept, which is that of the causes which are listed.
const MOST: usize = 64;

/// The result of playing a run with a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Description of the change, such as `with cause A balanced`.
    pub change: String,
    /// Length of the run as it was recorded, in seconds.
    pub recorded: f64,
    /// Predicted length, and the least and the greatest one over everything that is uncertain; or why it cannot be
    /// predicted.
    pub predicted: Result<[f64; 3], String>,
}

/// Plays a run with a change: gets the letters of a cause, and returns a prediction or a reason why there is none.
pub(crate) type Play = Box<dyn Fn(&str) -> Result<Played, String> + Send + Sync>;

/// A function that plays a run, and what it has returned.
#[derive(Default)]
pub(crate) struct Player {
    play: Option<Play>,
    known: Mutex<BTreeMap<String, WhatIf>>,
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("plays", &self.play.is_some()).finish_non_exhaustive()
    }
}

impl Run {
    /// Lets people play the run without one of its causes, by a function that gets the letters of the cause. It is called
    /// from other threads, for one cause at a time.
    #[must_use]
    pub fn with_player(
        mut self,
        play: impl Fn(&str) -> Result<Played, String> + Send + Sync + 'static,
    ) -> Self {
        self.player.play = Some(Box::new(play));
        self
    }

    /// Returns `true` if the run can be played.
    pub(crate) fn plays(&self) -> bool {
        self.player.play.is_some()
    }

    /// Plays the run without a cause. Returns `None` if there is no such cause, or if nothing can play the run.
    pub(crate) fn what_if(&self, cause: &str) -> Option<WhatIf> {
        let play = self.player.play.as_ref()?;
        self.findings.as_ref()?.causes.iter().find(|it| it.id == cause)?;
        let mut known = self.player.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = known.get(cause) {
            return Some(there.clone());
        }
        let answer = match play(cause) {
            Ok(Played { change, recorded, predicted: Ok([expected, low, high]) }) => WhatIf {
                change,
                recorded: Some(recorded),
                predicted: Some(expected),
                low: Some(low),
                high: Some(high),
                reason: None,
            },
            Ok(Played { change, recorded, predicted: Err(why) }) => {
                WhatIf { change, recorded: Some(recorded), reason: Some(why), ..WhatIf::default() }
            }
            Err(why) => WhatIf { reason: Some(why), ..WhatIf::default() },
        };
        if known.len() < MOST {
            known.insert(cause.to_owned(), answer.clone());
        }
        Some(answer)
    }
}
