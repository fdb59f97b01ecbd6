//! A picture of characters, for terminals without a browser.

use std::fmt::Write as _;

use dwell_report::Class;

use super::{Names, Row, Scene, label, largest};
use crate::classes::CLASSES;

/// Characters of the classes, in their order. Waits have `#`.
const MARKS: [char; CLASSES] = ['.', 'p', 'g', 'a', 'm', 'c', 'l', 'f', 'r', '#'];

/// Least share of waits that is marked in a cell of another class, as a part of 255.
const SOME_WAIT: u8 = 26;

/// Returns the names of the characters.
fn legend() -> [(char, &'static str); 13] {
    let mark = |class: Class| MARKS.get(class as usize).copied().unwrap_or('?');
    [
        (mark(Class::Wait), "waits"),
        ('+', "waits for a tenth or more"),
        ('!', "a long wait that is too short to see here"),
        (mark(Class::Compute), "computes"),
        (mark(Class::Put), "put"),
        (mark(Class::Get), "get"),
        (mark(Class::Atomic), "atomic"),
        (mark(Class::Message), "message"),
        (mark(Class::Collective), "collective"),
        (mark(Class::Lock), "lock, flag, fence"),
        (mark(Class::Io), "files"),
        (mark(Class::Runtime), "runtime"),
        (' ', "nothing recorded"),
    ]
}

/// Greatest width of the names of rows.
const MOST_LABEL: usize = 20;

fn label_width(labels: &[String]) -> usize {
    labels.iter().map(|it| it.chars().count()).max().unwrap_or(0).min(MOST_LABEL)
}

/// Returns the number of columns of time that fit into lines of `width` characters, next to the names of rows.
pub fn columns(width: usize, rows: &[Row], names: &dyn Names) -> usize {
    let labels: Vec<String> = rows.iter().map(|row| label(rows, row, names)).collect();
    width.saturating_sub(label_width(&labels) + 1).max(10)
}

/// Returns the scene as lines of characters: a ruler, a row for each of the scene, and a legend.
pub fn text(scene: &Scene, names: &dyn Names) -> String {
    let labels: Vec<String> = scene.rows.iter().map(|row| label(&scene.rows, row, names)).collect();
    let width = label_width(&labels);
    let columns = scene.tile.columns;
    let mut marks: Vec<(usize, usize)> = Vec::new();
    let column = |time: crate::span::Time| {
        let at = u128::from(time.0.saturating_sub(scene.span.from.0)) * columns as u128;
        (at / u128::from(scene.span.length().max(1))) as usize
    };
    let longest = scene.waits.first().map_or(0, |it| it.1.span.length());
    let is_long =
        |it: &&(crate::ids::Location, crate::slices::Slice)| it.1.span.length() >= longest / 10;
    for (location, slice) in scene.waits.iter().filter(is_long) {
        if let Some(row) = scene.row(*location) {
            let part = slice.span.common(scene.span);
            let last = column(crate::span::Time(part.to.0.saturating_sub(1)));
            marks.extend((column(part.from)..=last).map(|it| (row, it)));
        }
    }
    marks.sort_unstable();
    let mut text = ruler(scene, width, columns);
    let mut used = [false; 128];
    for (row, label) in labels.iter().enumerate() {
        let label: String = label.chars().take(width).collect();
        let _ = write!(text, "{label:width$} ");
        let mut line = String::new();
        for column in 0..columns {
            let cell = scene.tile.cell(row, column);
            let wait = cell.get(Class::Wait as usize).copied().unwrap_or(0);
            let is_marked = marks.binary_search(&(row, column)).is_ok();
            let mark = match largest(cell) {
                Some(class) if class == Class::Wait as usize => '#',
                _ if wait >= SOME_WAIT => '+',
                _ if is_marked => '!',
                Some(class) => MARKS.get(class).copied().unwrap_or('?'),
                None => ' ',
            };
            if let Some(used) = used.get_mut(mark as usize) {
                *used = true;
            }
            line.push(mark);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let known = legend().into_iter().filter(|(mark, _)| used.get(*mark as usize) == Some(&true));
    let mut line = String::new();
    for (mark, name) in known {
        let mark = if mark == ' ' { "blank".to_owned() } else { mark.to_string() };
        let part = format!("{mark} {name}");
        if line.chars().count() + 3 + part.chars().count() > width + 1 + columns {
            let _ = writeln!(text, "{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push_str("   ");
        }
        line.push_str(&part);
    }
    let _ = writeln!(text, "{line}");
    text
}

/// Returns a line with times and one with their places.
fn ruler(scene: &Scene, width: usize, columns: usize) -> String {
    let mut times = vec![' '; columns];
    let mut places = vec!['-'; columns];
    let mut free = 0;
    for (time, text) in scene.ticks(columns / 14) {
        let part = u128::from(time.0 - scene.span.from.0) * columns as u128;
        let at = (part / u128::from(scene.span.length().max(1))) as usize;
        if let Some(place) = places.get_mut(at) {
            *place = '|';
        }
        let length = text.chars().count();
        let at = at.min(columns.saturating_sub(length));
        if at >= free {
            times.iter_mut().skip(at).zip(text.chars()).for_each(|(to, from)| *to = from);
            free = at + length + 1;
        }
    }
    let line = |list: Vec<char>| list.into_iter().collect::<String>();
    let (times, places) = (line(times), line(places));
    format!("{:width$} {}\n{:width$} {places}\n", "", times.trim_end(), "")
}
