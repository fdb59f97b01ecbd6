//! A picture for papers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dwell_report::Class;

use super::{Names, Scene, label};
use crate::operations::OperationKind;
use crate::span::Time;

/// Colours of the classes, which are those of the explorer.
const COLOURS: [(Class, &str, &str); crate::classes::CLASSES] = [
    (Class::Compute, "#bbbbbb", "computing"),
    (Class::Put, "#0077bb", "put"),
    (Class::Get, "#33bbee", "get"),
    (Class::Atomic, "#6644aa", "atomic"),
    (Class::Message, "#77aa33", "messages"),
    (Class::Collective, "#009988", "collective"),
    (Class::Lock, "#ee7733", "locks, flags, fences"),
    (Class::Io, "#ee3377", "files"),
    (Class::Runtime, "#5f6b78", "runtime, other"),
    (Class::Wait, "#cc3311", "waiting"),
];

/// Width of the labels of rows.
const LABELS: usize = 130;

/// Height of the ruler.
const RULER: usize = 26;

/// Height of the legend.
const LEGEND: usize = 30;

/// Returns the scene as an SVG picture. A column of the scene is one unit wide.
pub fn svg(scene: &Scene, names: &dyn Names) -> String {
    let columns = scene.tile.columns;
    let height = (640 / scene.rows.len().max(1)).clamp(7, 22);
    let gap = if height > 10 { 3 } else { 1 };
    let (width, whole) = (LABELS + columns + 10, RULER + scene.rows.len() * height + LEGEND);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{whole}\" viewBox=\"0 0 {width} {whole}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n\
         <defs>\n\
         <pattern id=\"waits\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect width=\"5\" height=\"5\" fill=\"#cc3311\"/><rect width=\"1.6\" height=\"5\" fill=\"#ffffff\" fill-opacity=\"0.55\"/></pattern>\n\
         <marker id=\"head\" markerWidth=\"7\" markerHeight=\"7\" refX=\"6\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L6,3 L0,6 z\" fill=\"#222222\"/></marker>\n\
         </defs>\n\
         <rect width=\"{width}\" height=\"{whole}\" fill=\"#ffffff\"/>\n"
    );
    let x = |time: Time| {
        let part = time.0.clamp(scene.span.from.0, scene.span.to.0) - scene.span.from.0;
        LABELS as f64 + part as f64 * columns as f64 / scene.span.length().max(1) as f64
    };
    let bottom = RULER + scene.rows.len() * height;
    for (time, text) in scene.ticks(columns / 110) {
        let (x, top) = (x(time), RULER - 8);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1},{top}V{bottom}\" stroke=\"#dddddd\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            RULER - 12
        );
    }
    for (row, range) in scene.rows.iter().enumerate() {
        let top = RULER + row * height;
        let label = escaped(&label(range, names));
        if height >= 9 {
            let (x, y) = (LABELS - 6, top + height / 2 + 3);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{label}</text>");
        }
        cells(&mut svg, scene, row, (top as f64, (height - gap) as f64));
    }
    let middle = |row: usize| (RULER + row * height) as f64 + (height - gap) as f64 / 2.0;
    let mut line = String::new();
    for step in &scene.critical {
        if let Some(row) = scene.row(step.location) {
            let part = step.span.common(scene.span);
            let verb = if line.is_empty() { 'M' } else { 'L' };
            let (from, to, y) = (x(part.from), x(part.to), middle(row));
            let _ = write!(line, "{verb}{from:.1},{y:.1}L{to:.1},{y:.1}");
        }
    }
    if !line.is_empty() {
        let _ = writeln!(
            svg,
            "<path d=\"{line}\" fill=\"none\" stroke=\"#000000\" stroke-opacity=\"0.55\" stroke-width=\"1.5\" stroke-dasharray=\"4 2\"/>"
        );
    }
    operations(&mut svg, scene, &x, (height, gap));
    for (location, slice) in scene.waits.iter().rev() {
        let culprit = slice.wait.and_then(|it| scene.row(it.culprit));
        let (Some(row), Some(from)) = (scene.row(*location), culprit) else { continue };
        if slice.span.to > scene.span.to || row == from {
            continue;
        }
        let x = x(slice.span.to);
        let (y1, y2) = (middle(from), middle(row));
        // An arrow ends at the edge of its row.
        let y2 = if y2 > y1 {
            y2 - (height - gap) as f64 / 2.0
        } else {
            y2 + (height - gap) as f64 / 2.0
        };
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1},{y1:.1}L{x:.1},{y2:.1}\" stroke=\"#222222\" stroke-width=\"1\" marker-end=\"url(#head)\"/>",
            x - 4.0
        );
    }
    legend(&mut svg, scene, bottom + 19);
    svg.push_str("</svg>\n");
    svg
}

