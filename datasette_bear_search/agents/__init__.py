"""The notes for AI assistants: tools of the Model Context Protocol (MCP), over stdio and over HTTP.

What the tools do stands in :mod:`search`, :mod:`reading` and :mod:`overview`, which know no protocol; what they are
called and how they are explained in :mod:`tools`; how they are reached in :mod:`server` and :mod:`view`. Nothing writes.
"""
