//! Program for tests and measurements, to be started by a launcher: `mpirun -np 4 ranks exchange`.
//!
//! | first argument | what it does |
//! |---|---|
//! | `exchange` | sends random bytes between all pairs, checks them, and checks agreements, joining and broadcasts |
//! | `fail HOW` | the last rank fails in the way named: see [`fail`] |
//! | `time` | prints the time of one exchange with one message for every pair. With `work=MILLIONS` one rank computes that many numbers before it, another one each time |
//!
//! Options follow as `name=value`: `rounds`, `bytes`, `piece`, `timeout` (seconds), `waiting=spin`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use dwell_mpi::{Agreement, Error, Launch, Options, Waiting, World};
use fastrand::Rng;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(launch) = Launch::detect() else {
        eprintln!("no launcher started this program");
        return ExitCode::from(2);
    };
    match run(&launch, &arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Each process has the same error; one message is enough.
            if launch.is_first() {
                eprintln!("dwell: {error}");
            }
            ExitCode::from(2)
        }
    }
}

fn run(launch: &Launch, arguments: &[String]) -> Result<u8, Error> {
    let option =
        |name: &str| arguments.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    let number =
        |name: &str, default: usize| option(name).map_or(default, |it| it.parse().unwrap());
    let mut options = Options::default();
    options.timeout = Duration::from_secs(number("timeout", 120) as u64);
    options.piece = number("piece", options.piece);
    if option("waiting") == Some("spin") {
        options.waiting = Waiting::Spin;
    }
    let first = arguments.first().map_or("exchange", String::as_str);
    let how = arguments.get(1).map_or("", String::as_str);
    if first == "fail" && how == "before" && launch.size == Some(launch.rank + 1) {
        std::thread::sleep(Duration::from_secs(3600));
    }
    let world = World::join(launch, options)?;
    match first {
        "exchange" => exchange(world, number("rounds", 20)),
        "fail" => fail(world, how),
        "time" => time(world, number("rounds", 1000), number("bytes", 64), number("work", 0)),
        other => panic!("there is no `{other}`"),
    }
}

/// Random numbers that are the same at every process.
struct Random(Rng);

impl Random {
    /// Numbers that belong to what is sent in a round from one process to another.
    fn of(round: usize, from: usize, to: usize) -> Self {
        Self(Rng::with_seed((round as u64) << 40 ^ (from as u64) << 20 ^ to as u64))
    }

    fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Appends what is sent: often nothing, mostly little, sometimes much.
    fn bytes(mut self, to: &mut Vec<u8>) {
        let length = match self.next() % 6 {
            0 | 1 => 0,
            2 => 1,
            3 | 4 => self.next() % 3_000,
            _ => self.next() % 300_000,
        };
        to.extend((0..length).map(|_| self.next() as u8));
    }
}

