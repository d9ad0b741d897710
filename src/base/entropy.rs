//! Randomness: real in the product, seeded in tests.

use std::sync::Mutex;

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng, TryRng};

use super::clock::Millis;

/// Where random bytes come from. Cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Entropy {
    seeded: Option<Mutex<StdRng>>,
}

impl Entropy {
    /// The operating system's generator.
    pub fn system() -> Self {
        Self { seeded: None }
    }

    /// A generator that gives the same bytes for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seeded: Some(Mutex::new(StdRng::seed_from_u64(seed))) }
    }

    /// `N` random bytes.
    ///
    /// # Panics
    /// If the operating system has no randomness to give: nothing here could be trusted then.
    #[allow(clippy::expect_used, reason = "without randomness there are no keys to go on with")]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0u8; N];
        match &self.seeded {
            Some(rng) => rng.lock().unwrap_or_else(std::sync::PoisonError::into_inner).fill_bytes(&mut out),
            None => SysRng.try_fill_bytes(&mut out).expect("the operating system gives random bytes"),
        }
        out
    }

    /// A number in `0.0..1.0`.
    pub fn fraction(&self) -> f64 {
        let bits = u64::from_le_bytes(self.bytes::<8>()) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    /// A new id: UUID version 7 without dashes, so that ids sort by the time they were made.
    pub fn id(&self, now: Millis) -> String {
        let random = self.bytes::<10>();
        uuid::Builder::from_unix_timestamp_millis(now.0.max(0) as u64, &random).into_uuid().simple().to_string()
    }

    /// `N` random bytes as lower-case hexadecimal.
    pub fn hex<const N: usize>(&self) -> String {
        super::hash::hex(&self.bytes::<N>())
    }
}
