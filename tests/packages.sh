#!/usr/bin/env bash
# Builds the Debian packages, installs them in a clean Debian, runs the programs, and removes the packages. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-deb >/dev/null || cargo install --locked --quiet cargo-deb
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

packaging/deb dev
debootstrap --variant=minbase bookworm "$root/debian" http://deb.debian.org/debian >"$root/log" || { cat "$root/log" >&2; exit 1; }
cp target/package/*.deb "$root/debian/"
chroot "$root/debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -eu <<'INSIDE'
apt-get update -qq
apt-get install -y -qq --no-install-recommends /*.deb
for program in hearth-server hearth-replica hearth; do
  "$program" --version
  test -s "/usr/share/man/man1/$program.1.gz"
  test -s "/usr/share/bash-completion/completions/$program"
done
test -s /lib/systemd/system/hearth-server.service
test -s /usr/lib/systemd/user/hearth-replica@.service
hearth-replica init --no-server
hearth-replica add task title=Filter
hearth-replica list tasks | grep -q Filter
apt-get purge -y -qq hearth hearth-replica hearth-server
! ls /usr/bin | grep hearth
INSIDE
echo "the packages install, run and go"
