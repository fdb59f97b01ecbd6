//! Unification of a run of paper 001's size, simulated in one process.
//!
//! ```text
//! cargo run --release -p dwell-unify --example unify_scale [PROCESSES]
//! ```
//!
//! The tree is the real one: every message is encoded, counted, decoded and merged by the code that a
//! living run uses, and the answers return. Only the wire is missing. Processes are made when their
//! turn comes, depth first, so that memory holds one path of the tree. Where each definition of each
//! child went cannot be held for all: for rounds below 8 the way down is followed in one of 64 blocks
//! of 256 processes, and counted for all.
//!
//! The paper gives no size of its call tree (SMG2000, every function instrumented). Each process here
//! has about 4,000 call sites and 300 regions, with differences: two per cent of the sites are missing
//! at each, a few of 400 rare ones are there, in the order in which it met them. Four processes to a
//! node as on that machine, teams for the world, the node, the row and the column of a grid, and one
//! without any order for each 4,096 processes.
//!
//! For comparison, rank 0 also does it alone, as the paper's serial scheme: it takes one process after the other and answers
//! it. That is done for the first processes only, and each of the others counts as long as those.

use std::time::Instant;

use dwell_unify::unify::tree::{Answer, Child, Node};
use dwell_unify::unify::{
    CommId, Counts, Global, Group, Host, Maps, Module, ModuleId, Process, Region, Shared, Site,
    Thread, Window, rounds,
};
use otf2::id::Time;

const PROCESSES: u64 = 294_912;
const ON_A_NODE: u64 = 4;
const ROW: u64 = 512;
const SITES: u64 = 4000;
const RARE: u64 = 400;
const REGIONS: u64 = 300;
const MODULES: u64 = 12;
const TEAM: u64 = 4096;
const PARADIGM: u8 = 9;

/// The rounds from here on are followed down everywhere, those below in one block of `SAMPLE`.
const EXACT: u32 = 8;
const SAMPLE: u64 = 64;

/// Processes that rank 0 takes one after the other.
const SERIAL: u64 = 4096;

/// Assumed cost of a network, for the estimate, in nanoseconds: of a message, and of a byte.
const LATENCY: f64 = 2000.0;
const BYTE: f64 = 1.0;

fn main() {
    let size = std::env::args().nth(1).map_or(PROCESSES, |text| {
        text.parse().unwrap_or_else(|_| {
            eprintln!("{text} is no number of processes: {PROCESSES} instead");
            PROCESSES
        })
    });
    let size = size.max(1);
    let mut run =
        Run { size, templates: Templates::new(), levels: Vec::new(), leaves: Sum::default() };
    run.levels.resize_with(rounds(size) as usize, Level::default);

    let since = Instant::now();
    let all = run.up(0, rounds(size));
    let up = since.elapsed().as_secs_f64();
    let since = Instant::now();
    let (answer, global) = all.node.finish(size);
    let finish = since.elapsed().as_nanos() as f64;
    let since = Instant::now();
    run.check(0, &all.local, &answer, &global);
    run.down(0, &answer, &all.children, &global);
    let down = since.elapsed().as_secs_f64();

    run.print(&global, finish);
    print_groups(&global);
    print_serial(&run.templates, size);
    println!("\nsimulated in {up:.0} s up, {down:.0} s down");
}

/// Times or sizes.
#[derive(Default)]
struct Sum {
    values: Vec<u32>,
    sum: u64,
    max: u64,
}

impl Sum {
    fn add(&mut self, value: u64) {
        self.values.push(u32::try_from(value).unwrap_or(u32::MAX));
        self.sum += value;
        self.max = self.max.max(value);
    }

    fn add_since(&mut self, since: Instant) -> u64 {
        let time = since.elapsed().as_nanos() as u64;
        self.add(time);
        time
    }

    fn count(&self) -> u64 {
        self.values.len() as u64
    }

    fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    /// For times: other programs on the machine do not disturb it.
    fn median(&self) -> f64 {
        let mut values = self.values.clone();
        let middle = values.len() / 2;
        if values.is_empty() { 0.0 } else { f64::from(*values.select_nth_unstable(middle).1) }
    }
}

/// Figures of one round of the tree.
#[derive(Default)]
struct Level {
    /// Bytes of messages up, time to encode one, to decode and merge one.
    up: Sum,
    encode: Sum,
    merge: Sum,
    /// Bytes of messages down, time to compose and encode one, to decode one.
    down: Sum,
    answer: Sum,
    read: Sum,
    /// Time in nanoseconds by which this round delays rank 0, on the way up and on the way down.
    at_rank_0: [f64; 2],
}

struct Run {
    size: u64,
    templates: Templates,
    levels: Vec<Level>,
    leaves: Sum,
}

