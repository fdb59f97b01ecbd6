//! Sizes, times and numbers, as people write and read them.
//!
//! The only parser and the only formatter: options, configuration files, the last line of a run, reports and findings
//! all use these. The page in the browser cannot call them, so `web/src/format.ts` repeats the formatter. The table
//! `tests/data/units.tsv` has values with their texts; a test of each side holds it against the table.

use alloc::format;
use alloc::string::{String, ToString};

/// Reads a duration as nanoseconds: `90`, `1.5h`, `2m`, `10s`, `500ms`, `20us`, `20µs`, `7ns`. A number without a unit is
/// seconds. Returns `None` for anything else.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let nanoseconds = number.trim().parse::<f64>().ok()? * factor;
    (nanoseconds.is_finite() && nanoseconds >= 0.0).then_some(nanoseconds as u64)
}

/// Reads a number of bytes: `512`, `64K`, `1.5G`, with or without a `B` or `iB` behind the unit. Units are binary
/// multiples, as people who set limits on memory and files expect. Returns `None` for anything else.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix("IB").or_else(|| text.strip_suffix('B')).unwrap_or(&text);
    let (number, factor) = match text.char_indices().last()? {
        (at, 'K') => (text.get(..at)?, 1_u64 << 10),
        (at, 'M') => (text.get(..at)?, 1 << 20),
        (at, 'G') => (text.get(..at)?, 1 << 30),
        (at, 'T') => (text.get(..at)?, 1 << 40),
        _ => (text, 1),
    };
    let bytes = number.trim().parse::<f64>().ok()? * factor as f64;
    (bytes.is_finite() && bytes >= 0.0).then_some(bytes as u64)
}

/// Writes a number with its digits in groups of three: `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a number: whole ones in groups of three, others with three significant digits, but no more than four digits
/// behind the point.
pub fn number(value: f64) -> String {
    if value % 1.0 == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs() as u64));
    }
    three_digits(value)
}

/// Writes a number with so many digits behind the point, and those before it in groups of three: `9,093.33`.
fn grouped_fixed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_string(), grouped);
    format!("{}{whole}{rest}", if value < 0.0 { "-" } else { "" })
}

/// Writes a number with three significant digits, but no more than four digits behind the point.
fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        0.09995.. => 3,
        _ => 4,
    };
    grouped_fixed(value, digits)
}

/// Splits a time, given in seconds, into a number with three significant digits and the unit that suits it.
fn split(value: f64) -> (String, &'static str) {
    let (factor, unit) = match value.abs() {
        0.0 => return ("0".into(), "s"),
        6e3.. => (3600.0, "h"),
        600.0.. => (60.0, "min"),
        0.9995.. => (1.0, "s"),
        0.9995e-3.. => (1e-3, "ms"),
        0.9995e-6.. => (1e-6, "µs"),
        _ => return (format!("{:.0}", value / 1e-9), "ns"),
    };
    (three_digits(value / factor), unit)
}

/// Writes a time, given in seconds, with three significant digits in the unit that suits it: `12.3 ms`, `25.4 min`.
pub fn seconds(value: f64) -> String {
    let (number, unit) = split(value);
    format!("{number} {unit}")
}

/// Writes a time between two bounds, given in seconds, with three significant digits: `122 to 138 ms`, or one time if both
/// read the same.
pub fn bounds(least: f64, most: f64) -> String {
    let ((low, unit_of_low), (high, unit)) = (split(least), split(most));
    match (low == high, unit_of_low == unit || least == 0.0) {
        (true, true) => format!("{high} {unit}"),
        (_, true) => format!("{low} to {high} {unit}"),
        (_, false) => format!("{low} {unit_of_low} to {high} {unit}"),
    }
}

