"""Judgements of samples whose answer is known by hand."""

import math

import pytest
import torch
from torch import Tensor, nn

from rle.findings import (
    Finding,
    by_severity,
    check_samples,
    effective_rank,
    has_problem,
    judge_bonus,
    judge_features,
    judge_observations,
    judge_proportion,
    judge_units,
    relu_outputs,
    return_deviation,
)
from rle.findings.finding import readable


def only(findings: list[Finding], subject: str) -> Finding:
    (found,) = (finding for finding in findings if finding.subject == subject)
    return found


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_finding_reads_as_a_line_and_the_worst_comes_first() -> None:
    fine, notice, problem = (
        Finding("fine", "a", "1."),
        Finding("notice", "b", "2."),
        Finding("problem", "c", "3.", 0.5),
    )
    assert by_severity([fine, notice, problem]) == [problem, notice, fine]
    assert has_problem([fine, problem])
    assert not has_problem([fine, notice])
    assert str(problem) == "problem: c: 3."


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.12345, "0.123"),
        (999.0, "999"),
        (12345.6, "12,346"),
        (1e7, "1e7"),
        (3e-5, "3e-5"),
    ],
)
def test_numbers_are_written_as_people_do(number: float, text: str) -> None:
    assert readable(number) == text


def test_healthy_observations_are_fine() -> None:
    assert {finding.level for finding in judge_observations(normal(500, 4))} == {"fine"}


@pytest.mark.parametrize(("factor", "level"), [(3.0, "fine"), (30.0, "notice"), (1e4, "problem")])
@pytest.mark.parametrize("direction", [1, -1])
def test_a_component_on_another_scale(factor: float, level: str, direction: int) -> None:
    scales = torch.tensor([1.0, 1.0, factor**direction])
    found = only(judge_observations(normal(2000, 3) * scales), "scale")
    assert found.level == level
    assert found.number == pytest.approx(factor, rel=0.1)
    assert "component 2" in found.sentence or level == "fine"


def test_a_rare_code_is_not_on_a_small_scale() -> None:
    code = torch.zeros(2000, 1)
    code[7] = 1  # deviates by 0.02
    found = only(judge_observations(torch.cat([normal(2000, 3), code], 1)), "scale")
    assert found.level == "fine"


def test_observations_far_from_zero() -> None:
    far = normal(500, 2) + torch.tensor([0.0, 50.0])
    found = only(judge_observations(far), "centre")
    assert found.level == "notice"
    assert found.number == pytest.approx(50, rel=0.1)
    assert "component 1" in found.sentence


def test_constant_and_broken_observations() -> None:
    still = torch.tensor([1.0, 2.0]).repeat(50, 1)
    assert only(judge_observations(still), "observation").level == "problem"
    half = torch.cat([still, normal(50, 2)], 1)
    found = only(judge_observations(half), "observation")
    assert (found.level, found.number) == ("notice", 0.5)
    broken = normal(50, 3)
    broken[3, 1] = math.nan
    found = only(judge_observations(broken), "finite")
    assert (found.level, found.number) == ("problem", pytest.approx(1 / 50))
    assert "component 1" in found.sentence


def test_images_are_judged_by_their_pixels() -> None:
    images = torch.zeros(10, 1, 4, 4, dtype=torch.uint8)
    assert judge_observations(images)[0].level == "problem"
    images[5, 0, 2, 3] = 200
    assert judge_observations(images)[0].number == 1 / 16


def test_effective_rank_counts_directions() -> None:
    # Two directions of equal variance in four dimensions: the entropy of (1/2, 1/2) is ln 2.
    plane = torch.tensor([[1.0, 0, 0, 0], [-1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, -1.0, 0, 0]])
    assert effective_rank(plane) == pytest.approx(2)
    assert effective_rank(normal(5000, 3)) == pytest.approx(3, rel=0.01)


def test_dead_and_degenerate_features() -> None:
    assert judge_features(normal(100, 4))[0].level == "fine"
    assert judge_features(torch.ones(100, 4))[0].level == "problem"
    half = torch.cat([normal(100, 2), torch.ones(100, 2)], 1)
    found = judge_features(half)[0]
    assert (found.level, found.number) == ("problem", 0.5)
    line = normal(100, 1) * torch.tensor([[1.0, 2.0, -1.0, 0.5]])
    found = judge_features(line)[0]
    assert (found.level, found.number) == ("notice", pytest.approx(1, abs=1e-4))
    broken = normal(100, 4)
    broken[0] = math.inf
    assert judge_features(broken)[0].level == "problem"


def test_units_that_never_open() -> None:
    network = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.no_grad():
        network[0].weight.fill_(1.0)
        network[0].bias.copy_(torch.tensor([0.0, -100.0, -100.0, -100.0]))
    outputs = relu_outputs(network, normal(50, 1))
    assert outputs[0].shape == (50, 4)
    (found,) = judge_units(outputs)
    assert (found.level, found.number) == ("notice", 0.75)
    assert judge_units([]) == []


def test_a_bonus_must_vary_over_states() -> None:
    z, features = normal(64, 3), normal(200, 3, seed=1)
    assert judge_bonus(z @ features.T)[0].level == "fine"
    # The same feature everywhere: F varies with z alone.
    found = judge_bonus(z @ torch.ones(200, 3).T)[0]
    assert found.level == "problem"
    assert found.number == pytest.approx(0, abs=1e-5)
    almost = torch.ones(200, 3) + 0.05 * features
    assert judge_bonus(z @ almost.T)[0].level == "notice"
    assert judge_bonus(torch.full((2, 2), math.nan))[0].level == "problem"


def test_the_deviation_of_a_return_by_hand() -> None:
    # Sums with γ = 1/2: 1, 1.5; then, after the stop, 2, 2. Their mean is 13/8.
    rewards = torch.tensor([[1.0], [1.0], [2.0], [1.0]])
    stop = torch.tensor([[False], [True], [False], [False]])
    sums = [1, 1.5, 2, 2]
    expected = math.sqrt(sum((x - 13 / 8) ** 2 for x in sums) / 4)
    assert return_deviation(rewards, stop, 0.5) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("bonus", "level"),
    [(1e-4, "problem"), (2e-3, "notice"), (0.1, "fine"), (5.0, "notice"), (50.0, "problem")],
)
def test_proportions(bonus: float, level: str) -> None:
    found = judge_proportion(1.0, bonus, "do something")
    assert found.level == level
    assert found.number == pytest.approx(bonus)
    assert ("do something" in found.sentence) == (level != "fine")


def test_samples_of_another_program_are_judged_together() -> None:
    states, z = normal(100, 3), normal(16, 3, seed=1)
    findings = check_samples(states, torch.ones(100, 3), z @ states.T, normalise="wrap it")
    assert findings[0] == judge_features(torch.ones(100, 3))[0]
    assert {"scale", "centre", "bonus"} <= {finding.subject for finding in findings}
    assert check_samples() == []
