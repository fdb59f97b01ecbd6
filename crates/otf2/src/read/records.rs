//! Readers of files whose records have no times: definitions, markers, thumbnails.

use std::marker::PhantomData;

use crate::chunk::control;
use crate::def::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::marker::MarkerRecord;
use crate::read::stamped::never_single;
use crate::read::stream::{Frame, Stream};
use crate::record::Scope;
use crate::thumbnail::Thumbnail;
use crate::wire::{ByteOrder, Fault, Input};

/// A kind of file whose records a [`RecordReader`] reads. This crate implements it for definition, marker and thumbnail
/// files; it cannot be implemented outside.
pub trait Content {
    /// Type of the records in files of this kind.
    type Record<'a>;
    #[doc(hidden)]
    fn read<'a>(scope: Scope, id: u8, input: Input<'a>) -> Result<Self::Record<'a>, Fault>;
}

macro_rules! contents {
    ($( $(#[$doc:meta])* $name:ident of $record:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl Content for $name {
                type Record<'a> = $record<'a>;
                fn read<'a>(scope: Scope, id: u8, input: Input<'a>) -> Result<$record<'a>, Fault> {
                    $record::read(scope, id, input)
                }
            }
        )*
    };
}

contents! {
    /// Marks a [`RecordReader`] of a definition file, global or local.
    Definitions of Definition;
    /// Marks a [`RecordReader`] of a marker file.
    Markers of MarkerRecord;
    /// Marks a [`RecordReader`] of a thumbnail file.
    Thumbnails of Thumbnail;
}

/// The fields of a record as they are stored in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) id: u8,
    pub(crate) order: ByteOrder,
    pub(crate) bytes: &'a [u8],
}

/// Reads the records of a definition, marker or thumbnail file one by one. After an error it gives no more records.
#[derive(Debug)]
pub struct RecordReader<C> {
    stream: Stream,
    scope: Scope,
    ended: bool,
    content: PhantomData<C>,
}

/// Reads definitions, from [`Archive::global_definitions`](crate::Archive::global_definitions) or
/// [`Archive::local_definitions`](crate::Archive::local_definitions).
pub type DefReader = RecordReader<Definitions>;
/// Reads markers and their definitions, from [`Archive::markers`](crate::Archive::markers).
pub type MarkerReader = RecordReader<Markers>;
/// Reads the header and the samples of a thumbnail, from [`Archive::thumbnail`](crate::Archive::thumbnail).
pub type ThumbnailReader = RecordReader<Thumbnails>;

impl<C: Content> RecordReader<C> {
    pub(crate) fn new(stream: Stream, scope: Scope) -> Self {
        Self { stream, scope, ended: false, content: PhantomData }
    }

    /// Returns the next record, or `None` after the last. The record borrows the reader.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read. The next call then returns `None`.
    #[allow(clippy::should_implement_trait)] // The record borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<C::Record<'_>>> {
        Ok(self.next_raw()?.map(|(record, _)| record))
    }

    /// Returns the next record together with the bytes from which it was decoded.
    pub(crate) fn next_raw(&mut self) -> Result<Option<(C::Record<'_>, Raw<'_>)>> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true; // Until a record is found.
        let Some(frame) = self.find()? else {
            return Ok(None);
        };
        self.stream.pos = frame.end;
        let order = self.stream.header.order;
        let bytes = self.stream.bytes();
        let input = Input::new(bytes, frame.start, frame.end, order, None);
        match C::read(self.scope, frame.id, input) {
            Ok(record) => {
                self.ended = false;
                let bytes = bytes.get(frame.start..frame.end).unwrap_or_default();
                Ok(Some((record, Raw { id: frame.id, order, bytes })))
            }
            Err(fault) => {
                let kind = ErrorKind::Record { id: frame.id, fault };
                Err(self.stream.error(frame.start, kind))
            }
        }
    }

    /// Makes an error about the record that was read last.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        self.stream.error(self.stream.pos, kind)
    }

    fn find(&mut self) -> Result<Option<Frame>> {
        loop {
            match self.stream.peek()? {
                // Definitions of a damaged chunk are given before its damage is reported, because without them nothing
                // can be read.
                None | Some(control::END_OF_CHUNK) => {
                    self.stream.check()?;
                    self.stream.next_chunk()?;
                }
                Some(control::END_OF_FILE) => return self.stream.check().map(|()| None),
                Some(control::FIRST_DEFINITION..) => {
                    match self.stream.frame(self.stream.pos, never_single) {
                        Ok(frame) => return Ok(Some(frame)),
                        Err(need) => self.stream.need(need)?,
                    }
                }
                Some(other) => {
                    return Err(self.stream.error(self.stream.pos, ErrorKind::Control(other)));
                }
            }
        }
    }
}
