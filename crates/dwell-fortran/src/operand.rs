//! Arguments of inserted calls: the image of a reference, and the local part that shows how much is transferred.

use crate::declared::Declared;
use crate::references::{Range, Reference};
use crate::scan::Statement;
use crate::text::{closing, is_remote, name, parts, words};

/// The reason for which a statement is left unchanged.
pub(crate) type Reason = &'static str;

const SIDE_EFFECTS: Reason =
    "a subscript or an image selector may call a function, which would be called twice";
const NESTED: Reason = "a subscript or an image selector is a remote access itself";
const OTHER_TEAM: Reason = "team_number= names a team that this image does not know";
const NOT_ASCII: Reason = "a subscript or an image selector has characters that are not ASCII";

/// Stands for a local part that does not tell the size.
pub(crate) const UNKNOWN: &str = "[integer::]";

/// A reference in terms of expressions of Fortran.
pub(crate) struct Operand {
    /// Number of the image in the current team, or in `team`.
    pub(crate) image: String,
    /// The same part of the variable of this image.
    pub(crate) local: String,
    pub(crate) team: Option<String>,
    /// Name of the coarray without subscripts, in lower case.
    pub(crate) name: Vec<u8>,
}

/// Returns the text of a range as it is written in the source.
pub(crate) fn copy(statement: &Statement, (from, to): Range) -> Result<String, Reason> {
    let code = statement.code.get(from..to).unwrap_or_default();
    if !code.is_ascii() {
        return Err(NOT_ASCII);
    }
    Ok(String::from_utf8_lossy(code).into_owned())
}

/// Returns the expressions for a reference, or the reason why they cannot be evaluated beside the statement.
pub(crate) fn operand(
    statement: &Statement,
    declared: &Declared,
    it: &Reference,
) -> Result<Operand, Reason> {
    let text = &statement.text;
    if it.team_number {
        return Err(OTHER_TEAM);
    }
    check(text, declared, it.whole)?;
    let coarray = copy(statement, it.coarray)?;
    let image = image(statement, it, &coarray)?;
    let head = copy(statement, (it.whole.0, it.selector.0))?;
    let tail = match (it.substring, it.components) {
        (true, _) => String::new(),
        _ => copy(statement, (it.selector.1, it.whole.1))?,
    };
    // A part may be allocated on the other image only, or with other bounds. Then nothing here tells its size.
    let parts_are_static = words(text, it.selector.1, it.whole.1)
        .iter()
        .all(|word| !word.component || declared.is_static(word.name));
    let local = match parts_are_static {
        false => UNKNOWN.to_owned(),
        _ if has_vector(text, declared, it.whole) => format!("({head}{tail})"),
        _ => head + &tail,
    };
    let team = it.team.map(|range| copy(statement, range)).transpose()?;
    Ok(Operand { image, local, team, name: bare(text, it.coarray) })
}

/// Checks that the subscripts and selectors of a designator can be evaluated once more.
pub(crate) fn check(text: &[u8], declared: &Declared, (from, to): Range) -> Result<(), Reason> {
    let mut at = from;
    while at < to {
        if !matches!(text.get(at), Some(b'(' | b'[')) {
            at += 1;
            continue;
        }
        let Some(close) = closing(text, at) else { return Ok(()) };
        if is_remote(text, at + 1, close) {
            return Err(NESTED);
        }
        if declared.may_call(text, at + 1, close) {
            return Err(SIDE_EFFECTS);
        }
        at = close + 1;
    }
    Ok(())
}

/// Returns the number of the image that a selector names. Compilers that have no `image_index` for components, or none
/// with a team, get the formula.
fn image(statement: &Statement, it: &Reference, coarray: &str) -> Result<String, Reason> {
    let subscripts: Result<Vec<String>, _> =
        it.cosubscripts.iter().map(|range| copy(statement, *range)).collect();
    let subscripts = subscripts?;
    if it.team.is_none() && !coarray.contains('%') {
        return Ok(format!("int(image_index({coarray},[{}]),dwell_k)", subscripts.join(",")));
    }
    let (mut sum, mut product) = ("1".to_owned(), String::new());
    for (index, subscript) in subscripts.iter().enumerate() {
        let at = index + 1;
        sum += &format!("+(({subscript})-lcobound({coarray},{at})){product}");
        product += &format!("*(ucobound({coarray},{at})-lcobound({coarray},{at})+1)");
    }
    Ok(format!("int({sum},dwell_k)"))
}

/// Returns `true` if a subscript is a vector, of which gfortran makes no descriptor; it makes one of a copy.
fn has_vector(text: &[u8], declared: &Declared, (from, to): Range) -> bool {
    (from..to).filter(|at| text.get(*at) == Some(&b'(')).any(|open| {
        let close = closing(text, open).unwrap_or(open);
        parts(text, open + 1, close).iter().any(|(from, to)| {
            let word = name(text, *from);
            let part = text.get(*from..*to).unwrap_or_default();
            let is_range = crate::text::find(part, 0, b":").is_some();
            part.starts_with(b"[")
                || part.starts_with(b"(/")
                || word == part && (declared.is_array(word) || word.starts_with(b"dwell_"))
                // A section of an index array.
                || !is_range && part.contains(&b':')
        })
    })
}

/// Returns a designator without its subscripts.
pub(crate) fn bare(text: &[u8], (from, to): Range) -> Vec<u8> {
    let (mut all, mut at) = (Vec::new(), from);
    while at < to {
        match text.get(at) {
            Some(b'(' | b'[') => at = closing(text, at).unwrap_or(to) + 1,
            Some(byte) => {
                all.push(*byte);
                at += 1;
            }
            None => break,
        }
    }
    all
}

/// Returns a number for a name that is the same on all images and in all versions (FNV-1a, 31 bits).
pub(crate) fn number(name: &[u8]) -> u32 {
    let hash = name
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash & 0x7fff_ffff
}
