//! Numbers as people read them.

/// A number with its digits in groups of three.
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

/// A number: whole ones in groups of three, others with four digits.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs() as u64));
    }
    format!("{value:.4}")
}

/// A time in the unit that suits it.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        0.0 => "0 s".into(),
        1.0.. => format!("{value:.3} s"),
        1e-3.. => format!("{:.3} ms", value * 1e3),
        1e-6.. => format!("{:.1} us", value * 1e6),
        _ => format!("{:.0} ns", value * 1e9),
    }
}

/// A number of bytes in the unit that suits it.
pub fn bytes(value: f64) -> String {
    match value.abs() {
        ..1e4 => format!("{} B", number(value)),
        ..1e7 => format!("{:.1} kB", value / 1e3),
        ..1e10 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.1} GB", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, grouped, number, seconds};

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(number(-1234.0), "-1,234");
        assert_eq!(number(0.5), "0.5000");
    }

    #[test]
    fn values_have_the_unit_that_suits_them() {
        assert_eq!(bytes(9_999.0), "9,999 B");
        assert_eq!(bytes(10_000.0), "10.0 kB");
        assert_eq!(bytes(5_400_000_000.0), "5400.0 MB");
        assert_eq!(bytes(54_000_000_000.0), "54.0 GB");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(12.3456), "12.346 s");
        assert_eq!(seconds(-0.0123456), "-12.346 ms");
        assert_eq!(seconds(0.0000123456), "12.3 us");
        assert_eq!(seconds(0.000000012), "12 ns");
    }
}
