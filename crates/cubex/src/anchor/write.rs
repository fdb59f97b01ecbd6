//! From tables to a document that cubelib's grammar takes.
//!
//! Its rules, beyond those of XML: the declaration has exactly version and encoding; elements stand
//! in a fixed order; only `attr`, `dim` and `parameter` close themselves; no comments; values in
//! double quotes and no blanks around `=`; no entities but the five predefined. Regions always have
//! their lines, which pyCubexR asks for.

use std::fmt;
use std::io::{self, Write};

use crate::id::{CnodeId, GroupId, MetricId, SystemNodeId};
use crate::meta::{Expression, ExpressionKind, Meta, Owner, ParameterKind, Place, VizType};

/// Text in which characters that XML does not allow are replaced.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let special = |c: char| {
            matches!(c, '&' | '<' | '>' | '\'' | '"')
                || (c < ' ' && !matches!(c, '\t' | '\n'))
                || matches!(c, '\u{fffe}' | '\u{ffff}')
        };
        let mut rest = self.0;
        while let Some(at) = rest.find(special) {
            let (plain, from) = rest.split_at(at);
            let mut characters = from.chars();
            f.write_str(plain)?;
            f.write_str(match characters.next() {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('\'') => "&apos;",
                Some('"') => "&quot;",
                // There is no way to write these in XML 1.0.
                _ => "\u{fffd}",
            })?;
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

/// Writes `anchor.xml` in the narrow grammar that cubelib reads.
pub(crate) fn write(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<cube version=\"{}\">", Escaped(meta.version()))?;
    attributes(meta, Owner::Report, out)?;
    if meta.mirrors().len() > 0 {
        writeln!(out, "<doc>\n<mirrors>")?;
        for mirror in meta.mirrors() {
            writeln!(out, "<murl>{}</murl>", Escaped(mirror))?;
        }
        writeln!(out, "</mirrors>\n</doc>")?;
    }
    section("metrics", meta.metrics_title(), out)?;
    metrics(meta, out)?;
    writeln!(out, "</metrics>")?;
    section("program", meta.program_title(), out)?;
    regions(meta, out)?;
    cnodes(meta, out)?;
    writeln!(out, "</program>")?;
    section("system", meta.system_title(), out)?;
    system(meta, out)?;
    topologies(meta, out)?;
    writeln!(out, "</system>\n</cube>")
}

fn section(name: &str, title: &str, out: &mut impl Write) -> io::Result<()> {
    if title.is_empty() {
        writeln!(out, "<{name}>")
    } else {
        writeln!(out, "<{name} title=\"{}\">", Escaped(title))
    }
}

fn attributes(meta: &Meta, owner: Owner, out: &mut impl Write) -> io::Result<()> {
    for attribute in meta.attributes(owner) {
        let (key, value) = (Escaped(attribute.key), Escaped(attribute.value));
        writeln!(out, "<attr key=\"{key}\" value=\"{value}\"/>")?;
    }
    Ok(())
}

fn text(name: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<{name}>{}</{name}>", Escaped(text))
}

/// One step of a walk over a tree: an element begins or ends.
enum Step<T> {
    Enter(T),
    Leave,
}

/// Walks a tree without recursion and reports where each element begins and ends.
fn walk<T, I: Iterator<Item = T>>(
    roots: I,
    children: impl Fn(&T) -> I,
    mut visit: impl FnMut(Step<&T>) -> io::Result<()>,
) -> io::Result<()> {
    let mut levels = vec![roots];
    while let Some(level) = levels.last_mut() {
        if let Some(element) = level.next() {
            visit(Step::Enter(&element))?;
            levels.push(children(&element));
        } else {
            levels.pop();
            if !levels.is_empty() {
                visit(Step::Leave)?;
            }
        }
    }
    Ok(())
}

type Ids<'a, T> = Box<dyn Iterator<Item = T> + 'a>;

