"""A Gymnasium environment that its owner will go on using."""

from __future__ import annotations

from typing import Any

import gymnasium


class LeftOpen(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that is not closed with the vector it is put into."""

    def close(self) -> None:
        """Leave it to its owner."""
