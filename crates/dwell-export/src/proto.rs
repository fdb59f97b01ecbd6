//! Messages of Protocol Buffers, as far as a trace of Perfetto needs them: numbers of variable length, numbers of 64 bits, and
//! texts and messages with their length before them.
//!
//! Written by hand because a packet has five fields or so, and a generated schema of Perfetto has thousands of messages.

use dwell_model::varint;

/// Bytes of a message.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, field: u32, value: impl Into<u64>) -> &mut Self {
        varint::put(&mut self.0, u64::from(field) << 3);
        varint::put(&mut self.0, value.into());
        self
    }

    /// Adds a number of 64 bits.
    pub(crate) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        varint::put(&mut self.0, u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.with_length(field, text.as_bytes())
    }

    /// Adds a message.
    pub(crate) fn message(&mut self, field: u32, message: &Self) -> &mut Self {
        self.with_length(field, &message.0)
    }

    fn with_length(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        varint::put(&mut self.0, u64::from(field) << 3 | 2);
        varint::put(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_specification() {
        // The examples of the description of the encoding: https://protobuf.dev/programming-guides/encoding/.
        let mut inner = Message::default();
        inner.number(1, 150_u64);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.message(3, &inner);
        assert_eq!(outer.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut text = Message::default();
        text.text(2, "testing");
        assert_eq!(text.bytes(), b"\x12\x07testing");
        let mut fixed = Message::default();
        fixed.fixed(47, 1);
        assert_eq!(fixed.bytes(), [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
