//! The profile of a simulated program: a multigrid solver on a torus, over OpenSHMEM.
//!
//! Eight levels are nested, each with four functions that call the runtime from six places. Coarse levels are computed
//! by fewer processes, by an eighth each, so call paths differ between processes. So does the order in which a process
//! met regions and call sites, and with it their local numbers. Every process gets from and puts to its six neighbours.
//! Four processes share a node.

use std::fs;
use std::io;
use std::path::Path;

use dwell_model::archive::Meaning;
use dwell_model::profile::{MAGIC_1, Words, partner_key, path_key};
use dwell_model::shmem;
use dwell_unify::assemble;
use dwell_unify::collate::{Heap, part, place};
use dwell_unify::experiment::PROFILE;
use dwell_unify::unify::{
    CommId, Global, Group, Host, Maps, Module, Offline, Process, Property, Region, Shared, Site,
    Thread, Window, rounds,
};
use otf2::enums::{MappingType, Paradigm, RegionRole};
use otf2::id::{LocationRef, Time};
use otf2::write::ArchiveWriter;
use otf2::{def, map};

const ON_A_NODE: u64 = 4;
const LEVELS: u32 = 8;
/// Level from which on each has an eighth of the processes of the one before.
const COARSE: u32 = 4;
const FUNCTIONS: [&str; 5] = ["cycle", "smooth", "residual", "restrict", "prolong"];
const CALLS: [&str; 6] = [
    "shmem_double_get",
    "shmem_putmem_nbi",
    "shmem_getmem_nbi",
    "shmem_quiet",
    "shmem_barrier_all",
    "shmem_double_sum_to_all",
];
const OTHERS: [&str; 4] = ["shmem_init", "shmem_malloc", "shmem_free", "shmem_finalize"];

/// For each call of the runtime the index of its operations among the counts of a row, and that of its bytes.
const COUNTED: [Option<(usize, Option<usize>)>; 6] =
    [Some((1, Some(4))), Some((0, Some(3))), Some((1, Some(4))), None, None, Some((9, None))];

/// Returns a random number that depends on `number` alone.
pub(crate) fn mix(number: u64) -> u64 {
    fastrand::Rng::with_seed(number).u64(..)
}

/// A call path of the program.
struct Step {
    parent: Option<usize>,
    region: usize,
    level: u32,
    /// Index among the calls of the runtime; `None` for a function of the program.
    call: Option<usize>,
}

/// The simulated run.
pub(crate) struct Simulated {
    pub(crate) size: u64,
    regions: Vec<Region>,
    steps: Vec<Step>,
}

impl Simulated {
    pub(crate) fn new(size: u64) -> Self {
        let user = |name: &str| Region {
            name: name.into(),
            meaning: String::new(),
            role: RegionRole::Function.into(),
            paradigm: Paradigm::User.into(),
        };
        let mut regions = vec![user("multigrid")];
        regions.extend(FUNCTIONS.map(user));
        for name in CALLS.into_iter().chain(OTHERS) {
            let row = shmem::TABLE.find(name).expect("a function of OpenSHMEM");
            regions.push(Region {
                meaning: Meaning::of(&shmem::TABLE, row).to_string(),
                paradigm: Paradigm::Shmem.into(),
                ..user(name)
            });
        }
        let mut steps = vec![Step { parent: None, region: 0, level: 0, call: None }];
        let first_call = 1 + FUNCTIONS.len();
        for other in 0..OTHERS.len() {
            let region = first_call + CALLS.len() + other;
            steps.push(Step { parent: Some(0), region, level: 0, call: None });
        }
        let mut above = 0;
        for level in 0..LEVELS {
            steps.push(Step { parent: Some(above), region: 1, level, call: None });
            above = steps.len() - 1;
            for function in 1..FUNCTIONS.len() {
                steps.push(Step { parent: Some(above), region: 1 + function, level, call: None });
                let parent = Some(steps.len() - 1);
                for call in 0..CALLS.len() {
                    let region = first_call + call;
                    steps.push(Step { parent, region, level, call: Some(call) });
                }
            }
        }
        Self { size, regions, steps }
    }

    /// Returns the number of call paths.
    pub(crate) fn paths(&self) -> usize {
        self.steps.len()
    }

    fn takes_part(&self, rank: u64, level: u32) -> bool {
        rank.is_multiple_of(8_u64.pow(level.saturating_sub(COARSE)))
    }

    /// Returns the local number of a region on a process. The program itself has number 0 everywhere; the order of the
    /// others differs between processes.
    fn region(&self, rank: u64, region: usize) -> u32 {
        let others = self.regions.len() - 1;
        let turn = mix(rank) as usize % others;
        if region == 0 { 0 } else { 1 + ((region - 1 + turn) % others) as u32 }
    }

