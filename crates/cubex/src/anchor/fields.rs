//! Attributes of a tag.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attribute;

use crate::error::{Error, ErrorKind, Result};
use crate::links::NONE;

/// The attributes of a tag, looked up by name.
///
/// Tags have few attributes, so each look-up goes through all of them. Duplicates are not searched for, because that
/// takes quadratic time in a hostile tag; the first one counts.
pub(super) struct Fields<'a>(&'a BytesStart<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(tag: &'a BytesStart<'a>) -> Self {
        Self(tag)
    }

    fn find(&self, wanted: impl Fn(&str) -> bool) -> Result<Option<Attribute<'a>>> {
        for attribute in self.0.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| ErrorKind::Xml(error.to_string()))?;
            if wanted(attribute.key.0) {
                return Ok(Some(attribute));
            }
        }
        Ok(None)
    }

    /// Returns the text of an attribute, or the empty string if there is none.
    pub(super) fn text(&self, name: &str) -> Result<Cow<'a, str>> {
        match self.find(|key| key == name)? {
            Some(attribute) => value(&attribute),
            None => Ok(Cow::Borrowed("")),
        }
    }

    /// Returns the id of an element. Some elements spell the attribute `id`, others `Id`.
    pub(super) fn id(&self) -> Result<u32> {
        let attribute = self.find(|key| key.eq_ignore_ascii_case("id"))?;
        let attribute = attribute.ok_or(ErrorKind::Anchor("an element has no id"))?;
        number(&value(&attribute)?)
    }

    /// Returns a number that must be present.
    pub(super) fn number(&self, name: &str) -> Result<u32> {
        number(&self.text(name)?)
    }

    /// Returns a line number, or [`NONE`] if it is missing or negative.
    pub(super) fn line(&self, name: &str) -> Result<u32> {
        Ok(self.text(name)?.trim().parse().unwrap_or(NONE))
    }

    /// Returns a flag that is set unless its text is `false`.
    pub(super) fn unless_false(&self, name: &str) -> Result<bool> {
        Ok(!self.text(name)?.eq_ignore_ascii_case("false"))
    }

    /// Returns a flag that is not set unless its text is `true`.
    pub(super) fn is_true(&self, name: &str) -> Result<bool> {
        Ok(self.text(name)?.eq_ignore_ascii_case("true"))
    }

    /// Returns the attributes as they are written in the document, because those of CubePL have no quotes.
    pub(super) fn verbatim(&self) -> &'a str {
        self.0.attributes_raw().trim()
    }
}

/// Returns the value of an attribute with the five predefined entities and character references resolved; there are no
/// other entities.
fn value<'a>(attribute: &Attribute<'a>) -> Result<Cow<'a, str>> {
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .map_err(|error| ErrorKind::Xml(error.to_string()).into())
}

/// Parses a number of the document. The largest 32-bit number is refused, because tables use it for *none*.
pub(super) fn number(text: &str) -> Result<u32> {
    let number = text.trim().parse().ok().filter(|&number| number != NONE);
    number.ok_or_else(|| Error::new(ErrorKind::Anchor("a number is missing or out of range")))
}
