//! Settings of `dwell run`: precedence of flag, environment and file, and messages about wrong values. Also manual
//! pages and completions, which are made from the same descriptions.

use std::path::Path;
use std::process::{Command, Output};

fn dwell(folder: &Path, variables: &[(&str, &str)], args: &[&str]) -> Output {
    dwell_at(env!("CARGO_BIN_EXE_dwell").as_ref(), folder, variables, args)
}

fn dwell_at(program: &Path, folder: &Path, variables: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.env_clear().envs(variables.iter().copied()).current_dir(folder).args(args);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the line of a setting in the list of settings.
fn listed(output: &Output, name: &str) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let list = text(&output.stdout);
    let line =
        list.lines().find(|line| line.trim_start_matches("# ").starts_with(&format!("{name} =")));
    line.unwrap_or_else(|| panic!("{name} is not in {list}")).to_owned()
}

#[test]
fn flags_before_environment_before_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let list = |variables: &[(&str, &str)], flags: &[&str]| {
        let output = dwell(folder, variables, &[&["run", "--list-config"], flags].concat());
        listed(&output, "max-size")
    };
    assert_eq!(list(&[], &[]), "# max-size = \"\"");
    std::fs::write(folder.join("dwell.toml"), "max-size = \"1G\"\n").unwrap();
    assert_eq!(list(&[], &[]), "max-size = \"1G\"");
    std::fs::write(folder.join("other.toml"), "max-size = 4096\n").unwrap();
    assert_eq!(list(&[], &["--config", "other.toml"]), "max-size = \"4096\"");
    assert_eq!(list(&[("DWELL_CONFIG", "other.toml")], &[]), "max-size = \"4096\"");
    let variable = [("DWELL_MAX_SIZE", "2G")];
    assert_eq!(list(&variable, &[]), "max-size = \"2G\"");
    assert_eq!(list(&variable, &["--max-size", "3G"]), "max-size = \"3G\"");
}

/// A site sets defaults in `etc` of its installation, one setting at a time.
#[test]
fn the_site_comes_last() {
    let program = Path::new(env!("CARGO_BIN_EXE_dwell"));
    // Beside the program, so that it need not be copied.
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let folder = folder.path();
    for name in ["bin", "etc"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    let installed = folder.join("bin/dwell");
    std::fs::hard_link(program, &installed).unwrap();
    let site = "max-size = \"1G\"\nmemory = \"64M\"\nfilter = \"site.filter\"\n";
    std::fs::write(folder.join("etc/dwell.toml"), site).unwrap();
    std::fs::write(folder.join("dwell.toml"), "max-size = \"2G\"\n").unwrap();
    let output = dwell_at(&installed, folder, &[], &["run", "--list-config"]);
    assert_eq!(listed(&output, "max-size"), "max-size = \"2G\"");
    assert_eq!(listed(&output, "memory"), "memory = \"64M\"");
    let filter = format!("filter = \"{}/etc/site.filter\"", folder.display());
    assert_eq!(listed(&output, "filter"), filter);
    let said = text(&output.stdout);
    assert!(said.contains("DWELL_MEMORY; set by the site\n"), "{said}");
    assert!(said.contains(&format!("# File: {}/etc/dwell.toml\n", folder.display())), "{said}");
    let variable = [("DWELL_MEMORY", "32M")];
    let output = dwell_at(&installed, folder, &variable, &["run", "--list-config"]);
    assert_eq!(listed(&output, "memory"), "memory = \"32M\"");
}

/// Options that are given several times add up, and settings without an option have one together.
#[test]
fn layers_and_settings_are_lists() {
    let folder = tempfile::tempdir().unwrap();
    let layers = ["--layer", "ucx=on,mpi-inner=all", "--layer=gasnet-locks=off"];
    let set = ["--set", "clock=system", "--set=chunk-size=256K"];
    let output =
        dwell(folder.path(), &[], &[&["run", "--list-config"], &layers[..], &set].concat());
    for (name, expected) in [
        ("layer", "layer = \"ucx=on,mpi-inner=all,gasnet-locks=off\""),
        ("clock", "clock = \"system\""),
        ("chunk-size", "chunk-size = \"256K\""),
    ] {
        assert_eq!(listed(&output, name), expected);
    }
}

/// The list of settings is a file with the same meaning.
#[test]
fn the_list_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flags = ["run", "--list-config", "--max-size", "3G", "-o", "runs/1"];
    let first = dwell(folder, &[], &flags);
    assert_eq!(listed(&first, "output"), format!("output = \"{}/runs/1\"", folder.display()));
    std::fs::write(folder.join("saved.toml"), &first.stdout).unwrap();
    let again = dwell(folder, &[], &["run", "--list-config", "--config", "saved.toml"]);
    let settings = |output: &Output| -> Vec<String> {
        text(&output.stdout)
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(settings(&first), settings(&again));
}

#[test]
fn a_path_in_a_file_is_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("x.toml"), "output = \"runs\"\n").unwrap();
    let output = dwell(folder.path(), &[], &["run", "--list-config", "--config", "beside/x.toml"]);
    assert_eq!(listed(&output, "output"), format!("output = \"{}/runs\"", beside.display()));
}

