//! Licence expressions of packages.
//!
//! The registry holds SPDX expressions (`(MIT OR Apache-2.0) AND NCSA`) and, in
//! older packages, lists with a slash that mean OR. An expression is acceptable
//! if some choice among its alternatives consists of accepted licences only.
//!
//! ```text
//! either  = both ( ("OR" | "/") both )*
//! both    = single ( "AND" single )*
//! single  = "(" either ")" | licence [ "WITH" exception ]
//! ```

use anyhow::{Result, bail};

/// Whether the expression can be satisfied by licences that `accepts` accepts.
/// A licence with an exception is asked for as `X WITH Y`.
pub(crate) fn satisfiable(expression: &str, accepts: impl Fn(&str) -> bool) -> Result<bool> {
    let mut parser = Parser { tokens: tokens(expression), next: 0, accepts };
    let satisfied = parser.either()?;
    match parser.peek() {
        None => Ok(satisfied),
        Some(token) => bail!("unexpected `{token}` in the licence expression `{expression}`"),
    }
}

/// Splits at blanks; parentheses and slashes stand for themselves.
fn tokens(expression: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for word in expression.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(['(', ')', '/']) {
            tokens.extend([&rest[..at], &rest[at..=at]]);
            rest = &rest[at + 1..];
        }
        tokens.push(rest);
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// Recursive descent over the grammar above. It parses both sides of each
/// operator even when one side has decided, so that errors are always found.
struct Parser<'a, F> {
    tokens: Vec<&'a str>,
    next: usize,
    accepts: F,
}

impl<'a, F: Fn(&str) -> bool> Parser<'a, F> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).copied()
    }

    fn take_if(&mut self, wanted: &[&str]) -> bool {
        let found = self.peek().is_some_and(|token| wanted.contains(&token));
        self.next += usize::from(found);
        found
    }

    fn either(&mut self) -> Result<bool> {
        let mut satisfied = self.both()?;
        while self.take_if(&["OR", "/"]) {
            satisfied |= self.both()?;
        }
        Ok(satisfied)
    }

    fn both(&mut self) -> Result<bool> {
        let mut satisfied = self.single()?;
        while self.take_if(&["AND"]) {
            satisfied &= self.single()?;
        }
        Ok(satisfied)
    }

    fn single(&mut self) -> Result<bool> {
        if self.take_if(&["("]) {
            let satisfied = self.either()?;
            if !self.take_if(&[")"]) {
                bail!("a parenthesis is not closed in a licence expression");
            }
            return Ok(satisfied);
        }
        // `X+` is X or any later version, so X itself will do.
        let name = self.name()?;
        let licence = name.strip_suffix('+').unwrap_or(name);
        if self.take_if(&["WITH"]) {
            let exception = self.name()?;
            return Ok((self.accepts)(&format!("{licence} WITH {exception}")));
        }
        Ok((self.accepts)(licence))
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            None => bail!("a licence expression ends too early"),
            Some(token @ ("AND" | "OR" | "WITH" | "(" | ")" | "/")) => {
                bail!("`{token}` where a licence belongs")
            }
            Some(token) => {
                self.next += 1;
                Ok(token)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts A, B and `A WITH X`.
    fn evaluate(expression: &str) -> Option<bool> {
        satisfiable(expression, |licence| matches!(licence, "A" | "B" | "A WITH X")).ok()
    }

    #[test]
    fn operators_and_precedence() {
        for (expression, expected) in [
            ("A", true),
            ("N", false),
            ("A OR N", true),
            ("N OR A", true),
            ("N OR M", false),
            ("A AND B", true),
            ("A AND N", false),
            ("A AND N OR B", true),
            ("B OR A AND N", true),
            ("N OR A AND N", false),
            ("(A OR N) AND N", false),
            ("(A OR N) AND B", true),
            ("((N) OR (A AND (B)))", true),
        ] {
            assert_eq!(evaluate(expression), Some(expected), "{expression}");
        }
    }

    #[test]
    fn exceptions_bind_tightest_and_are_asked_for_by_name() {
        assert_eq!(evaluate("A WITH X"), Some(true));
        assert_eq!(evaluate("B WITH X"), Some(false));
        assert_eq!(evaluate("A WITH Y"), Some(false));
        assert_eq!(evaluate("N OR A WITH X AND B"), Some(true));
    }

    #[test]
    fn slashes_mean_or_and_plus_means_or_later() {
        assert_eq!(evaluate("N/A"), Some(true));
        assert_eq!(evaluate("N / A"), Some(true));
        assert_eq!(evaluate("N/M"), Some(false));
        assert_eq!(evaluate("A+"), Some(true));
        assert_eq!(evaluate("N+"), Some(false));
    }

    #[test]
    fn nonsense_is_an_error_and_not_a_licence() {
        for expression in ["", "A B", "A OR", "AND A", "(A", "A)", "()", "A WITH", "A or B"] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
    }

    #[test]
    fn expressions_of_the_registry() {
        let permissive = |licence: &str| {
            ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].contains(&licence)
        };
        for (expression, expected) in [
            ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", true),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
            ("(MIT OR Apache-2.0) AND NCSA", false),
            ("GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
        ] {
            let found = satisfiable(expression, permissive).expect("valid");
            assert_eq!(found, expected, "{expression}");
        }
    }
}
