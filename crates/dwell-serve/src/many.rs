//! Runs that are served: a few that are open, or those of a directory, which are opened when a request names them.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dwell_report::{History, Judgement};

use crate::question::Fault;
use crate::run::Run;
use crate::types;

/// The number of runs of a directory that are open at a time. Each keeps its definitions and a few rows in memory.
const OPEN: usize = 8;

/// A run of a directory, as lists show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Path of the run, by which it is opened when a request names it for the first time.
    pub path: PathBuf,
    /// Name of the run: its path in the directory.
    pub name: String,
    /// Name of the program; empty if it is not known.
    pub program: String,
    /// Name of the version of the program.
    pub version: String,
    /// Time of the recording in nanoseconds since 1970.
    pub when: u64,
    /// Number of processes, if it is known.
    pub processes: Option<u64>,
    /// Length in seconds without start-up and shutdown, as comparisons have it.
    pub length: Option<f64>,
    /// Parallel efficiency, from 0 to 1.
    pub parallel: Option<f64>,
    /// Time in waits as a part of the time of all locations, both without start-up and shutdown.
    pub waiting: Option<f64>,
    /// What costs the run most, in a few words; empty if nothing does or if it is not known.
    pub cause: String,
    /// Remark about the state of the run, such as `damaged`; empty if all is well.
    pub note: String,
}

/// The runs of a directory, and what they say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// Name of the directory, for people: the last part of its path, without the directories that it is in.
    pub name: String,
    /// Its runs. Those that the history is about come first, in its order of members.
    pub runs: Vec<Listed>,
    /// Number of runs beyond the bound, which are not in the list.
    pub left_out: usize,
    /// History and scaling of the runs, whose members are the first of the list of runs.
    pub history: History,
}

type Opener = Box<dyn Fn(&Listed) -> Result<Run, String> + Send + Sync>;

/// The runs that a server or an export answers questions about. A `Vec` of open ones becomes it.
pub struct Runs {
    given: Vec<Arc<Run>>,
    directory: Option<(Directory, Opener)>,
    /// Runs of the directory that were used last.
    open: Mutex<VecDeque<(usize, Arc<Run>)>>,
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("given", &self.given).finish_non_exhaustive()
    }
}

impl From<Vec<Run>> for Runs {
    fn from(runs: Vec<Run>) -> Self {
        let given = runs.into_iter().map(Arc::new).collect();
        Self { given, directory: None, open: Mutex::default() }
    }
}

impl Runs {
    /// Takes the runs of a directory, and a function that opens one of them or says in words why that fails.
    pub fn of_directory(
        directory: Directory,
        open: impl Fn(&Listed) -> Result<Run, String> + Send + Sync + 'static,
    ) -> Self {
        let directory = Some((directory, Box::new(open) as Opener));
        Self { given: Vec::new(), directory, open: Mutex::default() }
    }

    /// Returns the directory, if these are the runs of one.
    pub fn directory(&self) -> Option<&Directory> {
        self.directory.as_ref().map(|it| &it.0)
    }

    /// Returns the number of runs.
    pub(crate) fn len(&self) -> usize {
        self.directory().map_or(self.given.len(), |it| it.runs.len())
    }

    /// Returns a run, which is opened if need be.
    pub(crate) fn get(&self, number: usize) -> Result<Arc<Run>, Fault> {
        let Some((directory, open)) = &self.directory else {
            return self.given.get(number).cloned().ok_or(Fault::Unknown);
        };
        let listed = directory.runs.get(number).ok_or(Fault::Unknown)?;
        let mut kept = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|it| it.0 == number).and_then(|at| kept.remove(at));
        let run = match known {
            Some((_, run)) => run,
            None => Arc::new(open(listed).map_err(|why| Fault::Bad(why.into()))?),
        };
        kept.push_front((number, run.clone()));
        kept.truncate(OPEN);
        Ok(run)
    }

    /// Returns the names of all runs.
    pub(crate) fn names(&self) -> Vec<types::RunName> {
        let name = |(id, title, path): (usize, String, String)| types::RunName {
            id: id.to_string(),
            title,
            path,
        };
        let given = self.given.iter().map(|it| (it.title(), it.path.display().to_string()));
        let listed = self.directory().into_iter().flat_map(|it| &it.runs);
        let listed = listed.map(|it| (it.name.clone(), it.path.display().to_string()));
        given.chain(listed).enumerate().map(|(id, (title, path))| name((id, title, path))).collect()
    }

    /// Returns the history of the runs of a directory.
    pub(crate) fn history(&self) -> Result<types::Many, Fault> {
        let directory = self.directory().ok_or(Fault::Unknown)?;
        let run = |(id, it): (usize, &Listed)| types::ListedRun {
            id: id.to_string(),
            name: it.name.clone(),
            program: it.program.clone(),
            version: it.version.clone(),
            milliseconds: (it.when / 1_000_000) as f64,
            processes: it.processes.map(|it| it as f64),
            length: it.length,
            parallel: it.parallel,
            waiting: it.waiting,
            cause: it.cause.clone(),
            note: it.note.clone(),
        };
        let set = |it: &dwell_report::Set| types::VersionSet {
            program: it.program.clone(),
            version: it.version.clone(),
            processes: it.processes as f64,
            runs: it.members.iter().map(ToString::to_string).collect(),
            length: it.length,
            change: it.change,
            slower: it.judgement == Judgement::More,
        };
        let version = |it: &dwell_report::Version| types::Version {
            program: it.program.clone(),
            name: it.name.clone(),
            change: it.change,
            slower: it.judgement == Judgement::More,
            text: it.text.clone(),
            shown_by: it.shown_by.map(|it| it.map(|it| it.to_string()).to_vec()),
        };
        let point = |it: &dwell_report::Scaling| types::ScalingPoint {
            name: it.name.clone(),
            processes: it.processes as f64,
            length: it.length,
            speedup: it.speedup,
            scaling: it.scaling,
            parallel: it.efficiencies.map(|it| it.parallel),
            load_balance: it.efficiencies.map(|it| it.load_balance),
            communication: it.efficiencies.map(|it| it.communication),
            waiting: it.waiting,
        };
        let growing = |it: &dwell_report::VersionSeries| {
            let processes = |at: usize| it.series.runs.get(at).map_or(0, |it| it.processes) as f64;
            let growing = it.series.growing.iter().map(|it| types::GrowingPath {
                path: it.path.clone(),
                processes: processes(it.first),
                share: it.share,
            });
            growing.collect()
        };
        let series = |it: &dwell_report::VersionSeries| types::ScalingSeries {
            program: it.program.clone(),
            version: it.version.clone(),
            points: it.series.runs.iter().map(point).collect(),
            growing: growing(it),
        };
        let history = &directory.history;
        Ok(types::Many {
            directory: directory.name.clone(),
            verdict: history.verdict(),
            left_out: directory.left_out as u32,
            runs: directory.runs.iter().enumerate().map(run).collect(),
            versions: history.versions.iter().map(version).collect(),
            sets: history.sets.iter().map(set).collect(),
            series: history.series.iter().map(series).collect(),
        })
    }
}
