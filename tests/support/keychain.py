"""A keychain in memory, in the place of the system's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

SERVICE = "datasette-bear-search"


class Keychain:
    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.secrets = dict(secrets)

    def get_password(self, service: str, account: str) -> str | None:
        assert service == SERVICE
        return self.secrets.get(account)

    def set_password(self, service: str, account: str, password: str) -> None:
        assert service == SERVICE
        self.secrets[account] = password


@contextmanager
def keychain_with(secrets: Mapping[str, str]) -> Iterator[Keychain]:
    found = Keychain(secrets)
    with patch("keyring.core.get_keyring", lambda: found):
        yield found
