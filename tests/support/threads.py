"""Threads that end with the test that starts them, however it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

# Seconds that something may take on a busy machine.
PATIENCE = 120


@contextmanager
def running(
    *targets: Callable[[], object], end: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Run functions in threads during a block; afterwards, raise the first error of theirs.

    :param end: called after the block, also after a failure, to make them return
    """
    errors: list[BaseException] = []

    def run(target: Callable[[], object]) -> None:
        try:
            target()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[target], daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end()
        for thread in threads:
            thread.join(PATIENCE)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


def wait_for(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until a condition holds, at most so many seconds: a busy machine is slow."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


@contextmanager
def serving(server: uvicorn.Server) -> Iterator[int]:
    """Run a server in a thread; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def end() -> None:
            server.should_exit = True

        with running(lambda: server.run([listener]), end=end):
            wait_for(lambda: server.started)
            yield listener.getsockname()[1]
