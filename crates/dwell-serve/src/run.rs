//! A run that is served: its report, and the files beside it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dwell_files::Folder;
use dwell_report::findings::{Findings, Unreadable};
use dwell_report::{Call, Classes, CnodeId, Flavour, MetricId, Pairs, Query, Result, System};
use dwell_timeline::{Alike, Trace};

use crate::node::Node;
use crate::progress;
use crate::source::Roots;
use crate::types::CallLengths;
use crate::whatif::Player;

/// The largest `findings.json` that is read, in bytes.
const MOST_FINDINGS: u64 = 64 << 20;

/// The number of rows that are kept in memory, because panes ask for parts of the same row.
const KEPT_ROWS: usize = 4;

/// The part of a report that the page shows: a metric, with or without its sub-metrics, in the whole program or at a
/// call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) metric: MetricId,
    pub(crate) own: bool,
    pub(crate) call: Call,
}

/// The values of a selection: one for each location, and one for each row of the system tree.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) locations: Vec<f64>,
    pub(crate) system: Vec<f64>,
}

/// A row that is read once. Other requests for the same row wait for the first.
type Slot = Arc<Mutex<Option<Arc<Row>>>>;

/// A report that is served, together with the findings and the archive beside it.
///
/// Values are read from the report when a request needs them, and a few rows are kept. A run can be used from several
/// threads at once.
#[derive(Debug)]
pub struct Run {
    pub(crate) query: Query,
    /// Path of the report.
    pub(crate) path: PathBuf,
    /// Properties of the archive beside the report: names without the prefix `DWELL::`, and values.
    pub(crate) properties: Vec<(String, String)>,
    /// The content of `findings.json`, if the report is one of `dwell analyze`.
    pub(crate) findings: Option<Findings>,
    /// Reason why the `findings.json` of this report cannot be read. `None` if it was read or is missing.
    pub(crate) unreadable: Option<Unreadable>,
    pub(crate) system: System,
    /// A number for each call path that is the same in every report for the same names.
    pub(crate) keys: Vec<u64>,
    /// Directories from which source may be shown.
    pub(crate) roots: Roots,
    rows: Mutex<VecDeque<(Selection, Slot)>>,
    classes: OnceLock<Arc<Classes>>,
    pairs: OnceLock<Arc<Option<Pairs>>>,
    /// The index of the timeline, once a request has asked for it.
    pub(crate) timeline: progress::Slot,
    /// The trace beside the report, once a request has asked for operations.
    pub(crate) trace: OnceLock<Option<Trace>>,
    /// Nodes with their locations, once a request has asked for rows of the timeline.
    pub(crate) nodes: OnceLock<Vec<Node>>,
    /// Groups of locations that behave alike, once a request has asked for them.
    pub(crate) alike: OnceLock<Vec<Alike>>,
    /// Lengths of calls, once a request has asked for them.
    pub(crate) lengths: Mutex<Option<CallLengths>>,
    /// Predicts what the run would gain without one of its causes.
    pub(crate) player: Player,
}

impl Run {
    /// Opens a report (`.cubex`) and the files beside it. `findings.json` is read only beside a report called
    /// `trace.cubex`, to which it belongs.
    ///
    /// Source is shown from the directory of the report and, if that is an experiment directory, from its parent; see
    /// [`Run::with_source_paths`]. Missing files beside the report are not an error; the first screen has a note about findings
    /// that cannot be read.
    ///
    /// # Errors
    /// If the report cannot be read.
    pub fn open(report: &Path) -> Result<Self> {
        let query = Query::open(report)?;
        let directory = report.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let is_own = report.file_name().is_some_and(|name| name == "trace.cubex");
        let findings = is_own.then(|| read_findings(directory)).flatten();
        let (findings, unreadable) = match findings.transpose() {
            Ok(findings) => (findings, None),
            Err(why) => (None, Some(why)),
        };
        let system = System::of(query.meta());
        let keys = keys(&query);
        Ok(Self {
            query,
            path: report.to_owned(),
            properties: properties(directory),
            findings,
            unreadable,
            system,
            keys,
            roots: Roots::beside(directory),
            rows: Mutex::default(),
            classes: OnceLock::new(),
            pairs: OnceLock::new(),
            timeline: progress::Slot::default(),
            trace: OnceLock::new(),
            nodes: OnceLock::new(),
            alike: OnceLock::new(),
            lengths: Mutex::default(),
            player: Player::default(),
        })
    }

    /// Restricts source to these directories, instead of those that [`open`](Self::open) chose. No link below them is
    /// followed.
    ///
    /// # Errors
    /// If one of the directories cannot be opened; the text of the error names it.
    pub fn with_source_paths(mut self, paths: &[PathBuf]) -> std::io::Result<Self> {
        self.roots = Roots::open(paths)?;
        Ok(self)
    }

    /// Returns the report, for questions that the page does not ask.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Reads the totals of all metrics, on several threads, so that the first screen need not wait for them. For a
    /// large report they are kept in a file beside it. Values that cannot be read are reported to the request that
    /// needs them.
    pub fn prepare(&self) {
        self.query.prepare();
    }

