"""A handler in Python with the unmodified `runpod` package: makes a small picture of a large one.

Input: {"image": data URI or base64, "size": longest side in pixels (16 to 1024, default 128), "format": "png" | "jpeg" | "webp"}.
"""
import base64
import binascii
import io

import runpod
from PIL import Image, UnidentifiedImageError

SIZE_MIN, SIZE_MAX, SIZE_DEFAULT = 16, 1024, 128
FORMATS = {"png": "PNG", "jpeg": "JPEG", "webp": "WEBP"}
# A small file can unpack to gigabytes of pixels; Pillow refuses beyond twice this number.
Image.MAX_IMAGE_PIXELS = 50_000_000


def handler(job):
    """Returns {"image": data URI, "width", "height", "original": {...}}; a bad input becomes the job's error."""
    given = job["input"]
    size = given.get("size", SIZE_DEFAULT)
    if type(size) is not int or not SIZE_MIN <= size <= SIZE_MAX:
        return {"error": f"`size` must be a whole number from {SIZE_MIN} to {SIZE_MAX}"}
    kind = given.get("format", "png")
    if kind not in FORMATS:
        return {"error": f"`format` must be one of {', '.join(FORMATS)}"}
    try:
        picture = Image.open(io.BytesIO(decode(given.get("image"))))
        original = {"width": picture.width, "height": picture.height, "format": (picture.format or "").lower()}
        picture.thumbnail((size, size))
    except UnidentifiedImageError:
        return {"error": "`image` cannot be read: it is not a picture that Pillow knows"}
    except (ValueError, OSError, Image.DecompressionBombError) as error:
        return {"error": f"`image` cannot be read: {error}"}
    buffer = io.BytesIO()
    picture.convert("RGB" if kind == "jpeg" else "RGBA").save(buffer, FORMATS[kind])
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"image": f"data:image/{kind};base64,{data}", "width": picture.width, "height": picture.height, "original": original}


def decode(image):
    """Bytes of a data URI or of base64 text."""
    if not isinstance(image, str) or not image:
        raise ValueError("it must be a data URI or base64 text")
    try:
        return base64.b64decode(image.partition(",")[2] if image.startswith("data:") else image, validate=True)
    except binascii.Error as error:
        raise ValueError("it is not valid base64") from error


runpod.serverless.start({"handler": handler})
