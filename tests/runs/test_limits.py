"""The limits of training: products counted by hand, rates and engines in miniature."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rle.runs.contenders import OurContender
from rle.runs.limits import (
    engine_seconds,
    limits_of,
    multiply_adds,
    multiply_adds_per_step,
    product_rate,
)
from rle.runs.trainer import Trainer
from tests.builders import small_config
from tests.runs.test_control import control_config


def test_multiply_adds_of_a_small_agent() -> None:
    """Policy 6-16-4, values 6-16-1 with a second head, φ 2-16-4, four epochs.

    Forward 6·16 + 16·4 = 160 and 6·16 + 2·16 = 128; backward the same for the weights, and for what is
    handed on by the layers after the first 16·4 + 2·16 = 96.
    """
    counted = multiply_adds_per_step(Trainer(small_config("rle")))
    assert counted == {
        "acting": 160,
        "bonus": 2 * 16 + 16 * 4,
        "learning": 4 * (2 * (160 + 128) + 96),
    }


def test_multiply_adds_of_convolutions() -> None:
    """2 channels of 2 x 2 numbers, each a sum of 3 · 3 · 3 products, in each of 5 images."""
    layer, images = nn.Conv2d(3, 2, 3), torch.zeros(5, 3, 4, 4)
    assert multiply_adds(lambda: layer(images)) == 5 * (2 * 2 * 2) * 27


def test_the_rate_is_one_of_this_machine() -> None:
    """Not below a hundredth of what any processor of the last ten years does, nor beyond all of them."""
    assert 1e8 < product_rate(torch.float32, torch.device("cpu"), 0.02) < 1e14


def test_a_world_that_is_computed_with_the_agent_has_no_engine() -> None:
    limits = OurContender(small_config("rle"), warm_up=1).limits(0.01)
    assert set(limits.products) == {"learning", "bonus", "acting and environment"}
    assert limits.engine == {}
    counted = 4 * (2 * (160 + 128) + 96)
    assert limits.products["learning"] == pytest.approx(counted / limits.multiply_adds_per_second)


def test_the_engine_alone_is_stepped() -> None:
    trainer = Trainer(control_config("rle"))
    trainer.start()
    limits = limits_of(trainer, 0.02)
    assert set(limits.products) == {"learning", "bonus", "acting"}
    # A step of Ant takes between a microsecond and a second.
    assert 1e-6 < limits.engine["environment"] < 1
    trainer.task.close()
    trainer = Trainer(small_config("rle", task="gym/CartPole-v1"))
    trainer.start()
    assert 1e-7 < engine_seconds(trainer.task, 0.02) < 1
    trainer.task.close()