    /// Returns the title of the run for people: the name of the program if the archive says it, otherwise that of the
    /// directory or the report.
    pub fn title(&self) -> String {
        if let Some(program) = self.property("PROGRAM") {
            let name = Path::new(program.split("; ").next().unwrap_or(program)).file_name();
            return name.unwrap_or_default().to_string_lossy().into_owned();
        }
        let absolute = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let named = absolute.parent().and_then(Path::file_name);
        let generic = ["trace", "scout", "summary", "profile"];
        let stem = absolute.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match named {
            Some(directory) if generic.contains(&stem.as_str()) => {
                directory.to_string_lossy().into_owned()
            }
            _ => stem,
        }
    }

    /// Returns `true` if the report was searched for waits. A profile was not: its waits are not 0 but unknown.
    pub(crate) fn is_searched(&self) -> bool {
        self.findings.is_some() || !self.query.wait_metrics().is_empty()
    }

    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the values of a selection, from memory if it is one of the rows that are kept.
    pub(crate) fn row(&self, wanted: Selection) -> Result<Arc<Row>> {
        let slot = {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            let known = rows.iter().position(|(selection, _)| *selection == wanted);
            let known = known.and_then(|at| rows.remove(at));
            let (_, slot) = known.unwrap_or_else(|| (wanted, Slot::default()));
            rows.push_front((wanted, slot.clone()));
            rows.truncate(KEPT_ROWS);
            slot
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = &*slot {
            return Ok(row.clone());
        }
        let locations = match wanted.own {
            true => self.query.own_row(wanted.metric, wanted.call)?,
            false => self.query.row(wanted.metric, wanted.call)?,
        };
        let system = self.system.sums(&locations);
        let row = Arc::new(Row { locations, system });
        *slot = Some(row.clone());
        Ok(row)
    }

    /// Returns the time of each location by class. The first call reads it from the report.
    pub(crate) fn classes(&self) -> Result<Arc<Classes>> {
        if let Some(classes) = self.classes.get() {
            return Ok(classes.clone());
        }
        let classes = Arc::new(self.query.classes()?);
        Ok(self.classes.get_or_init(|| classes).clone())
    }

    /// Returns the communication between pairs of processes, or `None` if the report lacks it. The first call reads it.
    pub(crate) fn pairs(&self) -> Result<Arc<Option<Pairs>>> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(pairs.clone());
        }
        let pairs = Arc::new(self.query.pairs()?);
        Ok(self.pairs.get_or_init(|| pairs).clone())
    }

    /// Returns the call path with these regions and call sites, from the root on. Where no call site matches, the first
    /// path of the same names is taken.
    pub(crate) fn find_path(&self, steps: &[(&str, Option<&str>, Option<u32>)]) -> Option<CnodeId> {
        let meta = self.query.meta();
        let mut level: Vec<CnodeId> = meta.root_cnodes().collect();
        let mut found = None;
        for &(region, file, line) in steps {
            let named = |cnode: CnodeId| meta.callee(cnode).is_some_and(|it| it.name == region);
            let sited = |cnode: CnodeId| {
                meta.cnode(cnode)
                    .is_some_and(|it| it.file == file.unwrap_or_default() && it.line == line)
            };
            let mut candidates = level.iter().copied().filter(|&it| named(it));
            let first = candidates.clone().next();
            let next = candidates.find(|&it| sited(it)).or(first)?;
            found = Some(next);
            level = meta.cnode_children(next).collect();
        }
        found
    }
}

/// Reads the findings of `dwell analyze`, or returns `None` if there is no such file. Links are not followed: one could
/// lead to something private, which an export would publish.
fn read_findings(directory: &Path) -> Option<std::result::Result<Findings, Unreadable>> {
    let folder = Folder::open(directory).ok()?;
    let bytes = folder.read_bytes("findings.json", MOST_FINDINGS).ok()?;
    Some(Findings::read(&bytes))
}

/// Returns the properties of the archive beside the report, or none if there is no archive.
fn properties(directory: &Path) -> Vec<(String, String)> {
    let Ok(archive) = otf2::Archive::open(directory) else { return Vec::new() };
    let anchor = archive.anchor();
    let own = anchor.properties.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix("DWELL::")?.to_owned(), value.clone()))
    });
    let mut all: Vec<(String, String)> = own.collect();
    all.push(("CREATOR".into(), anchor.creator.clone()));
    all.push(("MACHINE".into(), anchor.machine.clone()));
    all.retain(|(_, value)| !value.is_empty());
    all
}

/// Returns a number for each call path, a hash of the names of its regions from the root on.
fn keys(query: &Query) -> Vec<u64> {
    let meta = query.meta();
    let mut keys = vec![0_u64; meta.cnodes().len()];
    for cnode in meta.cnodes_in_order() {
        let above = meta.cnode_parent(cnode).and_then(|it| keys.get(it.index())).copied();
        let mut key = above.unwrap_or(0xcbf2_9ce4_8422_2325);
        for byte in query.call_name(cnode).bytes().chain([0xff]) {
            key = (key ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if let Some(place) = keys.get_mut(cnode.index()) {
            *place = key;
        }
    }
    keys
}

/// Returns the place of a selection: a call path, or the whole program.
pub(crate) fn call(cnode: Option<CnodeId>, flavour: Flavour) -> Call {
    cnode.map_or(Call::All, |cnode| Call::Path(cnode, flavour))
}
