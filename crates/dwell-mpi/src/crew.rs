//! Threads of one program that act as the processes of a launch, for tests.
//!
//! A test can run distributed code without a launcher, any number of times and with any number of members. Its results
//! about that code hold over MPI too; only the behaviour of MPI itself must be tested with a launcher.

use std::mem;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

use crate::error::Error;
use crate::peers::{Join, Peers};
use crate::world::Agreement;

/// One of several threads that act as the processes of a launch. Its rank is that of the process that it replaces.
#[derive(Debug)]
pub struct Member {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    board: Mutex<Board>,
}

/// Data that members pass to each other.
#[derive(Debug, Default)]
struct Board {
    step: Option<&'static str>,
    /// Bytes by receiver and sender.
    bytes: Vec<Vec<Vec<u8>>>,
    numbers: Option<Agreement>,
}

/// Creates the members of a crew. Each belongs on a thread of its own, because all wait for each other.
pub fn crew(size: usize) -> Vec<Member> {
    let shared = Shared { barrier: Barrier::new(size), board: Mutex::default() };
    let shared = Arc::new(shared);
    (0..size).map(|rank| Member { rank, size, shared: Arc::clone(&shared) }).collect()
}

impl Member {
    /// Writes to the board, waits until all members have done so, and reads from the board. If members pass different
    /// steps, at least one of them gets an error.
    fn synchronise<T>(
        &self,
        step: &'static str,
        put: impl FnOnce(&mut Board),
        take: impl FnOnce(&mut Board) -> T,
    ) -> Result<T, Error> {
        let board = || self.shared.board.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = {
            let mut board = board();
            put(&mut board);
            *board.step.get_or_insert(step) == step
        };
        self.shared.barrier.wait();
        let taken = take(&mut board());
        let is_same = is_same && board().step == Some(step);
        self.shared.barrier.wait();
        if self.rank == 0 {
            (board().step, board().numbers) = (None, None);
        }
        self.shared.barrier.wait();
        if is_same { Ok(taken) } else { Err(Error::Apart { step, rank: None }) }
    }
}

impl Peers for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(
        &mut self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        let (rank, size) = (self.rank, self.size);
        out.resize_with(size, Vec::new);
        let put = |board: &mut Board| {
            board.bytes.resize_with(size, || vec![Vec::new(); size]);
            for (to, bytes) in board.bytes.iter_mut().zip(out) {
                to.get_mut(rank).into_iter().for_each(|place| *place = mem::take(bytes));
            }
        };
        let empty = || vec![Vec::new(); size];
        *into = self.synchronise(step, put, |board| match board.bytes.get_mut(rank) {
            Some(mine) => mem::replace(mine, empty()),
            None => empty(),
        })?;
        Ok(())
    }

    fn agree(&mut self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error> {
        let put = |board: &mut Board| match &mut board.numbers {
            None => board.numbers = Some(numbers),
            Some(all) => join(all, &numbers),
        };
        self.synchronise(step, put, |board| board.numbers.clone().unwrap_or_default())
    }

    /// Joins along the same tree as the processes of a launch, so that tests detect a function that is not associative.
    fn join_all(
        &mut self,
        step: &'static str,
        mut bytes: Vec<u8>,
        join: Join<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut into = Vec::new();
        let mut distance = 1;
        while distance < self.size {
            let mut out = vec![Vec::new(); self.size];
            let (rank, next) = (self.rank, 2 * distance);
            if rank % next == distance {
                out.get_mut(rank - distance).into_iter().for_each(|to| *to = mem::take(&mut bytes));
            }
            self.exchange(step, &mut out, &mut into)?;
            let from = rank + distance;
            if rank % next == 0
                && let Some(more) = into.get(from)
            {
                join(&mut bytes, more).map_err(|reason| Error::Garbled { rank: from, reason })?;
            }
            distance = next;
        }
        Ok((self.rank == 0).then_some(bytes))
    }

    fn broadcast(&mut self, step: &'static str, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let mut out = vec![Vec::new(); self.size];
        if self.rank == 0 {
            out = vec![mem::take(bytes); self.size];
        }
        let mut into = Vec::new();
        self.exchange(step, &mut out, &mut into)?;
        *bytes = into.into_iter().next().unwrap_or_default();
        Ok(())
    }
}

fn join(all: &mut Agreement, more: &Agreement) {
    let each = |all: &mut [u64], more: &[u64], how: fn(u64, u64) -> u64| {
        all.iter_mut().zip(more).for_each(|(one, more)| *one = how(*one, *more));
    };
    each(&mut all.least, &more.least, u64::min);
    each(&mut all.most, &more.most, u64::max);
    each(&mut all.sum, &more.sum, u64::wrapping_add);
    each(&mut all.bits, &more.bits, |one, more| one | more);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::crew;
    use crate::{Agreement, Peers};

    #[test]
    fn members_exchange_and_agree() {
        let one = |mut member: super::Member| {
            for round in 0..50_u8 {
                let (rank, size) = (member.rank() as u8, member.size());
                let mut out: Vec<Vec<u8>> =
                    (0..size).map(|to| vec![rank, to as u8, round]).collect();
                let mut into = Vec::new();
                member.exchange("bytes", &mut out, &mut into).unwrap();
                let expected: Vec<Vec<u8>> =
                    (0..size).map(|from| vec![from as u8, rank, round]).collect();
                assert_eq!(into, expected);
                assert!(out.iter().all(Vec::is_empty));
                let own = u64::from(rank) + 1;
                let numbers = Agreement {
                    least: vec![own],
                    most: vec![own],
                    sum: vec![own, 1],
                    bits: vec![1 << rank],
                };
                let agreed = member.agree("numbers", numbers).unwrap();
                let all =
                    Agreement { least: vec![1], most: vec![3], sum: vec![6, 3], bits: vec![7] };
                assert_eq!(agreed, all);
            }
        };
        thread::scope(|scope| {
            for member in crew(3) {
                scope.spawn(|| one(member));
            }
        });
    }

    #[test]
    fn members_join_in_the_order_of_ranks_and_hear_the_first() {
        let one = |mut member: super::Member| {
            let rank = member.rank() as u8;
            let mut append = |all: &mut Vec<u8>, more: &[u8]| {
                all.extend_from_slice(more);
                Ok(())
            };
            let joined = member.join_all("join", vec![rank; 2], &mut append).unwrap();
            let all: Vec<u8> = (0..member.size() as u8).flat_map(|rank| [rank; 2]).collect();
            assert_eq!(joined, (rank == 0).then_some(all));
            let mut bytes = vec![rank + 7];
            member.broadcast("tell", &mut bytes).unwrap();
            assert_eq!(bytes, [7]);
        };
        for size in [1, 2, 3, 4, 7, 8] {
            thread::scope(|scope| {
                for member in crew(size) {
                    scope.spawn(|| one(member));
                }
            });
        }
    }

    #[test]
    fn members_at_different_steps_are_told() {
        let one = |mut member: super::Member| {
            let step = if member.rank() == 0 { "one" } else { "other" };
            let apart = member.agree(step, Agreement::default()).is_err();
            assert!(member.agree("later", Agreement::default()).is_ok());
            apart
        };
        let told = thread::scope(|scope| {
            let members: Vec<_> =
                crew(2).into_iter().map(|member| scope.spawn(move || one(member))).collect();
            members.into_iter().any(|member| member.join().unwrap())
        });
        assert!(told);
    }
}
