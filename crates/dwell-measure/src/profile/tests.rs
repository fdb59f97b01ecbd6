//! Rows survive kills and damage of them is noticed; the file is as its format says.

use dwell_model::profile::{Row, header, rows};
use otf2::id::{MatchingId, Rank, RmaWinRef};

use super::*;

#[test]
fn rows_survive_without_being_closed() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let mut profile = Profile::create(name)?;
    let program = profile.program(100, 0);
    // More than a block, each from another place.
    for site in 0..2000 {
        let row = profile.path(program, 7, Some(site));
        let event = RmaGet {
            win: RmaWinRef(0),
            remote: Rank(site % 3),
            bytes: 8,
            matching_id: MatchingId(0),
        };
        let partner = profile.add(row, &event.amount().unwrap());
        profile.leave(row, 10, partner, 10, 100 + u64::from(site));
        assert_eq!(profile.path(program, 7, Some(site)), row);
    }
    let bytes = std::fs::read(&path)?;
    let head = header(&bytes).unwrap();
    assert_eq!((head.first, head.last, head.dropped), (100, 2099, 0));
    let (mut visits, mut partners) = (0, Vec::new());
    for (_, row) in rows(&bytes) {
        match row {
            Row::Path(row) if row.parent == program => {
                assert_eq!((row.region, row.visits, row.counts[1], row.counts[4]), (7, 1, 1, 8));
                assert_eq!((row.time, row.shortest, row.longest), (10, 10, 10));
                visits += row.visits;
            }
            Row::Path(row) => assert_eq!((row.region, row.visits), (0, 1)),
            Row::Counter(row) => panic!("{row:?}"),
            Row::Partner(row) => partners.push((row.rank, row.operations, row.bytes, row.time)),
        }
    }
    assert_eq!(visits, 2000);
    partners.sort_unstable();
    assert_eq!(partners, [(0, 667, 5336, 6670), (1, 667, 5336, 6670), (2, 666, 5328, 6660)]);
    profile.close(5000)?;
    let bytes = std::fs::read(&path)?;
    assert_eq!(header(&bytes).map(|head| head.last), Some(5000));
    assert_eq!(bytes.len(), (1 + 1 + 2000 + 3) * RECORD);
    Ok(())
}

#[test]
fn too_many_values_are_one() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
    let program = profile.program(0, 0);
    let rows: Vec<u32> = (0..VALUES as u64 + 10)
        .map(|value| profile.parameter(program, 3, value, ValueKind::Number))
        .collect();
    let (apart, together) = rows.split_at(VALUES);
    assert!(apart.is_sorted_by(|a, b| a < b));
    assert!(together.iter().all(|row| *row == together[0] && *row > apart[VALUES - 1]));
    // Those that are known stay, and another parameter has a rest of its own.
    assert_eq!(profile.parameter(program, 3, 0, ValueKind::Number), apart[0]);
    assert_ne!(profile.parameter(program, 4, 0, ValueKind::Number), together[0]);
    Ok(())
}

/// Rows have 24 bits for the numbers of parameters and counters. One with a larger number gets no row, and is not
/// mistaken for another with the same lower bits.
#[test]
fn numbers_beyond_those_that_rows_have_room_for_are_counted() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
    let program = profile.program(0, 0);
    let last = (1 << 24) - 1;
    let number = profile.parameter(program, last, 0, ValueKind::Number);
    assert_ne!(number, 0);
    assert_ne!(profile.parameter(program, 0, 0, ValueKind::Number), 0);
    for beyond in [1 << 24, 1 << 25 | last, u32::MAX] {
        assert_eq!(profile.parameter(program, beyond, 0, ValueKind::Number), 0);
        assert_eq!(profile.parameter(program, beyond, 0, ValueKind::Text), 0);
    }
    profile.value(number, last, MetricValue::signed(3));
    profile.value(number, 1 << 24 | last, MetricValue::signed(1000));
    profile.close(10)?;
    let bytes = std::fs::read(&path)?;
    assert_eq!(header(&bytes).map(|it| it.dropped), Some(7));
    let found: Vec<_> = rows(&bytes)
        .filter_map(|(_, row)| match row {
            Row::Path(it) => it.parameter.map(|it| (it.parameter, 0, 0)),
            Row::Counter(it) => Some((it.counter, it.values, it.sum)),
            Row::Partner(_) => None,
        })
        .collect();
    assert_eq!(found, [(last, 0, 0), (0, 0, 0), (last, 1, 3)]);
    Ok(())
}

/// A path for a text is treated like one of a call or a number.
#[test]
fn every_kind_of_path_knows_its_shortest_visit() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
    let program = profile.program(0, 0);
    let mut paths = vec![
        profile.path(program, 7, None),
        profile.parameter(program, 3, 0, ValueKind::Text),
        profile.parameter(program, 4, 0, ValueKind::Number),
    ];
    for value in 2..VALUES as u64 {
        profile.parameter(program, 4, value, ValueKind::Number);
    }
    paths.push(profile.parameter(program, 4, u64::MAX, ValueKind::Number));
    let extremes = || -> io::Result<Vec<(u64, u64)>> {
        let bytes = std::fs::read(&path)?;
        let found = rows(&bytes).filter_map(|(number, row)| match row {
            Row::Path(it) => paths.contains(&number).then_some((it.shortest, it.longest)),
            _ => None,
        });
        Ok(found.collect())
    };
    assert_eq!(extremes()?, [(u64::MAX, 0); 4]);
    for (row, own) in paths.iter().flat_map(|row| [(*row, 30), (*row, 20)]) {
        profile.leave(row, own, 0, own, 100);
    }
    assert_eq!(extremes()?, [(20, 30); 4]);
    Ok(())
}

