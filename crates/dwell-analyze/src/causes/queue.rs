//! Queues between the worker threads of one process. A worker runs until it needs a message.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Queues of messages to some workers.
#[derive(Debug)]
pub(crate) struct Queues<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

#[derive(Debug)]
struct State<T> {
    boxes: Vec<Vec<T>>,
    /// Number of workers that wait for messages. If all do, no more messages will be sent.
    waiting: usize,
    /// True if a worker has panicked, so that the others must not wait for it.
    is_over: bool,
}

impl<T> Queues<T> {
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

    /// Sends messages, each with the number of the worker that receives it.
    pub(crate) fn send(&self, messages: impl Iterator<Item = (usize, T)>) {
        let mut state = self.lock();
        for (to, message) in messages {
            if let Some(place) = state.boxes.get_mut(to) {
                place.push(message);
            }
        }
        drop(state);
        self.arrived.notify_all();
    }

    /// Waits for messages to a worker. Returns `None` if all workers wait and no messages are left.
    pub(crate) fn receive(&self, worker: usize) -> Option<Vec<T>> {
        let mut state = self.lock();
        state.waiting += 1;
        loop {
            let messages = state.boxes.get_mut(worker).map(std::mem::take).unwrap_or_default();
            if !messages.is_empty() {
                state.waiting -= 1;
                return Some(messages);
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

/// Wakes the other workers if this one panics, since it will not send them anything more.
#[derive(Debug)]
pub(crate) struct PanicGuard<'a, T>(pub(crate) &'a Queues<T>);

impl<T> Drop for PanicGuard<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_over = true;
            self.0.arrived.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PanicGuard, Queues};

    #[test]
    fn workers_do_not_wait_for_one_that_panicked() {
        let queues = Queues::<u32>::new(2);
        let queues = &queues;
        std::thread::scope(|scope| {
            let other = scope.spawn(|| queues.receive(0));
            let failed = scope.spawn(|| {
                let _guard = PanicGuard(queues);
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(failed.join().is_err());
            assert!(other.join().is_ok_and(|it| it.is_none()));
        });
    }

    /// A message is passed on, decremented each time, until it is 0.
    #[test]
    fn workers_stop_when_all_wait_and_no_messages_are_left() {
        let queues = Queues::new(3);
        let work = |me: usize| {
            let mut seen = 0;
            while let Some(messages) = queues.receive(me) {
                seen += messages.len();
                let next = messages.into_iter().filter(|it| *it > 0);
                queues.send(next.map(|it: u32| ((me + 1) % 3, it - 1)));
            }
            seen
        };
        queues.send([(0, 1000), (1, 500)].into_iter());
        let work = &work;
        let seen: usize = std::thread::scope(|scope| {
            let workers = [0, 1, 2].map(|me| scope.spawn(move || work(me)));
            workers.into_iter().filter_map(|it| it.join().ok()).sum()
        });
        assert_eq!(seen, 1001 + 501);
    }
}
