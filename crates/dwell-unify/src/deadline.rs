//! Deadlines for the steps in which the recorder waits for other processes.
//!
//! The recorder talks to other processes when a run starts, when it ends, and when clocks are compared. Each of
//! these steps has a deadline: a process that died, hangs, or was never measured must not hold up a program that
//! continue without Dwell. The recorder always waits by polling ([`Deadline::wait`]), never in a blocking call of the
//! runtime, which cannot be interrupted.
//!
//! Only the arrival at a collective end of the runtime has no deadline: there a late process is waited for as the
//! runtime itself would wait for it.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// A step of the recorder that needs other processes, and the deadline until which it waits for them. All waits of a
/// step share the deadline, so that a process can delay a program by one deadline for each step and not for each
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    step: Step,
    /// The deadline, and its distance from the beginning of the step; `None` if the step waits without a deadline.
    limit: Option<(Instant, Duration)>,
}

/// Steps of the recorder in which processes communicate. The value travels in messages, so that a message of an
/// abandoned step is never taken for one of a later step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// The start of the recording, when processes agree on the run and compare their clocks.
    Start = 1,
    /// A comparison of clocks while the program runs.
    CompareClocks = 2,
    /// The end of the recording, when processes unify their definitions and assemble the archive.
    End = 3,
}

impl Step {
    /// Number of values that a step can have in a message, where 0 stands for no step. Tables that are indexed by the
    /// value have this length.
    pub const COUNT: usize = 4;
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "at the start of the recording",
            Self::CompareClocks => "to compare clocks",
            Self::End => "at the end of the recording",
        })
    }
}

/// Number of polls that follow each other at once before the loop begins to yield the processor after each.
const EAGER: u32 = 200;

impl Deadline {
    /// Makes a step without a deadline. It suits only the collective end of the runtime, at which the program itself
    /// would wait for a late process.
    pub const fn endless(step: Step) -> Self {
        Self { step, limit: None }
    }

    /// Makes a step whose deadline is `nanoseconds` from now. All waits of the step share this deadline. A time too far
    /// away to be represented means no deadline.
    pub fn from_now(step: Step, nanoseconds: u64) -> Self {
        let length = Duration::from_nanos(nanoseconds);
        Self { step, limit: Instant::now().checked_add(length).map(|until| (until, length)) }
    }

    /// Returns the same step with a new deadline, as far from now as the old one was from the beginning of the step. A
    /// step without a deadline stays without one.
    pub fn renewed(&self) -> Self {
        let length = self.limit.map(|(_, length)| length);
        let limit = length.and_then(|length| Some((Instant::now().checked_add(length)?, length)));
        Self { limit, ..*self }
    }

    /// Returns the step that this deadline belongs to, for the messages and errors of the step.
    pub const fn step(&self) -> Step {
        self.step
    }

    /// Calls `poll` until it returns an answer or an error, or until the deadline has passed. `whom` is the rank that
    /// the answer depends on, or `None` for all processes; the error names it.
    ///
    /// After the first polls the loop yields the processor between polls, because the process that is waited for may
    /// need it. The loop does not sleep: while it waits, `poll` also serves requests of other processes where the
    /// runtime needs that. `poll` is called at least once, also if the deadline has passed already.
    ///
    /// # Errors
    /// The error of `poll`, or one of kind [`io::ErrorKind::TimedOut`] after the deadline.
    pub fn wait<T>(
        &self,
        whom: Option<u64>,
        mut poll: impl FnMut() -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let mut polls = 0;
        loop {
            if let Some(answer) = poll()? {
                return Ok(answer);
            }
            if let Some((until, length)) = self.limit
                && Instant::now() >= until
            {
                return Err(self.timed_out(whom, length));
            }
            polls += 1;
            if polls >= EAGER {
                std::thread::yield_now();
            }
        }
    }

    #[cold]
    fn timed_out(&self, whom: Option<u64>, length: Duration) -> io::Error {
        let whom = whom.map_or("all processes".into(), |rank| format!("process {rank}"));
        let text = format!("waited {length:?} for {whom} {}", self.step);
        io::Error::new(io::ErrorKind::TimedOut, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_until_the_answer_is_there() {
        let deadline = Deadline::from_now(Step::End, 60_000_000_000);
        let mut polls = 0;
        let answer = deadline.wait(Some(3), || {
            polls += 1;
            Ok((polls == 1000).then_some(polls))
        });
        assert_eq!(answer.ok(), Some(1000));
    }

    #[test]
    fn gives_up_at_the_deadline_and_says_for_whom_it_waited() {
        let deadline = Deadline::from_now(Step::CompareClocks, 20_000_000);
        let began = Instant::now();
        let error = deadline.wait::<()>(Some(7), || Ok(None)).map_err(|error| error.to_string());
        assert!(began.elapsed() >= Duration::from_millis(20));
        assert_eq!(error, Err("waited 20ms for process 7 to compare clocks".into()));
        // The deadline is that of the step, not of a single wait.
        let began = Instant::now();
        assert!(deadline.wait::<()>(None, || Ok(None)).is_err());
        assert!(began.elapsed() < Duration::from_millis(20));
    }

    #[test]
    fn an_error_ends_the_wait() {
        let deadline = Deadline::endless(Step::Start);
        let error = deadline.wait::<()>(None, || Err(io::Error::other("gone")));
        assert_eq!(error.map_err(|error| error.to_string()), Err("gone".into()));
    }
}
