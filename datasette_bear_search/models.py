"""What all models share: they are loaded once, by whoever needs them first or in the background, or can't be had."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Seconds for which a model that could not be loaded isn't tried again, so that not every search waits for it.
RETRY_AFTER = 60.0


class ModelUnavailable(Exception):
    """The model can't answer now. The message says why, and what to do."""


class Model(ABC):
    """Something slow to load that may be missing or broken; any thread may ask for it.

    Another kind of model is a subclass with :meth:`prepare`.
    """

    advice = "Try again, or choose another one with --model."  # after a failure that nobody foresaw

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = False  # loaded
        self.failure: str | None = None  # why the last attempt to load it failed
        self._retry_at = 0.0
        self._load_lock = threading.Lock()
        self._warm_up_lock = threading.Lock()
        self._warm_up_thread: threading.Thread | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Do all that has to be done once. Never called by two threads at once.

        :raises ModelUnavailable: with a message for people; other exceptions are put into such words
        """

    def load(self) -> None:
        """Load the model if it isn't loaded; the first caller does it, the others wait.

        :raises ModelUnavailable: also for a while after a failed attempt, without a new one
        """
        if self.ready:
            return
        with self._load_lock:
            if self.ready:
                return
            if self.failure and time.monotonic() < self._retry_at:
                raise ModelUnavailable(self.failure)
            try:
                self.prepare()
            except Exception as error:
                self.failure = self.in_plain_words(error, f"The model {self.name} can't be loaded")
                self._retry_at = time.monotonic() + RETRY_AFTER
                raise ModelUnavailable(self.failure) from error
            self.ready, self.failure = True, None

    def warm_up(self) -> None:
        """Begin to load the model in the background, unless that is done or under way."""
        with self._warm_up_lock:
            under_way = self._warm_up_thread and self._warm_up_thread.is_alive()
            if self.ready or under_way:
                return
            # A daemon: a server that is stopped must not wait for the model.
            self._warm_up_thread = threading.Thread(
                target=self._load_quietly, name=f"warm-up {self.name}", daemon=True
            )
            self._warm_up_thread.start()

    def load_within(self, seconds: float | None) -> bool:
        """Whether the model is loaded after so much time at most, None is any; if not, it goes on in the background."""
        self.warm_up()
        if not self.ready and (thread := self._warm_up_thread):
            thread.join(seconds)
        return self.ready

    def in_plain_words(self, error: Exception, what_happened: str) -> str:
        """The message of a ModelUnavailable; of any other exception, what it means for people."""
        if isinstance(error, ModelUnavailable):
            return str(error)
        return f"{what_happened} ({first_line(error)}). {self.advice}"

    def _load_quietly(self) -> None:
        with suppress(ModelUnavailable):  # ``failure`` has it
            self.load()


def readable(text: str) -> str:
    """The text without halves of surrogate pairs: broken exports have them, and they would stop the tokenizer."""
    return text.encode(errors="replace").decode()


def first_line(error: Exception) -> str:
    """What an exception says, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


@contextmanager
def silent_libraries() -> Iterator[None]:
    """While a model is loaded from disk, no progress bars and no notes for developers."""
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "transformers")]
    levels = [logger.level for logger in loggers]
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()
