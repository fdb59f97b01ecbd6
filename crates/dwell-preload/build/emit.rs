//! The one emitter: turns the description of a hook into its code.
//!
//! Runtimes differ in how they pass arguments ([`typed`](crate::typed), [`words`](crate::words)), and these modules fill
//! in a [`Hook`]. What a hook does around the real function follows from the shape and the duty in the row, for all
//! runtimes alike.

use dwell_model::table::{Duty, Row, Shape};

/// Statement before a call that ends the program at once, on all processes.
pub(crate) const ENDS_PROGRAM: &str =
    "guard::walled_apart(|| dwell_measure::run::ends_program(&entry.hook));\n    ";

/// A hook, in the terms of its language and of the way in which its runtime passes arguments. All texts are source code.
pub(crate) struct Hook {
    /// Name that the stub exports.
    pub(crate) symbol: String,
    /// Name of the hook, and its entry in the array of entries.
    pub(crate) function: String,
    pub(crate) entry: String,
    /// Names and types of the parameters.
    pub(crate) parameters: Vec<(String, &'static str)>,
    /// Type of the returned value.
    pub(crate) returns: &'static str,
    /// Statement for a runtime that lacks the function.
    pub(crate) absent: String,
    /// Statements that make the arguments available to the recorder.
    pub(crate) arguments: String,
    /// Expression that begins the recording of a call, of type `Option<State>`.
    pub(crate) begin: String,
    /// Expression that ends it, with `state`.
    pub(crate) end: String,
    /// Expressions that are passed to the real function.
    pub(crate) passed: Vec<String>,
    /// Statement after the real function, which finds out what it said.
    pub(crate) outcome: String,
    /// Condition under which a function that starts the runtime has succeeded.
    pub(crate) succeeded: &'static str,
    /// Expression for the argument of a function that pauses or resumes the recording.
    pub(crate) level: &'static str,
    /// Statements before and after the call for the duty of the row.
    pub(crate) duty: (String, String),
}

impl Hook {
    /// Returns the code of the stub and the hook.
    pub(crate) fn code(&self, row: &Row) -> String {
        let Self { symbol, function, entry, returns, absent, .. } = self;
        let always = row.duty != Duty::None;
        let stub = if always { "stub_always" } else { "stub" };
        let declared: Vec<_> =
            self.parameters.iter().map(|(name, of)| format!("{name}: {of}")).collect();
        let types: Vec<_> = self.parameters.iter().map(|(_, of)| *of).collect();
        let (declared, types) = (declared.join(", "), types.join(", "));
        let (before, after) = self.around(row);
        let passed = self.passed.join(", ");
        // Nothing is asked of a call that ends the runtime.
        let outcome = if row.shape == Shape::Finalise { "" } else { &self.outcome };
        format!(
            "{stub}!({symbol:?}, {function}, {entry});
unsafe extern \"C-unwind\" fn {function}({declared}) -> {returns} {{
    type Real = unsafe extern \"C-unwind\" fn({types}) -> {returns};
    let entry = &{entry};
    let Some(real) = entry.real() else {{ {absent} }};
    // SAFETY: the function of this name has this signature, says the table.
    let real = unsafe {{ core::mem::transmute::<*mut (), Real>(real) }};
    {before}
    // SAFETY: what the program passed goes to the function it was meant for, but for a status that
    // it does not want and the recorder does.
    let result = unsafe {{ real({passed}) }};
    {outcome}
    {after}
    result
}}
"
        )
    }

    /// Returns the statements before and after the call of the real function.
    fn around(&self, row: &Row) -> (String, String) {
        let Self { arguments, begin, end, succeeded, level, .. } = self;
        let (mut before, mut after) = self.duty.clone();
        match row.shape {
            Shape::Initialise if row.duty == Duty::Start => {
                before += "let began = before_start(&entry.hook);";
                let start = "guard::walled_apart(|| start(&entry.hook, began));";
                after = format!("if {succeeded} {{ {start} }}") + &after;
            }
            Shape::Finalise => before += "guard::walled_apart(|| finish(&entry.hook));",
            shape => {
                let state = format!("let state = if is_on() {{ {begin} }} else {{ None }};");
                let ended = format!("if let Some(state) = state {{ {end}; }}\n    ");
                before = format!("{arguments}\n    {before}");
                after = ended + &after;
                if shape == Shape::Control {
                    before += &format!("before_level({level});\n    ");
                    after += &format!("after_level({level});");
                }
                before += &state;
            }
        }
        (before, after)
    }
}
