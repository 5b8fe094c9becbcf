"""What tasks without a table of their own start from."""

import torch

from rle.presets import preset_config
from rle.runs.trainer import Trainer
from tests.builders import small_config


def test_vectors_of_gymnasium_are_normalised_and_nothing_else_is() -> None:
    normalised = {
        task: preset_config(task, "rle").environment.normalise_observations
        for task in ("gym/CartPole-v1", "envpool/CoinrunHard-v0", "fourroom", "atari/Pong")
    }
    assert normalised == {
        "gym/CartPole-v1": True,
        "envpool/CoinrunHard-v0": False,
        "fourroom": False,
        "atari/Pong": False,
    }


def test_what_is_not_known_to_be_images_has_atari_networks_for_them() -> None:
    for explore in ("none", "rle", "rnd"):
        atari = preset_config("atari/Pong", explore).network.embedding
        for task in ("gym/CarRacing-v3", "envpool/CoinrunHard-v0"):
            assert preset_config(task, explore).network.embedding == atari


def test_the_features_see_a_velocity_as_well_as_a_position() -> None:
    """MountainCar's velocities are a tenth of its positions' spread; φ sees both on one scale."""
    trainer = Trainer(
        small_config("rle", "gym/MountainCar-v0", rollout_steps=128, total_steps=2048)
    )
    seen: list[torch.Tensor] = []
    trainer.strategy.features.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    trainer.start()
    trainer.iterate()
    warm_up, of_bonus = seen
    for observations in (warm_up, of_bonus):
        assert observations.shape == (1024, 2)
        spread = observations.std(0)
        assert float(spread.min()) > 0.3
        assert float(spread.max()) < 3
