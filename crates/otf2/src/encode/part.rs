//! The parts of an event: its attributes, and events that are written together with others.

use super::Prepared;
use crate::chunk::control;
use crate::event::AnyEvent;
use crate::output::Output;
use crate::record::{framed, write_body};
use crate::value::{Attribute, List};
use crate::wire::Wire;

/// An event that can be written together with another by [`Encoder::write_both`](crate::encode::Encoder::write_both). The trait is sealed: its types are
/// [`Plain`], [`Tagged`], references to [`Prepared`] events, and pairs of these.
pub trait Part: sealed::Sealed + Copy {
    /// Number of events.
    #[doc(hidden)]
    const EVENTS: u64 = 1;
    /// Returns an upper bound for the encoded size, in bytes, without a timestamp.
    #[doc(hidden)]
    fn space(self) -> usize;
    /// Encodes the event without a timestamp.
    #[doc(hidden)]
    fn encode(self, output: &mut impl Output);
}

mod sealed {
    use crate::event::AnyEvent;

    pub trait Sealed {}
    impl<E: AnyEvent> Sealed for super::Plain<E> {}
    impl<E: AnyEvent> Sealed for super::Tagged<E> {}
    impl Sealed for &super::Prepared {}
    impl<A: Sealed, B: Sealed> Sealed for (A, B) {}
}

/// An event without attributes, for [`Encoder::write_both`](crate::encode::Encoder::write_both). An event of unknown kind is written as no bytes.
#[derive(Clone, Copy, Debug)]
pub struct Plain<E>(pub E);

/// An event with one attribute, for [`Encoder::write_both`](crate::encode::Encoder::write_both). An event of unknown kind is written as no bytes.
#[derive(Clone, Copy, Debug)]
pub struct Tagged<E>(pub Attribute, pub E);

impl<E: AnyEvent> Part for Plain<E> {
    #[inline(always)]
    fn space(self) -> usize {
        framed(self.0.bound())
    }

    #[inline(always)]
    fn encode(self, output: &mut impl Output) {
        if let Some(framing) = self.0.framing() {
            output.u8(self.0.id());
            write_body(&self.0, framing, output);
        }
    }
}

impl<E: AnyEvent> Part for Tagged<E> {
    #[inline(always)]
    fn space(self) -> usize {
        Before::space(self.0) + framed(self.1.bound())
    }

    #[inline(always)]
    fn encode(self, output: &mut impl Output) {
        output.u8(control::ATTRIBUTES);
        Before::write(self.0, output);
        Plain(self.1).encode(output);
    }
}

impl<A: Part, B: Part> Part for (A, B) {
    const EVENTS: u64 = A::EVENTS + B::EVENTS;

    #[inline(always)]
    fn space(self) -> usize {
        self.0.space() + self.1.space()
    }

    #[inline(always)]
    fn encode(self, output: &mut impl Output) {
        self.0.encode(output);
        self.1.encode(output);
    }
}

impl Part for &Prepared {
    #[inline(always)]
    fn space(self) -> usize {
        Prepared::MOST
    }

    #[inline(always)]
    fn encode(self, output: &mut impl Output) {
        output.array(self.bytes, usize::from(self.len));
    }
}

/// Encodes attributes as they are written before a record. An empty list takes no bytes.
#[cfg(feature = "std")]
pub(crate) fn write_attributes(attributes: List<'_, Attribute>, output: &mut impl Output) {
    if let Some(id) = attributes.id() {
        output.u8(id);
        Before::write(attributes, output);
    }
}

/// The part of an event between its timestamp and its record, which holds the attributes. Most events have none, and a
/// type of its own for that case lets the compiler remove the code.
pub(super) trait Before: Copy {
    /// Returns an upper bound for the encoded size, in bytes.
    fn space(self) -> usize;
    /// Returns the first byte, or `None` if nothing is to be encoded.
    fn id(self) -> Option<u8>;
    /// Encodes everything behind the first byte.
    fn write(self, output: &mut impl Output);
}

#[derive(Clone, Copy)]
pub(super) struct NoAttributes;

impl Before for NoAttributes {
    #[inline(always)]
    fn space(self) -> usize {
        0
    }

    #[inline(always)]
    fn id(self) -> Option<u8> {
        None
    }

    #[inline(always)]
    fn write(self, _: &mut impl Output) {}
}

impl Before for Attribute {
    #[inline(always)]
    fn space(self) -> usize {
        framed(Self::LIST_OF_ONE)
    }

    #[inline(always)]
    fn id(self) -> Option<u8> {
        Some(control::ATTRIBUTES)
    }

    #[inline(always)]
    fn write(self, output: &mut impl Output) {
        output.u8(0);
        let fields = output.pos();
        self.write_as_list(output);
        output.length(fields, Self::LIST_OF_ONE);
    }
}

impl Before for List<'_, Attribute> {
    fn space(self) -> usize {
        if self.is_empty() { 0 } else { framed(self.bound()) }
    }

    fn id(self) -> Option<u8> {
        (!self.is_empty()).then_some(control::ATTRIBUTES)
    }

    fn write(self, output: &mut impl Output) {
        output.u8(0);
        let fields = output.pos();
        Wire::write(self, output);
        output.length(fields, self.bound());
    }
}
