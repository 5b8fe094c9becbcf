"""Video files: the picture on the left; title, score, bonus and z drawn beside it."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from rle.errors import UsageError
from rle.tasks.base import Picture

HEIGHT = 630
PANEL = 330
MARGIN = 24
HISTORY = 150
"""Steps of bonus that the curve shows."""
BACKGROUND, INK, FAINT = (17, 20, 24), (235, 238, 242), (110, 118, 128)
POSITIVE, NEGATIVE = (255, 159, 64), (74, 158, 255)


class Moment(NamedTuple):
    """What belongs beside the pictures of one step."""

    score: float
    bonus: float | None
    """None before the first step, and for agents without a bonus."""


def score_text(score: float) -> str:
    """A score with at most two decimals: 0.93 of MiniGrid, and 21 of Pong."""
    return f"{round(score, 2) + 0.0:,.12g}"


class Clip:
    """One video file under way; a context manager."""

    def __init__(self, path: Path, frames_per_second: int, title: str, z: Tensor | None) -> None:
        self._video = _load_av().open(str(path), "w")
        self._stream: Any = None
        self._rate = frames_per_second
        self._title = title
        self._z = None if z is None else z.tolist()
        self._bonuses: deque[float] = deque(maxlen=HISTORY)

    def __enter__(self) -> Clip:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._video.mux(self._stream.encode())
        self._video.close()

    def write(self, pictures: list[Picture], moment: Moment) -> None:
        """Append one step's pictures."""
        if moment.bonus is not None:
            self._bonuses.append(moment.bonus)
        panel = self._panel(moment)
        for picture in pictures:
            height, width, _ = picture.shape
            scaled = Image.fromarray(picture).resize(
                (round(width * HEIGHT / height / 2) * 2, HEIGHT), Image.Resampling.NEAREST
            )
            canvas = Image.new("RGB", (scaled.width + PANEL, HEIGHT), BACKGROUND)
            canvas.paste(scaled, (0, 0))
            canvas.paste(panel, (scaled.width, 0))
            self._encode(np.asarray(canvas))

    def _encode(self, frame: Picture) -> None:
        if self._stream is None:
            self._stream = self._video.add_stream("libx264", rate=Fraction(self._rate))
            self._stream.height, self._stream.width = frame.shape[:2]
            self._stream.pix_fmt = "yuv420p"
            self._stream.options = {"crf": "23", "preset": "veryfast"}
        image = _load_av().VideoFrame.from_ndarray(frame, format="rgb24")
        self._video.mux(self._stream.encode(image))

    def _panel(self, moment: Moment) -> Image.Image:
        panel = Image.new("RGB", (PANEL, HEIGHT), BACKGROUND)
        draw = ImageDraw.Draw(panel)
        top = MARGIN
        for line in self._title.split("  "):
            draw.text((MARGIN, top), line, FAINT, _font(16))
            top += 22
        draw.text((MARGIN, top + 14), "score", FAINT, _font(16))
        draw.text((MARGIN, top + 34), score_text(moment.score), INK, _font(44))
        top += 104
        if moment.bonus is not None:
            draw.text((MARGIN, top), "bonus", FAINT, _font(16))
            draw.text((MARGIN, top + 20), f"{moment.bonus:+.3f}", INK, _font(28))
            self._draw_curve(draw, top + 62, 90)
        if self._z is not None:
            self._draw_latent(draw, top + 182, HEIGHT - MARGIN)
        return panel

    def _draw_curve(self, draw: ImageDraw.ImageDraw, top: int, height: int) -> None:
        """The bonus of the last steps, around its zero line."""
        middle = top + height // 2
        draw.line([(MARGIN, middle), (PANEL - MARGIN, middle)], FAINT)
        if len(self._bonuses) < 2:
            return
        largest = max(max(map(abs, self._bonuses)), 1e-9)
        step = (PANEL - 2 * MARGIN) / (HISTORY - 1)
        points = [
            (MARGIN + index * step, middle - value / largest * height / 2)
            for index, value in enumerate(self._bonuses)
        ]
        draw.line(points, POSITIVE, 2)

    def _draw_latent(self, draw: ImageDraw.ImageDraw, top: int, bottom: int) -> None:
        """Z as bars to both sides of a line, one per dimension."""
        assert self._z is not None
        draw.text((MARGIN, top), f"z, {len(self._z)} dimensions", FAINT, _font(16))
        top += 26
        height = min(18.0, (bottom - top) / len(self._z))
        middle = PANEL // 2
        half = middle - MARGIN
        largest = max(map(abs, self._z))
        for index, value in enumerate(self._z):
            end = middle + value / largest * half
            left, right = min(middle, end), max(middle, end)
            box = (left, top + index * height, right, top + (index + 0.8) * height)
            draw.rectangle(box, POSITIVE if value > 0 else NEGATIVE)
        draw.line([(middle, top), (middle, top + height * len(self._z))], FAINT)


def _load_av() -> Any:
    try:
        import av
    except ImportError as error:
        raise UsageError(
            "videos are written with PyAV, which is not installed: "
            'pip install "random-latent-exploration[video]"'
        ) from error
    return av


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
