"""Put pieces of thinking together as OpenRouter streams them."""

from __future__ import annotations

from shipmate.values.message import JsonObject

# What comes piece by piece.
PIECEMEAL = ("text", "summary", "data")


class ThoughtDetails:
    """The details of one stretch of thinking; texts are joined at the end, since each time is quadratic."""

    def __init__(self) -> None:
        self._details: list[JsonObject] = []
        self._texts: list[dict[str, list[str]]] = []

    def add(self, detail: JsonObject) -> None:
        """Add a piece to the detail it continues, or as a new one."""
        last = self._details[-1] if self._details else {}
        same = all(last.get(key) == detail.get(key) for key in ("type", "index"))
        if not last or not same or last.get("id") not in (None, detail.get("id")):
            self._details.append({})
            self._texts.append({})
        for key, value in detail.items():
            self._extend(key, value)

    def _extend(self, key: str, value: object) -> None:
        last, texts = self._details[-1], self._texts[-1]
        if key in PIECEMEAL and isinstance(value, str):
            texts.setdefault(key, []).append(value)
            # Keeps its place among the others.
            last[key] = ""
        elif value is not None or key not in last:
            texts.pop(key, None)
            last[key] = value

    def take(self) -> list[JsonObject]:
        """Return the details, and begin anew."""
        found = [
            detail | {key: "".join(pieces) for key, pieces in texts.items()}
            for detail, texts in zip(self._details, self._texts, strict=True)
        ]
        self._details, self._texts = [], []
        return found
