"""Runs the samples of the guides against a real server.

Usage: guides.py GUIDE.md …

Each block marked sh, python or typescript must end with exit code 0. A block marked text that follows it is its output; `…`
stands for any characters of a line. A block marked json must be JSON. The environment has HEARTH_URL and HEARTH_DATA. The samples
of a guide run in one directory, which holds the files `key` and `header`; those of start.md make these files.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECONDS_MAX = 60
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
RUNNERS = {
    "sh": ["bash", "-euo", "pipefail"],
    "python": [sys.executable],
    "typescript": ["npx", "--no-install", "--prefix", os.environ["NODE_PREFIX"], "tsx"],
}
SUFFIXES = {"sh": ".sh", "python": ".py", "typescript": ".mts"}


def blocks(text):
    """Pairs of language, code, and the expected output or None, each with the line of the fence."""
    found = [(match[1], match[2], text[: match.start()].count("\n") + 1) for match in FENCE.finditer(text)]
    ends = [match.end() for match in FENCE.finditer(text)]
    starts = [match.start() for match in FENCE.finditer(text)]
    for at, (language, code, line) in enumerate(found):
        follows = at + 1 < len(found) and found[at + 1][0] == "text" and not text[ends[at] : starts[at + 1]].strip()
        yield language, code, line, found[at + 1][1] if follows else None


def fits(expected, written):
    pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", expected.strip()))
    return re.fullmatch(pattern, written.strip()) is not None


def run(guide, directory):
    count = 0
    for language, code, line, expected in blocks(guide.read_text()):
        place = f"{guide.name}:{line}"
        if language == "json":
            json.loads(code)
        if language not in RUNNERS:
            continue
        sample = pathlib.Path(directory, f"sample{SUFFIXES[language]}")
        sample.write_text(code)
        ended = subprocess.run(
            [*RUNNERS[language], str(sample)], cwd=directory, text=True, capture_output=True, timeout=SECONDS_MAX,
            stdin=subprocess.DEVNULL,
        )
        if ended.returncode != 0:
            sys.exit(f"{place}: exit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
        if expected is not None and not fits(expected, ended.stdout):
            sys.exit(f"{place}: written was\n{ended.stdout}\nand the guide says\n{expected}")
        count += 1
    print(f"{guide.name}: {count} samples")


key = pathlib.Path(os.environ["HEARTH_KEY_FILE"]).read_text()
for name in sys.argv[1:]:
    guide = pathlib.Path(name)
    with tempfile.TemporaryDirectory() as directory:
        if guide.name != "start.md":
            pathlib.Path(directory, "key").write_text(key)
            pathlib.Path(directory, "header").write_text(f"Authorization: Bearer {key}")
        run(guide, directory)
