"""Which of a run's environments are here, and how what is known of them becomes what all know.

A run on several devices is one process for each of them, called a rank. Each has a share of the
environments, one beside the other, and all of the networks. Whatever is a statistic of all environments
goes through here. Alone, everything is what it was, and costs nothing.

Random numbers belong to environments: every rank draws those of all environments from the same
generators and keeps those of its own (`part`), so that they do not depend on how the run is split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from rle.core.running_mean_std import Seen
from rle.errors import RunError

FAILURE = "failure"
"""Under which name ranks tell each other, in their store, why they ended."""


class World:
    """One rank of several, or the only one."""

    def __init__(self, rank: int = 0, size: int = 1, envs_here: int = 0) -> None:
        """Be rank `rank` of `size`, with `envs_here` environments, as many as every other has."""
        self.rank, self.size = rank, size
        self.envs_here = envs_here
        self.store: Any = None
        """What all ranks can write to and read from, once they are connected."""

    @property
    def alone(self) -> bool:
        """Whether this is all there is."""
        return self.size == 1

    @property
    def first_env(self) -> int:
        """The number, within the run, of the first environment here."""
        return self.rank * self.envs_here

    def all_of(self, number: int) -> int:
        """How many all ranks have of something that each has `number` of."""
        return self.size * number

    def part(self, whole: Tensor, dim: int = 0) -> Tensor:
        """What belongs to the environments here of something that has all along `dim`."""
        return whole if self.alone else whole.narrow(dim, self.first_env, self.envs_here)

    def rows(self, index: Tensor) -> tuple[Tensor | slice, Tensor]:
        """Which of the transitions t · N + n of all N environments were made here.

        Args:
            index: int64 `[B]`.

        Returns:
            Their places in `index`, `[b]`, and what they are called here: t · M + m of M environments.

        """
        if self.alone:
            return slice(None), index
        everywhere = self.all_of(self.envs_here)
        row, env = index // everywhere, index % everywhere - self.first_env
        (places,) = ((env >= 0) & (env < self.envs_here)).nonzero(as_tuple=True)
        return places, row[places] * self.envs_here + env[places]

    def gather(self, part: Tensor, dim: int = 0) -> Tensor:
        """What all ranks have, one after the other along `dim`: in the order of their environments."""
        if self.alone:
            return part
        from torch import distributed

        # gloo knows no truth values.
        sent = (
            part.contiguous().view(torch.uint8) if part.dtype is torch.bool else part.contiguous()
        )
        parts = [torch.empty_like(sent) for _ in range(self.size)]
        with self._together():
            distributed.all_gather(parts, sent)
        whole = torch.cat(parts, dim)
        return whole.view(torch.bool) if part.dtype is torch.bool else whole

    def gather_all(self, parts: Sequence[Tensor], dim: int) -> list[Tensor]:
        """The same of several tensors that differ in their last dimension only, at once."""
        if self.alone:
            return list(parts)
        sizes = [part.shape[-1] for part in parts]
        return list(self.gather(torch.cat(list(parts), -1), dim).split(sizes, -1))

    def sum(self, part: Tensor) -> Tensor:
        """The sum over all ranks; the same bits on each."""
        if self.alone:
            return part
        from torch import distributed

        total = part.clone()
        with self._together():
            distributed.all_reduce(total)
        return total

    def total(self, number: int) -> int:
        """The sum over all ranks of a whole number."""
        return number if self.alone else int(self.sum(torch.tensor(number)))

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all ranks of the numbers `[n]` that each has."""
        if self.alone:
            return values.mean()
        total, count = self.sum(torch.stack([values.sum(), values.new_tensor(len(values))]))
        return total / count

    def pool(self, seen: Seen) -> Seen:
        """What all ranks have seen together."""
        if self.alone:
            return seen
        # In the order of the ranks, so that all come to the same bits.
        return seen.together(self.gather(seen.flat()[None]))

    def same(self, values: Tensor) -> bool:
        """Whether `values` are the same bits on all ranks."""
        everybody = self.gather(values[None])
        return bool((everybody == everybody[0]).all())

    def tell(self, word: str, data: bytes = b"") -> None:
        """From the first rank: let all others do what `word` says, which they `hear`."""
        if self.alone or self.rank > 0:
            return
        said = word.encode()
        self._broadcast(torch.tensor([len(said), len(data)]))
        self._broadcast(torch.frombuffer(bytearray(said + data), dtype=torch.uint8))

    def hear(self) -> tuple[str, bytes]:
        """On any other rank: wait for what the first one tells."""
        sizes = torch.zeros(2, dtype=torch.int64)
        self._broadcast(sizes)
        length, _ = sizes.tolist()
        message = torch.zeros(int(sizes.sum()), dtype=torch.uint8)
        self._broadcast(message)
        whole = bytes(message.numpy())
        return whole[:length].decode(), whole[length:]

    def _broadcast(self, message: Tensor) -> None:
        from torch import distributed

        with self._together():
            distributed.broadcast(message, 0)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """While ranks wait for each other: one that ended tells the others why."""
        try:
            yield
        except RuntimeError as error:
            raise self.failure() from error

    def failure(self) -> RunError:
        """Why the ranks cannot go on together."""
        for rank in range(self.size):
            key = f"{FAILURE}/{rank}"
            try:
                known = self.store is not None and self.store.check([key])
                said = self.store.get(key).decode() if known else ""
            except RuntimeError:
                # The store is where the first rank was.
                said = ""
            if said:
                return RunError(said, {"rank": rank})
        return RunError(
            f"one of the run's {self.size} devices ended without a word: `rle resume RUN` goes on from "
            "the last checkpoint, with --devices on any number of them."
        )


ALONE = World()
"""The only rank there is."""
