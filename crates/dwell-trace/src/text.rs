//! How the meaning of a region and the name of a layer travel to other ranks: as the text that archives have for them.

use std::fmt::Display;

use dwell_model::archive::Meaning;
use dwell_model::layer::Layer;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that has a text in archives.
pub trait Text: Sized {
    /// Returns the text.
    fn text(&self) -> impl Display;

    /// Returns the value of a text, or `None` if it has another form.
    fn parse(text: &str) -> Option<Self>;
}

impl Text for Meaning {
    fn text(&self) -> impl Display {
        self
    }

    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

impl Text for Layer {
    fn text(&self) -> impl Display {
        self.name()
    }

    fn parse(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

/// Writes the text of a value, or nothing if there is none.
pub fn serialize<T: Text, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(|value| value.text().to_string()).serialize(to)
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Text, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let read = |text: String| T::parse(&text).ok_or_else(|| D::Error::custom(text));
    Option::<String>::deserialize(from)?.map(read).transpose()
}
