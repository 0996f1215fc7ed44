"""Checks that take minutes: nothing harms Bear, and no fault loses anything.

Each module is run by hand, prints a table in Markdown and exits with status 1 if a check fails:

    python -m tests.stress.bear_writes     a Bear that writes constantly, while all commands read
    python -m tests.stress.kill            SIGKILL at random moments of indexing
    python -m tests.stress.damage          full disks, damaged, foreign and newer files
    python -m tests.stress.searchers       eight clients search over HTTP while the index is written
    python -m tests.stress.axe             axe-core on 15 states of the pages, light, dark, narrow
    python -m tests.stress.fuzz all        any input: texts, URLs, databases, archives, folders

The test suite runs smaller versions (tests/sources/bear/test_unharmed.py,
tests/index/test_killed_runs.py).
"""