    /// Returns the local number of the call site of a path on a process, or `None` for the program itself.
    fn site(&self, rank: u64, step: usize) -> Option<u32> {
        let turn = mix(rank + 7) as usize % self.steps.len();
        (step > 0).then(|| ((step + turn) % self.steps.len()) as u32)
    }

    /// Returns the definitions of a process, with its local numbers.
    pub(crate) fn definitions(&self, rank: u64) -> (Shared, Process) {
        let mut shared = Shared::default();
        let node = rank / ON_A_NODE;
        let host = shared.add_host(Host { name: format!("R{:05}-J{:02}", node / 32, node % 32) });
        shared.add_property(Property { name: "PROGRAM".into(), value: "multigrid".into() });
        let paradigm = Paradigm::Shmem.into();
        shared.add_group(Group::empty(paradigm));
        let group = shared.add_group(Group::world(paradigm, self.size));
        let name = "all PEs".into();
        shared.add_window(Window { group, comm: CommId::UNKNOWN, name, context: 0 });
        let mut regions: Vec<usize> = (0..self.regions.len()).collect();
        regions.sort_by_key(|&region| self.region(rank, region));
        for region in regions {
            shared.add_region(self.regions[region].clone());
        }
        let path = "/home/user/multigrid".into();
        let module = shared.add_module(Module { path, build_id: vec![7; 20] });
        let mut sites: Vec<usize> = (0..self.steps.len()).collect();
        sites.sort_by_key(|&step| self.site(rank, step).unwrap_or_else(|| self.unused(rank)));
        for step in sites {
            shared.add_site(Site::at(module, 0x4000 + 24 * step as u64));
        }
        let begin = Time(1_700_000_000_000_000_000 + mix(rank) % 1_000_000);
        let end = Time(begin.0 + 600_000_000_000);
        let thread = Thread { first: begin, last: end, ..Thread::default() };
        let process = Process {
            rank,
            host,
            pid: 1000 + (mix(rank) % 30_000) as u32,
            begin,
            end,
            threads: vec![thread],
            numbers: vec![mix(rank) % 1_000_000],
            ..Process::default()
        };
        (shared, process)
    }

    /// Returns the local number that the call site of the program itself would have.
    fn unused(&self, rank: u64) -> u32 {
        (mix(rank + 7) as usize % self.steps.len()) as u32
    }

