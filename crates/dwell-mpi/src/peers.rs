//! What a program needs of the processes that it works with.

use crate::error::Error;
use crate::world::{Agreement, World};

/// The processes of a launch, as a program that shares its work with them sees them. Every method that communicates
/// must be called by all of them, in the same order and with the same `step`, which names it in messages.
pub trait Peers {
    /// Returns the rank of this process.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Sends `out[r]` to each process `r`, and receives from it what it sent into `into[r]`, its own included. Both
    /// lists keep their memory; `out` has empty buffers afterwards.
    ///
    /// # Errors
    /// If the processes cannot communicate any more.
    fn exchange(
        &mut self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error>;

    /// Joins numbers of all processes. All must pass as many of each kind.
    ///
    /// # Errors
    /// If the processes cannot communicate any more.
    fn agree(&mut self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error>;

    /// Joins bytes of all processes at rank 0, along a tree. `join` merges the bytes in its second argument, which come
    /// from higher ranks, into the first, and must be associative. Returns the result at rank 0, and `None` elsewhere.
    ///
    /// # Errors
    /// If the processes cannot communicate any more, or if `join` fails.
    fn join_all(
        &mut self,
        step: &'static str,
        bytes: Vec<u8>,
        join: Join<'_>,
    ) -> Result<Option<Vec<u8>>, Error>;

    /// Replaces the bytes of every process by those of rank 0.
    ///
    /// # Errors
    /// If the processes cannot communicate any more.
    fn broadcast(&mut self, step: &'static str, bytes: &mut Vec<u8>) -> Result<(), Error>;
}

/// Function that merges the bytes of higher ranks into those of lower ranks, or returns the reason why it cannot.
pub type Join<'j> = &'j mut dyn FnMut(&mut Vec<u8>, &[u8]) -> Result<(), String>;

impl Peers for World {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn size(&self) -> usize {
        self.size()
    }

    fn exchange(
        &mut self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        self.exchange(step, out, into)
    }

    fn agree(&mut self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error> {
        self.agree(step, numbers)
    }

    fn join_all(
        &mut self,
        step: &'static str,
        bytes: Vec<u8>,
        join: Join<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.join_all(step, bytes, join)
    }

    fn broadcast(&mut self, step: &'static str, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.broadcast(step, 0, bytes)
    }
}
