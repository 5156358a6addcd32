//! The files of a replica: names beside the database, permissions, free space. Must not open the database.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use directories::ProjectDirs;
use hearth_contract::formats::Timestamp;

/// The path of a companion file of a database, such as `lock`. A profile's `replica.db` has a directory of its own,
/// and its companions have plain names there. Beside any other database a companion is named `NAME.db.lock`.
pub(crate) fn companion(db: &Path, name: &str) -> PathBuf {
    match db.file_name() {
        Some(file) if file == "replica.db" && has_plain_names(db) => db.with_file_name(name),
        Some(_) => beside(db, &format!(".{name}")),
        None => db.join(name),
    }
}

/// True when the companions of a `replica.db` have plain names. The `setup` file is created with the database and never
/// removed, so its name decides for every later process, whatever directories the environment of that process names.
fn has_plain_names(db: &Path) -> bool {
    if beside(db, ".setup").exists() {
        return false;
    }
    is_setup_file(&db.with_file_name("setup")) || is_profile_directory(directory(db))
}

/// True when the file is empty and private, as a replica makes it. A person's file with the name holds something.
fn is_setup_file(path: &Path) -> bool {
    let Ok(file) = fs::symlink_metadata(path) else { return false };
    let is_shared = std::os::unix::fs::MetadataExt::mode(&file) & 0o077 != 0;
    file.is_file() && file.len() == 0 && !is_shared
}

/// True when the directory belongs to one profile: its parent is the data directory of all profiles.
fn is_profile_directory(directory: &Path) -> bool {
    let Some(known) = ProjectDirs::from("", "", "hearth") else { return false };
    let is_within = |directory: &Path, all: &Path| directory.parent() == Some(all);
    let all = known.data_dir();
    is_within(directory, all)
        || matches!((fs::canonicalize(directory), fs::canonicalize(all)), (Ok(one), Ok(all)) if is_within(&one, &all))
}

/// The path with a suffix added to its file name, as SQLite names its own files (`replica.db-wal`).
pub(crate) fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The directory of a file. A bare file name is in the current directory.
pub fn directory(db: &Path) -> &Path {
    db.parent().filter(|path| *path != Path::new("")).unwrap_or(Path::new("."))
}

/// True when the file exists and holds at least one byte.
pub(crate) fn holds_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// When the file was last written. None without a file.
pub(crate) fn modified_at(path: &Path) -> Option<Timestamp> {
    let at = fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok().map(Timestamp::from_millis)
}

/// True when the file cannot be inspected, for example without permission. The file may exist.
pub(crate) fn is_unreachable(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// True when the database is missing, and companion files show that it was in use: a person moved it or wants a new one. A new
/// database would lack the edits that only the removed one held.
pub fn database_was_removed(db: &Path) -> bool {
    !is_unreachable(db) && !db.exists() && was_used(db)
}

/// True when companion files of earlier use exist: the marker that is touched after a commit, or the disk reserve of a sync.
pub(super) fn was_used(db: &Path) -> bool {
    ["changed", "reserve"].into_iter().any(|name| companion(db, name).exists())
}

/// Creates a directory with its parents, for this user alone (mode 0700), unless it exists.
pub(crate) fn make_private_directory(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for reading and writing, or creates it for this user alone (mode 0600).
pub(crate) fn private_file(path: &Path) -> std::io::Result<fs::File> {
    open_private(path, fs::OpenOptions::new().create(true).truncate(false))
}

/// Creates a file for this user alone (mode 0600). An error when the file exists.
pub fn new_private_file(path: &Path) -> std::io::Result<fs::File> {
    open_private(path, fs::OpenOptions::new().create_new(true))
}

/// Replaces a file, for this user alone: after an interrupted write the old file is still there, and nobody reads half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = beside(path, ".part");
    let write = || {
        let mut file = private_file(&part)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}

fn open_private(path: &Path, options: &mut fs::OpenOptions) -> std::io::Result<fs::File> {
    options.read(true).write(true);
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// True for the error of a lock that the file system cannot give: it has no locks (ENOLCK, ENOTSUP), as a network mount with
/// `nolock` or without a lock service.
pub(crate) fn is_without_locks(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) || error.kind() == ErrorKind::Unsupported
}

/// True when the file system of a database gives no locks. SQLite reports that as if another program held the lock.
pub(crate) fn lacks_locks(db: &Path) -> bool {
    // Nobody takes this lock for long, and closing the file releases it.
    let locked = fs::File::open(companion(db, "setup")).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(fs::TryLockError::Error(error))) if is_without_locks(&error))
}

/// Free bytes on the disk of a directory, for this user. None when the system does not tell.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let stats = rustix::fs::statvfs(directory).ok()?;
    Some(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// The kind of network file system that holds a directory, such as `NFS`. SQLite's log needs shared memory between processes, which a
/// network file system does not give to several machines. None: the directory is on a local disk, or the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn network_file_system(directory: &Path) -> Option<&'static str> {
    network_name(rustix::fs::statfs(directory).ok()?.f_type)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn network_file_system(_directory: &Path) -> Option<&'static str> {
    None
}

/// The name of a network file system by its number in `statfs` (linux/magic.h).
#[cfg(any(target_os = "linux", test))]
fn network_name(magic: impl TryInto<i64>) -> Option<&'static str> {
    match magic.try_into().ok()? & 0xFFFF_FFFF {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB"),
        0x0102_1997 => Some("9P"),
        0x5346_414F => Some("AFS"),
        0x00C3_6400 => Some("Ceph"),
        _ => None,
    }
}

/// True when the disk is full and nothing else keeps this user from writing to the directory.
pub(crate) fn is_disk_full(directory: &Path) -> bool {
    use rustix::fs::{Access, access};
    free_bytes(directory) == Some(0) && access(directory, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number() {
        for (magic, name) in [(0x6969_i64, Some("NFS")), (0xFF53_4D42, Some("SMB")), (0xEF53, None)] {
            assert_eq!(network_name(magic), name);
        }
        assert_eq!(network_name(0xFE53_4D42_u32.cast_signed()), Some("SMB"), "a 32-bit system has a signed number");
    }

    #[test]
    fn companion_names_follow_directory() {
        assert_eq!(companion(Path::new("/d/a.db"), "changed"), Path::new("/d/a.db.changed"));
        assert_eq!(companion(Path::new("/d/replica.db"), "lock"), Path::new("/d/replica.db.lock"));
        let own = crate::profile::Profile::locate("nobody", None, false).unwrap().db;
        assert_eq!(companion(&own, "lock"), own.with_file_name("lock"));
    }

    #[test]
    fn failed_write_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::create_dir(&path).unwrap();
        assert!(write_whole(&path, b"text").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
