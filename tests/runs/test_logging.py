"""Where an iteration's numbers go."""

from pathlib import Path

from rle.runs.train import train_config
from tests.builders import small_config


def test_tensorboard_gets_every_metric(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train_config(small_config("rle", tensorboard=True), tmp_path / "run", quiet=True)
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    metrics = run.metrics()
    logged = {scalar.step: scalar.value for scalar in events.Scalars("coverage")}
    assert list(logged) == [line["step"] for line in metrics]
    assert abs(logged[1024] - metrics[-1]["coverage"]) < 1e-6


def test_episodes_of_an_iteration_stand_at_their_step(tmp_path: Path) -> None:
    # Eight environments truncated together every 20 steps of 16-step rollouts.
    run = train_config(
        small_config("none", task="fourroom", time_limit=20), tmp_path / "run", quiet=True
    )
    steps = [episode["step"] for episode in run.episodes()]
    assert sorted(set(steps)) == [160 * k for k in range(1, 7)]
    assert all(episode["length"] == 20 for episode in run.episodes())
    assert {episode["iteration"] for episode in run.episodes()} == {2, 3, 4, 5, 7, 8}