fn metrics(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    let roots: Ids<'_, MetricId> = Box::new(meta.root_metrics());
    walk(
        roots,
        |&id| Box::new(meta.metric_children(id)),
        |step| match step {
            Step::Enter(&id) => metric(meta, id, out),
            Step::Leave => writeln!(out, "</metric>"),
        },
    )
}

fn metric(meta: &Meta, id: MetricId, out: &mut impl Write) -> io::Result<()> {
    let Some(metric) = meta.metric(id) else { return Ok(()) };
    write!(out, "<metric id=\"{id}\" type=\"{}\"", metric.kind.name())?;
    if metric.viz == VizType::Ghost {
        write!(out, " viztype=\"GHOST\"")?;
    }
    if !metric.convertible {
        write!(out, " convertible=\"false\"")?;
    }
    if !metric.cacheable {
        write!(out, " cacheable=\"false\"")?;
    }
    writeln!(out, ">")?;
    text("disp_name", metric.disp_name, out)?;
    text("uniq_name", metric.uniq_name, out)?;
    text("dtype", metric.dtype, out)?;
    text("uom", metric.uom, out)?;
    if !metric.val.is_empty() {
        text("val", metric.val, out)?;
    }
    text("url", metric.url, out)?;
    text("descr", metric.descr, out)?;
    for Expression { kind, attributes, text } in meta.expressions(id) {
        let text = Escaped(text);
        let blank = if attributes.is_empty() { "" } else { " " };
        match kind {
            ExpressionKind::Value => {
                writeln!(out, "<cubepl{blank}{attributes}>{text}</cubepl>")?;
            }
            ExpressionKind::Init => {
                writeln!(out, "<cubeplinit{blank}{attributes}>{text}</cubeplinit>")?;
            }
            ExpressionKind::AggregatePlus => {
                writeln!(out, "<cubeplaggr cubeplaggrtype=plus>{text}</cubeplaggr>")?;
            }
            ExpressionKind::AggregateMinus => {
                writeln!(out, "<cubeplaggr cubeplaggrtype=minus>{text}</cubeplaggr>")?;
            }
            ExpressionKind::AggregateLocations => {
                writeln!(out, "<cubeplaggr cubeplaggrtype=aggr>{text}</cubeplaggr>")?;
            }
        }
    }
    attributes(meta, Owner::Metric(id), out)
}

/// Returns a line number as the document has it: −1 if it is not known.
fn line(line: Option<u32>) -> i64 {
    line.map_or(-1, i64::from)
}

fn regions(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    for id in meta.regions() {
        let Some(region) = meta.region(id) else { continue };
        let (begin, end) = (line(region.begin), line(region.end));
        let file = Escaped(region.file);
        writeln!(out, "<region id=\"{id}\" mod=\"{file}\" begin=\"{begin}\" end=\"{end}\">")?;
        text("name", region.name, out)?;
        text("mangled_name", region.mangled_name, out)?;
        text("paradigm", region.paradigm, out)?;
        text("role", region.role, out)?;
        text("url", region.url, out)?;
        text("descr", region.descr, out)?;
        attributes(meta, Owner::Region(id), out)?;
        writeln!(out, "</region>")?;
    }
    Ok(())
}

fn cnodes(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    let roots: Ids<'_, CnodeId> = Box::new(meta.root_cnodes());
    walk(
        roots,
        |&id| Box::new(meta.cnode_children(id)),
        |step| match step {
            Step::Enter(&id) => cnode(meta, id, out),
            Step::Leave => writeln!(out, "</cnode>"),
        },
    )
}

