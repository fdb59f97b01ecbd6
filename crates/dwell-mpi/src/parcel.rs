//! The layout of what one process sends to another in one exchange.
//!
//! An exchange has one message for each pair of processes, which carries all kinds of contents for all parts of the
//! receiver. It is a sequence of sections:
//!
//! | bytes | contents |
//! |---|---|
//! | 4 | `part`: the part of the receiver that the section is for |
//! | 2 | `kind`: the kind of its contents |
//! | 2 | `0xD3E1`, so that a reader that lost its place notices it |
//! | 8 | `length` of the contents in bytes |
//! | `length` | the contents |
//!
//! Numbers are little-endian. What the contents mean is known to those who write and read them. The reader checks every
//! length against the message, so that damaged input is an error and never a panic.

/// Size of the header of a section in bytes.
const HEADER: usize = 16;
const MARK: u16 = 0xD3E1;

/// A section of a message, which its receiver can skip if it does not know the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'m> {
    /// Part of the receiver that the section is for.
    pub part: u32,
    /// Kind of the contents, as sender and receiver have agreed on it.
    pub kind: u16,
    /// The contents, without the header. Only those who write and read them know what they mean.
    pub bytes: &'m [u8],
}

/// Appends a section to a message. `write` appends the contents.
pub fn append(message: &mut Vec<u8>, part: u32, kind: u16, write: impl FnOnce(&mut Vec<u8>)) {
    message.extend_from_slice(&part.to_le_bytes());
    message.extend_from_slice(&kind.to_le_bytes());
    message.extend_from_slice(&MARK.to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    let start = message.len();
    write(message);
    let length = (message.len().saturating_sub(start)) as u64;
    if let Some(place) = message.get_mut(start - 8..start) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads the sections of a message in their order. After an error there are no more sections.
pub fn sections(message: &[u8]) -> Sections<'_> {
    Sections { rest: message, read: 0 }
}

/// Iterator over the [sections] of a message, in the order in which they were added. It ends at the first damaged one.
#[derive(Clone, Debug)]
pub struct Sections<'m> {
    rest: &'m [u8],
    read: usize,
}

impl<'m> Iterator for Sections<'m> {
    type Item = Result<Section<'m>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let section = self.section();
        if section.is_err() {
            self.rest = &[];
        }
        Some(section)
    }
}

impl<'m> Sections<'m> {
    fn section(&mut self) -> Result<Section<'m>, String> {
        let at = self.read;
        let cut = || format!("the section at byte {at} is cut off");
        let (part, rest) = self.rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let (kind, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let (mark, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        if u16::from_le_bytes(*mark) != MARK {
            return Err(format!("no section begins at byte {at}"));
        }
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (bytes, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        self.read += HEADER + length;
        Ok(Section { part: u32::from_le_bytes(*part), kind: u16::from_le_bytes(*kind), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, append, sections};

    fn message() -> Vec<u8> {
        let mut message = Vec::new();
        append(&mut message, 7, 1, |to| to.extend_from_slice(b"seven"));
        append(&mut message, u32::MAX, u16::MAX, |_| ());
        append(&mut message, 0, 2, |to| to.push(9));
        message
    }

    #[test]
    fn sections_come_back_in_their_order() {
        let message = message();
        let read: Result<Vec<_>, _> = sections(&message).collect();
        let read: Vec<_> = read.unwrap().iter().map(|it| (it.part, it.kind, it.bytes)).collect();
        assert_eq!(read, [(7, 1, &b"seven"[..]), (u32::MAX, u16::MAX, b""), (0, 2, &[9])]);
        assert_eq!(sections(&[]).count(), 0);
    }

    #[test]
    fn damage_is_an_error_with_its_place() {
        let whole = message();
        let ends = [0, HEADER + 5, 2 * HEADER + 5, whole.len()];
        for length in 0..=whole.len() {
            let read: Result<Vec<_>, _> = sections(&whole[..length]).collect();
            assert_eq!(read.is_ok(), ends.contains(&length), "{length}");
        }
        let mut long = whole.clone();
        long[8] = 200;
        assert_eq!(
            sections(&long).collect::<Result<Vec<_>, _>>(),
            Err("the section at byte 0 is cut off".into())
        );
        let mut lost = whole;
        lost[8] = 4;
        assert_eq!(sections(&lost).nth(1), Some(Err("no section begins at byte 20".into())));
        assert_eq!(sections(&lost).count(), 2);
    }
}
