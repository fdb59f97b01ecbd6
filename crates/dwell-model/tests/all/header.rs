//! Reads prototypes of functions from a preprocessed header of C.
//!
//! It understands no more of the language than headers of communication libraries use: no function pointers among the
//! arguments, no macros.

use std::collections::BTreeMap;
use std::fmt;

use dwell_model::table::CType;

/// The type of an argument or of a returned value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    /// The type in the table. Every pointer is [`CType::Pointer`].
    pub(crate) ctype: CType,
    /// The type that a pointer points to, if the table has that type.
    pub(crate) pointee: Option<CType>,
}

/// An argument, with the name that the header gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) of: Type,
}

/// The prototype of a function, as a header declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prototype {
    pub(crate) returns: Type,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) variadic: bool,
}

impl fmt::Display for Prototype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.returns.ctype)?;
        for argument in &self.arguments {
            write!(f, " {} {};", argument.of.ctype, argument.name)?;
        }
        f.write_str(if self.variadic { " ... )" } else { " )" })
    }
}

/// Returns every function that the text declares and `wanted` selects.
///
/// `handles` are the names of types that are pointers behind a typedef. A declaration that cannot be parsed is an error
/// and not a gap.
pub(crate) fn prototypes(
    text: &str,
    handles: &[&str],
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Prototype>, String> {
    let mut found = BTreeMap::new();
    for statement in statements(text) {
        let words = without_attributes(words(&statement));
        let Some(open) = words.iter().position(|word| word == "(") else { continue };
        let Some((name, before)) = words[..open].split_last() else { continue };
        if before.is_empty() || before.iter().any(|word| word == "typedef") || !wanted(name) {
            continue;
        }
        let close = words.iter().rposition(|word| word == ")").unwrap_or(words.len());
        let inside = words.get(open + 1..close).ok_or_else(|| format!("no end: {statement}"))?;
        let prototype = prototype(before, inside, handles)
            .map_err(|what| format!("{what} in: {}", statement.trim()))?;
        let earlier = found.insert(name.clone(), prototype.clone());
        if earlier.is_some_and(|earlier| earlier != prototype) {
            return Err(format!("{name} is declared twice, and not alike"));
        }
    }
    Ok(found)
}

fn prototype(before: &[String], inside: &[String], handles: &[&str]) -> Result<Prototype, String> {
    let (returns, name) = parse(before, handles)?;
    if name.is_some() {
        return Err(format!("a return type with a name, {before:?}"));
    }
    let mut prototype = Prototype { returns, arguments: Vec::new(), variadic: false };
    if inside.is_empty() || inside == ["void"] {
        return Ok(prototype);
    }
    for argument in inside.split(|word| word == ",") {
        if argument == ["..."] {
            prototype.variadic = true;
            continue;
        }
        let (of, name) = parse(argument, handles)?;
        prototype.arguments.push(Argument { name: name.unwrap_or_default(), of });
    }
    Ok(prototype)
}

/// Parses a type and the name that follows it, if there is one.
fn parse(words: &[String], handles: &[&str]) -> Result<(Type, Option<String>), String> {
    let mut base: Vec<&str> = Vec::new();
    let mut name = None;
    let mut stars = 0;
    for word in words {
        match word.as_str() {
            "const" | "volatile" | "restrict" | "__restrict" | "extern" | "struct" => {}
            "*" | "[" => stars += 1,
            "]" => {}
            word if stars == 0 && name.is_none() && (base.is_empty() || of_the_language(word)) => {
                base.push(word);
            }
            word => name = Some(word.to_owned()),
        }
    }
    let known = ctype(&base, handles);
    let of = match (stars, known) {
        (0, Some(ctype)) => Type { ctype, pointee: None },
        (0, None) => return Err(format!("unknown type {base:?}")),
        (1, pointee) => Type { ctype: CType::Pointer, pointee },
        (_, _) => Type { ctype: CType::Pointer, pointee: Some(CType::Pointer) },
    };
    Ok((of, name))
}

/// Returns `true` for words that belong to a type even behind another word.
fn of_the_language(word: &str) -> bool {
    let words = [
        "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Complex",
    ];
    words.contains(&word)
}

/// Returns the type of these words. Each alias stays itself: `int64_t` is not `long`.
fn ctype(words: &[&str], handles: &[&str]) -> Option<CType> {
    if let [word] = words
        && handles.contains(word)
    {
        return Some(CType::Pointer);
    }
    let count = |word: &str| words.iter().filter(|each| **each == word).count();
    let plain = words.iter().all(|word| of_the_language(word));
    if !plain {
        let [word] = words else { return None };
        return CType::ALL.iter().copied().find(|ctype| ctype.c_name() == *word);
    }
    let unsigned = count("unsigned") > 0;
    let either = |signed, not| Some(if unsigned { not } else { signed });
    match (count("char"), count("short"), count("long"), count("double"), count("float")) {
        (1, ..) if count("signed") > 0 => Some(CType::SignedChar),
        (1, ..) => either(CType::Char, CType::UnsignedChar),
        (_, 1, ..) => either(CType::Short, CType::UnsignedShort),
        (_, _, 0, 1, _) if count("_Complex") > 0 => Some(CType::ComplexDouble),
        (_, _, 0, 1, _) => Some(CType::Double),
        (_, _, 1, 1, _) => Some(CType::LongDouble),
        (_, _, 2, ..) => either(CType::LongLong, CType::UnsignedLongLong),
        (_, _, 1, ..) => either(CType::Long, CType::UnsignedLong),
        (.., 1) if count("_Complex") > 0 => Some(CType::ComplexFloat),
        (.., 1) => Some(CType::Float),
        _ if count("void") > 0 => Some(CType::Void),
        _ if count("int") > 0 || unsigned => either(CType::Int, CType::UnsignedInt),
        _ => None,
    }
}

/// Splits a text at its semicolons, and drops everything in braces.
fn statements(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut depth = 0_usize;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for letter in line.chars().chain(['\n']) {
            match letter {
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    // After the body of a function there is no semicolon.
                    if depth == 0 && all.last().is_some_and(|statement| statement.contains('(')) {
                        all.push(String::new());
                    }
                }
                ';' if depth == 0 => all.push(String::new()),
                _ if depth > 0 => {}
                _ => all.last_mut().expect("there is always one").push(letter),
            }
        }
    }
    all
}

fn words(statement: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in statement.replace("...", " \u{2026} ").chars() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        match letter {
            '\u{2026}' => words.push("...".to_owned()),
            _ if letter.is_whitespace() => {}
            _ => words.push(letter.to_string()),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Removes `__attribute__((…))` and similar annotations from the words of a declaration.
fn without_attributes(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if !["__attribute__", "__asm__", "__extension__"].contains(&word.as_str()) {
            kept.push(word);
            continue;
        }
        let mut depth = 0_usize;
        while let Some(next) = words.next_if(|next| depth > 0 || next == "(") {
            match next.as_str() {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    kept
}
