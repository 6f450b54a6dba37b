"""Meanings as vectors: those of wordllama, from the files of its package.

Its own loader knows how to fetch what is missing; here nothing is fetched, and none of it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from shipmate.workspace.finding import Finding

EXTRA = "recall"
PACKAGE = "wordllama"
WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"
# How many characters of a text are looked at.
TEXT_LIMIT = 2_000
KEPT_TEXTS = 20_000


class Vectors(Protocol):
    """What tells how alike texts are in meaning."""

    def make(self, texts: Sequence[str]) -> object:
        """Return what `compare` needs to know of texts."""
        ...

    def compare(self, made: object, query: str) -> list[float]:
        """Return how alike a query is to each text, from -1 to 1."""
        ...


class WordVectors:
    """The mean of the vectors of a text's pieces; as little work as counting its words."""

    loaded: WordVectors | None = None

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._matrix: Any = load_file(folder / WEIGHTS)[TENSOR]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER))
        # What is remembered changes a line at a time: the others keep their vectors.
        self._known: dict[str, Any] = {}

    def make(self, texts: Sequence[str]) -> object:
        """Return the texts' vectors, one a row."""
        import numpy as np

        if len(self._known) > KEPT_TEXTS:
            self._known.clear()
        for text in texts:
            if text not in self._known:
                self._known[text] = self._embed(text)
        return np.stack([self._known[text] for text in texts])

    def compare(self, made: Any, query: str) -> list[float]:
        """Return the cosine between a query and each text."""
        import numpy as np

        # A product of matrices would wake threads that take longer to meet than the work does.
        return np.einsum("ij,j->i", made, self._embed(query)).tolist()

    def _embed(self, text: str) -> Any:
        import numpy as np

        ids = self._tokenizer.encode(text[:TEXT_LIMIT], add_special_tokens=False).ids
        total = self._matrix[ids].astype(np.float32).sum(axis=0)
        length = float(np.linalg.norm(total))
        return total / length if length else total


def find_folder() -> Path | None:
    """Return where the extra's files lie; None when it is not installed, or its files are not as known."""
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place)
        if (folder / WEIGHTS).is_file() and (folder / TOKENIZER).is_file():
            return folder
    return None


@cache
def load_vectors() -> Vectors | None:
    """Load the vectors of the extra, once a process; None without it."""
    folder = find_folder()
    if folder is None:
        return None
    WordVectors.loaded = WordVectors(folder)
    return WordVectors.loaded


def check_recall() -> list[Finding]:
    """Say how memory is recalled here."""
    if find_folder() is not None:
        return [Finding("ok", EXTRA, "memory is recalled by words and by meaning")]
    how = "pip install 'shipmate[recall]' finds what is said in other words too"
    return [Finding("ok", EXTRA, f"memory is recalled by words alone; {how}")]