#[test]
fn mistakes_say_what_where_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (content, expected) in [
        ("max_size = 3\n", "x.toml: unknown setting max_size; did you mean max-size?"),
        ("every = 3\n", "x.toml: --every is gone: use --overhead 2%"),
        ("colour = 3\n", "x.toml: unknown setting colour; see dwell run --list-config"),
        (
            "\nmax-size = \"much\"\n",
            "x.toml: invalid value \"much\" for max-size: expected a size such as 4G",
        ),
        ("max-size = 3\n\nscratch 3\n", "x.toml: line 3: "),
        ("output = { a = 1 }\n", "output: expected a string, a number, true, false or a list"),
    ] {
        std::fs::write(folder.join("x.toml"), content).unwrap();
        let output = dwell(folder, &[], &["run", "--config", "x.toml", "true"]);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.starts_with("dwell: ") && message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let output = dwell(folder, &[], &["run", "--config", "nowhere.toml", "true"]);
    assert!(text(&output.stderr).contains("nowhere.toml: No such file"), "{output:?}");
    let output = dwell(folder, &[("DWELL_MAXSIZE", "4")], &["run", "true"]);
    assert!(text(&output.stderr).contains("did you mean DWELL_MAX_SIZE?"), "{output:?}");
    let output = dwell(folder, &[("DWELL_MAX_TOTAL", "4G")], &["run", "true"]);
    assert!(text(&output.stderr).contains("DWELL_MAX_TOTAL is set and ignored: "), "{output:?}");
    let output = dwell(folder, &[], &["run", "--set", "clok=system", "true"]);
    assert!(text(&output.stderr).contains("did you mean clock?"), "{output:?}");
    let output = dwell(folder, &[], &["run", "--set", "clock=solar", "true"]);
    assert!(text(&output.stderr).contains("expected one of auto, counter, system"), "{output:?}");
    let output = dwell(folder, &[], &["run", "--unwind", "99", "true"]);
    assert!(text(&output.stderr).contains("expected a number from 1 to 64"), "{output:?}");
    std::fs::write(folder.join("heat"), "").unwrap();
    let output = dwell(folder, &[], &["run", "heat"]);
    assert!(text(&output.stderr).contains("did you mean ./heat?"), "{output:?}");
    let output = dwell(folder, &[("PATH", "/nowhere")], &["doctor"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("launchers       none found"), "{output:?}");
    let output = dwell(folder, &[], &["run", "--max-size", "much", "true"]);
    assert!(text(&output.stderr).contains("expected a size such as 4G"), "{output:?}");
}

/// Returns the names of the commands from the help text.
fn commands() -> Vec<String> {
    let help = text(&dwell(Path::new("."), &[], &["--help"]).stdout);
    let list = help.split("commands:").skip(1).collect::<String>();
    let list = list.split("Options:").next().unwrap();
    let words = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> =
        words.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(names.len() > 8 && names.contains(&"run".into()), "{names:?}");
    names
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("man/man1");
    let output = dwell(folder.path(), &[], &["man", made.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for command in commands().iter().filter(|it| *it != "help") {
        let page = std::fs::read_to_string(made.join(format!("dwell-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{command}");
    }
    let run = std::fs::read_to_string(made.join("dwell-run.1")).unwrap();
    assert!(run.contains("max\\-size"), "{run}");
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = dwell(Path::new("."), &[], &["completions", shell]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let script = text(&output.stdout);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        assert!(script.contains("max-size"), "{shell}");
    }
}