fn cnode(meta: &Meta, id: CnodeId, out: &mut impl Write) -> io::Result<()> {
    let Some(cnode) = meta.cnode(id) else { return Ok(()) };
    write!(out, "<cnode id=\"{id}\"")?;
    if let Some(line) = cnode.line {
        write!(out, " line=\"{line}\"")?;
    }
    if !cnode.file.is_empty() {
        write!(out, " mod=\"{}\"", Escaped(cnode.file))?;
    }
    writeln!(out, " calleeId=\"{}\">", cnode.region)?;
    for parameter in meta.parameters(id) {
        let kind = match parameter.kind {
            ParameterKind::Numeric => "numeric",
            ParameterKind::Text => "string",
        };
        let (key, value) = (Escaped(parameter.key), Escaped(parameter.value));
        writeln!(out, "<parameter partype=\"{kind}\" parkey=\"{key}\" parvalue=\"{value}\"/>")?;
    }
    attributes(meta, Owner::Cnode(id), out)
}

fn system(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    let roots: Ids<'_, SystemNodeId> = Box::new(meta.root_system_nodes());
    walk(
        roots,
        |&id| Box::new(meta.system_node_children(id)),
        |step| match step {
            Step::Enter(&id) => system_node(meta, id, out),
            Step::Leave => writeln!(out, "</systemtreenode>"),
        },
    )
}

fn system_node(meta: &Meta, id: SystemNodeId, out: &mut impl Write) -> io::Result<()> {
    let Some(node) = meta.system_node(id) else { return Ok(()) };
    writeln!(out, "<systemtreenode Id=\"{id}\">")?;
    text("name", node.name, out)?;
    text("class", node.class, out)?;
    if !node.descr.is_empty() {
        text("descr", node.descr, out)?;
    }
    attributes(meta, Owner::SystemNode(id), out)?;
    meta.groups_of(id).try_for_each(|group_id| group(meta, group_id, out))
}

fn group(meta: &Meta, id: GroupId, out: &mut impl Write) -> io::Result<()> {
    let Some(group) = meta.group(id) else { return Ok(()) };
    writeln!(out, "<locationgroup Id=\"{id}\">")?;
    text("name", group.name, out)?;
    writeln!(out, "<rank>{}</rank>", group.rank)?;
    text("type", group.kind, out)?;
    attributes(meta, Owner::Group(id), out)?;
    for id in meta.locations_of(id) {
        let Some(location) = meta.location(id) else { continue };
        writeln!(out, "<location Id=\"{id}\">")?;
        text("name", location.name, out)?;
        writeln!(out, "<rank>{}</rank>", location.rank)?;
        text("type", location.kind, out)?;
        attributes(meta, Owner::Location(id), out)?;
        writeln!(out, "</location>")?;
    }
    writeln!(out, "</locationgroup>")
}

fn topologies(meta: &Meta, out: &mut impl Write) -> io::Result<()> {
    if meta.topologies().len() == 0 {
        return Ok(());
    }
    writeln!(out, "<topologies>")?;
    for id in meta.topologies() {
        let Some(topology) = meta.topology(id) else { continue };
        write!(out, "<cart")?;
        if !topology.name.is_empty() {
            write!(out, " name=\"{}\"", Escaped(topology.name))?;
        }
        writeln!(out, " ndims=\"{}\">", topology.dimensions.len())?;
        for dimension in &topology.dimensions {
            write!(out, "<dim")?;
            if !dimension.name.is_empty() {
                write!(out, " name=\"{}\"", Escaped(dimension.name))?;
            }
            writeln!(out, " size=\"{}\" periodic=\"{}\"/>", dimension.size, dimension.periodic)?;
        }
        for coordinate in meta.coordinates(id) {
            match coordinate.place {
                Place::Location(id) => write!(out, "<coord locId=\"{id}\">")?,
                Place::Group(id) => write!(out, "<coord lgId=\"{id}\">")?,
                Place::SystemNode(id) => write!(out, "<coord stnId=\"{id}\">")?,
            }
            for (at, number) in coordinate.at.iter().enumerate() {
                write!(out, "{}{number}", if at == 0 { "" } else { " " })?;
            }
            writeln!(out, "</coord>")?;
        }
        writeln!(out, "</cart>")?;
    }
    writeln!(out, "</topologies>")
}
