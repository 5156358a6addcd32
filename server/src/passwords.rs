//! Hashes and verifies passwords with argon2id, off the async threads and one at a time. Must not know whose password it is.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::random::random_bytes;

/// Passwords that wait for their turn, at most, with the one in work. A further one is refused.
const WAITING_MAX: usize = 16;
/// Bytes of the random salt of a password.
const SALT_BYTES: usize = 16;
/// The stored form of a password that nobody has. A wrong name takes as long as a wrong password, because this is verified.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$wDzVDCfVvEGQEDHVGvHZYQ$I5XXb7jDSqJYCDbWzT8PmBKvkVRxDJ2sFKCdCgB2yxo";

/// The queue of passwords. Each takes 19 MiB of memory and some tens of milliseconds of one processor.
pub struct Passwords {
    queue: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// Too many passwords wait. The client may try again in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl Default for Passwords {
    fn default() -> Passwords {
        Passwords { queue: Arc::new(Semaphore::new(WAITING_MAX)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Passwords {
    /// The stored form of a password: a PHC string with a fresh salt.
    pub async fn hash(&self, password: String) -> Result<String, Busy> {
        self.in_turn(move || hashed(&password, random_bytes())).await?.ok_or(Busy)
    }

    /// Whether a password is the stored one. None as the stored form: false, after the same time.
    pub async fn verify(&self, password: String, stored: Option<String>) -> Result<bool, Busy> {
        self.in_turn(move || {
            let is_right = is_password(&password, stored.as_deref().unwrap_or(NOBODY));
            is_right && stored.is_some()
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Busy> {
        let place = self.queue.clone().try_acquire_owned().map_err(|_| Busy)?;
        let turn = self.turn.clone().acquire_owned().await.map_err(|_| Busy)?;
        // The work holds its turn, because it goes on when the client has left.
        let work = move || {
            let done = work();
            drop((turn, place));
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Busy)
    }
}

/// None: the library refuses the password, which no length below its limit of 4 GiB causes.
fn hashed(password: &str, salt: [u8; SALT_BYTES]) -> Option<String> {
    let hash: PasswordHash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt).ok()?;
    Some(hash.to_string())
}

fn is_password(password: &str, stored: &str) -> bool {
    PasswordHash::new(stored)
        .is_ok_and(|stored| Argon2::default().verify_password(password.as_bytes(), &stored).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_stored_password_is_right() {
        let passwords = Passwords::default();
        let stored = passwords.hash("correct horse".to_owned()).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(stored != passwords.hash("correct horse".to_owned()).await.unwrap(), "the salt is fresh");
        let is_right = async |password: &str, stored| passwords.verify(password.to_owned(), stored).await.unwrap();
        assert!(is_right("correct horse", Some(stored.clone())).await);
        assert!(!is_right("correct horsf", Some(stored)).await);
        assert!(!is_right("", None).await);
    }

    #[test]
    fn password_of_nobody_is_verified_in_full() {
        let nobody = PasswordHash::new(NOBODY).expect("a PHC string");
        let real = hashed("x", [7; SALT_BYTES]).unwrap();
        let real = PasswordHash::new(&real).unwrap();
        assert_eq!((&nobody.algorithm, &nobody.params), (&real.algorithm, &real.params));
        assert!(nobody.salt.is_some() && nobody.hash.is_some());
    }

    #[tokio::test]
    async fn crowd_is_refused() {
        let passwords = Passwords::default();
        let _places = passwords.queue.try_acquire_many(u32::try_from(WAITING_MAX).unwrap()).unwrap();
        assert_eq!(passwords.hash("x".to_owned()).await, Err(Busy));
    }
}
