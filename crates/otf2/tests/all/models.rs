//! A model of how events become visible: `loom` tries every order of steps and every value that the memory model allows
//! a load to have. It compiles the encoder's own store with loom's atomics.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU8, Ordering};
use loom::thread;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU8, Ordering};
}

#[path = "../../src/commit.rs"]
mod commit;

/// Whoever sees the first byte of an event, also from another process that maps the file, sees the rest of it.
#[test]
fn an_event_is_complete_when_its_first_byte_is_there() {
    loom::model(|| {
        let chunk: Arc<[AtomicU8; 3]> = Arc::new(std::array::from_fn(|_| AtomicU8::new(0)));
        let writer = thread::spawn({
            let chunk = Arc::clone(&chunk);
            move || {
                for (at, byte) in [(1, 7), (2, 9)] {
                    chunk[at].store(byte, Ordering::Relaxed);
                }
                commit::store(&chunk[0], 12);
            }
        });
        if chunk[0].load(Ordering::Acquire) != 0 {
            let rest = [&chunk[1], &chunk[2]].map(|byte| byte.load(Ordering::Relaxed));
            assert_eq!(rest, [7, 9]);
        }
        writer.join().unwrap();
        assert_eq!(chunk[0].load(Ordering::Relaxed), 12);
    });
}
