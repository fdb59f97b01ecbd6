//! State for each of the consecutive processes or locations that a shard owns.

use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};

/// Numbers of the processes and locations that a shard owns.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    pub(crate) processes: std::ops::Range<ProcessNumber>,
    pub(crate) locations: std::ops::Range<LocationNumber>,
}

/// One value for each of some consecutive processes or locations.
#[derive(Debug)]
pub(crate) struct Owned<N, T> {
    first: N,
    list: Vec<T>,
}

impl<N: Ordinal, T> Owned<N, T> {
    /// Creates a value for each number.
    pub(crate) fn new(numbers: std::ops::Range<N>, create: impl FnMut(N) -> T) -> Self {
        Self { first: numbers.start, list: N::all(numbers).map(create).collect() }
    }

    /// Returns the value of a number, or `None` if the shard does not own it.
    #[inline]
    pub(crate) fn get(&self, number: N) -> Option<&T> {
        self.list.get(number.value().wrapping_sub(self.first.value()) as usize)
    }

    /// Returns the value of a number to change it, or `None` if the shard does not own it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: N) -> Option<&mut T> {
        self.list.get_mut(number.value().wrapping_sub(self.first.value()) as usize)
    }

    /// Returns all values in the order of their numbers.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// Returns all values in the order of their numbers, to change them.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.list.iter_mut()
    }

    /// Returns all values with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (N, &T)> {
        self.first.and_more().zip(&self.list)
    }

    /// Returns all values with their numbers, to change them.
    pub(crate) fn numbered_mut(&mut self) -> impl Iterator<Item = (N, &mut T)> {
        self.first.and_more().zip(&mut self.list)
    }

    /// Returns the values as a list.
    pub(crate) fn into_list(self) -> Vec<T> {
        self.list
    }

    /// Returns the values as a slice, to change them.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.list
    }

    /// Returns the values as a slice.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.list
    }
}

impl<N: Ordinal, T: Default> Owned<N, T> {
    /// Creates a default value for each number.
    pub(crate) fn empty(numbers: std::ops::Range<N>) -> Self {
        Self::new(numbers, |_| T::default())
    }
}
