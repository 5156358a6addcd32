//! The limit of open files of this process: raised at the start, and shared between connections and all other files. Must not
//! know what is opened.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are kept for the database, exports, the log and the listeners.
const RESERVE: u64 = 256;
/// Connections that a process may have even under a very low limit.
const CONNECTIONS_MIN: u64 = 16;

/// Raises the soft limit to the hard limit. Returns the connections that fit below the limit, at most `wanted`.
pub fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let files = if raised.is_ok() { limit.maximum } else { limit.current };
    fitting(wanted, files)
}

/// The connections that fit below a limit of open files. None: no limit.
fn fitting(wanted: usize, files: Option<u64>) -> usize {
    let most = files.map_or(u64::MAX, |files| files.saturating_sub(RESERVE).max(CONNECTIONS_MIN));
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_files() {
        assert_eq!(fitting(16_384, None), 16_384);
        assert_eq!(fitting(16_384, Some(1 << 20)), 16_384);
        assert_eq!(fitting(16_384, Some(1024)), 768);
        assert_eq!(fitting(16_384, Some(100)), 16);
        assert_eq!(fitting(2, Some(100)), 2);
    }

    #[test]
    fn soft_limit_becomes_hard_limit() {
        assert_eq!(connections_max(2), 2);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
