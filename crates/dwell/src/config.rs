//! Settings of `dwell run`, from flags, the environment, a file of the user and one of the site, in that order of precedence.
//!
//! The flags are generated from the recorder's table of settings, so a setting is described once.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::renamed;
use crate::terminal::nearest;
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use dwell_measure::settings::{
    EVERYDAY, Kind, SETTINGS_ONLY, Setting, TABLE, parse_switch, read_filter,
};

/// Configuration file that is read if no other is named.
pub(crate) const FILE: &str = "dwell.toml";
/// Environment variable that names a configuration file.
pub(crate) const VARIABLE: &str = "DWELL_CONFIG";

/// Settings given as flags.
#[derive(Debug, Default)]
pub(crate) struct Flags(Vec<(&'static Setting, String)>);

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let has_flag = |setting: &&Setting| setting.section != SETTINGS_ONLY;
        let command =
            TABLE.iter().filter(has_flag).fold(command, |command, it| command.arg(flag(it)));
        let set = Arg::new(SET).long(SET).value_name("NAME=VALUE").help_heading("Settings");
        let set = set.action(ArgAction::Append).value_parser(ValueParser::new(named_value));
        command.arg(set.help(
            "Change a setting that has no option of its own, such as clock=system; --list-config lists them. May be given \
             several times",
        ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Name of the flag for settings that have none.
const SET: &str = "set";

/// Parses `NAME=VALUE` into a setting and its value.
fn named_value(text: &str) -> Result<(&'static Setting, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as clock=system")?;
    let setting = Setting::find(name).ok_or_else(|| unknown(name))?;
    setting.kind.check(value)?;
    Ok((setting, value.to_owned()))
}

/// Returns the message for a setting that does not exist, with the name that was probably meant.
fn unknown(name: &str) -> String {
    if let Some(gone) = renamed::setting(name) {
        return gone;
    }
    match nearest(name, TABLE.iter().map(|setting| setting.name)) {
        Some(near) => format!("unknown setting {name}; did you mean {near}?"),
        None => format!("unknown setting {name}; see dwell run --list-config"),
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let kind = setting.kind;
    let check = move |text: &str| kind.check(text).map(|()| text.to_owned());
    let mut help = setting.help.to_owned();
    if !setting.default.is_empty() {
        help += &format!(" [default: {}]", setting.default);
    }
    let heading = (setting.section != EVERYDAY).then_some(setting.section);
    let mut flag = Arg::new(setting.name)
        .help_heading(heading)
        .long(setting.name)
        .value_name(kind.placeholder())
        .help(help)
        .value_parser(ValueParser::new(check));
    flag = match kind {
        Kind::Directory => flag.value_hint(clap::ValueHint::DirPath),
        Kind::Filter => flag.value_hint(clap::ValueHint::FilePath),
        Kind::Switch | Kind::Rate => {
            flag.num_args(0..=1).require_equals(true).default_missing_value("on")
        }
        Kind::Layers => flag.action(ArgAction::Append),
        // A group may have a minus before it.
        Kind::Groups => flag.allow_hyphen_values(true),
        Kind::Choice(words) => return named(flag.value_parser(words.to_vec()), setting),
        _ => flag,
    };
    named(flag, setting)
}

fn named(flag: Arg, setting: &Setting) -> Arg {
    match setting.letter {
        Some(letter) => flag.short(letter),
        None => flag,
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |setting: &'static Setting| {
            // Settings without a flag are no arguments of the command.
            let values = matches.try_get_many::<String>(setting.name).ok()??;
            Some((setting, values.map(String::as_str).collect::<Vec<_>>().join(",")))
        };
        let mut given: Vec<_> = TABLE.iter().filter_map(given).collect();
        given.extend(matches.get_many(SET).into_iter().flatten().cloned());
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Origin of the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Flag,
    Environment,
    File,
    Site,
    Default,
}

/// Values of all settings, and their origins.
#[derive(Debug)]
pub(crate) struct Config {
    files: Vec<PathBuf>,
    values: Vec<(&'static Setting, String, Source)>,
}

impl Config {
    /// Collects the settings from flags, environment and file. `file` is the one that a flag names.
    pub(crate) fn gather(flags: &Flags, file: Option<&Path>) -> Result<Self> {
        let named =
            file.map(Path::to_path_buf).or_else(|| env::var_os(VARIABLE).map(PathBuf::from));
        let file = named.or_else(|| Path::new(FILE).is_file().then(|| FILE.into()));
        let layers = [(file, Source::File), (of_site(), Source::Site)];
        let layers = layers.into_iter().filter_map(|(file, source)| Some((file?, source)));
        let written = layers.map(|(file, source)| {
            let values = read(&file).with_context(|| file.display().to_string())?;
            Ok((file, source, values))
        });
        let written: Vec<_> = written.collect::<Result<_>>()?;
        let said = |list: &[(&'static Setting, String)], setting: &Setting| {
            list.iter().find(|(known, _)| *known == setting).map(|(_, value)| value.clone())
        };
        let in_files = |setting: &Setting| {
            let mut found =
                written.iter().map(|(file, source, list)| (file, source, said(list, setting)));
            found.find_map(|(file, source, value)| Some((file, *source, value?)))
        };
        let one = |setting: &'static Setting| -> Result<_> {
            let in_environment = env::var(setting.variable()).ok().filter(|text| !text.is_empty());
            let (value, source) = if let Some(value) = said(&flags.0, setting) {
                (absolute(setting, value, None)?, Source::Flag)
            } else if let Some(value) = in_environment {
                (value, Source::Environment)
            } else if let Some((file, source, value)) = in_files(setting) {
                (absolute(setting, value, Some(file))?, source)
            } else {
                (setting.default.to_owned(), Source::Default)
            };
            Ok((setting, value, source))
        };
        let values = TABLE.iter().map(one).collect::<Result<_>>()?;
        Ok(Self { files: written.into_iter().map(|(file, ..)| file).collect(), values })
    }

    /// Returns the value of a setting; empty if it has none.
    pub(crate) fn value(&self, name: &str) -> &str {
        let found = self.values.iter().find(|(setting, ..)| setting.name == name);
        found.map_or("", |(_, value, _)| value)
    }

    /// Returns `true` if a switch is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        parse_switch(self.value(name)).unwrap_or(false)
    }

    /// Checks the files to which settings refer, and whether settings fit together, before a program is started.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.value("counters").is_empty() && self.is_on("profile") && !self.is_on("trace") {
            bail!(
                "--counters needs a trace: a profile has no samples; add --trace or remove --profile"
            );
        }
        for (setting, value, _) in &self.values {
            if setting.kind == Kind::Filter && !value.is_empty() {
                read_filter(Path::new(value)).map_err(|error| anyhow!(error))?;
            }
        }
        Ok(())
    }

    /// Iterates over the environment variables for the program, from which the recorder in it reads the settings.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, &str)> {
        let said = self.values.iter().filter(|(.., source)| *source != Source::Default);
        said.map(|(setting, value, _)| (setting.variable(), value.as_str()))
    }

    /// Returns all settings as the text of a configuration file.
    pub(crate) fn list(&self) -> String {
        let mut text = String::from(
            "# Settings of dwell run. Flags override the environment, which overrides the file of the user, which overrides that \
             of the site.\n",
        );
        for file in &self.files {
            text += &format!("# File: {}\n", file.display());
        }
        for (setting, value, source) in &self.values {
            let from = match source {
                Source::Flag => "set by a flag",
                Source::Environment => "set by the environment",
                Source::File => "set by the file",
                Source::Site => "set by the site",
                Source::Default => "default",
            };
            let Setting { name, help, kind, .. } = setting;
            text += &format!("\n# {help}.\n");
            let placeholder = kind.placeholder();
            let variable = setting.variable();
            let flag = match setting.section {
                SETTINGS_ONLY => format!("--set {name}={placeholder}"),
                _ => format!("--{name} {placeholder}"),
            };
            text += &format!("# {flag}, {variable}; {from}\n");
            // What has no value is shown as a comment, to be filled in.
            let comment = if value.is_empty() { "# " } else { "" };
            text += &format!("{comment}{name} = {}\n", toml::Value::String(value.clone()));
        }
        text
    }
}

/// Returns remarks about variables of the environment that are probably meant as settings: misspelt ones, and settings that
/// have another name now.
pub(crate) fn misspelt_variables() -> Vec<String> {
    let known: Vec<String> = TABLE.iter().map(Setting::variable).collect();
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with("DWELL_") && !known.contains(name)).collect();
    unknown.sort_unstable();
    let likely = |name: String| {
        let setting = name.strip_prefix("DWELL_").unwrap_or(&name);
        if let Some(gone) = renamed::setting(&setting.to_ascii_lowercase().replace('_', "-")) {
            return Some(format!("{name} is set and ignored: {gone}"));
        }
        let near = known
            .iter()
            .max_by(|a, b| strsim::jaro(&name, a).total_cmp(&strsim::jaro(&name, b)))?;
        let distance = strsim::damerau_levenshtein(&name, near);
        (distance <= 2)
            .then(|| format!("{name} is set, and there is no such setting; did you mean {near}?"))
    };
    unknown.into_iter().filter_map(likely).collect()
}

/// Returns the file with the defaults of the site, if there is one: in `etc` of the installation, or else in that of the system.
fn of_site() -> Option<PathBuf> {
    let program = env::current_exe().and_then(|program| program.canonicalize());
    let prefix = program.ok().and_then(|it| Some(it.parent()?.parent()?.to_owned()));
    let places = prefix.into_iter().chain([PathBuf::from("/")]);
    places.map(|prefix| prefix.join("etc").join(FILE)).find(|file| file.is_file())
}

/// Makes paths absolute, because the program may change its directory. Paths in a file are relative to that file.
fn absolute(setting: &Setting, value: String, file: Option<&Path>) -> Result<String> {
    if !setting.kind.is_path() {
        return Ok(value);
    }
    let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let path = std::path::absolute(folder.join(&value))?;
    path.into_os_string()
        .into_string()
        .map_err(|path| anyhow!("{}: the path is not UTF-8", Path::new(&path).display()))
}

/// Reads the settings in a file.
fn read(file: &Path) -> Result<Vec<(&'static Setting, String)>> {
    let text = fs::read_to_string(file)?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| anyhow!("{}", where_and_why(&text, &error)))?;
    let mut list = Vec::new();
    for (name, value) in table {
        let Some(setting) = Setting::find(&name) else {
            bail!("{}", unknown(&name));
        };
        let value = as_text(&value).with_context(|| {
            format!("{name}: expected a string, a number, true, false or a list")
        })?;
        setting
            .kind
            .check(&value)
            .map_err(|wanted| anyhow!("invalid value {value:?} for {name}: {wanted}"))?;
        list.push((setting, value));
    }
    Ok(list)
}

/// Returns an error of the file in one line, with its line number.
fn where_and_why(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.get(..at).unwrap_or_default().lines().count().max(1);
    format!("line {line}: {}", error.message())
}

/// Returns a value as it would be written in the environment, or `None` for tables and dates.
fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(if *yes { "on" } else { "off" }.into()),
        toml::Value::Array(list) => {
            let list: Option<Vec<String>> = list.iter().map(as_text).collect();
            Some(list?.join(","))
        }
        _ => None,
    }
}
