//! Arguments of Fortran compilers, as far as sources, objects and the preprocessor are concerned.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use dwell_fortran::scan::Form;

/// A source among the arguments.
pub(super) struct Source {
    /// Its position among the arguments.
    pub(super) index: usize,
    pub(super) path: PathBuf,
}

/// The command of a compiler, taken apart.
pub(super) struct Arguments {
    pub(super) compiler: OsString,
    all: Vec<OsString>,
    pub(super) sources: Vec<Source>,
    /// Folders of included files.
    pub(super) folders: Vec<PathBuf>,
    pub(super) only_compiles: bool,
    /// The form that an option states.
    pub(super) form: Option<Form>,
    output: Option<PathBuf>,
    passes_through: bool,
    preprocesses: bool,
    dependencies: Option<PathBuf>,
}

/// Options whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-J",
    "-I",
    "-MF",
    "-MT",
    "-MQ",
    "-module",
    "-x",
    "-include",
    "-L",
    "-l",
    "-D",
    "-U",
    "-isystem",
    "-Xlinker",
    "-mdir",
    "-imacros",
    "-idirafter",
    "-iquote",
    "-T",
    "-u",
    "-z",
    "-e",
    "-wrap",
];

/// Options with which a compiler writes no object.
const NO_OBJECT: &[&str] =
    &["-E", "-M", "-MM", "-S", "-fsyntax-only", "--version", "-dumpversion", "-dumpmachine"];

/// Ends of the names of Fortran sources, in lower case.
const ENDS: &[&str] = &["f90", "f95", "f03", "f08", "f18", "f", "for", "ftn", "fpp", "f77", "cuf"];

impl Arguments {
    pub(super) fn of(command: &[OsString]) -> Self {
        let (compiler, all) = match command.split_first() {
            Some((compiler, all)) => (compiler.clone(), all.to_vec()),
            None => (OsString::new(), Vec::new()),
        };
        let mut this = Self {
            compiler,
            all,
            sources: Vec::new(),
            folders: Vec::new(),
            only_compiles: false,
            form: None,
            output: None,
            passes_through: false,
            preprocesses: false,
            dependencies: None,
        };
        let (mut writes_dependencies, mut value_of) = (false, None::<String>);
        for index in 0..this.all.len() {
            let Some(word) = this.all.get(index).cloned() else { continue };
            let text = word.to_string_lossy().into_owned();
            if let Some(option) = value_of.take() {
                match option.as_str() {
                    "-o" => this.output = Some(word.into()),
                    "-I" => this.folders.push(word.into()),
                    "-MF" => this.dependencies = Some(word.into()),
                    _ => {}
                }
                continue;
            }
            if WITH_VALUE.contains(&text.as_str()) {
                value_of = Some(text);
                continue;
            }
            this.passes_through |= NO_OBJECT.contains(&text.as_str());
            match text.as_str() {
                "-c" => this.only_compiles = true,
                "-cpp" | "-fpp" | "-Mpreprocess" => this.preprocesses = true,
                "-ffixed-form" | "-fixed" | "-Mfixed" => this.form = Some(Form::Fixed),
                "-ffree-form" | "-free" | "-Mfree" => this.form = Some(Form::Free),
                "-MD" | "-MMD" => writes_dependencies = true,
                _ => {}
            }
            if let Some(folder) = text.strip_prefix("-I") {
                this.folders.push(folder.into());
            } else if !text.starts_with('-') && is_source(&text) {
                this.sources.push(Source { index, path: word.into() });
            }
        }
        if writes_dependencies && this.dependencies.is_none() {
            let object =
                this.output.clone().or_else(|| this.sources.first().map(|it| it.path.clone()));
            this.dependencies = object.map(|object| object.with_extension("d"));
        }
        this
    }

    /// Returns `true` if the command compiles Fortran sources into objects or a program.
    pub(super) fn compiles(&self) -> bool {
        !self.sources.is_empty() && !self.passes_through
    }

    /// Returns `true` if the compiler is a driver of gfortran.
    pub(super) fn is_gnu(&self) -> bool {
        let name = Path::new(&self.compiler)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        ["gfortran", "caf", "mpif90", "mpifort", "mpif77"].iter().any(|known| name.contains(known))
    }

    /// Returns the path of the object of a source.
    pub(super) fn object(&self, source: &Source) -> PathBuf {
        match &self.output {
            Some(output) => output.clone(),
            None => Path::new(source.path.file_name().unwrap_or_default()).with_extension("o"),
        }
    }

