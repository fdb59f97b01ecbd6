//! A picture for papers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dwell_model::units::seconds;
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

/// Width of a picture. Where it is as wide as the column of a paper, 8.5 cm, its letters are 5.6 points high.
const WIDTH: usize = 640;

/// Width of the labels of rows.
const LABELS: usize = 150;

/// Width of the columns of time together.
const PLOT: usize = WIDTH - LABELS - 10;

/// Size of letters.
const LETTERS: usize = 15;

/// Size of the letters that say how far the locations of a row differ, and the height of rows that have room for them.
const SMALL: usize = 12;
const TWO_LINES: usize = 30;
const THREE_LINES: usize = 50;

/// Height of the ruler.
const RULER: usize = 34;

/// Height of a line of the legend.
const LEGEND: usize = 24;

/// Height that all rows have together where there are many.
const ROOM: usize = 420;

/// Rows lower than this have no room for classes on top of each other: their colour is the share of waiting.
const LOW: usize = 12;

/// Hops of the critical path that are closer than this are a density.
const HOP: usize = 4;

/// Greatest number of arrows from a wait to who ended it between low rows, and of marks of long waits.
const FEW: usize = 12;

/// Colours of shares of waiting from 0 to 1, which are those of the explorer.
const AMOUNTS: [(u8, u8, u8); 8] = [
    (238, 241, 244),
    (253, 231, 180),
    (251, 196, 120),
    (240, 149, 86),
    (217, 101, 72),
    (178, 60, 68),
    (128, 30, 66),
    (74, 14, 54),
];

/// Returns the colour of a share of waiting, a part of 255.
fn amount(share: u8) -> String {
    let place = f64::from(share) / 255.0 * (AMOUNTS.len() - 1) as f64;
    let at = |it: f64| AMOUNTS.get(it as usize).copied().unwrap_or_default();
    let (low, high) = (at(place.floor()), at(place.ceil()));
    let mix =
        |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * place.fract()).round() as u8;
    let (r, g, b) = (mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2));
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Returns the scene as an SVG picture.
pub fn svg(scene: &Scene, names: &dyn Names) -> String {
    let columns = scene.tile.columns;
    let height =
        (ROOM / scene.rows.len().max(1)).clamp(6, if scene.rows.len() <= 4 { 80 } else { 44 });
    let gap = if height > 10 { 3 } else { 1 };
    let heat = height < LOW;
    let bottom = RULER + scene.rows.len() * height;
    let (legend, lines) = legend(scene, bottom + LEGEND - 6, heat);
    let (width, whole) = (WIDTH, bottom + lines * LEGEND + 8);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{whole}\" viewBox=\"0 0 {width} {whole}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{LETTERS}\">\n\
         <defs>\n\
         <pattern id=\"waits\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect width=\"5\" height=\"5\" fill=\"#cc3311\"/><rect width=\"1.6\" height=\"5\" fill=\"#ffffff\" fill-opacity=\"0.55\"/></pattern>\n\
         <marker id=\"head\" markerWidth=\"7\" markerHeight=\"7\" refX=\"6\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L6,3 L0,6 z\" fill=\"#222222\"/></marker>\n\
         <linearGradient id=\"amounts\">"
    );
    for share in [0, 51, 102, 153, 204, 255] {
        let _ = write!(
            svg,
            "<stop offset=\"{}%\" stop-color=\"{}\"/>",
            u32::from(share) * 100 / 255,
            amount(share)
        );
    }
    let _ = write!(
        svg,
        "</linearGradient>\n</defs>\n<rect width=\"{width}\" height=\"{whole}\" fill=\"#ffffff\"/>\n"
    );
    let x = |time: Time| {
        let part = time.0.clamp(scene.span.from.0, scene.span.to.0) - scene.span.from.0;
        LABELS as f64 + part as f64 * PLOT as f64 / scene.span.length().max(1) as f64
    };
    for (time, text) in scene.ticks(PLOT / 90) {
        let (x, top) = (x(time), RULER - 8);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1},{top}V{bottom}\" stroke=\"#dddddd\"/><text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            x.min((WIDTH - 30) as f64),
            RULER - 13
        );
    }
    let each = (LETTERS + 2).div_ceil(height);
    for (row, of) in scene.rows.iter().enumerate() {
        let top = RULER + row * height;
        if row.is_multiple_of(each) {
            let (x, y) = (LABELS - 6, top + (height - gap) / 2 + LETTERS / 3);
            let differ = of.differ.filter(|_| height >= TWO_LINES);
            let label = label(&scene.rows, of, names);
            // The second line has the number.
            let label = match (differ, label.split_once(" of ")) {
                (Some(_), Some((_, label))) => label,
                _ => &label,
            };
            // The widest of common fonts takes five eighths of its size for a letter.
            let letters = LETTERS.min(8 * (LABELS - 10) / (5 * label.chars().count().max(1)));
            let label = escaped(label);
            let up = if differ.is_some() { SMALL / 2 } else { 0 };
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"end\" font-size=\"{letters}\">{label}</text>",
                y - up
            );
            if let Some(differ) = differ {
                let (count, percent) = (of.count(), 100.0 * differ);
                let _ = writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{}\" text-anchor=\"end\" font-size=\"{SMALL}\" fill=\"#555555\">\
                     {count} alike, ± {percent:.1} %</text>",
                    y + SMALL - 1
                );
            }
            if let Some(waited) = scene.waited_for.get(row).copied().flatten() {
                let (left, tall) = (LABELS - 4, height - gap);
                let _ = write!(
                    svg,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"4\" height=\"{tall}\" fill=\"#cc3311\"/>"
                );
                if height >= THREE_LINES {
                    let waited = seconds(waited as f64 / 1e9);
                    let _ = writeln!(
                        svg,
                        "<text x=\"{x}\" y=\"{}\" text-anchor=\"end\" font-size=\"{SMALL}\" fill=\"#cc3311\">\
                         others wait {waited}</text>",
                        y + if differ.is_some() { 2 * SMALL + 1 } else { SMALL + 4 }
                    );
                }
            }
        }
    }
    // Columns that touch must not show what is behind them.
    svg.push_str("<g shape-rendering=\"crispEdges\">\n");
    for row in 0..scene.rows.len() {
        let top = RULER + row * height;
        cells(
            &mut svg,
            scene,
            row,
            (top as f64, (height - gap) as f64),
            PLOT as f64 / columns.max(1) as f64,
            heat,
        );
    }
    svg.push_str("</g>\n");
    critical(&mut svg, scene, &x, (height, gap));
    operations(&mut svg, scene, &x, (height, gap));
    waits(&mut svg, scene, &x, (height, gap));
    svg.push_str(&legend);
    svg.push_str("</svg>\n");
    svg
}

