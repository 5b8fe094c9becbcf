"""Running moments: against the formula on everything seen, with and without a mask."""

import torch

from rle.core.running_mean_std import RunningMeanStd


def test_agrees_with_all_samples_at_once() -> None:
    samples = torch.randn(30, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moments = RunningMeanStd((4,))
    for part in samples.split([1, 9, 20]):
        moments.update(part)
    torch.testing.assert_close(moments.mean, samples.mean(0))
    torch.testing.assert_close(moments.std, samples.std(0, correction=0))


def test_counts_only_what_is_real() -> None:
    moments = RunningMeanStd(())
    # 2, 4 and 6 count: mean 4, population variance 8 / 3.
    moments.update(torch.tensor([2.0, 99.0, 4.0]), torch.tensor([True, False, True]))
    moments.update(torch.tensor([[6.0, -99.0]]), torch.tensor([[True, False]]))
    assert float(moments.count) == 3
    assert float(moments.mean) == 4
    torch.testing.assert_close(float(moments.std), (8 / 3) ** 0.5)


def test_nothing_real_changes_nothing() -> None:
    moments = RunningMeanStd((2,))
    nothing = torch.zeros(1, dtype=torch.bool)
    moments.update(torch.full((1, 2), 99.0), nothing)
    assert moments.std.tolist() == [1, 1]  # as before anything was seen
    moments.update(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
    moments.update(torch.full((1, 2), 99.0), nothing)
    moments.merge(RunningMeanStd((2,)))
    assert moments.mean.tolist() == [2, 5]
    assert moments.std.tolist() == [1, 0]


def test_one_sample_and_none() -> None:
    moments = RunningMeanStd((2,))
    assert moments.std.tolist() == [1.0, 1.0]
    moments.update(torch.zeros(0, 2))
    assert (float(moments.count), moments.std.tolist()) == (0.0, [1.0, 1.0])
    moments.update(torch.tensor([[0.1, -7.0]], dtype=torch.float64))
    assert moments.mean.tolist() == [0.1, -7.0]
    assert moments.std.tolist() == [0.0, 0.0]
    moments.merge(RunningMeanStd((2,)))
    assert (float(moments.count), moments.std.tolist()) == (1.0, [0.0, 0.0])
