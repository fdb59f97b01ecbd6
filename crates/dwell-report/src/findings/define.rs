//! Macros that define the types of the document, for the modules that own them.

/// Defines the objects of the document: serde reads and writes them, tests make the schema and the types of the page of
/// them, and a field that a file lacks has its default.
macro_rules! objects {
    ($( $(#[$about:meta])* $name:ident { $( $(#[$field_about:meta])* $field:ident: $type:ty, )* } )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
            #[serde(default)]
            #[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
            pub struct $name {
                $( $(#[$field_about])* pub $field: $type, )*
            }
        )*
    };
}

/// Defines the values that a text of the document may have.
macro_rules! texts {
    ($( $(#[$about:meta])* $name:ident { $( $(#[$value_about:meta])* $value:ident = $text:literal, )* } )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
            #[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
            pub enum $name {
                $( $(#[$value_about])* #[serde(rename = $text)] $value, )*
            }

            impl $name {
                /// Returns the text of the value, as the document has it. Tables and other exports use the same texts, so that they can be
                /// compared.
                pub fn name(self) -> &'static str {
                    match self {
                        $( Self::$value => $text, )*
                    }
                }
            }
        )*
    };
}
