"""Bring files to Feishu: pictures, recordings and all others each go their own way."""

from __future__ import annotations

from shipmate.adapters.feishu.feishu_api import FeishuApi, encode
from shipmate.adapters.feishu.feishu_card import make_post
from shipmate.delivery.adapter import OutgoingFile
from shipmate.errors import SendError, SendLaterError, SendRefusedError

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"})
PICTURE_BYTES = 10 * 1024 * 1024
RECORDINGS = frozenset({"audio/ogg", "audio/opus"})
# What Feishu shows inside; anything else is a stream of bytes to it.
SORTS = {
    "pdf": "pdf",
    "doc": "doc",
    "docx": "doc",
    "xls": "xls",
    "xlsx": "xls",
    "ppt": "ppt",
    "pptx": "ppt",
}


async def upload_file(api: FeishuApi, file: OutgoingFile, text: str) -> tuple[str, str]:
    """Upload a file; return the type and the content of the message that shows it.

    Nothing is sent by this, whatever becomes of it.
    """
    try:
        if file.media_type in PICTURES and file.size <= PICTURE_BYTES:
            fields = {"image_type": "message"}
            found = await api.upload("/open-apis/im/v1/images", fields, "image", file)
            key = found["image_key"]
            if text:
                return "post", make_post(text, image_key=key)
            return "image", encode({"image_key": key}).decode()
        is_recording = file.is_voice and file.media_type in RECORDINGS
        ending = file.filename.rpartition(".")[2].lower()
        sort = "opus" if is_recording else SORTS.get(ending, "stream")
        fields = {"file_type": sort, "file_name": file.filename}
        found = await api.upload("/open-apis/im/v1/files", fields, "file", file)
        return "audio" if is_recording else "file", encode({"file_key": found["file_key"]}).decode()
    except (SendLaterError, SendRefusedError):
        raise
    except SendError as error:
        raise SendLaterError(str(error)) from None
