#!/usr/bin/env python3
"""Checks the sources and licences of all crates in the programs, and writes the licence texts that packages must carry.

    packaging/third_party.py FILE     writes FILE; exit code 1 names each crate with another source or licence
"""

import json
import pathlib
import re
import subprocess
import sys

SOURCE = "registry+https://github.com/rust-lang/crates.io-index"
# Each asks at most for its text in a package.
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unicode-3.0",
    "Unicode-DFS-2016", "Unlicense", "WTFPL", "Zlib",
}
PROGRAMS = ["hearth-server", "hearth-replica", "hearth"]
# Names of files with licence texts.
TEXTS = re.compile(r"^(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)


def is_allowed(expression):
    """Whether an SPDX expression is met by the known licences. OR needs one side, AND both."""
    expression = expression.replace("/", " OR ").strip()
    words = re.sub(r"([A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?)",
                   lambda m: {"OR": "or", "AND": "and"}.get(m[0], str(m[0] in LICENCES)), expression)
    return bool(re.fullmatch(r"[()\sA-Za-z]+", words) and eval(words, {"__builtins__": {}}))


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
    faults, parts = [], []
    for package in dependencies():
        name, licence = f"{package['name']} {package['version']}", package["license"] or ""
        if package["source"] != SOURCE:
            faults.append(f"{name}: from {package['source']}")
        if not is_allowed(licence):
            faults.append(f"{name}: licence {licence or 'unknown'}")
        directory = pathlib.Path(package["manifest_path"]).parent
        texts = [path.read_text(errors="replace") for path in sorted(directory.iterdir())
                 if TEXTS.match(path.name) and path.is_file()]
        parts.append("\n".join([f"{'=' * 78}\n{name} ({licence})\n{package['repository'] or ''}", *texts]))
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts))
    print(f"{len(parts)} crates, {len(faults)} faults")
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    sys.exit(bool(faults))


main()