/// Draws operations as arrows, and lines that join the members of collectives where they entered.
fn operations(
    svg: &mut String,
    scene: &Scene,
    x: &dyn Fn(Time) -> f64,
    (height, gap): (usize, usize),
) {
    let top = |row: usize| (RULER + row * height) as f64;
    let bottom = |row: usize| top(row) + (height - gap) as f64;
    let colour = |class: Class| {
        COLOURS.iter().find(|it| it.0 == class).map_or("#888888", |(_, colour, _)| colour)
    };
    for joined in &scene.joined {
        // Of several members in a row, the last to enter.
        let mut rows: BTreeMap<usize, Time> = BTreeMap::new();
        for (location, span) in &joined.members {
            if let Some(row) = scene.row(*location) {
                let last = rows.entry(row).or_insert(span.from);
                *last = (*last).max(span.from);
            }
        }
        let mut line = String::new();
        for (row, time) in rows {
            let (verb, x) = (if line.is_empty() { 'M' } else { 'L' }, x(time));
            let _ = write!(line, "{verb}{x:.1},{:.1}L{x:.1},{:.1}", top(row), bottom(row));
        }
        let colour = colour(Class::Collective);
        let _ = writeln!(
            svg,
            "<path d=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\"/>"
        );
    }
    for arrow in scene.arrows.iter().rev() {
        let it = arrow.operation;
        let (Some(origin), Some(partner)) = (scene.row(it.origin), scene.row(it.partner)) else {
            continue;
        };
        // A get brings data from its target.
        let (first, last) = match it.kind {
            OperationKind::Get => (partner, origin),
            _ => (origin, partner),
        };
        let class = match it.kind {
            OperationKind::Put => Class::Put,
            OperationKind::Get => Class::Get,
            OperationKind::Atomic | OperationKind::Update => Class::Atomic,
            OperationKind::Message => Class::Message,
            OperationKind::Lock => Class::Lock,
        };
        let middle = |row: usize| f64::midpoint(top(row), bottom(row));
        let (x1, y1, x2, y2) = (x(it.span.from), middle(first), x(it.span.to), middle(last));
        let width = (1.2 + (arrow.count as f64).log2() / 2.0).min(4.0);
        let line = format!("M{x1:.1},{y1:.1}L{x2:.1},{y2:.1}");
        let dashes = if it.kind == OperationKind::Lock { " stroke-dasharray=\"4 3\"" } else { "" };
        let mut heads = head((x1, y1), (x2, y2), height);
        if it.kind == OperationKind::Atomic {
            heads.push_str(&head((x2, y2), (x1, y1), height));
        }
        let colour = colour(class);
        let _ = writeln!(
            svg,
            "<path d=\"{line}\" stroke=\"#ffffff\" stroke-opacity=\"0.65\" stroke-width=\"{:.1}\"/>\
             <path d=\"{line}\" stroke=\"{colour}\" stroke-width=\"{width:.1}\"{dashes}/>\
             <path d=\"{heads}\" fill=\"{colour}\"/>",
            width + 2.0
        );
        if arrow.count > 1 && height >= 11 {
            let (x, y) = (f64::midpoint(x1, x2) + 4.0, f64::midpoint(y1, y2) + 3.0);
            let count = arrow.count;
            let _ =
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">×{count}</text>");
        }
    }
}

/// Returns the path of the head of an arrow, or nothing for one that is too short.
fn head((x1, y1): (f64, f64), (x2, y2): (f64, f64), height: usize) -> String {
    let length = (x2 - x1).hypot(y2 - y1);
    if length < 4.0 {
        return String::new();
    }
    let size = (height as f64 / 3.0).clamp(3.0, 7.0) / length;
    let (dx, dy) = ((x2 - x1) * size, (y2 - y1) * size);
    let (left, right) =
        ((x2 - dx - dy / 2.0, y2 - dy + dx / 2.0), (x2 - dx + dy / 2.0, y2 - dy - dx / 2.0));
    format!("M{x2:.1},{y2:.1}L{:.1},{:.1}L{:.1},{:.1}z", left.0, left.1, right.0, right.1)
}

/// Draws the cells of a row: shares of classes on top of each other, in runs of equal columns.
fn cells(svg: &mut String, scene: &Scene, row: usize, (top, height): (f64, f64)) {
    let columns = scene.tile.columns;
    let mut first = 0;
    while first < columns {
        let cell = scene.tile.cell(row, first);
        let next = (first + 1..columns).find(|it| scene.tile.cell(row, *it) != cell);
        let next = next.unwrap_or(columns);
        let mut y = top;
        for ((class, colour, _), share) in COLOURS.iter().zip(cell) {
            if *share == 0 {
                continue;
            }
            let part = height * f64::from(*share) / 255.0;
            let fill = if *class == Class::Wait { "url(#waits)" } else { colour };
            let _ = writeln!(
                svg,
                "<rect x=\"{}\" y=\"{y:.2}\" width=\"{}\" height=\"{part:.2}\" fill=\"{fill}\"/>",
                LABELS + first,
                next - first
            );
            y += part;
        }
        first = next;
    }
}

/// Draws the colours that occur, and their names.
fn legend(svg: &mut String, scene: &Scene, y: usize) {
    let mut x = LABELS;
    for (place, (class, colour, name)) in COLOURS.iter().enumerate() {
        let occurs =
            scene.tile.shares.iter().skip(place).step_by(crate::classes::CLASSES).any(|it| *it > 0);
        if !occurs {
            continue;
        }
        let fill = if *class == Class::Wait { "url(#waits)" } else { colour };
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"10\" fill=\"{fill}\"/><text x=\"{}\" y=\"{y}\">{name}</text>",
            y - 9,
            x + 16
        );
        x += 30 + name.len() * 6;
    }
    if !scene.critical.is_empty() {
        let _ = writeln!(
            svg,
            "<path d=\"M{x},{}h16\" stroke=\"#000000\" stroke-opacity=\"0.55\" stroke-width=\"1.5\" stroke-dasharray=\"4 2\"/>\
             <text x=\"{}\" y=\"{y}\">critical path</text>",
            y - 4,
            x + 20
        );
    }
}

/// Returns a text without characters that mean something in XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