/// Definitions that a process has gathered, and the records that it needs to answer its children.
struct Gathered {
    node: Node,
    /// From its own ids to those of its node.
    local: Maps,
    children: Vec<Kept>,
}

/// A child, for the way down.
struct Kept {
    rank: u64,
    round: u32,
    child: Child,
    counts: Counts,
    local: Maps,
    children: Vec<Self>,
}

/// Returns `true` if the way down is followed from this process in the low rounds.
fn is_sampled(rank: u64) -> bool {
    (rank >> EXACT).is_multiple_of(SAMPLE)
}

impl Run {
    /// All that a process has after so many rounds.
    fn up(&mut self, rank: u64, rounds: u32) -> Gathered {
        let (shared, process) = self.templates.process(rank, self.size);
        let since = Instant::now();
        let (mut node, local) = Node::leaf(shared, process);
        self.leaves.add_since(since);
        let mut children = Vec::new();
        for round in 0..rounds {
            let peer = rank + (1 << round);
            if peer >= self.size {
                break;
            }
            let below = self.up(peer, round);
            let counts = below.node.counts();
            let Some(level) = self.levels.get_mut(round as usize) else { break };

            let since = Instant::now();
            let bytes = below.node.encode();
            let mut time = level.encode.add_since(since);
            level.up.add(bytes.len() as u64);
            drop(below.node);
            let since = Instant::now();
            let end = self.size.min(peer + (1 << round));
            let child = Node::decode(&bytes, peer, end).expect("what was encoded");
            let child = node.take(child);
            time += level.merge.add_since(since);
            if rank == 0 {
                level.at_rank_0[0] = time as f64 + LATENCY + bytes.len() as f64 * BYTE;
            }
            if round >= EXACT || is_sampled(rank) {
                let (local, children_below) = (below.local, below.children);
                children.push(Kept {
                    rank: peer,
                    round,
                    child,
                    counts,
                    local,
                    children: children_below,
                });
            }
        }
        Gathered { node, local, children }
    }

    /// Hands an answer to the children, and holds what they make of it against what they are.
    fn down(&mut self, rank: u64, answer: &Answer, children: &[Kept], global: &Global) {
        for kept in children.iter().rev() {
            let Some(level) = self.levels.get_mut(kept.round as usize) else { break };
            let since = Instant::now();
            let bytes = answer.of_child(&kept.child).encode();
            let mut time = level.answer.add_since(since);
            level.down.add(bytes.len() as u64);
            let since = Instant::now();
            let answer = Answer::decode(&bytes, &kept.counts).expect("what was encoded");
            time += level.read.add_since(since);
            if rank == 0 {
                level.at_rank_0[1] = time as f64 + LATENCY + bytes.len() as f64 * BYTE;
            }
            self.check(kept.rank, &kept.local, &answer, global);
            self.down(kept.rank, &answer, &kept.children, global);
        }
    }

    /// Checks that a process finds its definitions under the ids in its answer.
    fn check(&self, rank: u64, local: &Maps, answer: &Answer, global: &Global) {
        let (own, _) = self.templates.process(rank, self.size);
        let (maps, global) = (local.then(answer.maps()), global.shared());
        assert!(maps.is_total());
        for (region, to) in own.regions().iter().zip(maps.regions.as_slice()) {
            assert_eq!(global.regions().get(*to as usize), Some(region));
        }
        for (site, to) in own.sites().iter().zip(maps.sites.as_slice()) {
            let other = global.sites().get(*to as usize).expect("a site");
            assert_eq!(other.offset, site.offset);
            assert_eq!(global.module(other.module), own.module(site.module));
        }
        for (group, to) in own.groups().iter().zip(maps.groups.as_slice()) {
            assert_eq!(global.groups().get(*to as usize), Some(group));
        }
        // One thread each.
        assert_eq!(answer.first_location().0, rank);
    }

