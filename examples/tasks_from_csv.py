#!/usr/bin/env python3
"""Adds the tasks of a CSV file (title,due_on,priority) and completes tasks that are no longer in the file.

The id of a task is made from the title; a second run with the same file changes nothing. Needs no packages.
Usage: REPLICA=$(hearth-replica path) tasks_from_csv.py FILE
"""
import csv
import os
import sqlite3
import sys
import uuid

OURS = uuid.UUID("6f0d1a52-6c0b-4c6e-9d0e-2f6a8a0b7c11")  # any fixed UUID of your own


def main(path):
    home = sqlite3.connect(os.environ["REPLICA"], timeout=5)
    home.row_factory = sqlite3.Row
    with open(path, newline="", encoding="utf-8") as file:
        wanted = {str(uuid.uuid5(OURS, row["title"])): row for row in csv.DictReader(file)}
    faults = 0
    with home:  # one transaction: all rows or none
        for id, row in wanted.items():
            try:
                home.execute(
                    """INSERT INTO tasks (id, title, due_on, priority, assignee) VALUES (?, ?, ?, ?, 'csv')
                       ON CONFLICT (id) DO UPDATE SET due_on = excluded.due_on, priority = excluded.priority
                       WHERE due_on IS NOT excluded.due_on OR priority IS NOT excluded.priority""",
                    (id, row["title"], row["due_on"] or None, row["priority"] or "medium"),
                )
            except sqlite3.IntegrityError as refusal:
                print(f"{row['title']}: {refusal}", file=sys.stderr)
                faults += 1
        marks = ", ".join("?" * len(wanted))
        gone = home.execute(
            f"UPDATE tasks SET status = 'done' WHERE assignee = 'csv' AND status <> 'done' AND id NOT IN ({marks})",
            list(wanted),
        ).rowcount
    waiting = home.execute("SELECT waiting FROM sync_status").fetchone()["waiting"]
    print(f"{len(wanted) - faults} tasks there, {gone} ticked off, {waiting} edits on their way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
