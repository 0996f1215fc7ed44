"""An installation without torch: what it consists of, and the bundled model's vectors in it.

CI runs this file and some others in such an environment, too.
Tests ``embeddings/safetensors.py`` and what ``requirements-light.txt`` holds.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest
import setuptools
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.installs.light_requirements import EXTRAS, FILE, LEFT_OUT
from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.embeddings.registry import get_embedder
from datasette_bear_search.embeddings.safetensors import as_float32

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests/embeddings/reference_vectors.json"


def pinned() -> dict[str, str]:
    """Return the versions that the file pins for this Python and platform."""
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    found = [each for each in map(Requirement, lines) if not each.marker or each.marker.evaluate()]
    return {each.name: next(iter(each.specifier)).version for each in found}


def declared(monkeypatch) -> list[str]:
    """Return what setup.py requires, with the extras of a light installation."""
    given: dict = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    code = (ROOT / "setup.py").read_text()
    exec(compile(code, "setup.py", "exec"), {"__file__": str(ROOT / "setup.py"), "__name__": "x"})
    extras = [each for extra in EXTRAS for each in given["extras_require"][extra]]
    return [*given["install_requires"], *extras]


def test_the_light_requirements_are_all_that_is_needed_without_torch(monkeypatch):
    pins, seen = pinned(), set()
    waiting = [(line, "") for line in declared(monkeypatch)]
    while waiting:
        line, extra = waiting.pop()
        needed = Requirement(line)
        name = canonicalize_name(needed.name)
        holds = needed.marker is None or needed.marker.evaluate({"extra": extra})
        if not holds or name in LEFT_OUT or (name, extra) in seen:
            continue
        assert name in pins, f"run benchmarks/installs/light_requirements.py: {line} is missing"
        assert needed.specifier.contains(pins[name], prereleases=True), line
        for extra in ("", *needed.extras):
            seen.add((name, extra))
            try:
                waiting += [(line, extra) for line in distribution(name).requires or ()]
            except PackageNotFoundError:
                assert not find_spec("sentence_transformers"), name
    assert not {*LEFT_OUT} & {*pins}


@pytest.mark.skipif(not find_spec(BUNDLED_PACKAGE), reason="the bundled model is not installed")
def test_vectors_without_torch_are_those_that_torch_made():
    rows = json.loads(REFERENCE.read_text())
    theirs = [numpy.frombuffer(base64.b64decode(row["vector"]), "<f2") for row in rows]
    made = get_embedder(BUNDLED).embed_documents([row["text"] for row in rows])
    for vector, reference in zip(made, theirs):
        ours = numpy.frombuffer(vector or b"", "<f4")
        cosine = ours @ reference / numpy.linalg.norm(reference.astype("f4"))
        assert cosine >= 0.9999


def test_bfloat16_is_read_as_the_upper_half_of_float32():
    numbers = numpy.array([1.0, -2.5, 0.0, 1e30], "f4")
    upper = (numbers.view("u4") >> 16).astype("u2")
    assert as_float32(upper) == pytest.approx(numbers, rel=0.01)
    assert as_float32(numbers) is numbers


@pytest.mark.skipif(not find_spec(BUNDLED_PACKAGE), reason="the bundled model is not installed")
def test_a_query_of_the_bundled_model_needs_no_library_and_no_export(tmp_path):
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers', 'sentence_transformers', 'onnx', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "from datasette_bear_search.embeddings import registry\n"
        f"embedder = registry.get_embedder({BUNDLED!r})\n"
        "embedder.embed_documents(['mice'] * 600)\n"
        "embedder.prepare_for_batch(600)\n"
        "print(embedder.fingerprint, embedder.loads_fast(), embedder.needs_onnx_export())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("427339dd71cd033b True False", "")
