//! Numbers and dates as C's `printf` and `strftime` write them.

use std::io::Write;

/// Writes a number. This is several times as fast as `write!`, and most of a trace is numbers.
pub(super) fn unsigned(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes the text that stands for an invalid value.
pub(super) fn invalid(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"INVALID <");
    unsigned(out, number);
    out.push(b'>');
}

/// Inserts spaces before the text from `start` on, so that it takes `width` bytes and is right-aligned.
pub(super) fn pad_left(out: &mut Vec<u8>, start: usize, width: usize) {
    let length = out.len() - start;
    if let Some(spaces) = width.checked_sub(length).filter(|&spaces| spaces > 0) {
        out.resize(out.len() + spaces, b' ');
        out[start..].rotate_right(spaces);
    }
}

/// Appends spaces to the text from `start` on, so that it takes `width` bytes and is left-aligned.
pub(super) fn pad_right(out: &mut Vec<u8>, start: usize, width: usize) {
    let end = (start + width).max(out.len());
    out.resize(end, b' ');
}

/// Writes a floating-point number as `%g` does: six significant digits, without trailing zeros.
pub(super) fn general(out: &mut Vec<u8>, number: f64) {
    if !number.is_finite() {
        let sign = if number.is_sign_negative() { "-" } else { "" };
        let name = if number.is_nan() { "nan" } else { "inf" };
        let _ = write!(out, "{sign}{name}");
        return;
    }
    // Rounding may carry into the next power of ten, so the exponent is that of the rounded number.
    let scientific = format!("{number:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&power) {
        let decimals = usize::try_from(5 - power).unwrap_or_default();
        let fixed = format!("{number:.decimals$}");
        out.extend_from_slice(without_zeros(&fixed).as_bytes());
    } else {
        let sign = if power < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", without_zeros(mantissa), power.abs());
    }
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Writes a time, in nanoseconds since 1970, as a date in UTC.
pub(super) fn date(out: &mut Vec<u8>, nanoseconds: u64) {
    let seconds = nanoseconds / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March end with the leap day; 400 of them have 146,097 days.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let _ = write!(
        out,
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:09} +0000",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        nanoseconds % 1_000_000_000,
    );
}

#[cfg(test)]
mod tests {
    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("numbers are ASCII")
    }

    #[test]
    fn general_is_that_of_c() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+06"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.000_099_999_96, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (-2.5e300, "-2.5e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(written(|out| super::general(out, number)), text, "{number}");
        }
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000000007 +0000"),
            (951_782_399, "2000-02-28 23:59:59.000000007 +0000"),
            (951_782_400, "2000-02-29 00:00:00.000000007 +0000"),
            (1_709_251_199, "2024-02-29 23:59:59.000000007 +0000"),
            (4_107_542_399, "2100-02-28 23:59:59.000000007 +0000"),
            (4_107_542_400, "2100-03-01 00:00:00.000000007 +0000"),
        ] {
            assert_eq!(written(|out| super::date(out, seconds * 1_000_000_000 + 7)), text);
        }
    }

    #[test]
    fn padding() {
        assert_eq!(
            written(|out| {
                super::unsigned(out, 12);
                super::pad_left(out, 0, 4);
                super::unsigned(out, u64::MAX);
                super::pad_left(out, 4, 3);
                super::pad_right(out, 4, 21);
            }),
            "  1218446744073709551615 "
        );
    }
}
