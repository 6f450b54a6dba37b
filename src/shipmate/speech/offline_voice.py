"""Understand and speak English without a server, in the child process that takes strangers' bytes apart.

Nothing here is imported by Shipmate itself: the libraries of the extra `voice` are loaded in the child with
the first call, and go with it when nobody has called for a while. What is refused is named by a key of
`words/`.
"""

from __future__ import annotations

import ctypes
import io
from functools import cache
from typing import Any

from shipmate.errors import DecodingError

# What the model was made for, and what a recording leaves with; Opus knows only some rates.
HEARD_RATE = 16_000
SPOKEN_RATE = 24_000
# The model is given so much at once; the cut is made where it is quietest within the last seconds.
PIECE_SECONDS, CUT_SECONDS = 28, 6
# Recordings of people have one of these.
RATES = range(4_000, 400_000)
# Below this nobody speaks, and the model makes words up.
QUIET = 0.002
# Flags and numbers of eSpeak NG's `speak_lib.h`.
RETRIEVAL, CHARACTERS, UTF8 = 1, 1, 1


def transcribe(data: bytes, *, longest_seconds: int) -> bytes:
    """Return the words of a recording."""
    import numpy as np

    samples, rate = _read(data, longest_seconds)
    found: list[str] = []
    while len(samples):
        piece, samples = np.split(samples, [_find_cut(samples, rate)])
        if float(np.sqrt(np.mean(np.square(piece)))) < QUIET:
            continue
        # A last word that ends with the recording is heard wrongly.
        heard = np.pad(_resample(piece, rate, HEARD_RATE), (0, HEARD_RATE // 2))
        lines = _load_transcriber().transcribe_without_streaming(heard.tolist(), HEARD_RATE).lines
        found += [line.text.strip() for line in lines]
    return " ".join(filter(None, found)).encode()


def speak(data: bytes) -> bytes:
    """Return words as a recording that people can play: Opus in Ogg."""
    import numpy as np
    import soundfile  # pyright: ignore[reportMissingTypeStubs]

    text = data.decode()
    samples, rate = _synthesize(text, "cmn" if any("\u4e00" <= each <= "\u9fff" for each in text) else "en")
    made = _resample(np.frombuffer(samples, dtype="<i2").astype("float32") / 32_768, rate, SPOKEN_RATE)
    out = io.BytesIO()
    soundfile.write(out, made, SPOKEN_RATE, format="OGG", subtype="OPUS")
    return out.getvalue()


def _read(data: bytes, longest_seconds: int) -> tuple[Any, int]:
    """Return the samples of a recording, its channels as one, and their rate."""
    import soundfile  # pyright: ignore[reportMissingTypeStubs]

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate = file.samplerate
            limit = longest_seconds * rate
            # What it says of its length may be wrong: no more is read than may be.
            samples = file.read(limit + 1, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, ValueError, TypeError):
        raise DecodingError("unread") from None
    if rate not in RATES:
        raise DecodingError("unread")
    if len(samples) > limit:
        raise DecodingError("too-long")
    return samples.mean(axis=1), rate


def _resample(samples: Any, rate: int, wanted: int) -> Any:
    """Return samples at another rate: what it can hold of their spectrum, and nothing else."""
    import numpy as np

    count = int(len(samples) * wanted / rate)
    if rate == wanted or not count:
        return samples
    spectrum = np.fft.rfft(samples)
    kept = spectrum[: count // 2 + 1]
    return (np.fft.irfft(kept, count) * (count / len(samples))).astype("float32")


def _find_cut(samples: Any, rate: int) -> int:
    import numpy as np

    end, step = PIECE_SECONDS * rate, rate // 10
    if len(samples) <= end:
        return len(samples)
    start = end - CUT_SECONDS * 10 * step
    loudness = np.square(samples[start:end][: CUT_SECONDS * 10 * step]).reshape(-1, step).sum(axis=1)
    return start + int(loudness.argmin()) * step + step // 2


@cache
def _load_transcriber() -> Any:
    from moonshine_voice.moonshine_api import ModelArch  # pyright: ignore[reportMissingTypeStubs]
    from moonshine_voice.transcriber import Transcriber  # pyright: ignore[reportMissingTypeStubs]
    from moonshine_voice.utils import get_model_path  # pyright: ignore[reportMissingTypeStubs]

    return Transcriber(get_model_path("tiny-en"), ModelArch.TINY)


@cache
def _load_synthesizer() -> tuple[Any, int]:
    import espeakng_loader  # pyright: ignore[reportMissingTypeStubs]

    library = ctypes.CDLL(espeakng_loader.get_library_path())
    rate = library.espeak_Initialize(RETRIEVAL, 0, espeakng_loader.get_data_path().encode(), 0)
    return library, rate


def _synthesize(text: str, voice: str) -> tuple[bytes, int]:
    library, rate = _load_synthesizer()
    pieces: list[bytes] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    def take(samples: int | None, count: int, _events: int) -> int:
        if samples and count:
            pieces.append(ctypes.string_at(samples, 2 * count))
        return 0

    library.espeak_SetSynthCallback(take)
    library.espeak_SetVoiceByName(voice.encode())
    said = text.encode() + b"\0"
    library.espeak_Synth(said, ctypes.c_size_t(len(said)), 0, CHARACTERS, 0, UTF8, None, None)
    library.espeak_Synchronize()
    return b"".join(pieces), rate
