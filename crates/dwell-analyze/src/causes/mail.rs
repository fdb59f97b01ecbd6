//! Queues between the worker threads of one process. A worker runs until it needs a message.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Letter boxes of some workers.
#[derive(Debug)]
pub(crate) struct Mail<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

#[derive(Debug)]
struct State<T> {
    boxes: Vec<Vec<T>>,
    /// Number of workers that wait for letters. If all do, nobody will send any more.
    waiting: usize,
    /// True if a worker has panicked, so that nobody may wait for it.
    is_over: bool,
}

impl<T> Mail<T> {
    pub(crate) fn new(workers: usize) -> Self {
        let boxes = (0..workers).map(|_| Vec::new()).collect();
        Self {
            state: Mutex::new(State { boxes, waiting: 0, is_over: false }),
            arrived: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends letters, each with the number of the worker that it is for.
    pub(crate) fn send(&self, letters: impl Iterator<Item = (usize, T)>) {
        let mut state = self.lock();
        for (to, letter) in letters {
            if let Some(place) = state.boxes.get_mut(to) {
                place.push(letter);
            }
        }
        drop(state);
        self.arrived.notify_all();
    }

    /// Waits for letters to a worker. Returns `None` if all workers wait and no letters are left.
    pub(crate) fn receive(&self, worker: usize) -> Option<Vec<T>> {
        let mut state = self.lock();
        state.waiting += 1;
        loop {
            let letters = state.boxes.get_mut(worker).map(std::mem::take).unwrap_or_default();
            if !letters.is_empty() {
                state.waiting -= 1;
                return Some(letters);
            }
            let all_wait =
                state.waiting == state.boxes.len() && state.boxes.iter().all(Vec::is_empty);
            if all_wait || state.is_over {
                drop(state);
                self.arrived.notify_all();
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Tells the other workers if this one panics, which could not send them anything more.
#[derive(Debug)]
pub(crate) struct Present<'a, T>(pub(crate) &'a Mail<T>);

impl<T> Drop for Present<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_over = true;
            self.0.arrived.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mail, Present};

    #[test]
    fn nobody_waits_for_a_worker_that_panicked() {
        let mail = Mail::<u32>::new(2);
        let mail = &mail;
        std::thread::scope(|scope| {
            let other = scope.spawn(|| mail.receive(0));
            let failed = scope.spawn(|| {
                let _present = Present(mail);
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(failed.join().is_err());
            assert!(other.join().is_ok_and(|it| it.is_none()));
        });
    }

    /// A letter goes round until its number has come down to 0.
    #[test]
    fn workers_stop_when_nobody_has_anything_to_say() {
        let mail = Mail::new(3);
        let work = |me: usize| {
            let mut seen = 0;
            while let Some(letters) = mail.receive(me) {
                seen += letters.len();
                let next = letters.into_iter().filter(|it| *it > 0);
                mail.send(next.map(|it: u32| ((me + 1) % 3, it - 1)));
            }
            seen
        };
        mail.send([(0, 1000), (1, 500)].into_iter());
        let work = &work;
        let seen: usize = std::thread::scope(|scope| {
            let workers = [0, 1, 2].map(|me| scope.spawn(move || work(me)));
            workers.into_iter().filter_map(|it| it.join().ok()).sum()
        });
        assert_eq!(seen, 1001 + 501);
    }
}