/// Draws the critical path at the lower edge of its rows: a line, or how much of the time it was there where hops are close.
fn critical(
    svg: &mut String,
    scene: &Scene,
    x: &dyn Fn(Time) -> f64,
    (height, gap): (usize, usize),
) {
    let edge = |row: usize| (RULER + (row + 1) * height - gap) as f64;
    if scene.critical.len() * HOP > PLOT {
        let thick = (height as f64 / 5.0).clamp(1.5, 4.0);
        let mut shares: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (column, location, share) in
            crate::critical::dense(&scene.critical, scene.span, PLOT / 2)
        {
            if let Some(row) = scene.row(location) {
                *shares.entry((row, column)).or_default() += u32::from(share);
            }
        }
        for ((row, column), share) in shares {
            let opacity = 0.2 + 0.8 * f64::from(share.min(255)) / 255.0;
            let (x, y) = (LABELS + 2 * column, edge(row) - thick);
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y:.1}\" width=\"2\" height=\"{thick:.1}\" fill-opacity=\"{opacity:.2}\"/>"
            );
        }
        return;
    }
    let (mut stays, mut hops) = (String::new(), String::new());
    let mut before = None;
    for step in &scene.critical {
        let Some(row) = scene.row(step.location) else { continue };
        let part = step.span.common(scene.span);
        let (from, to, y) = (x(part.from), x(part.to), edge(row) - 1.0);
        let _ = write!(stays, "M{from:.1},{y:.1}H{to:.1}");
        if let Some(before) = before.replace(y).filter(|it| *it != y) {
            let _ = write!(hops, "M{from:.1},{before:.1}V{y:.1}");
        }
    }
    if !stays.is_empty() {
        let _ = writeln!(
            svg,
            "<path d=\"{hops}\" stroke=\"#000000\" stroke-opacity=\"0.45\" stroke-width=\"0.8\"/>\
             <path d=\"{stays}\" stroke=\"#000000\" stroke-width=\"{}\"/>",
            if height < LOW { 1.4 } else { 2.2 }
        );
    }
}

