//! Formats the evidence for inefficient communication in words and for `findings.json`.

use dwell_analyze::{Evidence, Inefficiency};
use dwell_report::findings;

use super::words::{counted, in_seconds, time};
use crate::format::grouped;
use crate::terminal::visible;

/// Returns the evidence as a sentence.
pub(super) fn evidence(of: &Inefficiency) -> String {
    let calls = counted(of.calls, "call", "calls");
    let all = counted(of.visits, "call", "calls");
    match &of.evidence {
        Evidence::Strided { elements, element_bytes, each, instead } => {
            let elements = counted(*elements, "element", "elements");
            let bytes = counted(*element_bytes, "byte", "bytes");
            let instead = match instead {
                Some(one) => {
                    format!("one call that moves as many bytes in one piece takes {}", time(*one))
                }
                None => {
                    "no call of this run moves as many bytes in one piece, so the lower bound is 0"
                        .to_owned()
                }
            };
            let each = time(*each);
            format!(
                "{calls} moved {elements} of {bytes} and took {each} for each element; {instead}"
            )
        }
        Evidence::Small { rows, bytes, each, instead } => {
            let rows = counted(*rows, "row", "rows");
            let bytes = counted(*bytes, "byte", "bytes");
            let instead = match instead {
                Some(all) => {
                    format!("with larger calls of this run the same would take {}", time(*all))
                }
                None => {
                    "this run has no larger calls to compare with, so the lower bound is 0".into()
                }
            };
            let each = time(*each);
            format!("{all} on one target each, in {rows}; {bytes} and {each} a call; {instead}")
        }
        Evidence::Completion { each } => {
            let each = time(*each);
            let some = grouped(of.calls);
            format!(
                "{some} of {all} came after a single operation, with nothing but such pairs before; {each} a call"
            )
        }
        Evidence::Row { bytes, each } => {
            let bytes = counted(*bytes, "byte", "bytes");
            let (some, each) = (grouped(of.calls), time(*each));
            format!(
                "{some} of {all} came right after another that blocks too; {bytes} and {each} a call"
            )
        }
        Evidence::Static { each, instead } => {
            let (each, instead) = (time(*each), time(*instead));
            format!(
                "{calls} on static data took {each} each; on the symmetric heap they take {instead}"
            )
        }
        Evidence::Below { region, layer, inner, bytes, all, each, instead } => {
            let (region, per_call) = (visible(region), grouped(*inner / of.calls.max(1)));
            let (inner, all) = (grouped(*inner), grouped(*all));
            let bytes = counted(*bytes, "byte", "bytes");
            let instead = match instead {
                Some(one) => format!(
                    "a call of this run that moves as many bytes in few calls takes {}",
                    time(*one)
                ),
                None => {
                    "no call of this run moves as many bytes in few calls, so the lower bound is 0"
                        .to_owned()
                }
            };
            let each = time(*each);
            format!(
                "{calls} became {inner} of {region} with {bytes} each, {per_call} for one call on average, and {all} \
                 calls of {layer} in all; {each} a call; {instead}"
            )
        }
        Evidence::HotTarget { target, operations, of, origins } => {
            let share = 100.0 * *operations as f64 / (*of).max(1) as f64;
            let (target, some, of) = (visible(target), grouped(*operations), grouped(*of));
            let origins = counted(*origins, "other", "others");
            format!(
                "{target} receives {some} of {of} atomics on other processes ({share:.0} %), from {origins}"
            )
        }
        _ => String::new(),
    }
}

/// Returns the evidence as `findings.json` has it.
pub(super) fn document(of: &Inefficiency) -> findings::Evidence {
    let text = evidence(of);
    match &of.evidence {
        Evidence::Strided { elements, element_bytes, each, instead } => {
            findings::Evidence::Strided {
                element_bytes: *element_bytes,
                elements: *elements,
                seconds_each: in_seconds(*each),
                seconds_instead: instead.map(in_seconds),
                text,
            }
        }
        Evidence::Small { rows, bytes, each, instead } => findings::Evidence::Small {
            bytes_each: *bytes,
            rows: *rows,
            seconds_each: in_seconds(*each),
            seconds_instead: instead.map(in_seconds),
            text,
        },
        Evidence::Completion { each } => {
            findings::Evidence::Completion { seconds_each: in_seconds(*each), text }
        }
        Evidence::Row { bytes, each } => {
            findings::Evidence::Row { bytes_each: *bytes, seconds_each: in_seconds(*each), text }
        }
        Evidence::Static { each, instead } => findings::Evidence::Static {
            seconds_each: in_seconds(*each),
            seconds_instead: in_seconds(*instead),
            text,
        },
        Evidence::Below { region, layer, inner, bytes, all, each, instead } => {
            findings::Evidence::Below {
                all_inner_calls: *all,
                bytes_each: *bytes,
                inner_calls: *inner,
                layer: layer.name().to_owned(),
                region: region.clone(),
                seconds_each: in_seconds(*each),
                seconds_instead: instead.map(in_seconds),
                text,
            }
        }
        Evidence::HotTarget { target, operations, of, origins } => findings::Evidence::HotTarget {
            of: *of,
            operations: *operations,
            origins: *origins,
            target: target.clone(),
            text,
        },
        _ => findings::Evidence::Other { text },
    }
}
