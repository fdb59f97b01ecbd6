//! Call sites name the right line.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use dwell_model::archive::INLINED_INTO;
use otf2::id::{RefKind, StringRef};
use otf2::{AttributeValue, Definition, Event};

use crate::lab::Lab;
use crate::trace::Trace;

/// A call site: the called function, the line, the function that contains it, and the function into which that was
/// inlined.
type Site = (String, u32, String, String);

#[test]
fn sites_are_lines_of_the_source() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/sites.c", &[]);
    let run = lab.measured(2, &[], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("info"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    lab.accepted_by_otf2_print(&lab.experiment());

    let said = said(&run.stdout);
    assert!(said.len() > 10, "{}", run.stdout);
    let trace = Trace::read(&lab.experiment());
    for (location, _) in trace.locations() {
        assert_eq!(recorded(&trace, location), said, "at {location}");
    }
}

/// Parses the output of the program: `site NAME line=L function=F inlined_in=C called=S calls=N`.
fn said(text: &str) -> BTreeMap<Site, u64> {
    let mut sites = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("site ")) {
        let word = |key: &str| {
            let found = line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key));
            found.unwrap_or_else(|| panic!("no {key} in {line}"))
        };
        let inlined = word("inlined_in=").trim_start_matches('-');
        let line = word("line=").parse().unwrap();
        let site = (word("called=").into(), line, word("function=").into(), inlined.into());
        *sites.entry(site).or_default() += word("calls=").parse::<u64>().unwrap();
    }
    sites
}

/// Returns the call sites in a trace.
fn recorded(trace: &Trace, location: otf2::id::LocationRef) -> BTreeMap<Site, u64> {
    let definitions = &trace.definitions;
    let text = |id: StringRef| definitions.string(id).map(|text| text.to_string()).unwrap();
    let mut inlined = BTreeMap::new();
    for definition in definitions.iter() {
        if let Definition::CallingContextProperty(property) = definition
            && text(property.name) == INLINED_INTO
            && let AttributeValue::String(value) = property.value
        {
            // `advance (heat.c:88) < main (heat.c:140)`: the nearest.
            let value = text(value);
            let nearest = value.split(' ').next().unwrap().to_string();
            inlined.insert(property.calling_context, nearest);
        }
    }
    let mut sites = BTreeMap::new();
    let mut reader = trace.archive.events(location).unwrap();
    while let Some(record) = reader.next().unwrap() {
        let Event::Enter(enter) = record.event else { continue };
        if record.attributes.is_empty() {
            continue; // The program itself is not called by any function.
        }
        let Some(AttributeValue::CallingContext(context)) =
            record.attributes.iter().next().map(|attribute| attribute.value)
        else {
            panic!("a call without a site")
        };
        let found = definitions.calling_context(context).unwrap();
        let function = trace.region(found.region);
        let line = match definitions
            .find(RefKind::SourceCodeLocation, found.source_code_location.0.into())
        {
            Some(Definition::SourceCodeLocation(place)) => {
                assert!(text(place.file).ends_with("sites.c"));
                place.line_number
            }
            _ => 0,
        };
        let outer = inlined.get(&context).cloned().unwrap_or_default();
        *sites.entry((trace.region(enter.region), line, function, outer)).or_default() += 1;
    }
    sites
}
