"""Intervals: worked by hand, against rliable, and at the edges where a bootstrap misleads."""

import tracemalloc
from statistics import NormalDist

import numpy as np
import pytest
from rliable import library, metrics
from scipy import stats as scipy_stats

from rle import stats
from rle.errors import UsageError
from rle.stats import resampling
from rle.stats.resampling import replicate

PLAIN = stats.Bootstrap(method="percentile")
Z = NormalDist().inv_cdf(0.975)


def test_expansion_by_hand_with_two_seeds() -> None:
    # Means of two draws from {0, 1}: 0, 1/2, 1 with chances 1/4, 1/2, 1/4. The 2.5 % quantile is
    # 0, the median 1/2. The factor is sqrt(2 / 1) * t / z with one degree of freedom,
    # t = 12.7062.
    plain = stats.mean_interval([0.0, 1.0], bootstrap=PLAIN)
    assert (plain.low, plain.high) == (0.0, 1.0)
    reach = 0.5 * np.sqrt(2.0) * 12.706204736432095 / Z
    expanded = stats.mean_interval([0.0, 1.0])
    assert expanded.limits == pytest.approx((0.5 - reach, 0.5 + reach))


def test_expansion_by_hand_with_two_tasks() -> None:
    # Four seeds, standard deviation 3 on the first task and 1 on the second: shares of the
    # variance 0.9 and 0.1, degrees of freedom 1 / (0.81 / 3 + 0.01 / 3) = 3 / 0.82.
    base = np.array([-1.5, -0.5, 0.5, 1.5])
    scores = np.stack([3.0 * base, base], axis=1)
    bootstrap = stats.Bootstrap(resamples=20_000)
    plain = stats.Bootstrap(resamples=20_000, method="percentile")
    expanded = stats.aggregate_interval(stats.mean, scores, bootstrap).limits
    narrow = stats.aggregate_interval(stats.mean, scores, plain).limits
    # Student's t with 3.6585 degrees of freedom (SciPy): 2.8818.
    factor = np.sqrt(4 / 3) * 2.8818 / Z
    ratio = (expanded[1] - expanded[0]) / (narrow[1] - narrow[0])
    assert ratio == pytest.approx(factor, rel=0.01)


def test_stratum_variances_of_a_mean() -> None:
    # A mean over T tasks: task t has a part (s_t / T)^2 (n - 1) / n / n, s_t with n - 1 below.
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 8)) * np.linspace(0.2, 3.0, 8)
    replicates = replicate(stats.mean, [scores], 40_000, rng)
    expected = scores.var(axis=0) / 6 / 8**2
    np.testing.assert_allclose(replicates.stratum_variances, expected, atol=0.02 * expected.sum())
    assert replicates.stratum_variances.sum() == pytest.approx(replicates.values.var(), rel=0.02)


@pytest.mark.parametrize("measure", ["iqm", "median", "mean", "optimality_gap"])
def test_plain_intervals_agree_with_rliable(measure: str) -> None:
    scores = np.random.default_rng(1).lognormal(size=(5, 10))
    oracle = {
        "iqm": metrics.aggregate_iqm,
        "median": metrics.aggregate_median,
        "mean": metrics.aggregate_mean,
        "optimality_gap": metrics.aggregate_optimality_gap,
    }[measure]
    # rliable ignores its random_state and draws from the global generator.
    np.random.seed(0)
    points, limits = library.get_interval_estimates(
        {"x": scores}, lambda x: np.array([oracle(x)]), reps=4000
    )
    plain = stats.Bootstrap(method="percentile", resamples=20_000)
    interval = stats.aggregate_interval(stats.AGGREGATES[measure], scores, plain)
    assert interval.point == pytest.approx(points["x"][0])
    width = limits["x"][1, 0] - limits["x"][0, 0]
    # A quantile of 4000 resamples is off by about 2 % of the width (one standard error).
    assert interval.limits == pytest.approx(tuple(limits["x"][:, 0]), abs=0.06 * width)


def test_plain_probability_of_improvement_agrees_with_rliable() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.3, 1.0, (5, 4)), rng.normal(size=(4, 4))
    np.random.seed(0)
    points, limits = library.get_interval_estimates(
        {"x": (first, second)},
        lambda x, y: np.array([metrics.probability_of_improvement(x, y)]),
        reps=500,
    )
    plain = stats.Bootstrap(method="percentile", resamples=20_000)
    interval = stats.probability_of_improvement_interval(first, second, plain)
    assert interval.point == pytest.approx(points["x"][0])
    width = limits["x"][1, 0] - limits["x"][0, 0]
    assert interval.limits == pytest.approx(tuple(limits["x"][:, 0]), abs=0.12 * width)