    /// Returns the arguments for the preprocessor: those of the compiler for one source, without its output.
    pub(super) fn for_preprocessor(&self, source: &Source) -> Vec<OsString> {
        let (mut skip, mut keep) = (false, false);
        let mut all = Vec::new();
        for (index, word) in self.all.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            if std::mem::take(&mut keep) {
                all.push(word.clone());
                continue;
            }
            match word.to_str() {
                Some("-o" | "-MF" | "-MT" | "-MQ") => skip = true,
                Some("-c" | "-MD" | "-MMD" | "-MP") => {}
                Some(text) if text.starts_with("-l") => {}
                Some(text) if WITH_VALUE.contains(&text) => {
                    keep = true;
                    all.push(word.clone());
                }
                // Objects, and sources of other languages.
                Some(text) if !text.starts_with('-') && index != source.index => {}
                _ => all.push(word.clone()),
            }
        }
        all
    }

    /// Returns the arguments with copies in place of sources. Assumed-rank arguments are of Fortran 2018, so a request
    /// for Fortran 2008 becomes one for that.
    pub(super) fn with_copies(
        &self,
        copies: &[(usize, &Path)],
        preprocessed: bool,
    ) -> Vec<OsString> {
        let mut all = Vec::new();
        for (index, word) in self.all.iter().enumerate() {
            let copy = copies.iter().find(|(at, _)| *at == index);
            all.push(match (copy, word.to_str()) {
                (Some((_, copy)), _) => copy.as_os_str().to_owned(),
                (_, Some("-std=f2008" | "-std=f2008ts")) => OsString::from("-std=f2018"),
                (_, Some("-cpp" | "-fpp")) if preprocessed => continue,
                _ => word.clone(),
            });
        }
        all
    }

    /// Puts the name of the source in place of that of its copy in the file of dependencies.
    pub(super) fn mend_dependencies(&self, copy: &Path, source: &Path) {
        let Some(file) = &self.dependencies else { return };
        if let Ok(text) = fs::read_to_string(file) {
            let (copy, source) = (copy.display().to_string(), source.display().to_string());
            let _ = fs::write(file, text.replace(&copy, &source));
        }
    }
}

impl Source {
    /// Returns `true` if a compiler runs the preprocessor on the source before it compiles it.
    pub(super) fn is_preprocessed_first(&self, arguments: &Arguments) -> bool {
        let end = self.path.extension().and_then(OsStr::to_str).unwrap_or_default();
        arguments.preprocesses || end.starts_with('F')
    }

    /// Returns the name of the source with an end that compilers do not preprocess.
    pub(super) fn lower_name(&self) -> PathBuf {
        let name = PathBuf::from(self.path.file_name().unwrap_or_default());
        let end = self.path.extension().and_then(OsStr::to_str).unwrap_or_default();
        name.with_extension(end.to_ascii_lowercase())
    }
}

fn is_source(name: &str) -> bool {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    ENDS.contains(&end.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Arguments {
        let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        Arguments::of(&words)
    }

    #[test]
    fn sources_objects_and_folders() {
        let it = of("gfortran -O2 -Iinc -I more -J mods -c a/x.f90 y.F -MF d.f90 -MMD");
        let names: Vec<_> = it.sources.iter().map(|it| it.path.display().to_string()).collect();
        assert_eq!(names, ["a/x.f90", "y.F"]);
        assert_eq!(it.folders, [PathBuf::from("inc"), PathBuf::from("more")]);
        assert!(it.compiles() && it.only_compiles && it.is_gnu());
        assert_eq!(it.dependencies, Some(PathBuf::from("d.f90")));
        assert_eq!(it.object(&it.sources[0]), PathBuf::from("x.o"));
        let it = of("/opt/ftn -c x.f90 -o build/y.o");
        assert_eq!(it.object(&it.sources[0]), PathBuf::from("build/y.o"));
        assert!(!it.is_gnu());
    }

    #[test]
    fn what_writes_no_object_is_passed_on() {
        for command in [
            "gfortran --version",
            "gfortran -E x.F90",
            "gfortran -fsyntax-only x.f90",
            "gfortran a.o b.o -o x",
            "gfortran -o x.f90",
        ] {
            assert!(!of(command).compiles(), "{command}");
        }
        assert!(of("gfortran x.f90 -o x").compiles());
    }

    #[test]
    fn copies_stand_in_place_of_sources() {
        let it = of("gfortran -std=f2008 -cpp -c x.f90 -o x.o");
        let words = it.with_copies(&[(3, Path::new("/tmp/x.f90"))], true);
        assert_eq!(words, ["-std=f2018", "-c", "/tmp/x.f90", "-o", "x.o"]);
        assert_eq!(it.for_preprocessor(&it.sources[0]), ["-std=f2008", "-cpp", "x.f90"]);
        let it = of("gfortran -D A x.F90 y.c z.F90 w.o -o x -lcaf");
        assert_eq!(it.for_preprocessor(&it.sources[0]), ["-D", "A", "x.F90"]);
    }
}
