//! Resolves addresses all over a module, and measures it side by side with GNU addr2line.
//!
//! ```sh
//! cargo run --release -p dwell-symbols --example speed -- FILE [COUNT]
//! ```
//!
//! Prints seconds, the ratio, how many sites were exact, and the size of this process.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use dwell_symbols::{Module, Quality, Resolver, ReturnOffset};
use object::{Object as _, ObjectSection as _};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("speed FILE [COUNT]")?;
    let count: u64 = args.next().map_or(Ok(100_000), |text| text.parse())?;

    let data = fs::read(&path)?;
    let file = object::File::parse(&*data)?;
    let text = file.section_by_name(".text").ok_or("no .text")?;
    let (start, size) = (text.address(), text.size());
    // Evenly spread, then shuffled by a stride without common factors.
    let stride = (1..).map(|n| 7919 + n).find(|n| gcd(*n, count) == 1).unwrap_or(1);
    let addresses: Vec<u64> =
        (0..count).map(|n| start + n * stride % count * size / count).collect();
    drop(data);

    let module = Module::new(&path, []);
    let begin = Instant::now();
    let mut resolver = Resolver::new();
    resolver.status(&module);
    println!("opened in {:.3} s, symbols too", begin.elapsed().as_secs_f64());
    let sites =
        resolver.resolve_all(addresses.iter().map(|address| (&module, ReturnOffset(address + 1))));
    let ours = begin.elapsed().as_secs_f64();
    let exact = sites.iter().filter(|site| site.quality == Quality::Exact).count();
    let frames: usize = sites.iter().map(|site| site.frames.len()).sum();
    println!("{count} sites, {exact} exact, {frames} frames");
    println!("resolved in {ours:.3} s, {:.1} µs a site", ours * 1e6 / count as f64);
    let begin = Instant::now();
    for address in &addresses {
        let _ = resolver.resolve(&module, ReturnOffset(address + 1));
    }
    let again = begin.elapsed().as_secs_f64();
    println!("one by one, all parsed: {again:.3} s, {:.1} µs a site", again * 1e6 / count as f64);
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }

    let begin = Instant::now();
    let child = Command::new("addr2line")
        .args(["--functions", "--inlines", "--demangle", "--exe", &path])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("no addr2line to compare with");
        return Ok(());
    };
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let question: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(question.as_bytes()));
    child.wait_with_output()?;
    writer.join().map_err(|_| "the writer died")??;
    let theirs = begin.elapsed().as_secs_f64();
    println!("addr2line {theirs:.3} s, {:.1} times as long", theirs / ours);
    Ok(())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
