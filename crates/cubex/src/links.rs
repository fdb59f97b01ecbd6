//! Trees as flat tables: the first child of each element, and the next sibling.
//!
//! Nothing here recurses, so a call tree may have any depth.

/// The number that stands for no element.
pub(crate) const NONE: u32 = u32::MAX;

/// The children of each element of a table, in the order of the document.
///
/// Slot 0 stands for the report itself, so that roots are its children; slot `i + 1` is element `i`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Links {
    /// Links `children` elements below `parents` elements. `pairs` gives each child and its parent ([`NONE`] for a
    /// root) in the order of the document; pairs out of range are ignored.
    pub(crate) fn build(
        parents: usize,
        children: usize,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut links = Self { first: vec![NONE; parents + 1], next: vec![NONE; children] };
        let mut last = vec![NONE; parents + 1];
        for (child, parent) in pairs {
            let slot = slot(parent);
            let (Some(first), Some(last)) = (links.first.get_mut(slot), last.get_mut(slot)) else {
                continue;
            };
            if *last == NONE {
                *first = child;
            } else if let Some(next) = links.next.get_mut(*last as usize) {
                *next = child;
            }
            *last = child;
        }
        links
    }

    /// Returns the first child of `parent`, or the first root for [`NONE`].
    pub(crate) fn first(&self, parent: u32) -> Option<u32> {
        self.first.get(slot(parent)).copied().filter(|&child| child != NONE)
    }

    /// Returns the sibling after `child`.
    pub(crate) fn next(&self, child: u32) -> Option<u32> {
        self.next.get(child as usize).copied().filter(|&next| next != NONE)
    }

    /// Iterates over the children of `parent`, or over the roots for [`NONE`].
    pub(crate) fn children(&self, parent: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(parent), |&child| self.next(child))
    }

    /// Iterates over `root` and every element below it, parents before their children.
    pub(crate) fn below(&self, root: u32) -> Walk<'_> {
        Walk { links: self, here: Some(root), above: Vec::new() }
    }

    /// Iterates over every element of all trees, parents before their children.
    pub(crate) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.children(NONE).flat_map(|root| self.below(root))
    }

    /// Returns the position of each element in the order of [`Links::all`].
    pub(crate) fn deep(&self) -> Vec<u32> {
        self.positions(self.all())
    }

    /// Returns the position of each element in Cube's *wide* order: a root, then for each node of its tree, in the
    /// order of [`Links::below`], all children of the node.
    pub(crate) fn wide(&self) -> Vec<u32> {
        self.positions(self.children(NONE).flat_map(|root| {
            let below = self.below(root).flat_map(|node| self.children(node));
            std::iter::once(root).chain(below)
        }))
    }

    fn positions(&self, order: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut positions = vec![NONE; self.next.len()];
        for (position, element) in (0..).zip(order) {
            if let Some(slot) = positions.get_mut(element as usize) {
                *slot = position;
            }
        }
        positions
    }
}

fn slot(parent: u32) -> usize {
    if parent == NONE { 0 } else { parent as usize + 1 }
}

/// Iterator over a tree; [`Links::below`] makes it.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    links: &'a Links,
    here: Option<u32>,
    /// The ancestors of the current element, from the root on.
    above: Vec<u32>,
}

impl Iterator for Walk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let here = self.here?;
        self.here = self.links.first(here);
        if self.here.is_some() {
            self.above.push(here);
        } else {
            // The root's own siblings are not below it: stop when the path is used up.
            let mut from = here;
            while let Some(parent) = self.above.pop() {
                if let Some(next) = self.links.next(from) {
                    self.above.push(parent);
                    self.here = Some(next);
                    break;
                }
                from = parent;
            }
        }
        Some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the tree main{a{b{x},c},d{e},f} with the names main a b x c d e f as 0 … 7, and a second root 8{9}.
    fn tree() -> Links {
        let parents = [NONE, 0, 1, 2, 1, 0, 5, 0, NONE, 8];
        Links::build(10, 10, (0..).zip(parents))
    }

    #[test]
    fn deep_and_wide_orders_are_those_of_cube() {
        let links = tree();
        assert_eq!(links.all().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(links.deep(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        // main a d f b c x e
        assert_eq!(links.wide(), [0, 1, 4, 6, 5, 2, 7, 3, 8, 9]);
        assert_eq!(links.below(1).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(links.below(7).collect::<Vec<_>>(), [7]);
        assert_eq!(links.children(NONE).collect::<Vec<_>>(), [0, 8]);
    }
}
