//! The random numbers of a simulation. All of them follow from a seed. Must not know what the numbers decide.

/// A random number generator (splitmix64). Generators with the same seed return the same numbers.
#[derive(Debug, Clone)]
pub struct SimRng(u64);

impl SimRng {
    /// A generator with this seed.
    pub fn new(seed: u64) -> SimRng {
        SimRng(seed)
    }

    /// A separate generator. Its seed follows from the next number and `purpose`.
    pub fn fork(&mut self, purpose: u64) -> SimRng {
        SimRng(self.next_u64() ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next_u64() % (high - low + 1).unsigned_abs()) as i64
    }

    /// An index into a list of `len` entries; 0 for an empty list.
    pub fn index(&mut self, len: usize) -> usize {
        (self.next_u64() % len.max(1) as u64) as usize
    }

    /// A random entry of the list, which must not be empty.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// True with a probability of `permille` in 1000.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.next_u64() % 1000 < u64::from(permille)
    }

    /// A random UUID (version 4) as text.
    pub fn uuid(&mut self) -> String {
        let bits = u128::from(self.next_u64()) << 64 | u128::from(self.next_u64());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
    }

    /// Fills the bytes with random values.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next_u64().to_be_bytes()[..piece.len()]);
        }
    }
}
