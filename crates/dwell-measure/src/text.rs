//! Text of bounded length, made without allocating.

use std::fmt::{self, Write};

/// Text of up to `N` − 1 bytes on the stack. What does not fit is cut off.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
    is_cut: bool,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0, is_cut: false }
    }
}

impl<const N: usize> Text<N> {
    /// Appends formatted text.
    pub(crate) fn format(&mut self, arguments: fmt::Arguments<'_>) {
        // Never an error: what does not fit is cut off.
        let _ = self.write_fmt(arguments);
    }

    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // Cut inside a character.
            Err(error) => bytes
                .get(..error.valid_up_to())
                .and_then(|valid| std::str::from_utf8(valid).ok())
                .unwrap_or_default(),
        }
    }

    /// Returns `true` if some text did not fit.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Replaces the last bytes of the text by another end of the same length.
    pub(crate) fn end_with(&mut self, end: &str) {
        let from = self.len.saturating_sub(end.len());
        let place = self.bytes.get_mut(from..self.len).unwrap_or_default();
        place.iter_mut().zip(end.as_bytes()).for_each(|(to, byte)| *to = *byte);
    }

    /// Returns the text with a zero byte at its end, for the C library.
    pub(crate) fn c_str(&self) -> &std::ffi::CStr {
        std::ffi::CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The last byte stays zero.
        let room = self.bytes.get_mut(self.len..N - 1).unwrap_or_default();
        let fits = room.len().min(text.len());
        room.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
        self.len += fits;
        self.is_cut |= fits < text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character() {
        let mut text = Text::<8>::default();
        text.format(format_args!("{}.{}", 12, 3));
        assert_eq!(text.as_str(), "12.3");
        assert_eq!(text.c_str(), c"12.3");
        assert!(!text.is_cut());
        text.format(format_args!("aaßa"));
        assert_eq!(text.as_str(), "12.3aa");
        assert!(text.is_cut());
    }

    #[test]
    fn another_end() {
        let mut text = Text::<8>::default();
        text.format(format_args!("0.1.evt"));
        text.end_with("now");
        assert_eq!((text.as_str(), text.c_str()), ("0.1.now", c"0.1.now"));
    }
}
