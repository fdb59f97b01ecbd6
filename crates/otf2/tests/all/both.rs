//! Two events that are written together are those that are written one after the other, byte by byte.

use otf2::encode::{EncodeError, Encoder, Plain, Tagged};
use otf2::event::{Enter, Leave, RmaOpCompleteBlocking, RmaPut};
use otf2::id::{AttributeRef, MatchingId, Rank, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue, List};

const CHUNK: usize = 256 * 1024;

/// Numbers of every length that the format has, and those at the limits between them.
fn numbers() -> impl Iterator<Item = u64> {
    let limits = (0..8).flat_map(|bytes| {
        let limit = 1_u64.checked_shl(8 * bytes).unwrap_or(0);
        [limit.wrapping_sub(1), limit, limit.wrapping_add(1)]
    });
    limits.chain([u64::MAX, u64::MAX - 1, 7, 200, 70_000])
}

#[test]
fn they_are_the_same_bytes() -> Result<(), EncodeError> {
    let (mut one, mut both) = (Encoder::new(vec![1; CHUNK])?, Encoder::new(vec![2; CHUNK])?);
    let region = RegionRef(3);
    let site = Attribute { attribute: AttributeRef(0), value: AttributeValue::Uint32(70_000) };
    let sites = [site];
    let enter = one.prepare(List::from(&sites[..]), Enter { region }).expect("short");
    let leave = one.prepare(List::default(), Leave { region }).expect("short");
    let mut time = 0;
    for number in numbers() {
        let put = RmaPut {
            win: RmaWinRef(number as u32),
            remote: Rank(number as u32),
            bytes: number,
            matching_id: MatchingId(number),
        };
        let value = AttributeValue::Uint64(number);
        let offset = Attribute { attribute: AttributeRef(1), value };
        let (win, matching_id) = (put.win, put.matching_id);
        let done = RmaOpCompleteBlocking { win, matching_id };
        time += 10;
        one.write_prepared(Time(time), &enter)?;
        one.write_tagged(Time(time), offset, put)?;
        both.write_both(Time(time), &enter, Tagged(offset, put))?;
        time += 5;
        one.write(Time(time), done)?;
        one.write_prepared(Time(time), &leave)?;
        both.write_both(Time(time), Plain(done), &leave)?;
        time += 1;
        one.write_prepared(Time(time), &enter)?;
        one.write(Time(time), done)?;
        one.write_prepared(Time(time), &leave)?;
        both.write_both(Time(time), (&enter, Plain(done)), &leave)?;
    }
    assert_eq!(one.used(), both.used());
    let (one, both) = (one.finish(), both.finish());
    assert_eq!(one.events, both.events);
    assert!(one.memory[..one.used] == both.memory[..both.used]);
    Ok(())
}

#[test]
fn what_does_not_fit_leaves_the_chunk_as_it_was() -> Result<(), EncodeError> {
    let mut encoder = Encoder::new(vec![0; CHUNK])?;
    let (enter, leave) = (Enter { region: RegionRef(1) }, Leave { region: RegionRef(1) });
    let mut time = 1;
    let full = loop {
        let before = (encoder.used(), encoder.events());
        match encoder.write_both(Time(time), Plain(enter), Plain(leave)) {
            Ok(()) => time += 1,
            Err(error) => {
                assert_eq!((encoder.used(), encoder.events()), before);
                break error;
            }
        }
    };
    assert_eq!(full, EncodeError::Full);
    // Alone they still find room, up to the very end.
    let before = encoder.events();
    while encoder.write(Time(time), enter).is_ok() {}
    assert!(encoder.events() > before && CHUNK - encoder.used() < 32);
    let earlier = encoder.write_both(Time(0), Plain(enter), Plain(leave));
    assert_eq!(earlier, Err(EncodeError::TimeWentBack));
    Ok(())
}
