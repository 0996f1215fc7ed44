"""Asks dogsheep-beta's index: run by a Python that has dogsheep-beta, with the path of the index.

Takes a query a line and answers with a line of JSON: milliseconds, rows. The query is run as its
page runs it (``search`` in dogsheep_beta/__init__.py): its SQL, and once more with quotation marks
where FTS5 can't read it.
"""

import json
import sqlite3
import sys
import time

from datasette.utils import escape_fts
from dogsheep_beta import SEARCH_SQL

SQL = SEARCH_SQL.format(
    where=" where ",
    where_clauses="search_index_fts match :query",
    order_by="search_index_fts.rank, search_index.timestamp desc",
)


def main():
    connection = sqlite3.connect(sys.argv[1])
    for line in sys.stdin:
        query = line.strip()
        started = time.perf_counter()
        try:
            rows = connection.execute(SQL, {"query": query}).fetchall()
        except sqlite3.OperationalError:
            rows = connection.execute(SQL, {"query": escape_fts(query)}).fetchall()
        milliseconds = (time.perf_counter() - started) * 1000
        print(json.dumps([milliseconds, len(rows)]), flush=True)


if __name__ == "__main__":
    main()
