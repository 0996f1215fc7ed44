"""Search dogsheep-beta's index at the given path. Run by a Python that has dogsheep-beta.

Reads one query per line and prints milliseconds and the number of rows as a line of JSON. Runs it
as dogsheep-beta's page does (``search`` in dogsheep_beta/__init__.py): with its SQL, and again with
quotation marks if FTS5 rejects the query.
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