    fn print(&self, global: &Global, finish: f64) {
        println!(
            "{} processes, {} rounds; a process alone: {:.0} µs to sort its definitions",
            self.size,
            self.levels.len(),
            self.leaves.median() / 1e3
        );
        println!();
        println!(
            "round | messages |  bytes up: mean        max        total | encode  merge | bytes down: mean     max      total | answer  read"
        );
        println!(
            "      |          |                                         |   µs      µs  |                                     |   µs      µs  "
        );
        let mut sums = [0.0; 4];
        for (round, level) in self.levels.iter().enumerate() {
            let down = level.down.mean() * level.up.count() as f64;
            println!(
                "{round:5} | {:8} | {:14.0} {:10} {:12} | {:7.0} {:7.0}| {:16.0} {:7} {:10.0} | {:7.0} {:6.0}",
                level.up.count(),
                level.up.mean(),
                level.up.max,
                level.up.sum,
                level.encode.median() / 1e3,
                level.merge.median() / 1e3,
                level.down.mean(),
                level.down.max,
                down,
                level.answer.median() / 1e3,
                level.read.median() / 1e3,
            );
            for (sum, add) in sums.iter_mut().zip([
                level.up.sum as f64,
                down,
                level.at_rank_0[0],
                level.at_rank_0[1],
            ]) {
                *sum += add;
            }
        }
        let [up, down, wait_up, wait_down] = sums;
        let sort = self.leaves.median();
        println!();
        println!("bytes in all: {:.1} MB up, {:.1} MB down", up / 1e6, down / 1e6);
        println!(
            "estimated critical path through rank 0, with {} µs a message and {} ns a byte: {:.1} ms \
             (sort {:.1}, up {:.1}, order at rank 0 {:.1}, down {:.1})",
            LATENCY / 1e3,
            BYTE,
            (sort + wait_up + finish + wait_down) / 1e6,
            sort / 1e6,
            wait_up / 1e6,
            finish / 1e6,
            wait_down / 1e6,
        );
        let shared = global.shared();
        println!(
            "definitions of the run: {} regions, {} sites, {} modules, {} hosts, {} groups, {} windows; \
             {} bytes encoded",
            shared.regions().len(),
            shared.sites().len(),
            shared.modules().len(),
            shared.hosts().len(),
            shared.groups().len(),
            shared.windows().len(),
            shared.encode().len(),
        );
        println!(
            "memory of the result at rank 0: {:.1} MB, of which shared {:.1} MB",
            global.memory() as f64 / 1e6,
            shared.memory() as f64 / 1e6
        );
    }
}

/// Prints what it would cost if rank 0 took the definitions of all processes one after the other and answered each.
fn print_serial(templates: &Templates, size: u64) {
    let (shared, process) = templates.process(0, size);
    let (mut node, _) = Node::leaf(shared, process);
    let (mut children, mut merge, mut bytes) = (Vec::new(), 0.0, 0);
    let some = SERIAL.min(size);
    for rank in 1..some {
        let (shared, process) = templates.process(rank, size);
        let message = Node::leaf(shared, process).0.encode();
        bytes += message.len();
        let since = Instant::now();
        let child = Node::decode(&message, rank, rank + 1).expect("what was encoded");
        children.push(node.take(child));
        merge += since.elapsed().as_nanos() as f64;
    }
    let (answer, _) = node.finish(some);
    let since = Instant::now();
    for child in &children {
        bytes += answer.of_child(child).encode().len();
    }
    let answers = since.elapsed().as_nanos() as f64;
    let each = (merge + answers + bytes as f64 * BYTE) / (some - 1).max(1) as f64 + 2.0 * LATENCY;
    println!(
        "\nserial, from {some} processes: {:.0} µs a process (merge {:.0}, answer {:.0}); {:.1} s for {size}",
        each / 1e3,
        merge / (some - 1).max(1) as f64 / 1e3,
        answers / (some - 1).max(1) as f64 / 1e3,
        each * size as f64 / 1e9
    );
}

/// Groups as they travel, and as OTF2 lists them in the file of global definitions.
fn print_groups(global: &Global) {
    let size = global.size();
    println!();
    println!("group                       | members |  runs | bytes on the way | bytes in OTF2");
    let line = |name: &str, group: &Group| {
        println!(
            "{name:27} | {:7} | {:5} | {:16} | {:13}",
            group.size(),
            group.runs().len(),
            group.travelling_bytes(),
            otf2_bytes(group)
        );
    };
    line("world", &Group::world(PARADIGM, size));
    line("last node", &node(size - 1));
    line("last row", &row(size - 1, size));
    line("last column", &column(size - 1, size));
    line("team without order", &disordered(size - 1, size));
    let groups = global.shared().groups();
    println!(
        "all {} groups of the run: {:.2} MB on the way, {:.2} MB in OTF2; and the locations of all ranks, \
         which OTF2 lists once more: {:.2} MB",
        groups.len(),
        groups.iter().map(|group| group.travelling_bytes() as f64).sum::<f64>() / 1e6,
        groups.iter().map(|group| otf2_bytes(group) as f64).sum::<f64>() / 1e6,
        otf2_bytes(&Group::world(PARADIGM, global.locations())) as f64 / 1e6,
    );
}

/// The bytes of a group record: id, length (one byte, or nine), own id, name, old type, number of
/// members, members, type, paradigm, flags. A number takes a byte for its size, and as many as it has.
fn otf2_bytes(group: &Group) -> u64 {
    let number = |value: u64| 1 + u64::from(64 - value.leading_zeros()).div_ceil(8);
    let members: u64 = group.members().map(number).sum();
    let body = 4 + 1 + 1 + number(group.size()) + members + 3;
    body + if body < 255 { 2 } else { 10 }
}

