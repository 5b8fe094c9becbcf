"""The table of the sparse suite: what is read off a line of its saved file."""

from benchmarks.sparse_suite import by_method, over_training

RUN = {"task": "sparse/Maze-15-0", "method": "rle", "seed": "0", "score": "1"}


def test_over_training_is_the_mean_of_the_tenths_that_have_episodes() -> None:
    run = over_training(RUN | {"by tenths": "0 - 0.5 1"})
    # (0 + 0.5 + 1) / 3: in the second no episode ended.
    assert by_method([run]) == {"rle": {"sparse/Maze-15-0": [0.5]}}