def test_same_seed_same_interval_and_other_seed_another() -> None:
    scores = np.random.default_rng(3).normal(size=(5, 9))

    def interval(seed: int | np.random.Generator) -> stats.Interval:
        return stats.aggregate_interval(stats.mean, scores, stats.Bootstrap(seed=seed))

    assert interval(7) == interval(7) == interval(np.random.default_rng(7))
    assert interval(7) != interval(8)


def test_resampling_in_chunks_keeps_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(4).normal(size=(5, 9))
    whole = stats.aggregate_interval(stats.mean, scores)
    monkeypatch.setattr(resampling, "_SCORES_PER_CHUNK", 7 * scores.size)
    chunked = stats.aggregate_interval(stats.mean, scores)
    assert chunked.limits == pytest.approx(whole.limits, abs=0.05)


def test_the_expanded_interval_contains_the_plain_one() -> None:
    rng = np.random.default_rng(5)
    for measure in stats.AGGREGATES.values():
        for runs in (2, 3, 10):
            scores = rng.lognormal(size=(runs, 6))
            low, high = stats.aggregate_interval(measure, scores).limits
            plain_low, plain_high = stats.aggregate_interval(measure, scores, PLAIN).limits
            assert low <= plain_low <= plain_high <= high


def test_a_shift_and_a_scale_move_the_interval_along() -> None:
    scores = np.random.default_rng(6).normal(size=(5, 6))
    low, high = stats.aggregate_interval(stats.interquartile_mean, scores).limits
    moved = stats.aggregate_interval(stats.interquartile_mean, 10.0 - 2.0 * scores)
    # The quantiles interpolate between resamples, alike at both ends.
    assert moved.limits == pytest.approx((10.0 - 2.0 * high, 10.0 - 2.0 * low))


def test_a_single_run_has_no_interval_and_says_why() -> None:
    scores = stats.Scores.from_runs("rle", {"Alien": [1.0, 3.0], "Pong": [2.0]})
    interval = stats.aggregate_interval(stats.mean, scores)
    assert interval.point == 2.0
    assert (interval.low, interval.high) == (None, None)
    assert (interval.method, interval.resamples) == ("none", 0)
    assert interval.note.startswith("No interval: one run only on Pong.")
    assert all(np.isnan(interval.limits))
    rival = stats.Scores.from_runs("ppo", {"Alien": [1.0, 3.0], "Pong": [2.0, 3.0]})
    for pair in ((scores, rival), (rival, scores)):
        assert stats.probability_of_improvement_interval(*pair).low is None
        assert stats.aggregate_difference_interval(stats.mean, *pair).low is None
    same = stats.probability_of_improvement_interval(scores, scores)
    assert same.note.count("No interval") == 1
    band = stats.performance_profile_band(scores, [0.0, 2.5])
    np.testing.assert_array_equal(band.point, [1.0, 0.25])
    assert np.isnan(band.low).all()
    assert band.method == "none"
    assert "Pong" in band.notes[0]


def test_constant_scores_say_that_no_width_is_no_certainty() -> None:
    interval = stats.aggregate_interval(stats.interquartile_mean, np.full((5, 4), 0.3))
    assert interval.limits == pytest.approx((0.3, 0.3))
    assert "does not make the value certain" in interval.note


def test_missing_and_invalid_scores_are_noted_in_the_interval() -> None:
    runs = {"a": [1.0, 2.0, 3.0], "b": [1.0, 4.0, float("nan")]}
    scores = stats.Scores.from_runs("rle", runs)
    interval = stats.aggregate_interval(stats.interquartile_mean, scores)
    assert interval.low is not None
    assert "b (1 of 3)" in interval.note
    assert "fewer on b (2)" in interval.note


def test_unequal_numbers_of_runs_by_hand() -> None:
    # Task a never varies. Task b has two seeds, 0 and 4: its mean is 0, 2 or 4 with chances 1/4,
    # 1/2, 1/4, the mean over both tasks 0.5, 1.5 or 2.5. Were b resampled as often as a, eight
    # times, 0.5 would have a chance of 1/256 and not be a 2.5 % quantile.
    scores = stats.Scores.from_runs("rle", {"a": [1.0] * 8, "b": [0.0, 4.0]})
    plain = stats.aggregate_interval(stats.mean, scores, PLAIN)
    assert (plain.low, plain.point, plain.high) == (0.5, 1.5, 2.5)
    # All of the variance is b's: one degree of freedom and n = 2.
    reach = np.sqrt(2.0) * 12.706204736432095 / Z
    expanded = stats.aggregate_interval(stats.mean, scores)
    assert expanded.limits == pytest.approx((1.5 - reach, 1.5 + reach), rel=1e-3)