    /// Returns the rows of the profile of a process's only thread.
    pub(crate) fn rows(&self, rank: u64) -> Vec<u8> {
        let mut records: Vec<Words> = vec![[0; 16]];
        let mut numbers = vec![0_u32; self.steps.len()];
        let mut inner = 0;
        for (at, step) in self.steps.iter().enumerate() {
            if !self.takes_part(rank, step.level) {
                continue;
            }
            let parent = step.parent.map_or(0, |parent| numbers[parent]);
            let key = path_key(parent, self.region(rank, step.region), self.site(rank, at));
            let luck = mix(rank * self.steps.len() as u64 + at as u64);
            let mut record = [0; 16];
            (record[0], record[1]) = key;
            (record[2], record[4]) = (1, u64::MAX);
            if at > 0 {
                let visits = 2000 + luck % 17;
                let each = 500 + luck % 60_000;
                (record[2], record[3]) = (visits, visits * each);
                (record[4], record[5]) = (each / 2 + luck % 100, each * 9);
                inner += visits * each;
                if let Some(call) = step.call
                    && let Some((operations, bytes)) = COUNTED[call]
                {
                    record[6 + operations] = visits;
                    if let Some(bytes) = bytes {
                        record[6 + bytes] = visits * (8 << (12 - step.level));
                    }
                }
            }
            numbers[at] = records.len() as u32;
            records.push(record);
        }
        let begin = 5_000_000_000 + mix(rank) % 1_000_000;
        records[0] =
            [MAGIC_1, begin, begin + inner + 60_000_000_000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for neighbour in self.neighbours(rank) {
            for kind in [0, 1] {
                let mut record = [0; 16];
                (record[0], record[1]) = partner_key(kind, 0, neighbour as u32);
                let luck = mix(rank ^ neighbour << 20);
                (record[2], record[3], record[4]) =
                    (12_000 + luck % 100, luck % (1 << 30), luck % (1 << 33));
                records.push(record);
            }
        }
        records.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the neighbours on a torus that is as close to a cube as possible.
    fn neighbours(&self, rank: u64) -> [u64; 6] {
        let side = (1..=self.size).take_while(|side| side.pow(3) <= self.size).last().unwrap_or(1);
        let [x, y, z] = [1, side, side * side];
        [x, self.size - x % self.size, y, self.size - y % self.size, z, self.size - z % self.size]
            .map(|distance| (rank + distance) % self.size)
    }

    /// Unifies the definitions of all processes.
    pub(crate) fn unify(&self) -> Global {
        let mut offline = Offline::default();
        for rank in 0..self.size {
            let (shared, process) = self.definitions(rank);
            offline.add(&shared, process);
        }
        offline.finish()
    }

    /// Returns the rows of a process in the form in which it sends them. Its only location has the number of its rank.
    pub(crate) fn part(&self, rank: u64, rows: &[u8], maps: &Maps) -> Vec<u8> {
        let translate = |space, id: u32| {
            let map = match space {
                MappingType::Region => maps.regions.as_slice(),
                MappingType::CallingContext => maps.sites.as_slice(),
                _ => maps.windows.as_slice(),
            };
            map[id as usize]
        };
        part(LocationRef(rank), rows, translate).expect("rows of a profile")
    }

    /// Writes the archive to which the profile belongs.
    pub(crate) fn complete(&self, global: &Global, directory: &Path) -> otf2::Result<()> {
        let mut options = assemble::options(1 << 20, global.locations());
        options.properties = assemble::properties(global, "complete");
        options.description = "multigrid".into();
        assemble::complete(global, directory, options, 0)
    }

    /// Writes what a killed run leaves after recovery: a file of rows for each location, and its mapping tables.
    pub(crate) fn leave(&self, global: &mut Global, directory: &Path) -> io::Result<()> {
        let folder = directory.join(PROFILE);
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(directory.join("traces"))?;
        let options = assemble::options(1 << 20, global.locations());
        let archive =
            ArchiveWriter::join(directory, "traces", options).map_err(io::Error::other)?;
        for rank in 0..self.size {
            let maps = global.locate(&self.definitions(rank).0)?;
            let mut defs =
                archive.local_definitions(LocationRef(rank)).map_err(io::Error::other)?;
            for (mapping_type, ids) in [
                (MappingType::Region, maps.regions.as_slice()),
                (MappingType::CallingContext, maps.sites.as_slice()),
                (MappingType::RmaWin, maps.windows.as_slice()),
            ] {
                let ids: Vec<u64> = ids.iter().map(|id| u64::from(*id)).collect();
                let id_map = map::IdMapRef::dense(&ids);
                defs.write(def::MappingTable { mapping_type, id_map }).map_err(io::Error::other)?;
            }
            defs.finish().map_err(io::Error::other)?;
            fs::write(folder.join(format!("{rank}.rows")), self.rows(rank))?;
        }
        Ok(())
    }

    /// Collates the profiles of all processes: every step of the tree, one process after the other, depth first.
    /// `watch` observes the steps. Blocks are written from `enough` bytes on.
    pub(crate) fn collate(
        &self,
        global: &mut Global,
        directory: &Path,
        enough: usize,
        watch: &mut impl Watch,
    ) -> io::Result<()> {
        let folder = directory.join(PROFILE);
        let mut heap = self.gather(global, &folder, enough, watch, 0, rounds(self.size))?;
        heap.write(&mut |first, block| watch.write(block, || place(&folder, first, block)));
        heap.check()
    }

    /// Returns the profiles that a process holds after this many rounds.
    fn gather(
        &self,
        global: &mut Global,
        folder: &Path,
        enough: usize,
        watch: &mut impl Watch,
        rank: u64,
        rounds: u32,
    ) -> io::Result<Heap> {
        let maps = global.locate(&self.definitions(rank).0)?;
        let rows = self.rows(rank);
        let part = watch.part(|| self.part(rank, &rows, &maps));
        let mut heap = Heap::new(enough);
        heap.add(&part, &mut |first, block| watch.write(block, || place(folder, first, block)));
        for round in 0..rounds {
            let peer = rank + (1 << round);
            if peer >= self.size {
                break;
            }
            let message = self.gather(global, folder, enough, watch, peer, round)?.message();
            watch.message(round, rank, message.len());
            let before = watch.written();
            let taken = watch.take(round, |watch| {
                heap.take(&message, &mut |first, block| {
                    watch.write(block, || place(folder, first, block))
                })
            });
            assert!(taken && watch.written() >= before);
            heap.check()?;
        }
        Ok(heap)
    }
}

/// Observer of a collation.
pub(crate) trait Watch: Sized {
    /// Observes that a process makes the part of its rows.
    fn part(&mut self, work: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        work()
    }

    /// Observes that a message of a round arrives at a process.
    fn message(&mut self, _round: u32, _to: u64, _bytes: usize) {}

    /// Observes that a message is taken in and that blocks are written.
    fn take(&mut self, _round: u32, work: impl FnOnce(&mut Self) -> bool) -> bool {
        work(self)
    }

    /// Observes that a block is written.
    fn write(&mut self, block: &[u8], work: impl FnOnce() -> io::Result<()>) -> io::Result<()>;

    /// Returns the number of blocks written so far.
    fn written(&self) -> u64;
}
