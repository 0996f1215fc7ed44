"""The ``datasette bear-…`` commands, one module each: parse, call, print.

Every datasette command imports these modules, so that what a command needs is imported when it runs.
"""