fn node(rank: u64) -> Group {
    Group::strided(PARADIGM, rank / ON_A_NODE * ON_A_NODE, 1, ON_A_NODE)
}

fn row(rank: u64, size: u64) -> Group {
    let start = rank / ROW * ROW;
    Group::strided(PARADIGM, start, 1, ROW.min(size - start))
}

fn column(rank: u64, size: u64) -> Group {
    let start = rank % ROW;
    Group::strided(PARADIGM, start, ROW as i64, (size - start).div_ceil(ROW))
}

/// 256 processes at no order, of each 4,096.
fn disordered(rank: u64, size: u64) -> Group {
    let start = rank / TEAM * TEAM;
    let width = TEAM.min(size - start);
    Group::collect(PARADIGM, (0..256).map(|i| start + mix(i) % width))
}

/// Returns a random number that depends on `number` alone.
fn mix(number: u64) -> u64 {
    fastrand::Rng::with_seed(number).u64(..)
}

/// Definitions that are the same for many processes, made once.
struct Templates {
    regions: Vec<Region>,
    modules: Vec<Module>,
}

impl Templates {
    fn new() -> Self {
        let words = ["smooth", "residual", "interpolate", "relax", "coarsen", "exchange", "solve"];
        let region = |i: u64| {
            let word = words[(mix(i) % words.len() as u64) as usize];
            let (name, meaning) = if i < 60 {
                let operation = ["put", "get", "barrier"][(i % 3) as usize];
                let meaning = format!("layer=shmem operation={operation} progress=conditional");
                (format!("shmem_{word}_{operation}_{i}"), meaning)
            } else {
                (format!("hypre_Struct{word}Data{i}"), String::new())
            };
            Region { name, meaning, role: 1, paradigm: PARADIGM }
        };
        let module = |i: u64| Module {
            path: format!("/usr/lib/x86_64-linux-gnu/libpart{i}.so.{}", i % 5),
            build_id: (0..20).map(|j| mix(i * 20 + j) as u8).collect(),
        };
        Self {
            regions: (0..REGIONS).map(region).collect(),
            modules: (0..MODULES).map(module).collect(),
        }
    }

    /// A process with its definitions, in the order in which it met them.
    fn process(&self, rank: u64, size: u64) -> (Shared, Process) {
        let mut shared = Shared::default();
        let host =
            shared.add_host(Host { name: format!("R{:05}-J{:02}", rank / 128, rank / 4 % 32) });
        let groups = [
            Group::world(PARADIGM, size),
            node(rank),
            row(rank, size),
            column(rank, size),
            disordered(rank, size),
        ];
        for group in groups {
            let group = shared.add_group(group);
            for context in 0..2 {
                shared.add_window(Window {
                    group,
                    comm: CommId::UNKNOWN,
                    name: String::new(),
                    context,
                });
            }
        }
        let turn = mix(rank) % REGIONS;
        for i in 0..REGIONS {
            if let Some(region) = self.regions.get(((i + turn) % REGIONS) as usize) {
                shared.add_region(region.clone());
            }
        }
        let modules: Vec<ModuleId> =
            self.modules.iter().map(|module| shared.add_module(module.clone())).collect();
        let turn = mix(rank) % SITES;
        let mut site = |i: u64| {
            // Most calls come from the program itself.
            let at = if mix(i).is_multiple_of(4) { mix(i) / 4 % MODULES } else { 0 };
            let module = modules.get(at as usize).copied().unwrap_or(ModuleId::UNKNOWN);
            shared.add_site(Site::at(module, 0x4000 + i * 40 + mix(i) % 37));
        };
        for i in 0..SITES {
            let i = (i + turn) % SITES;
            if !mix(rank * SITES + i).is_multiple_of(50) {
                site(i);
            }
        }
        for i in 0..5 {
            site(SITES + mix(rank * 5 + i) % RARE);
        }
        let begin = 1_700_000_000_000_000_000 + mix(rank) % 1_000_000_000;
        let thread = Thread {
            events: 1_000_000 + mix(rank) % 100_000,
            first: Time(begin + 1_000_000),
            last: Time(begin + 600_000_000_000),
            ..Thread::default()
        };
        let process = Process {
            rank,
            host,
            pid: 1000 + (mix(rank) % 30_000) as u32,
            begin: Time(begin),
            end: Time(begin + 601_000_000_000),
            threads: vec![thread],
            numbers: vec![0, mix(rank) % 1000],
            ..Process::default()
        };
        (shared, process)
    }
}
