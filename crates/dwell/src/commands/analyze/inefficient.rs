//! Formats the evidence for inefficient communication in words and as JSON.

use dwell_analyze::{Evidence, Inefficiency};
use serde_json::{Value, json};

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

/// Returns the evidence as JSON.
pub(super) fn document(of: &Inefficiency) -> Value {
    let mut numbers = match &of.evidence {
        Evidence::Strided { elements, element_bytes, each, instead } => json!({
            "elements": elements,
            "element_bytes": element_bytes,
            "seconds_each": in_seconds(*each),
            "seconds_instead": instead.map(in_seconds),
        }),
        Evidence::Small { rows, bytes, each, instead } => json!({
            "rows": rows,
            "bytes_each": bytes,
            "seconds_each": in_seconds(*each),
            "seconds_instead": instead.map(in_seconds),
        }),
        Evidence::Completion { each } => json!({ "seconds_each": in_seconds(*each) }),
        Evidence::Row { bytes, each } => {
            json!({ "bytes_each": bytes, "seconds_each": in_seconds(*each) })
        }
        Evidence::Static { each, instead } => json!({
            "seconds_each": in_seconds(*each),
            "seconds_instead": in_seconds(*instead),
        }),
        Evidence::HotTarget { target, operations, of, origins } => json!({
            "target": target,
            "operations": operations,
            "of": of,
            "origins": origins,
        }),
        _ => json!({}),
    };
    numbers["text"] = evidence(of).into();
    numbers
}
