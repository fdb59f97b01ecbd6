//! Options and commands that have other names now, or are gone. An old spelling is refused, and the message says what to
//! use instead.
//!
//! A page of the book lists the table.

use std::ffi::OsString;

/// Old spellings: the command, its option or nothing, and what to use instead.
pub(crate) const TABLE: &[(&str, &str, &str)] = &[
    ("analyze", "--gains", "--causes gains"),
    ("analyze", "--mpi", "DWELL_MPI_LIBRARY=FILE in the environment"),
    ("analyze", "--timeout", "DWELL_PEER_TIMEOUT=30m in the environment"),
    ("analyze", "--top", "--full=N"),
    ("compile", "", "dwell build -- COMPILER"),
    ("compile-flags", "", "dwell build flags RUNTIME"),
    ("doctor", "--oshrun", "--probe=OPTIONS"),
    ("export", "--calls", "--regions PATTERN"),
    ("export", "--html", "-o FILE.html"),
    ("export", "--otf2", "--format otf2 -o DIR"),
    ("export", "--parquet", "--format parquet -o DIR"),
    ("export", "--perfetto", "-o FILE.pftrace"),
    ("instrument", "", "dwell build sources"),
    ("link-flags", "", "dwell build flags RUNTIME"),
    ("print", "--all", "--sections all"),
    ("print", "--anchor", "--sections anchor"),
    ("print", "--clock-offsets", "--sections clock-offsets"),
    ("print", "--definitions", "--sections definitions"),
    ("print", "--events", "--sections events"),
    ("print", "--format", "--json"),
    ("print", "--location", "--locations LIST"),
    ("print", "--mappings", "--sections mappings"),
    ("print", "--markers", "--sections markers"),
    ("print", "--snapshots", "--sections snapshots"),
    ("print", "-d", "--sections definitions"),
    ("recover", "--from", "dwell recover RUN DIR..., with the directories behind the run"),
    ("report", "--color", "NO_COLOR=1 or CLICOLOR_FORCE=1 in the environment"),
    ("report", "--cut", "dwell export RUN -o FILE.cubex --path PATH"),
    ("report", "--merge", "dwell export RUN -o FILE.cubex --merge"),
    ("report", "--write", "dwell export RUN -o FILE.cubex"),
    ("run", "--chunk-size", "--set chunk-size=SIZE"),
    ("run", "--chunks", "--set chunks=WORD"),
    ("run", "--clock", "--set clock=WORD"),
    ("run", "--clock-period", "--set clock-period=TIME"),
    ("run", "--every", "--overhead 2%"),
    ("run", "--handler-locks", "--layer gasnet-locks=WORD"),
    ("run", "--handlers", "--layer gasnet-handlers=WORD"),
    ("run", "--inner-calls", "--layer mpi-inner=WORD"),
    ("run", "--max-memory", "--memory SIZE"),
    ("run", "--max-total", "--max-size SIZE, which is of all processes together"),
    ("run", "--peer-timeout", "--set peer-timeout=TIME"),
    ("run", "--shared-transfers", "--layer gasnet-transfers=WORD"),
    ("run", "--ucx", "--layer ucx=on"),
    ("score", "--write", "-o FILE"),
    ("timeline", "--instance", "--finding ID:N"),
    ("timeline", "--png", "-o FILE.png"),
    ("timeline", "--rows", "--locations LIST"),
    ("timeline", "--svg", "-o FILE.svg"),
    ("timeline", "--width", "COLUMNS=N in the environment"),
    ("whatif", "--finding", "--without ID"),
];

/// Returns the message for the first old spelling among the arguments of the program, which begin with its own name.
pub(crate) fn answer(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let mut words = arguments.skip(1).map(|it| it.to_string_lossy().into_owned());
    let command = words.find(|it| !it.starts_with('-'))?;
    if let Some((_, _, new)) = TABLE.iter().find(|it| it.0 == command && it.1.is_empty()) {
        return Some(format!("dwell {command} is gone: use {new}"));
    }
    words.take_while(|it| it != "--").find_map(|it| option(&command, &it))
}

/// Returns the message for an option of a command, if it is an old spelling.
pub(crate) fn option(command: &str, word: &str) -> Option<String> {
    let name = word.split('=').next().unwrap_or(word);
    let (_, _, new) =
        TABLE.iter().find(|it| it.0 == command && it.1 == name && !name.is_empty())?;
    Some(format!("{name} is gone: use {new}"))
}

/// Returns the message for a setting of `dwell run` that is in a file or in the environment, if it has no such name any
/// more.
pub(crate) fn setting(name: &str) -> Option<String> {
    let is_flag_only = dwell_measure::settings::Setting::find(name).is_some();
    option("run", &format!("--{name}")).filter(|_| !is_flag_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_spellings_are_answered() {
        let ask = |line: &str| answer(line.split(' ').map(OsString::from));
        let expected = "--every is gone: use --overhead 2%";
        assert_eq!(ask("dwell run --every 3 ./heat").as_deref(), Some(expected));
        assert_eq!(ask("dwell run --every=3 ./heat").as_deref(), Some(expected));
        assert_eq!(ask("dwell run -o x -- ./heat --every"), None);
        assert_eq!(ask("dwell report --every"), None);
        assert_eq!(ask("dwell"), None);
        assert!(setting("every").is_some() && setting("clock").is_none());
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted());
    }
}
