//! Threads in place of processes, with lines between them that may fail.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use dwell_unify::unify::{Upcalls, rounds};

/// Fault to inject into a message: it may change the bytes, and returns `true` to lose the message.
pub(crate) type Fault = Box<dyn FnMut(&mut Vec<u8>) -> bool + Send>;

/// Communication between threads that play processes, with one channel for each pair.
pub(crate) struct Threads {
    pub(crate) rank: u64,
    size: u64,
    to: HashMap<u64, Sender<Option<Vec<u8>>>>,
    from: HashMap<u64, Receiver<Option<Vec<u8>>>>,
    fault: Fault,
}

impl Upcalls for Threads {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = bytes.to_vec();
        let fails = (self.fault)(&mut bytes);
        self.to[&to].send((!fails).then_some(bytes)).map_err(io::Error::other)?;
        if fails { Err(io::Error::other("the line is down")) } else { Ok(()) }
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let message = self.from[&from].recv_timeout(Duration::from_secs(60));
        message
            .expect("a process waits in vain")
            .ok_or_else(|| io::Error::other("the line is down"))
    }
}

/// Runs `body` in `size` threads that can talk to each other, and gives what each returned.
pub(crate) fn run<T: Send>(
    size: u64,
    fault: impl Fn(u64) -> Fault,
    body: impl Fn(&mut Threads) -> T + Sync,
) -> Vec<T> {
    let mut ends: Vec<Threads> = (0..size)
        .map(|rank| Threads {
            rank,
            size,
            to: HashMap::new(),
            from: HashMap::new(),
            fault: fault(rank),
        })
        .collect();
    for a in 0..size {
        // Only along the tree: a message to anybody else is a panic.
        for b in (0..rounds(size)).map(|k| a ^ (1 << k)).filter(|b| *b < size) {
            let (sender, receiver) = channel();
            ends[a as usize].to.insert(b, sender);
            ends[b as usize].from.insert(a, receiver);
        }
    }
    let body = &body;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ends.iter_mut().map(|end| scope.spawn(move || body(end))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a process panicked")).collect()
    })
}

pub(crate) fn no_fault(_: u64) -> Fault {
    Box::new(|_| false)
}
