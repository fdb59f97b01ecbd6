//! `cargo xtask bench scale`: what the analysis costs each process, for numbers of processes and of locations.
//!
//! Two cores do not show how fast many nodes are, but bytes, messages, exchanges, reads and memory of a process can be
//! counted on any machine. `docs/performance/scale.md` quotes the tables and has the plots that `--pictures` writes.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::harness;
use crate::build::Build;
use crate::process;
use crate::workspace::Workspace;

/// Options of `cargo xtask bench scale`.
#[derive(Args)]
pub(crate) struct Options {
    /// Launcher, with its arguments up to the number of processes
    #[arg(long, default_value = "mpirun --oversubscribe -np")]
    launcher: String,
    /// Numbers of processes
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
    processes: Vec<usize>,
    /// Numbers of locations
    #[arg(long, value_delimiter = ',', default_value = "512,2048,8192,32768")]
    locations: Vec<u64>,
    /// Number of processes for the numbers of locations
    #[arg(long, default_value_t = 4)]
    fixed: usize,
    /// Folder to write the plots to
    #[arg(long)]
    pictures: Option<PathBuf>,
}

/// Columns that `dwell analyze --costs` writes and this program shows: name, unit, and number by which to divide.
const COLUMNS: [(&str, &str, f64); 6] = [
    ("seconds", "seconds", 1.0),
    ("peak_bytes", "MB of memory", 1e6),
    ("reads", "reads", 1.0),
    ("exchanges", "exchanges", 1.0),
    ("messages", "messages", 1.0),
    ("message_bytes", "MB sent", 1e6),
];

/// Greatest cost of any process, by column.
#[derive(Clone, Debug)]
struct Point {
    at: f64,
    most: [f64; COLUMNS.len()],
}

/// Makes archives, analyses each with numbers of processes, and prints tables.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let dwell = Build::Release.program(workspace, "dwell", ["--bin", "dwell"])?;
    let dwell = workspace.root.join(dwell);
    let folder = process::Folder(workspace.target.join("scale"));
    fs::create_dir_all(&folder.0)?;
    println!("\n{}\n", harness::machine());
    let bench = Bench { dwell, folder: folder.0.clone(), launcher: &options.launcher };
    let Some(&middle) = options.locations.get(options.locations.len() / 2) else {
        bail!("at least one number of locations is needed")
    };
    for (name, kind, arguments) in [
        ("neighbours", "sor", ["--iterations", "20"]),
        ("everywhere", "srumma", ["--blocks", "40"]),
    ] {
        let archive = bench.archive(kind, middle, arguments)?;
        let points = options.processes.iter();
        let points: Vec<Point> = points
            .map(|&count| bench.measure(&archive, count, count as f64))
            .collect::<Result<_>>()?;
        let title = format!("{kind}, {} locations, by number of processes", grouped(middle));
        println!("{}", table(&title, "processes", &points));
        plot(options, &format!("scale-processes-{name}"), &title, "processes", &points)?;
    }
    let mut points = Vec::new();
    for &count in &options.locations {
        let archive = bench.archive("sor", count, ["--iterations", "20"])?;
        points.push(bench.measure(&archive, options.fixed, count as f64)?);
    }
    let title = format!("sor, {} processes, by number of locations", options.fixed);
    println!("{}", table(&title, "locations", &points));
    plot(options, "scale-locations", &title, "locations", &points)
}

struct Bench<'o> {
    dwell: PathBuf,
    folder: PathBuf,
    launcher: &'o str,
}

