//! What processes leave becomes one archive: definitions, profiles, staged chunks, and the files between.

mod collate;
mod formats;
#[path = "../../../../tests/golden.rs"]
mod golden;
mod live;
mod stage;
mod threads;
mod unify;
