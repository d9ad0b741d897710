//! Money: whole millionths of a US dollar, never floats.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// An amount in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct MicroUsd(pub i64);

/// A text that is no amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an amount in US dollars such as 2.50 (from 0 to 1000000, at most 6 decimals)")]
pub struct BadAmount(pub String);

impl MicroUsd {
    /// Whole dollars.
    pub const fn dollars(n: i64) -> Self {
        Self(n * 1_000_000)
    }

    /// Dollars as a float, for JSON only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for MicroUsd {
    /// Two decimals, or as many as a small amount needs: `$1.50`, `$0.0042`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        let decimals = format!("{:06}", micros % 1_000_000);
        let kept = decimals.trim_end_matches('0').len().max(2);
        write!(f, "{sign}${}.{}", micros / 1_000_000, &decimals[..kept])
    }
}

impl FromStr for MicroUsd {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let bad = || BadAmount(text.chars().take(40).collect());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || whole.len() > 7 || decimals.len() > 6 || !digits(whole) || !digits(decimals) {
            return Err(bad());
        }
        let whole: i64 = whole.parse().map_err(|_| bad())?;
        let decimals: i64 = format!("{decimals:0<6}").parse().map_err(|_| bad())?;
        if whole > 1_000_000 {
            return Err(bad());
        }
        Ok(Self(whole * 1_000_000 + decimals))
    }
}

impl Add for MicroUsd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for MicroUsd {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_and_show() {
        for (text, micros, shown) in
            [("10", 10_000_000, "$10.00"), ("2.5", 2_500_000, "$2.50"), ("0.0042", 4200, "$0.0042"), ("0", 0, "$0.00")]
        {
            let amount: MicroUsd = text.parse().unwrap();
            assert_eq!((amount.0, amount.to_string().as_str()), (micros, shown));
        }
    }

    #[test]
    fn amounts_refuse_what_is_none() {
        for text in ["", "-1", "1e3", "1.2345678", "NaN", "inf", "1,5", " 1", "1000001", "."] {
            assert!(text.parse::<MicroUsd>().is_err(), "{text:?} was taken");
        }
    }
}