impl Bench<'_> {
    fn archive(&self, kind: &str, locations: u64, arguments: [&str; 2]) -> Result<PathBuf> {
        let path = self.folder.join(format!("{kind}-{locations}"));
        if !path.join("traces.otf2").exists() {
            let mut command = Command::new(&self.dwell);
            command.args(["synth", kind, "--ranks", &locations.to_string()]).args(arguments);
            process::output(command.arg("-o").arg(&path))?;
        }
        Ok(path)
    }

    /// Analyses an archive with some processes, and returns the greatest cost of any of them.
    fn measure(&self, archive: &Path, processes: usize, at: f64) -> Result<Point> {
        let costs = self.folder.join("costs.csv");
        let mut words = self.launcher.split_whitespace();
        let launcher = words.next().context("a launcher is needed")?;
        let mut command = Command::new(launcher);
        process::in_a_container(&mut command);
        command.args(words).arg(processes.to_string()).arg(&self.dwell);
        command.args(["analyze", "--threads", "1", "--events-per-rank", "1", "--costs"]);
        process::output(command.arg(&costs).arg(archive))?;
        let text = fs::read_to_string(&costs)?;
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let mut most = [0.0_f64; COLUMNS.len()];
        for (line, count) in lines.zip(1..) {
            let cells: Vec<&str> = line.split(',').collect();
            for (most, (name, _, unit)) in most.iter_mut().zip(COLUMNS) {
                let place = head.iter().position(|column| *column == name);
                let cell = place.and_then(|place| cells.get(place));
                let value: f64 = cell.and_then(|cell| cell.parse().ok()).context(name)?;
                *most = most.max(value / unit);
            }
            if count > processes {
                bail!("{}: more rows than processes", costs.display());
            }
        }
        Ok(Point { at, most })
    }
}

/// Formats points as a table of the book.
fn table(title: &str, what: &str, points: &[Point]) -> String {
    let mut text = format!("{title}; the greatest of all processes\n\n| {what} |");
    let digits = |value: f64| usize::from(value < 10.0) + usize::from(value < 1.0);
    for (_, unit, _) in COLUMNS {
        let _ = write!(text, " {unit} |");
    }
    text += "\n|";
    (0..=COLUMNS.len()).for_each(|_| text += " --- |");
    for point in points {
        let _ = write!(text, "\n| {} |", grouped(point.at as u64));
        for value in point.most {
            let _ = match digits(value) {
                0 => write!(text, " {} |", grouped(value.round() as u64)),
                _ if value.fract() == 0.0 => write!(text, " {value} |"),
                digits => write!(text, " {value:.digits$} |"),
            };
        }
    }
    text + "\n"
}

/// Formats a number with a comma after each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a plot with logarithmic axes, one line for each column, each in relation to its first value above 0.
fn plot(options: &Options, name: &str, title: &str, what: &str, points: &[Point]) -> Result<()> {
    let Some(folder) = &options.pictures else { return Ok(()) };
    let path = folder.join(format!("{name}.svg"));
    fs::write(&path, svg(title, what, points)).with_context(|| path.display().to_string())
}

/// Size of a plot, and room around it for text.
const SIZE: (f64, f64) = (640.0, 360.0);
const ROOM: (f64, f64) = (64.0, 48.0);
/// Least distance between the names of two lines.
const LINE: f64 = 15.0;
const COLOURS: [&str; COLUMNS.len()] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];

/// Returns the places of names that should be at `wanted`, in ascending order: at least [`LINE`] apart, and none below
/// `lowest`.
fn apart(wanted: &[f64], lowest: f64) -> Vec<f64> {
    let mut places = Vec::new();
    let mut above = f64::NEG_INFINITY;
    for &at in wanted {
        above = at.max(above + LINE);
        places.push(above);
    }
    let mut below = lowest + LINE;
    for place in places.iter_mut().rev() {
        *place = place.min(below - LINE);
        below = *place;
    }
    places
}

