//! All chance of a simulation: numbers that follow from a seed. Must not know what they decide.

/// Throws numbers; the same seed throws the same.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Other dice, that follow from these and a purpose.
    pub fn fork(&mut self, purpose: u64) -> Dice {
        Dice(self.bits() ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// 64 random bits (splitmix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both possible.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1).unsigned_abs()) as i64
    }

    /// A place in a row of so many.
    pub fn place(&mut self, many: usize) -> usize {
        (self.bits() % many.max(1) as u64) as usize
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.place(all.len())]
    }

    /// True in so many of a thousand cases.
    pub fn happens(&mut self, permille: u32) -> bool {
        self.bits() % 1000 < u64::from(permille)
    }

    /// A UUID (version 4).
    pub fn id(&mut self) -> String {
        let bits = u128::from(self.bits()) << 64 | u128::from(self.bits());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
    }

    /// Fills bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.bits().to_be_bytes()[..piece.len()]);
        }
    }
}