fn exchange(mut world: World, rounds: usize) -> Result<u8, Error> {
    let (rank, size) = (world.rank(), world.size());
    let (mut out, mut into) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        out.resize_with(size, Vec::new);
        for (to, bytes) in out.iter_mut().enumerate() {
            assert!(bytes.is_empty(), "an exchange leaves empty buffers");
            Random::of(round, rank, to).bytes(bytes);
        }
        world.exchange("questions", &mut out, &mut into)?;
        for (from, bytes) in into.iter().enumerate() {
            let mut expected = Vec::new();
            Random::of(round, from, rank).bytes(&mut expected);
            assert!(
                *bytes == expected,
                "round {round}, from {from} to {rank}: {} bytes",
                bytes.len()
            );
        }
        // One round in which no process sends anything.
        world.exchange("answers", &mut out, &mut into)?;
        assert!(into.iter().all(Vec::is_empty));

        let mine = |rank: usize| [Random::of(round, rank, 0).next(), rank as u64 + 3];
        let all = || (0..size).map(mine);
        let joined = |join: fn(u64, u64) -> u64| {
            all().reduce(|a, b| [join(a[0], b[0]), join(a[1], b[1])]).unwrap()
        };
        let numbers = || mine(rank).to_vec();
        let agreed = world.agree(
            "floors",
            Agreement { least: numbers(), most: numbers(), sum: numbers(), bits: numbers() },
        )?;
        assert_eq!(agreed.least, joined(u64::min));
        assert_eq!(agreed.most, joined(u64::max));
        assert_eq!(agreed.sum, joined(u64::wrapping_add));
        assert_eq!(agreed.bits, joined(|a, b| a | b));
        assert_eq!(world.agree("nothing", Agreement::default())?, Agreement::default());

        // A list of all ranks in their order, with what they add.
        let mut expected = Vec::new();
        let own = |rank: usize, to: &mut Vec<u8>| {
            to.push(rank as u8);
            Random::of(round, rank, rank).bytes(to);
        };
        let mut bytes = Vec::new();
        own(rank, &mut bytes);
        let all = world.join_all("trees", bytes, |bytes, more| {
            bytes.extend_from_slice(more);
            Ok(())
        })?;
        (0..size).for_each(|rank| own(rank, &mut expected));
        assert!(all == (rank == 0).then_some(expected), "round {round}: joined");

        let root = round % size;
        let mut bytes = vec![rank as u8; rank];
        if rank == root {
            bytes.clear();
            Random::of(round, 0, 0).bytes(&mut bytes);
        }
        world.broadcast("definitions", root, &mut bytes)?;
        let mut expected = Vec::new();
        Random::of(round, 0, 0).bytes(&mut expected);
        assert!(bytes == expected, "round {round}: broadcast of {} bytes", bytes.len());
        world.barrier("the end of a round")?;
    }
    let traffic = world.traffic();
    assert_eq!(traffic.exchanges, 2 * rounds as u64);
    assert!(size == 1 || traffic.bytes > 0, "nothing was sent");
    let (path, version) = world.library();
    if rank == 0 {
        println!("{size} ranks agree over {} ({})", path.display(), version.replace('\t', " "));
    }
    world.finish(0)
}

/// The last rank fails: `before` joining, by a `message`, a `panic`, an `error` that is returned, `leaving` with exit
/// code 0, being `killed`, being `stuck`, or `step`, being at another step than all others.
fn fail(mut world: World, how: &str) -> Result<u8, Error> {
    world.barrier("the start")?;
    let (mut out, mut into) = (vec![vec![1; 10]; world.size()], Vec::new());
    let mut step = "questions";
    if world.rank() + 1 == world.size() {
        match how {
            "message" => world.fail("dwell-app/traces/3.evt: location 3: the file is damaged"),
            "panic" => panic!("this process panics"),
            "error" => return Ok(1),
            "leaving" => std::process::exit(0),
            "killed" => std::process::abort(),
            "stuck" => std::thread::sleep(Duration::from_secs(3600)),
            "step" => step = "answers",
            other => panic!("there is no `{other}`"),
        }
    }
    world.exchange(step, &mut out, &mut into)?;
    world.finish(0)
}

fn time(mut world: World, rounds: usize, bytes: usize, work: usize) -> Result<u8, Error> {
    let (mut out, mut into) = (vec![Vec::new(); world.size()], Vec::new());
    let mut times = Vec::with_capacity(rounds);
    let rank = world.rank();
    let warm = rounds / 10 + 1;
    for round in 0..rounds + warm {
        let others = out.iter_mut().enumerate().filter(|(to, _)| *to != rank);
        others.for_each(|(_, buffer): (usize, &mut Vec<u8>)| buffer.resize(bytes, round as u8));
        let began = Instant::now();
        if round % world.size() == rank {
            let mut random = Random::of(round, rank, 0);
            let sum = (0..work * 1_000_000).fold(0, |sum: u64, _| sum.wrapping_add(random.next()));
            std::hint::black_box(sum);
        }
        world.exchange("questions", &mut out, &mut into)?;
        if round >= warm {
            times.push(began.elapsed().as_nanos() as u64);
        }
    }
    let total: u64 = times.iter().sum();
    times.sort_unstable();
    let most = vec![total / rounds as u64, times[times.len() / 2]];
    let slowest = world.agree("times", Agreement { most, ..Agreement::default() })?.most;
    if rank == 0 {
        let [mean, median] = [slowest[0], slowest[1]].map(|it| it as f64 / 1e3);
        let size = world.size();
        println!(
            "{size} ranks, {bytes} bytes a pair: mean {mean:.1} µs, median {median:.1} µs an exchange"
        );
    }
    world.finish(0)
}
