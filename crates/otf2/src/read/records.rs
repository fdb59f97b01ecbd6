//! Reading files of records without times: definitions, markers, thumbnails.

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

/// A kind of file, by the records in it.
pub trait Content {
    /// What a record of it is.
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
    /// Definition files.
    Definitions of Definition;
    /// Marker files.
    Markers of MarkerRecord;
    /// Thumbnail files.
    Thumbnails of Thumbnail;
}

/// The fields of a record as they stand in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) id: u8,
    pub(crate) order: ByteOrder,
    pub(crate) bytes: &'a [u8],
}

/// Streams the records of a file. After an error it has nothing more to say.
#[derive(Debug)]
pub struct RecordReader<C> {
    stream: Stream,
    scope: Scope,
    ended: bool,
    content: PhantomData<C>,
}

/// Streams definitions.
pub type DefReader = RecordReader<Definitions>;
/// Streams markers.
pub type MarkerReader = RecordReader<Markers>;
/// Streams the records of a thumbnail.
pub type ThumbnailReader = RecordReader<Thumbnails>;

impl<C: Content> RecordReader<C> {
    pub(crate) fn new(stream: Stream, scope: Scope) -> Self {
        Self { stream, scope, ended: false, content: PhantomData }
    }

    /// The next record, or `None` behind the last.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read. The next call returns `None`.
    #[allow(clippy::should_implement_trait)] // The record borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<C::Record<'_>>> {
        Ok(self.next_raw()?.map(|(record, _)| record))
    }

    /// The next record, and where it was read from.
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

    /// An error about the record read last.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        self.stream.error(self.stream.pos, kind)
    }

    fn find(&mut self) -> Result<Option<Frame>> {
        loop {
            match self.stream.peek()? {
                None | Some(control::END_OF_CHUNK) => self.stream.next_chunk()?,
                Some(control::END_OF_FILE) => return Ok(None),
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
