use super::*;

#[test]
fn defaults_are_values() {
    for (at, setting) in TABLE.iter().enumerate() {
        let sound = setting.default.is_empty() || setting.kind.check(setting.default).is_ok();
        assert!(sound, "{}", setting.name);
        let name = setting.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(!TABLE[..at].iter().any(|other| other.name == name), "{name} is there twice");
        assert!(!setting.help.ends_with('.'), "{name}: no full stop at the end, as in clap");
    }
}

#[test]
fn switches() {
    assert_eq!(
        [parse_switch("On"), parse_switch("0"), parse_switch("2")],
        [Some(true), Some(false), None]
    );
}

#[test]
fn the_environment_is_checked() {
    let (settings, complaints) = Settings::read(|name| match name {
        "DWELL_CHUNK_SIZE" => Some("1".into()),
        "DWELL_MAX_SIZE" => Some("plenty".into()),
        "DWELL_SCRATCH" => Some(String::new()),
        "DWELL_OUTPUT" => Some("/tmp/run".into()),
        _ => None,
    });
    assert_eq!(settings.chunk, otf2::chunk::MIN_SIZE);
    assert_eq!(settings.budget(2), u64::MAX);
    assert_eq!(settings.scratch, None);
    let expected = "DWELL_MAX_SIZE=plenty: expected a size such as 4G, or 64M/process; ignored";
    assert_eq!(complaints, [expected]);
    for (name, value) in [("CONFIG::OUTPUT", "/tmp/run"), ("CONFIG::CHUNK_SIZE", "1")] {
        let known = settings.effective.iter().find(|known| known.0 == name);
        assert_eq!(known.map(|known| known.1.as_str()), Some(value));
    }
    assert!(!settings.effective.iter().any(|known| known.0 == "CONFIG::MAX_SIZE"));
}

#[test]
fn a_budget_is_shared_and_has_room_for_a_chunk() {
    let of = |size: &str, processes| {
        let get = |name: &str| (name == "DWELL_MAX_SIZE").then(|| size.to_owned());
        let settings = Settings::read(get).0;
        (settings.budget(processes), settings.chunk(processes))
    };
    assert_eq!(of("", 3), (u64::MAX, 1 << 20));
    assert_eq!(of("4M/process", 3), (4 << 20, 1 << 20));
    assert_eq!(of("1M/process", 3), (1 << 20, (1 << 20) - 4096));
    assert_eq!(of("6M", 3), (2 << 20, 1 << 20));
    assert_eq!(of("0", 3), (0, otf2::chunk::MIN_SIZE));
}

#[test]
fn the_window_is_counted_from_its_beginning() {
    let of = |after: &str, long: &str| {
        let get = |name: &str| match name {
            "DWELL_START_AFTER" => Some(after.to_owned()),
            "DWELL_FOR" => Some(long.to_owned()),
            _ => None,
        };
        Settings::read(get).0.window
    };
    assert_eq!(of("", ""), (0, u64::MAX));
    assert_eq!(of("2s", "3s"), (2_000_000_000, 5_000_000_000));
    assert_eq!(of("", "3s"), (0, 3_000_000_000));
}
