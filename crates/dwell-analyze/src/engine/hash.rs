//! A hasher for small keys. The keys are numbers of this crate, not input that an attacker could choose. Findings never
//! depend on the order of a map, but the order of needs in the dependency log does, so another hasher would change its bytes.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`Mixer`]s.
pub(crate) type Mixed = BuildHasherDefault<Mixer>;

/// Hashes by multiplication and rotation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}
