#!/usr/bin/env python3
"""Prints the value of the home and writes the items to a Parquet file. DuckDB reads the replica in place.

DuckDB reads every column of an SQLite view as text; numbers of views need a cast. Columns of tables have types.
Usage: pip install duckdb; REPLICA=$(hearth-replica path) duckdb_value.py FILE.parquet
HEARTH_DUCKDB_SQLITE: path of DuckDB's SQLite extension, for machines that cannot download it.
"""
import os
import sys

import duckdb


def main(parquet):
    duck = duckdb.connect()
    duck.execute(f"INSTALL '{os.environ.get('HEARTH_DUCKDB_SQLITE', 'sqlite')}'")
    duck.execute("LOAD sqlite_scanner" if "HEARTH_DUCKDB_SQLITE" in os.environ else "LOAD sqlite")
    duck.execute(f"ATTACH '{os.environ['REPLICA']}' AS home (TYPE sqlite, READ_ONLY)")
    rows = duck.sql(
        """SELECT coalesce(r.name, '(no room)') AS room, sum(i.quantity) AS things,
                  sum(coalesce(i.current_value, i.purchase_price)::DECIMAL(14, 2) * i.quantity) AS worth
           FROM home.inventory i LEFT JOIN home.rooms r ON r.id = i.room_id
           GROUP BY 1 ORDER BY worth DESC NULLS LAST LIMIT 5"""
    ).fetchall()
    for room, things, worth in rows:
        print(f"{room:20} {things:5} {worth or 0:>12}")
    (total,) = duck.sql("SELECT sum(value_cents::BIGINT) FROM home.home_value").fetchone()
    print(f"{'all':20} {'':5} {(total or 0) / 100:>12.2f}")
    duck.execute(f"COPY (SELECT * FROM home.inventory) TO '{parquet}' (FORMAT parquet)")


if __name__ == "__main__":
    main(sys.argv[1])
