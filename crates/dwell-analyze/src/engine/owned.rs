//! State for each of the consecutive processes or locations that a shard owns.

/// Numbers of the processes and locations that a shard owns.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    pub(crate) processes: std::ops::Range<u32>,
    pub(crate) locations: std::ops::Range<u32>,
}

/// One value for each of some consecutive numbers.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    first: u32,
    list: Vec<T>,
}

impl<T> Owned<T> {
    /// Creates a value for each number.
    pub(crate) fn new(numbers: std::ops::Range<u32>, create: impl FnMut(u32) -> T) -> Self {
        Self { first: numbers.start, list: numbers.map(create).collect() }
    }

    /// Returns the value of a number, or `None` if the shard does not own it.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.list.get(number.wrapping_sub(self.first) as usize)
    }

    /// Returns the value of a number to change it, or `None` if the shard does not own it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.list.get_mut(number.wrapping_sub(self.first) as usize)
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
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        (self.first..).zip(&self.list)
    }

    /// Returns all values with their numbers, to change them.
    pub(crate) fn numbered_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (self.first..).zip(&mut self.list)
    }

    /// Returns the values as a list.
    pub(crate) fn into_list(self) -> Vec<T> {
        self.list
    }

    /// Returns the values as a slice.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.list
    }
}

impl<T: Default> Owned<T> {
    /// Creates a default value for each number.
    pub(crate) fn empty(numbers: std::ops::Range<u32>) -> Self {
        Self::new(numbers, |_| T::default())
    }
}
