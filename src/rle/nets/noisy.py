"""Linear layers with learned Gaussian noise on every weight (Fortunato et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.core.transfer import moved
from rle.renamed import read_renamed_parameters


class NoisyLinear(nn.Linear):
    """y = (W + σ_W ∘ ε_W) x + (b + σ_b ∘ ε_b) with independent standard normal ε.

    Independent noise rather than factorised: the variant the NoisyNet paper uses for on-policy
    agents. ε is a buffer that `resample` fills; it stays until then. Whoever watches many perturbed
    agents at once may put `[N, outputs, inputs]` and `[N, outputs]` there: a sample for each row.
    """

    weight_noise: Tensor
    bias_noise: Tensor

    def __init__(self, inputs: int, outputs: int, initial_std: float) -> None:
        super().__init__(inputs, outputs)
        self.weight_std = nn.Parameter(torch.full((outputs, inputs), initial_std))
        self.bias_std = nn.Parameter(torch.full((outputs,), initial_std))
        self.register_buffer("weight_noise", torch.zeros(outputs, inputs))
        self.register_buffer("bias_noise", torch.zeros(outputs))
        self.register_load_state_dict_pre_hook(read_renamed_parameters)

    def resample(self, generator: torch.Generator) -> None:
        """Draw new noise."""
        for noise in (self.weight_noise, self.bias_noise):
            noise.copy_(moved(torch.randn(noise.shape, generator=generator), noise.device))

    def silence(self) -> None:
        """Switch the noise off until the next `resample`."""
        self.weight_noise.zero_()
        self.bias_noise.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """`[..., inputs] -> [..., outputs]`."""
        weight = self.weight + self.weight_std * self.weight_noise
        bias = self.bias + self.bias_std * self.bias_noise
        if weight.dim() == 3:
            return (weight @ x[..., None]).squeeze(-1) + bias
        return functional.linear(x, weight, bias)
