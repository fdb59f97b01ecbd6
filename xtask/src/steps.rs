//! Lists of steps, run in their order, with the time of each.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A named part of a run.
pub(crate) struct Step<C> {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&C) -> Result<()>,
}

/// Returns the steps from the one of this name on, or all without a name.
pub(crate) fn beginning_with<'a, C>(
    steps: &'a [Step<C>],
    name: Option<&str>,
) -> Result<&'a [Step<C>]> {
    let Some(name) = name else { return Ok(steps) };
    match steps.iter().position(|step| step.name == name) {
        Some(first) => Ok(&steps[first..]),
        None => bail!("no step `{name}`; the steps are {}", names(steps)),
    }
}

/// Returns the names of all steps.
pub(crate) fn names<C>(steps: &[Step<C>]) -> String {
    steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ")
}

/// Runs steps until one fails, and prints the duration of each, even if one failed.
pub(crate) fn run<'a, C: 'a>(
    steps: impl IntoIterator<Item = &'a Step<C>>,
    context: &C,
) -> Result<()> {
    let began = Instant::now();
    let mut times = Vec::new();
    let mut result = Ok(());
    for step in steps {
        println!("\n=== {}", step.name);
        let start = Instant::now();
        result = (step.run)(context).with_context(|| format!("step `{}`", step.name));
        println!("=== {}: {:.1} s", step.name, start.elapsed().as_secs_f64());
        times.push((step.name, start.elapsed()));
        if result.is_err() {
            break;
        }
    }
    times.push(("total", began.elapsed()));
    print(&times);
    println!("{}", if result.is_ok() { "ok" } else { "FAILED" });
    result
}

fn print(times: &[(&str, Duration)]) {
    println!("\n{:<16} {:>9}", "step", "seconds");
    for (name, time) in times {
        println!("{name:<16} {:>9.1}", time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const STEPS: &[Step<Cell<usize>>] = &[
        Step { name: "one", run: count },
        Step { name: "two", run: |_| bail!("no") },
        Step { name: "three", run: count },
    ];

    fn count(done: &Cell<usize>) -> Result<()> {
        done.set(done.get() + 1);
        Ok(())
    }

    #[test]
    fn steps_end_at_the_first_that_fails() {
        let done = Cell::new(0);
        let error = run(STEPS, &done).expect_err("the second step fails");
        assert_eq!(format!("{error:#}"), "step `two`: no");
        assert_eq!(done.get(), 1);
    }

    #[test]
    fn steps_can_begin_anywhere() -> Result<()> {
        assert_eq!(names(beginning_with(STEPS, Some("two"))?), "two, three");
        assert_eq!(beginning_with(STEPS, None)?.len(), 3);
        let unknown = beginning_with(STEPS, Some("four")).err().map(|error| error.to_string());
        assert_eq!(unknown.as_deref(), Some("no step `four`; the steps are one, two, three"));
        Ok(())
    }
}
