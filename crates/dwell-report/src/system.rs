//! The system tree as rows: nodes, processes, and threads where a process has several.
//!
//! Rows are numbered level by level, so that the children of a row have consecutive numbers. A viewer that shows a
//! range of the children of a row asks for a range of numbers, whatever else is expanded.

use std::collections::VecDeque;

use cubex::{GroupId, LocationId, Meta, SystemNodeId};

use crate::query::Query;

/// Element of the system tree that a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A node of the system tree, for example a machine or a rack.
    Node(SystemNodeId),
    /// A process. If it has a single location, the row also stands for that location.
    Group(GroupId),
    /// A location, usually a thread, of a process that has several.
    Location(LocationId),
}

/// A row of the system tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SystemRow {
    item: Item,
    /// Number of the parent row, or the row's own number for a root.
    parent: u32,
    children: u32,
}

/// The system tree as numbered rows, parents before their children.
#[derive(Clone, Debug, Default)]
pub struct System {
    rows: Vec<SystemRow>,
    roots: u32,
    /// Number of the row that stands for each location, by location id.
    of_location: Vec<u32>,
}

impl System {
    /// Numbers the rows of the system tree of a report, level by level from the roots on.
    pub fn of(meta: &Meta) -> Self {
        let mut rows: Vec<SystemRow> = Vec::new();
        let mut of_location = vec![0; meta.locations().len()];
        let mut queue: VecDeque<(Item, Option<u32>)> =
            meta.root_system_nodes().map(|root| (Item::Node(root), None)).collect();
        let roots = queue.len() as u32;
        while let Some((item, parent)) = queue.pop_front() {
            let number = rows.len() as u32;
            let before = queue.len();
            let mut place = |location: LocationId| {
                if let Some(place) = of_location.get_mut(location.index()) {
                    *place = number;
                }
            };
            match item {
                Item::Node(node) => {
                    let below = meta.system_node_children(node).map(Item::Node);
                    let groups = meta.groups_of(node).map(Item::Group);
                    queue.extend(below.chain(groups).map(|item| (item, Some(number))));
                }
                Item::Group(group) => {
                    let mut locations = meta.locations_of(group);
                    match (locations.next(), locations.next()) {
                        (Some(only), None) => place(only),
                        (Some(first), Some(second)) => {
                            let all = [first, second].into_iter().chain(locations);
                            queue.extend(all.map(|it| (Item::Location(it), Some(number))));
                        }
                        _ => {}
                    }
                }
                Item::Location(location) => place(location),
            }
            let children = (queue.len() - before) as u32;
            rows.push(SystemRow { item, parent: parent.unwrap_or(number), children });
        }
        Self { rows, roots, of_location }
    }

    /// Returns the number of rows, which is larger than any row number.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if the report has no system tree.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of root rows, usually one for the whole machine. They have the numbers from 0 on, and every
    /// other row has a parent.
    pub fn roots(&self) -> u32 {
        self.roots
    }

    /// Returns the number of children of every row in order, run-length encoded: pairs of a number of children and the
    /// number of consecutive rows that have it. Large systems are regular, so this stays short.
    pub fn children(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for row in &self.rows {
            match runs.last_mut() {
                Some((count, often)) if *count == row.children => *often += 1,
                _ => runs.push((row.children, 1)),
            }
        }
        runs
    }

    /// Returns the element of the system tree that a row shows, or `None` if there is no such row.
    pub fn item(&self, row: usize) -> Option<Item> {
        self.rows.get(row).map(|it| it.item)
    }

    /// Returns the number of the row that stands for a location: its own, or that of its process if the process has no
    /// other location. Returns `None` if the report has no such location.
    pub fn of_location(&self, location: LocationId) -> Option<u32> {
        self.of_location.get(location.index()).copied()
    }

    /// Returns the locations that a row stands for, with those of all rows below it.
    pub fn locations_of(&self, row: usize) -> Vec<LocationId> {
        let is_below = |place: u32| {
            let mut at = place as usize;
            // Parents come before their children.
            while at > row {
                match self.rows.get(at) {
                    Some(it) if (it.parent as usize) < at => at = it.parent as usize,
                    _ => return false,
                }
            }
            at == row
        };
        let all = (0..).map(LocationId).zip(&self.of_location);
        all.filter(|(_, place)| is_below(**place)).map(|it| it.0).collect()
    }

    /// Sums values of locations, given by location id, up the system tree. The result has one inclusive value for each
    /// row.
    pub fn sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows.len()];
        for (&row, value) in self.of_location.iter().zip(values) {
            if let Some(sum) = sums.get_mut(row as usize) {
                *sum += value;
            }
        }
        // Children come after their parents.
        for (number, row) in self.rows.iter().enumerate().rev() {
            let value = sums.get(number).copied().unwrap_or(0.0);
            if row.parent as usize != number
                && let Some(sum) = sums.get_mut(row.parent as usize)
            {
                *sum += value;
            }
        }
        sums
    }
}

impl Query {
    /// Returns the name of an element of the system tree as the report has it, or `?` if there is no such element.
    pub fn item_name(&self, item: Item) -> String {
        let meta = self.meta();
        match item {
            Item::Node(node) => meta.system_node(node).map(|it| it.name),
            Item::Group(group) => meta.group(group).map(|it| it.name),
            Item::Location(location) => meta.location(location).map(|it| it.name),
        }
        .unwrap_or("?")
        .to_owned()
    }
}
