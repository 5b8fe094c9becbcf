"""What can be told from a sample of observations: are they finite, do they vary, on one scale?"""

from __future__ import annotations

from torch import Tensor

from rle.findings.finding import Finding, readable

UNEVEN, FAR_TOO_UNEVEN = 10.0, 100.0
"""How many times the deviation of the median component one may deviate: notice, problem. φ is a random
network, so what it sees of a number goes by its size. MountainCar's velocity beside its position is a
factor of about 10, and is hardly seen; at 100, φ is a function of one number alone."""
FAR_FROM_ZERO, TOO_FAR_FROM_ZERO = 10.0, 1000.0
"""How many deviations the mean may be from zero: notice, problem. A random network without biases, seen
from so far, is nearly a constant: all that varies is 1/10 of what it sees, or 1/1000."""
RESTING = 1e-6
"""A component is constant if it deviates by less than this times its size: float32 rounds at 1e-7."""

NORMALISE = "normalise observations"


def judge_observations(observations: Tensor, normalise: str = NORMALISE) -> list[Finding]:
    """Judge observations `[B, ...]` as the networks see them.

    Args:
        observations: a sample from many episodes; vectors `[B, size]`, or images `[B, C, H, W]`.
        normalise: what to do about components on different scales, as the end of a sentence.

    """
    flat = observations.reshape(len(observations), -1)
    if not flat.is_floating_point():
        return [_image_varies(flat)]
    finite = flat.isfinite()
    findings = [_finite(finite)]
    rows = flat[finite.all(-1)].double()
    if len(rows) < 2:
        return findings
    if observations.dim() > 2:
        return [*findings, _image_varies(rows)]
    std, mean = rows.std(0), rows.mean(0)
    varies = std > RESTING * rows.abs().amax(0)
    findings.append(_varies(varies))
    if varies.any():
        # What takes two values is a code, and rare ones deviate little: no number on a small scale.
        measured = varies & ((rows != rows.amin(0)) & (rows != rows.amax(0))).any(0)
        findings.append(_even(std, measured, normalise))
        findings.append(_centred(mean, std, normalise))
    return findings


def _finite(finite: Tensor) -> Finding:
    rows = finite.all(-1)
    share = 1 - float(rows.double().mean())
    if share == 0:
        return Finding("fine", "finite", "every number of the observations is finite.", 0.0)
    component = int((~finite).sum(0).argmax())
    return Finding(
        "problem",
        "finite",
        f"{share:.1%} of the observations have a NaN or an infinity, most often in component "
        f"{component}: mend the environment, since training ends at the first of them.",
        share,
    )


def _image_varies(flat: Tensor) -> Finding:
    share = float((flat != flat[:1]).any(0).double().mean())
    if share == 0:
        return Finding(
            "problem",
            "observation",
            "no pixel ever changes: φ sees one state, so show what happens.",
            0.0,
        )
    return Finding("fine", "observation", f"{share:.0%} of the pixels change.", share)


def _varies(varies: Tensor) -> Finding:
    size, constant = len(varies), int((~varies).sum())
    if constant == size:
        return Finding(
            "problem",
            "observation",
            f"none of the {size} components ever changes: φ sees one state and F pays the same "
            "everywhere, so show the agent where it is.",
            1.0,
        )
    if constant == 0:
        return Finding("fine", "observation", f"each of the {size} components changes.", 0.0)
    which = ", ".join(str(index) for index in (~varies).nonzero().flatten()[:5].tolist())
    more = ", ..." if constant > 5 else ""
    return Finding(
        "notice",
        "observation",
        f"{constant} of {size} components never change under random actions ({which}{more}): leave "
        "them out if they never will.",
        constant / size,
    )


def _even(std: Tensor, measured: Tensor, normalise: str) -> Finding:
    """Whether one component deviates far more, or far less, than the others."""
    scales = std[measured]
    if len(scales) < 2:
        return Finding("fine", "scale", "there are no two components to be on different scales.")
    middle = float(scales.median())
    large, small = float(scales.max()) / middle, middle / float(scales.min())
    ratio = max(large, small)
    index = int(
        measured.nonzero().flatten()[scales.argmax() if ratio == large else scales.argmin()]
    )
    if ratio < UNEVEN:
        sentence = f"components deviate alike, by a factor of {readable(ratio)} at most."
        return Finding("fine", "scale", sentence, ratio)
    seen = "φ sees little else" if ratio == large else "φ does not see it"
    return Finding(
        "problem" if ratio >= FAR_TOO_UNEVEN else "notice",
        "scale",
        f"component {index} deviates by {readable(float(std[index]))}, the median one by "
        f"{readable(middle)}, and so {seen}: {normalise}.",
        ratio,
    )


def _centred(mean: Tensor, std: Tensor, normalise: str) -> Finding:
    """Whether what varies is more than a trifle beside what does not."""
    index = int(mean.abs().argmax())
    ratio = float(mean.abs().max() / std.max())
    if ratio < FAR_FROM_ZERO:
        sentence = f"means lie within {readable(ratio)} deviations of zero."
        return Finding("fine", "centre", sentence, ratio)
    return Finding(
        "problem" if ratio >= TOO_FAR_FROM_ZERO else "notice",
        "centre",
        f"component {index} is {readable(float(mean[index]))} on average, and no component deviates "
        f"by more than {readable(float(std.max()))}, so that all states look alike to φ: {normalise}.",
        ratio,
    )