/// Marks long waits that would not be seen, and draws arrows from who ended a wait to it.
fn waits(svg: &mut String, scene: &Scene, x: &dyn Fn(Time) -> f64, (height, gap): (usize, usize)) {
    let top = |row: usize| (RULER + row * height) as f64;
    let inside = (height - gap) as f64;
    let longest = scene.waits.first().map_or(0, |it| it.1.span.length());
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (location, slice) in &scene.waits {
        let Some(row) = scene.row(*location) else { continue };
        let (from, to) = (x(slice.span.from), x(slice.span.to));
        let is_hidden = to - from < 2.0 || scene.rows.get(row).is_some_and(|it| it.count() > 1);
        let middle = f64::midpoint(from, to);
        let is_long = slice.span.length() >= longest / 10 && taken.len() < FEW;
        if is_hidden && is_long && taken.insert((row, middle as usize / 8)) {
            let (left, right, y) = (middle - 4.0, middle + 4.0, top(row));
            let _ = writeln!(
                svg,
                "<path d=\"M{left:.1},{y:.1}H{right:.1}L{middle:.1},{:.1}z\" fill=\"#cc3311\" stroke=\"#ffffff\" stroke-width=\"0.8\"/>",
                y + 6.0
            );
        }
    }
    let (most, least) = if height < LOW { (FEW, 4.0) } else { (scene.waits.len(), 0.0) };
    for (location, slice) in scene.waits.iter().take(most).rev() {
        let culprit = slice.wait.and_then(|it| scene.row(it.culprit));
        let (Some(row), Some(from)) = (scene.row(*location), culprit) else { continue };
        let is_short = x(slice.span.to) - x(slice.span.from) < least;
        if slice.span.to > scene.span.to || row == from || is_short {
            continue;
        }
        let x = x(slice.span.to);
        // An arrow ends at the edge of its row.
        let y1 = top(from) + inside / 2.0;
        let y2 = if row > from { top(row) } else { top(row) + inside };
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1},{y1:.1}L{x:.1},{y2:.1}\" stroke=\"#222222\" stroke-width=\"1\" marker-end=\"url(#head)\"/>",
            x - 4.0
        );
    }
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

/// Draws the cells of a row in runs of equal columns: shares of classes on top of each other, or the share of waiting as a colour.
fn cells(
    svg: &mut String,
    scene: &Scene,
    row: usize,
    (top, height): (f64, f64),
    wide: f64,
    heat: bool,
) {
    let columns = scene.tile.columns;
    let mut first = 0;
    while first < columns {
        let cell = scene.tile.cell(row, first);
        let next = (first + 1..columns).find(|it| scene.tile.cell(row, *it) != cell);
        let next = next.unwrap_or(columns);
        let (x, width) = (LABELS as f64 + first as f64 * wide, (next - first) as f64 * wide);
        first = next;
        if heat {
            let all: u32 = cell.iter().map(|it| u32::from(*it)).sum();
            let wait = cell.get(Class::Wait as usize).map_or(0, |it| u32::from(*it));
            if all >= 8 {
                let fill = amount((wait * 255 / all).min(255) as u8);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\"/>"
                );
            }
            continue;
        }
        let mut y = top;
        for ((class, colour, _), share) in COLOURS.iter().zip(cell) {
            if *share == 0 {
                continue;
            }
            let part = height * f64::from(*share) / 255.0;
            let fill = if *class == Class::Wait { "url(#waits)" } else { colour };
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{part:.2}\" fill=\"{fill}\"/>"
            );
            y += part;
        }
    }
}

/// Returns the colours that occur with their names, and the number of lines that they take.
fn legend(scene: &Scene, y: usize, heat: bool) -> (String, usize) {
    let mut svg = String::new();
    let (mut x, mut line) = (LABELS, 0);
    let mut place = |width: usize| {
        if x + width > WIDTH && x > LABELS {
            (x, line) = (LABELS, line + 1);
        }
        let at = (x, y + line * LEGEND);
        x += width;
        at
    };
    if heat {
        let (x, y) = place(250);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\">0</text><rect x=\"{}\" y=\"{}\" width=\"90\" height=\"12\" fill=\"url(#amounts)\"/>\
             <text x=\"{}\" y=\"{y}\">100 % waiting</text>",
            x + 12,
            y - 11,
            x + 108
        );
    }
    for (number, (class, colour, name)) in COLOURS.iter().enumerate() {
        let mut shares = scene.tile.shares.iter().skip(number).step_by(crate::classes::CLASSES);
        if heat || !shares.any(|it| *it > 0) {
            continue;
        }
        let fill = if *class == Class::Wait { "url(#waits)" } else { colour };
        let (x, y) = place(34 + name.len() * 8);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"12\" fill=\"{fill}\"/><text x=\"{}\" y=\"{y}\">{name}</text>",
            y - 11,
            x + 19
        );
    }
    if !scene.critical.is_empty() {
        let (x, y) = place(130);
        let _ = writeln!(
            svg,
            "<path d=\"M{x},{}h16\" stroke=\"#000000\" stroke-width=\"2.2\"/><text x=\"{}\" y=\"{y}\">critical path</text>",
            y - 5,
            x + 21
        );
    }
    (svg, line + 1)
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
