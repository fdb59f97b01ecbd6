//! Access to the elements of an array by numbers of any size, modulo its length.

/// An array that is indexed modulo its length. The remainder is always in range, so access needs no check and
/// cannot panic in a hook.
pub trait Modulo<T> {
    /// Returns the element at `number` modulo the length of the array.
    fn modulo(&self, number: usize) -> &T;

    /// Returns the element at `number` modulo the length of the array, for changing it.
    fn modulo_mut(&mut self, number: usize) -> &mut T;
}

impl<T, const N: usize> Modulo<T> for [T; N] {
    #[inline(always)]
    #[allow(clippy::indexing_slicing)] // The remainder is below the length, so there is no check at run time.
    fn modulo(&self, number: usize) -> &T {
        const { assert!(N > 0) };
        &self[number % N]
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing)] // As above.
    fn modulo_mut(&mut self, number: usize) -> &mut T {
        const { assert!(N > 0) };
        &mut self[number % N]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_has_a_place() {
        let mut four = [0, 1, 2, 3];
        assert_eq!([2, 4, 7, usize::MAX].map(|number| *four.modulo(number)), [2, 0, 3, 3]);
        *four.modulo_mut(9) = 5;
        assert_eq!(four, [0, 5, 2, 3]);
    }
}
