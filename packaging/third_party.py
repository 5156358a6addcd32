#!/usr/bin/env python3
"""Writes the licence texts of all crates in the programs, which packages must carry. `cargo deny` judges the licences.

    packaging/third_party.py FILE     writes FILE; the output names each crate that has no text of its licence
"""

import json
import pathlib
import re
import subprocess
import sys

PROGRAMS = ["hearth-server", "hearth-replica", "hearth"]
# Names of files with licence texts.
TEXTS = re.compile(r"^(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)


def dependencies():
    """The packages from other people that the programs are built from."""
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--locked", "--format-version", "1"]))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] in PROGRAMS and package["source"] is None]
    found = set()
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            used = [dep for dep in nodes[key]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
            waiting += [dep["pkg"] for dep in used]
    return sorted((packages[key] for key in found if packages[key]["source"]), key=lambda p: (p["name"], p["version"]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    parts, without = [], []
    for package in dependencies():
        name, licence = f"{package['name']} {package['version']}", package["license"] or "unknown"
        directory = pathlib.Path(package["manifest_path"]).parent
        texts = [path.read_text(errors="replace") for path in sorted(directory.iterdir())
                 if TEXTS.match(path.name) and path.is_file()]
        if not texts:
            without.append(f"{name}: no text of its licence, {licence}")
        parts.append("\n".join([f"{'=' * 78}\n{name} ({licence})\n{package['repository'] or ''}", *texts]))
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts))
    print("\n".join([*without, f"{len(parts)} crates, {len(without)} without a text"]))


main()
