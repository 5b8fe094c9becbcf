"""The claim itself, at a size a test can afford: RLE covers more of FourRoom than PPO."""

from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace

SEEDS = (0, 1, 2)
STEPS = 60_000


def coverage(explore: str, seed: int) -> float:
    config = replace(
        preset_config("fourroom", explore, seed=seed), {"total_steps": STEPS, "compile": "off"}
    )
    trainer = Trainer(config)
    trainer.start()
    while not trainer.done:
        metrics, _ = trainer.iterate()
    return float(metrics["coverage"])


def test_rle_covers_more_of_fourroom_than_ppo() -> None:
    rle = [coverage("rle", seed) for seed in SEEDS]
    ppo = [coverage("none", seed) for seed in SEEDS]
    assert sum(rle) / len(rle) > sum(ppo) / len(ppo) + 0.1, (rle, ppo)