/// Writes a share between two bounds in percent, with a digit behind the point below 10: `31 %`, `9.2 %`, `9.2 to 11 %`. A
/// share above 0 never reads as 0: it is `below 0.1 %`.
pub fn short_percents(least: f64, most: f64) -> String {
    let part = |share: f64| match 100.0 * share.abs() {
        percent if percent >= 9.95 => format!("{:.0}", 100.0 * share),
        _ => format!("{:.1}", 100.0 * share + 0.0),
    };
    let (low, high) = (part(least), part(most));
    match low == high {
        true if low == "0.0" && most > 0.0 => "below 0.1 %".into(),
        true => format!("{low} %"),
        false => format!("{low} to {high} %"),
    }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;
const TIB: f64 = 1024.0 * GIB;

/// Writes a number of bytes in the unit that suits it: `10.0 KiB`. Units are binary multiples, as [`parse_size`] reads
/// them.
pub fn bytes(value: f64) -> String {
    let size = value.abs();
    if size < 10.0 * KIB {
        format!("{} B", number(value))
    } else if size < 10.0 * MIB {
        format!("{:.1} KiB", value / KIB)
    } else if size < 10.0 * GIB {
        format!("{:.1} MiB", value / MIB)
    } else if size < 10.0 * TIB {
        format!("{:.1} GiB", value / GIB)
    } else {
        format!("{} TiB", grouped_fixed(value / TIB, 1))
    }
}

/// Writes a share of a whole in percent: `58.0 %`. A share of nothing, which is infinite, is `new`.
pub fn percent(share: f64) -> String {
    match share.is_infinite() {
        true => "new".into(),
        // Adding 0 makes a zero of a negative zero.
        false => format!("{:.1} %", 100.0 * share + 0.0),
    }
}

/// Writes a share between two bounds in percent: `2.2 to 58.0 %`, or one share if both read the same. A share above 0
/// never reads as 0: it is `below 0.1 %`.
pub fn percents(least: f64, most: f64) -> String {
    let (low, high) = (percent(least), percent(most));
    match low == high {
        true if low == "0.0 %" && most > 0.0 => "below 0.1 %".into(),
        true => low,
        false => format!("{} to {high}", low.trim_end_matches(" %")),
    }
}

/// Returns year, month, day, hour, minute and second of a time in UTC, given in nanoseconds since the beginning of 1970.
pub fn utc(nanoseconds: u64) -> [u64; 6] {
    let (days, second) =
        (nanoseconds / 1_000_000_000 / 86_400, nanoseconds / 1_000_000_000 % 86_400);
    // Howard Hinnant's `civil_from_days`, for days since 1970.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    [year, month, day, second / 3600, second / 60 % 60, second % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, nanoseconds) in [
            ("3", 3_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2 ms", 2_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Some(nanoseconds), "{text}");
        }
        for text in ["", "s", "-1s", "3 weeks"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn times_with_three_digits() {
        let cases = [
            (0.0, "0 s"),
            (0.099_96e-6, "100 ns"),
            (12.34e-6, "12.3 µs"),
            (0.999_6e-3, "1.00 ms"),
            (0.86, "860 ms"),
            (1.664, "1.66 s"),
            (59.96, "60.0 s"),
            (612.0, "10.2 min"),
            (7_200.0, "2.00 h"),
            (7_200_000.0, "2,000 h"),
        ];
        for (value, text) in cases {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(bounds(0.1221, 0.1384), "122 to 138 ms");
        assert_eq!(bounds(0.0009, 1.2), "900 µs to 1.20 s");
        assert_eq!(bounds(0.0, 1.2), "0 to 1.20 s");
        assert_eq!(bounds(1.2001, 1.2002), "1.20 s");
        assert_eq!(short_percents(0.092, 0.1), "9.2 to 10 %");
        assert_eq!(short_percents(0.31, 0.312), "31 %");
        assert_eq!(short_percents(0.000_01, 0.000_02), "below 0.1 %");
    }

    #[test]
    fn sizes() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("64K", 65_536),
            ("1.5g", 3 << 29),
            (" 2 M ", 2 << 20),
            ("3MiB", 3 << 20),
            ("3mb", 3 << 20),
            ("10B", 10),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "M", "a lot", "-1", "1e400", "B"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(number(-1234.0), "-1,234");
        assert_eq!(number(0.5), "0.500");
    }

    #[test]
    fn values_have_the_unit_that_suits_them() {
        assert_eq!(bytes(9_999.0), "9,999 B");
        assert_eq!(bytes(10_240.0), "10.0 KiB");
        assert_eq!(bytes(5_400_000_000.0), "5149.8 MiB");
        assert_eq!(bytes(54_000_000_000.0), "50.3 GiB");
        assert_eq!(seconds(1_800.0), "30.0 min");
        assert_eq!(seconds(32_735_981.925), "9,093 h");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(12.3456), "12.3 s");
        assert_eq!(seconds(-0.0123456), "-12.3 ms");
        assert_eq!(seconds(0.0000123456), "12.3 µs");
        assert_eq!(seconds(0.000000012), "12 ns");
    }
}
