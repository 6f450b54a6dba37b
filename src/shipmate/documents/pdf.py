"""Read the pages of a PDF file."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from shipmate.documents.extract import Found
from shipmate.errors import DecodingError

if TYPE_CHECKING:
    from pypdf import PageObject


class Pdf:
    """A PDF file; a page is taken apart when it is asked for."""

    def __init__(self, data: bytes, name: str) -> None:
        try:
            from pypdf import PdfReader
            from pypdf.errors import DependencyError, PyPdfError
        except ImportError as error:
            raise DecodingError(
                "PDF files need the extra `documents`. Install it: pip install 'shipmate[documents]'."
            ) from error
        try:
            self._reader = PdfReader(BytesIO(data))
            # Many files are encrypted with no password, so that programs forbid copying.
            is_closed = self._reader.is_encrypted and not self._reader.decrypt("")
            self.total = 0 if is_closed else len(self._reader.pages)
        except DependencyError as error:
            raise _encrypted(name) from error
        except (
            PyPdfError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            OSError,
        ) as error:
            raise DecodingError(
                f"{name} is damaged or no PDF. Open it in its program and save it."
            ) from error
        if is_closed:
            raise _encrypted(name)

    def read(self, first: int) -> Iterator[tuple[int, Found]]:
        """Go over the pages from a number on."""
        for number in range(first, self.total + 1):
            yield number, (f"page {number}", 0, _read_page(self._reader.pages[number - 1]))


def _read_page(page: PageObject) -> str:
    try:
        text = page.extract_text()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # the library trips in many ways; the other pages can be read
        return f"[this page could not be read: {type(error).__name__}]"
    return text.strip() or "[no text on this page; it may be a picture]"


def _encrypted(name: str) -> DecodingError:
    return DecodingError(f"{name} is encrypted. Save it without a password.")
