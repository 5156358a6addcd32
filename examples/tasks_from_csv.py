#!/usr/bin/env python3
"""Adds the tasks of a CSV file (title,due_on,priority) and completes tasks that are no longer in the file.

The file may come from a spreadsheet: UTF-8, UTF-16 or Latin-1, with commas, semicolons or tabs. The id of a task is made
from the title; a second run with the same file changes nothing. If a row is refused, nothing is changed. Needs no packages.
Usage: REPLICA=$(hearth-replica path) tasks_from_csv.py FILE
"""
import csv
import io
import os
import sqlite3
import sys
import uuid

OURS = uuid.UUID("6f0d1a52-6c0b-4c6e-9d0e-2f6a8a0b7c11")  # any fixed UUID of your own


def read(path):
    """The rows as (number, cells by heading). The heading is row 1, as in a spreadsheet."""
    with open(path, "rb") as file:
        data = file.read()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")  # Latin-1 as Windows writes it
    heading = text.partition("\n")[0]
    table = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=heading.count))
    names = [name.strip().lower() for name in next(table, [])]
    missing = [name for name in ("title", "due_on", "priority") if name not in names]
    if missing:
        sys.exit(f"row 1: no column {', '.join(missing)}; the columns are {', '.join(names)}")
    for number, cells in enumerate(table, start=2):
        if any(cells[len(names) :]):
            sys.exit(f"row {number}: {len(cells)} cells, but {len(names)} columns; a cell with a separator needs quotes")
        if any(cells):
            yield number, dict.fromkeys(names, "") | dict(zip(names, cells))


def main(path):
    home = sqlite3.connect(os.environ["REPLICA"], timeout=5)
    home.row_factory = sqlite3.Row
    rows, faults = {}, []
    for number, row in read(path):
        id = str(uuid.uuid5(OURS, row["title"]))
        if id in rows:
            faults.append(f"row {number}: the title is also in row {rows[id][0]}")
        rows.setdefault(id, (number, row))
    for id, (number, row) in rows.items():
        try:
            home.execute(
                """INSERT INTO tasks (id, title, due_on, priority, assignee) VALUES (?, ?, ?, ?, 'csv')
                   ON CONFLICT (id) DO UPDATE SET due_on = excluded.due_on, priority = excluded.priority
                   WHERE due_on IS NOT excluded.due_on OR priority IS NOT excluded.priority""",
                (id, row["title"], row["due_on"] or None, row["priority"] or "medium"),
            )
        except sqlite3.IntegrityError as refusal:
            faults.append(f"row {number}: {refusal}")
    if faults:
        home.rollback()
        sys.exit("\n".join(faults) + "\nnothing was changed")
    marks = ", ".join("?" * len(rows))
    gone = home.execute(
        f"UPDATE tasks SET status = 'done' WHERE assignee = 'csv' AND status <> 'done' AND id NOT IN ({marks})",
        list(rows),
    ).rowcount
    home.commit()  # one transaction: all rows or none
    waiting = home.execute("SELECT waiting FROM sync_status").fetchone()["waiting"]
    print(f"{len(rows)} tasks there, {gone} ticked off, {waiting} edits on their way")


if __name__ == "__main__":
    main(sys.argv[1])