fn svg(title: &str, what: &str, points: &[Point]) -> String {
    let lines: Vec<(usize, Vec<(f64, f64)>)> = (0..COLUMNS.len())
        .map(|column| {
            let value = |point: &Point| point.most.get(column).copied().unwrap_or(0.0);
            let first = points.iter().map(value).find(|value| *value > 0.0).unwrap_or(1.0);
            let above = points.iter().filter(|point| value(point) > 0.0);
            (column, above.map(|point| (point.at.log2(), (value(point) / first).log2())).collect())
        })
        .collect();
    let all = || lines.iter().flat_map(|line| line.1.iter());
    let least = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(f64::INFINITY, f64::min).floor();
    let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(f64::NEG_INFINITY, f64::max).ceil();
    let (left, right) = (least(|it| it.0), most(|it| it.0));
    let (low, high) = (least(|it| it.1).min(0.0), most(|it| it.1).max(1.0));
    let (width, height) = (SIZE.0 - 3.0 * ROOM.0, SIZE.1 - 2.0 * ROOM.1);
    let x = |at: f64| ROOM.0 + (at - left) / (right - left).max(1.0) * width;
    let y = |at: f64| ROOM.1 + height - (at - low) / (high - low) * height;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"20\" font-size=\"14\">{title}</text>\n",
        SIZE.0, SIZE.1, ROOM.0
    );
    for power in low as i32..=high as i32 {
        let (at, factor) = (y(f64::from(power)), 2.0_f64.powi(power));
        let _ = writeln!(
            text,
            "<path d=\"M{} {at}h{width}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">× {factor}</text>",
            ROOM.0,
            ROOM.0 - 6.0,
            at + 4.0
        );
    }
    for point in points {
        let at = x(point.at.log2());
        let _ = writeln!(
            text,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            SIZE.1 - ROOM.1 + 18.0,
            grouped(point.at as u64)
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{what}</text>",
        ROOM.0 + width / 2.0,
        SIZE.1 - ROOM.1 + 36.0
    );
    // Names are next to the ends of their lines, pushed apart where they would overlap.
    let end = |line: &(usize, Vec<(f64, f64)>)| line.1.last().map_or(0.0, |it| y(it.1));
    let mut order: Vec<_> = lines.iter().filter(|line| !line.1.is_empty()).collect();
    order.sort_by(|one, other| end(one).total_cmp(&end(other)));
    let ends: Vec<f64> = order.iter().map(|line| end(line)).collect();
    for (line, at) in order.into_iter().zip(apart(&ends, ROOM.1 + height)) {
        let (column, points) = line;
        let colour = COLOURS.get(*column).copied().unwrap_or("black");
        let name = COLUMNS.get(*column).map_or("", |it| it.1);
        let corners: Vec<String> =
            points.iter().map(|it| format!("{:.1},{:.1}", x(it.0), y(it.1))).collect();
        for it in points {
            let (x, y) = (x(it.0), y(it.1));
            let _ = write!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            corners.join(" "),
            ROOM.0 + width + 8.0,
            at + 4.0
        );
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Point> {
        let point = |at: f64| Point { at, most: [8.0 / at, 100.0, 2048.0, 23.0, at - 1.0, 0.25] };
        [1.0, 2.0, 4.0].map(point).to_vec()
    }

    #[test]
    fn tables_have_a_row_for_each_point() {
        let table = table("title", "processes", &points());
        assert!(table.contains("| processes | seconds | MB of memory | reads |"), "{table}");
        assert!(table.ends_with("| 4 | 2 | 100 | 2,048 | 23 | 3 | 0.25 |\n"), "{table}");
    }

    #[test]
    fn plots_have_a_line_for_each_column_and_no_invalid_numbers() {
        let svg = svg("title", "processes", &points());
        assert_eq!(svg.matches("<polyline").count(), COLUMNS.len());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn names_of_lines_do_not_overlap_and_stay_beside_the_plot() {
        assert_eq!(apart(&[10.0, 50.0], 100.0), [10.0, 50.0]);
        assert_eq!(apart(&[10.0, 12.0, 50.0], 100.0), [10.0, 25.0, 50.0]);
        // Two lines end at the bottom: the upper name makes way, since numbers are below.
        assert_eq!(apart(&[10.0, 100.0, 100.0], 100.0), [10.0, 85.0, 100.0]);
        assert_eq!(apart(&[80.0, 98.0, 100.0], 100.0), [70.0, 85.0, 100.0]);
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