#[test]
fn the_file_is_as_version_2_says() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
    let program = profile.program(1_000, 0);
    let get =
        RmaGet { win: RmaWinRef(2), remote: Rank(3), bytes: 4096, matching_id: MatchingId(0) };
    for own in [70, 20, 300] {
        let row = profile.path(program, 7, Some(11));
        let partner = profile.add(row, &get.amount().unwrap());
        profile.leave(row, own, partner, own + 5, 2_000 + own);
    }
    let number = profile.parameter(program, 1, 64, ValueKind::Number);
    let inner = profile.path(number, 9, None);
    profile.leave(inner, 40, 0, 40, 3_000);
    let text = profile.parameter(program, 2, 5, ValueKind::Text);
    for bits in [3.5, -1.0] {
        let value = MetricValue { value_type: Type::Double, bits: f64::to_bits(bits) };
        profile.value(text, 4, value);
    }
    profile.close(5_000)?;
    crate::golden::hold("rows-2.rows", &std::fs::read(&path)?);
    Ok(())
}

/// A profile with a row of each kind.
fn filled(path: &std::path::Path) -> io::Result<Profile> {
    let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
    let program = profile.program(1_000, 0);
    let get =
        RmaGet { win: RmaWinRef(2), remote: Rank(3), bytes: 4096, matching_id: MatchingId(0) };
    for site in 0..6 {
        let row = profile.path(program, 7, Some(site));
        let partner = profile.add(row, &get.amount().unwrap());
        profile.leave(row, 20 + u64::from(site), partner, 70, 2_000 + u64::from(site));
        profile.repeat(row, 2);
        profile.value(row, 4, MetricValue::signed(i64::from(site) - 20));
    }
    let text = profile.parameter(program, 2, 5, ValueKind::Text);
    profile.value(text, 5, MetricValue { value_type: Type::Double, bits: f64::to_bits(-1.5) });
    profile.parameter(program, NUMBERS, 0, ValueKind::Number);
    Ok(profile)
}

/// Changes that a file may suffer never stay unnoticed, whether the process ended or was killed.
#[test]
fn damage_of_rows_is_noticed() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let profile = filled(&path)?;
    let killed = std::fs::read(&path)?;
    assert_eq!(check::check(&killed), Ok(()));
    profile.close(5_000)?;
    let whole = std::fs::read(&path)?;
    assert_eq!(check::check(&whole), Ok(()));
    let used = whole.len();
    for length in (0..used).step_by(8) {
        assert!(check::check(&killed[..length]).is_err(), "cut at {length}");
        assert!(check::check(&whole[..length]).is_err(), "cut at {length}");
    }
    // Damage of a sum itself may leave the true one between the two, and changes no row.
    let matters = |at: usize| at / 8 < CONFIRMED || at / 8 == CHANGING || at >= RECORD;
    for at in (0..used).filter(|at| matters(*at)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(check::check(&bytes).is_err(), "byte {at}");
    }
    let words: Vec<&[u8]> = whole.chunks_exact(8).collect();
    for at in RECORD / 8..words.len() {
        let place = |at: usize| (at * 8 / RECORD, at % (RECORD / 8) >= FIRST_COUNT);
        for other in (at + 1..words.len()).step_by(7) {
            // Counts of one record have one weight.
            if words[at] != words[other] && (place(at) != place(other) || !place(at).1) {
                let mut words = words.clone();
                words.swap(at, other);
                assert!(check::check(&words.concat()).is_err(), "words {at} and {other}");
            }
        }
    }
    let mut behind = killed;
    behind[used + 3 * RECORD] = 1;
    let offset = (used + 3 * RECORD) as u64;
    assert_eq!(check::check(&behind), Err(check::Damage::Behind { offset }));
    Ok(())
}

/// A change of a record is consistent before, between and after its stores.
#[test]
fn a_change_that_is_interrupted_is_no_damage() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.0.rows");
    let mut profile = filled(&path)?;
    let steps = std::cell::Cell::new(0);
    let sound = || {
        steps.set(steps.get() + 1);
        assert_eq!(check::check(&std::fs::read(&path).unwrap()), Ok(()), "step {}", steps.get());
    };
    let row = profile.path(1, 7, Some(3));
    let by = weight(row, 2) + 50 * weight(row, 3) + 9 * weight(0, 2);
    profile.grow(by, |profile| {
        sound();
        profile.record(row)[2] += 1;
        sound();
        profile.record(row)[3] += 50;
        sound();
        profile.record(0)[2] += 9;
        sound();
    });
    sound();
    // A new record.
    let number = profile.count as u32;
    profile.grow(check::key(number, 1, 2), |profile| {
        sound();
        profile.record(0)[RECORDS] += 1;
        sound();
        profile.record(number)[1] = 2;
        sound();
        profile.record(number)[4] = u64::MAX;
        sound();
        profile.record(number)[0] = 1;
        sound();
    });
    sound();
    // A step that does not add up is damage.
    profile.record(row)[2] += 1;
    assert_eq!(check::check(&std::fs::read(&path)?), Err(check::Damage::Sum));
    Ok(())
}