def test_complete_separation_gets_the_exact_limit() -> None:
    # Three against four runs of two tasks, all pairs won: (0.025)^(1 / (2 * 3)).
    first, second = np.ones((3, 2)), np.zeros((4, 2))
    interval = stats.probability_of_improvement_interval(first, second)
    assert interval.limits == pytest.approx((0.025 ** (1 / 6), 1.0))
    assert (interval.method, interval.resamples) == ("bounded", 0)
    assert interval.note.startswith("Every run sits at the end of the scale")
    lost = stats.probability_of_improvement_interval(second, first)
    assert lost.limits == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 6)))
    plain = stats.probability_of_improvement_interval(first, second, PLAIN)
    assert plain.limits == (1.0, 1.0)


def test_limits_of_a_probability_stay_within_zero_and_one() -> None:
    first = np.array([[1.0], [2.0], [3.0]])
    interval = stats.probability_of_improvement_interval(first, first - 0.5)
    low, high = interval.limits
    assert 0.0 <= low < interval.point < high <= 1.0


def test_pairs_of_methods_are_complements() -> None:
    rng = np.random.default_rng(8)
    methods = [
        stats.Scores.from_matrix(name, ["a", "b"], rng.normal(size=(4, 2))) for name in "xyz"
    ]
    pairs = stats.pairwise_probability_of_improvement(methods)
    assert len(pairs) == 6
    for (first, second), interval in pairs.items():
        other = pairs[second, first]
        assert interval.point + other.point == pytest.approx(1.0)
        assert interval.limits == pytest.approx((1.0 - other.limits[1], 1.0 - other.limits[0]))


def test_differences_resample_each_method_apart() -> None:
    # Variances add up: two equal methods give an interval wider by the square root of two.
    scores = np.random.default_rng(9).normal(size=(20, 10))
    bootstrap = stats.Bootstrap(resamples=20_000)
    low, high = stats.aggregate_interval(stats.mean, scores, bootstrap).limits
    apart = stats.aggregate_difference_interval(stats.mean, scores, scores, bootstrap)
    assert apart.point == 0.0
    assert apart.limits[1] - apart.limits[0] == pytest.approx(2**0.5 * (high - low), rel=0.03)


def test_tasks_are_matched_by_name() -> None:
    ours = stats.Scores.from_runs("rle", {"a": [1.0, 2.0], "b": [5.0, 6.0]})
    rivals = stats.Scores.from_runs("ppo", {"b": [1.0, 2.0], "a": [5.0, 6.0]})
    assert stats.probability_of_improvement_interval(ours, rivals).point == 0.5
    other = stats.Scores.from_runs("rnd", {"a": [1.0, 2.0], "c": [1.0, 2.0]})
    with pytest.raises(UsageError, match=r"rle and rnd .* \(b, c\)"):
        stats.probability_of_improvement_interval(ours, other)
    empty = stats.Scores.from_runs("rnd", {"a": [1.0, 2.0], "b": []})
    with pytest.raises(UsageError, match="rnd: no score for b"):
        stats.aggregate_difference_interval(stats.mean, ours, empty)


def test_performance_profile_band() -> None:
    scores = np.random.default_rng(10).random((5, 8))
    band = stats.performance_profile_band(scores, [-1.0, 0.5, 2.0])
    np.testing.assert_array_equal(band.point, stats.performance_profile(scores, [-1.0, 0.5, 2.0]))
    # All above -1 and none above 2, which 40 runs make likely but not certain.
    reach = 1.0 - 0.025 ** (1 / 40)
    assert (band.low[0], band.high[0]) == pytest.approx((1.0 - reach, 1.0))
    assert (band.low[2], band.high[2]) == pytest.approx((0.0, reach))
    assert 0.0 < band.low[1] < band.point[1] < band.high[1] < 1.0
    assert (band.method, band.resamples) == ("bounded", 0)
    assert "2 points" in band.notes[0]


def test_profile_of_one_task_has_the_exact_limits() -> None:
    # Three of five runs above 0.5; Clopper and Pearson for 3 of 5.
    band = stats.performance_profile_band(np.array([[0.1], [0.2], [0.6], [0.7], [0.9]]), [0.5])
    expected = scipy_stats.beta.ppf([0.025, 0.975], [3, 4], [3, 2])
    assert (band.low[0], band.high[0]) == pytest.approx(tuple(expected))


def test_every_method_has_words_for_a_report() -> None:
    scores = np.random.default_rng(12).normal(size=(5, 3))
    mean, gap = stats.mean, stats.optimality_gap
    intervals = [
        stats.aggregate_interval(mean, scores),
        stats.aggregate_interval(mean, scores, PLAIN),
        stats.aggregate_interval(mean, scores, bounds=(-9.0, 9.0)),
        stats.aggregate_difference_interval(mean, scores, scores, bounds=(-9.0, 9.0)),
        stats.aggregate_interval(gap, scores),
        stats.aggregate_interval(mean, scores[:1]),
    ]
    assert [interval.method for interval in intervals] == list(stats.METHODS)


def test_capped_scores_are_bounded() -> None:
    # All runs at the cap: the chance of this is at most the mean to the power of ten.
    interval = stats.aggregate_interval(stats.mean, np.ones((5, 2)), bounds=(0.0, 1.0))
    assert interval.limits == pytest.approx((0.025 ** (1 / 10), 1.0))
    with pytest.raises(UsageError, match="method: values from 1 to 1 do not lie within"):
        stats.aggregate_interval(stats.mean, np.ones((5, 2)), bounds=(0.0, 0.5))
    # A share that rounding carried over the end is no error.
    over = stats.aggregate_interval(stats.mean, np.full((5, 2), 1.0 + 1e-15), bounds=(0.0, 1.0))
    assert over.limits == pytest.approx(interval.limits)


def test_unequal_numbers_of_runs_count_as_the_fewest() -> None:
    # All runs at the top: two independent ones of each of two tasks, whatever else there is.
    scores = stats.Scores.from_runs("rle", {"a": [1.0] * 8, "b": [1.0] * 2})
    interval = stats.aggregate_interval(stats.mean, scores, bounds=(0.0, 1.0))
    assert interval.limits == pytest.approx((0.025 ** (1 / 4), 1.0))


def test_the_optimality_gap_is_never_negative() -> None:
    # One of six runs falls short, by 0.1. The expanded bootstrap alone goes down to -0.028.
    scores = np.array([[1.2, 1.1], [0.9, 1.3], [1.5, 1.0]])
    interval = stats.aggregate_interval(stats.optimality_gap, scores)
    low, high = interval.limits
    assert 0.0 <= low < interval.point < high
    assert interval.method == "bounded-below"
    # Nothing falls short, and yet a seventh run might: by 1 if it scores no more than 0.
    above = stats.aggregate_interval(stats.optimality_gap, scores + 0.1)
    assert above.limits == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 6)))
    # A difference has both signs.
    apart = stats.aggregate_difference_interval(stats.optimality_gap, scores + 0.1, scores)
    assert apart.limits[0] < apart.point < 0.0 < apart.limits[1]
    plain = stats.aggregate_interval(stats.optimality_gap, scores, PLAIN)
    assert (plain.method, plain.low) == ("percentile", 0.0)


def test_the_optimality_gap_is_no_narrower_than_the_bootstrap() -> None:
    # Far below the target the gap is 1 less the mean, and nothing bounds it above.
    scores = np.random.default_rng(13).normal(-20.0, 5.0, size=(3, 1))
    low, high = stats.aggregate_interval(stats.mean, scores).limits
    gap = stats.aggregate_interval(stats.optimality_gap, scores).limits
    assert gap[0] <= max(1.0 - high, 0.0) + 1e-9
    assert gap[1] >= 1.0 - low - 1e-9


def test_a_gap_curve_is_never_negative() -> None:
    scores = np.linspace(0.8, 1.4, 7)[:, None] + np.array([[0.0, 0.1, 0.3]])
    curves = {"a": [(np.arange(7), scores[:, run]) for run in range(3)]}
    aligned = stats.align_curves("rle", curves, steps=np.arange(7))
    band = stats.aggregate_curve(stats.optimality_gap, aligned)
    assert np.all(band.low >= 0.0)
    assert band.high[-1] == pytest.approx(1.0 - 0.025 ** (1 / 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1.0}, "level"),
        ({"method": "bca"}, "expanded-percentile"),
        ({"resamples": 1}, "resamples"),
    ],
)
def test_bad_settings_are_explained(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stats.Bootstrap(**settings)  # type: ignore[arg-type]


def test_memory_stays_bounded() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.normal(size=(2, 20, 57))
    first[7, 3] = np.nan  # The weighted form needs the most.
    tracemalloc.start()
    try:
        stats.probability_of_improvement_interval(first, second)
        stats.aggregate_interval(stats.interquartile_mean, first)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500e6
