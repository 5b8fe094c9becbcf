"""Every setting of a run, as frozen dataclasses that check themselves.

A `RunConfig` is complete: together with the code's version it determines a run. The paper's numbers
live in `presets`; the defaults here are placeholders for programs that build a config by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from rle.checks import (
    require,
    require_choice,
    require_fraction,
    require_layers,
    require_not_negative,
    require_positive,
    require_seed,
)
from rle.modules import DISTRIBUTION_GROUP, installed, path_of
from rle.values import Keywords

Activation = Literal["tanh", "relu", "elu"]
DistributionName = Literal["sphere", "uniform", "normal"] | str
Compile = Literal["auto", "on", "fused", "off"]
Precision = Literal["auto", "float32", "bfloat16"]
Preset = Literal["paper", "released", "desktop"]

_BARE_NAMES: Any = tyro.conf.OmitArgPrefixes
"""On the command line the section's name is left out: --learning-rate, not --learner.learning-rate."""
_CHOSEN_BEFORE: Any = tyro.conf.Suppress
"""These choose the defaults of all others, so the command line reads them first, by itself."""
_JSON: Any = tyro.constructors.PrimitiveConstructorSpec(
    nargs=1,
    metavar="JSON",
    instance_from_str=lambda texts: Keywords.from_json(texts[0], "env-kwargs"),
    is_instance=lambda value: isinstance(value, dict),
    str_from_instance=lambda value: [json.dumps(value)],
)


LARGEST_BATCH = 2**31 - 1
"""Transitions of a rollout, which are counted and permuted."""


@dataclass(frozen=True)
class MachineConfig:
    """With what a run is made: none of it makes another method of it."""

    device: str = "cpu"
    """A PyTorch device, or auto: the GPU if there is one."""
    devices: int = 1
    """Over how many GPUs, or processes on CPU cores, environments are split; num-envs is of all."""
    threads: int = 1
    """CPU threads of PyTorch; 0 leaves its default."""
    engine_threads: int = 0
    """Threads of the environment engine (tasks on EnvPool or MuJoCo only); 0: one per core."""
    compile: Compile = "auto"
    """Compile rollout and update; fused: plain networks alone, which is ready in seconds. auto does what
    pays, where a C++ compiler is."""
    precision: Precision = "auto"
    """Images only: auto computes in bfloat16 where the hardware does, and else in float32."""
    micro_batch: int | None = None
    """Transitions computed at a time, so that they fit the cache; the minibatch keeps its meaning."""
    checkpoint_every: int = 500_000
    """Steps between checkpoints."""
    checkpoint_minutes: float = 10.0
    """Minutes after which there is one more, until the next takes its place; 0: by steps alone."""
    keep_checkpoints: int = 0
    """So many of the last checkpoints stay, and the one with the best score; 0: all at such steps."""
    sinks: tuple[str, ...] = ()
    """Where metrics go besides the run directory: tensorboard, wandb, trackio (extras of these names),
    or `module:name` of your own."""

    def __post_init__(self) -> None:
        require_positive("devices", self.devices)
        require_not_negative("threads", self.threads)
        require_not_negative("engine-threads", self.engine_threads)
        require_choice("compile", self.compile, ("auto", "on", "fused", "off"))
        require_choice("precision", self.precision, ("auto", "float32", "bfloat16"))
        if self.micro_batch is not None:
            require_positive("micro-batch", self.micro_batch)
        require_positive("checkpoint-every", self.checkpoint_every)
        require_not_negative("checkpoint-minutes", self.checkpoint_minutes)
        require_not_negative("keep-checkpoints", self.keep_checkpoints)


@dataclass(frozen=True)
class EnvironmentConfig:
    """How many copies of the task run side by side, and how one of them behaves."""

    num_envs: int = 32
    """Parallel environments (the paper's parallel workers)."""
    time_limit: int | None = None
    """Steps after which an episode is truncated; None keeps the environment's own limit."""
    autoreset: Literal["next-step", "same-step"] = "next-step"
    """Gymnasium's auto-reset mode (gym/ tasks only); the transitions learned from are the same."""
    normalise_observations: bool = False
    """Standardise vectors by their running mean and deviation, kept in the checkpoint. On gym/ tasks,
    codes of zeros and ones and what is declared to lie in [-1, 1] are left as they are."""
    observation_clip: float = 10.0
    """Standardised observations are clipped to plus or minus this."""
    full_action_space: bool = True
    """All 18 actions of the console rather than those the game uses (atari/ tasks only)."""
    television: tuple[int, int] = (12, 37)
    """Top-left cell (row, column) of the 2 x 2 noisy television (fourroom-noisytv only)."""
    env_kwargs: Annotated[Keywords, _JSON] = field(default_factory=Keywords)
    """Keyword arguments that each environment is made with (gym/ tasks, and suites that take them)."""
    wrappers: tuple[str, ...] = ()
    """Gymnasium wrappers of each environment as module:name, the innermost first (gym/ tasks only)."""
    frame_stack: int = 1
    """How many of the last images the agent sees at once (gym/ tasks that show images only)."""
    grayscale: bool = False
    """Make images in colour grey (gym/ tasks that show images only)."""
    resize: tuple[int, int] | None = None
    """Rows and columns that images are brought to, averaging over areas; None keeps their size (gym/
    tasks that show images only)."""

    def __post_init__(self) -> None:
        require_positive("num-envs", self.num_envs)
        if self.time_limit is not None:
            require_positive("time-limit", self.time_limit)
        require_positive("observation-clip", self.observation_clip)
        require_choice("autoreset", self.autoreset, ("next-step", "same-step"))
        require_positive("frame-stack", self.frame_stack)
        for side in self.resize or ():
            require_positive("resize", side)
        object.__setattr__(self, "env_kwargs", Keywords.of(self.env_kwargs, "env-kwargs"))
        given: Any = (self.wrappers,) if callable(self.wrappers) else self.wrappers
        object.__setattr__(self, "wrappers", tuple(map(_wrapper_name, given)))


def _wrapper_name(wrapper: Any) -> str:
    """Stored by name, so that config.json is complete and a resumed run finds it again."""
    name = path_of(wrapper) if callable(wrapper) else wrapper
    require(
        isinstance(name, str) and ":" in name,
        f"wrappers has {wrapper!r}: give module:name of a wrapper, or a class of a module.",
    )
    return str(name)


@dataclass(frozen=True)
class NetworkConfig:
    """The shapes of the policy and value networks."""

    policy_hidden: tuple[int, ...] = (64, 64)
    """Vectors only: the policy's hidden layers."""
    value_hidden: tuple[int, ...] = (64, 64)
    """Vectors only: the value network's hidden layers."""
    activation: Activation = "tanh"
    """Vectors only: after every hidden layer; networks for images have ReLU."""
    latent_encoder: tuple[int, ...] = ()
    """Vectors only: layers that z passes before it joins the others; none leaves it as it is."""
    value_backbone: int = 0
    """Vectors only: how many value layers see the observation alone, before z joins; RLE's φ follows
    them. 0 lets z join the observation, and φ follow all layers."""
    value_gain: float = 1.0
    """Gain of the weights that the value heads start with (for images, times 0.01); 0: values start at
    zero, and what pays nothing has no advantage from the first step on."""
    initial_action_std: float = 1.0
    """Continuous actions only: the standard deviation that the policy starts with."""
    embedding: tuple[int, ...] = (256, 448)
    """Images only: dense layers after the convolutions, shared by policy and value, each of which then
    has one as wide as the last of them."""

    def __post_init__(self) -> None:
        require_layers("policy-hidden", self.policy_hidden)
        require_layers("value-hidden", self.value_hidden)
        require_layers("latent-encoder", self.latent_encoder)
        require_layers("embedding", self.embedding)
        require(
            0 <= self.value_backbone < max(len(self.value_hidden), 1),
            f"value-backbone is {self.value_backbone} and value-hidden has {len(self.value_hidden)} "
            "layers: z needs one of them after the backbone, so give a longer value-hidden or a "
            "smaller value-backbone.",
        )
        require_not_negative("value-gain", self.value_gain)
        require_positive("initial-action-std", self.initial_action_std)
        require_choice("activation", self.activation, ("tanh", "relu", "elu"))


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation: the learner every strategy shares."""

    learning_rate: float = 1e-3
    """Step size of Adam."""
    anneal_learning_rate: bool = False
    """Lower the learning rate linearly to zero over the run."""
    adam_epsilon: float = 1e-5
    """ε of Adam, added to the root of the second moment."""
    rollout_steps: int = 128
    """Steps of every environment between two updates (the paper's steps per batch)."""
    discount: float = 0.99
    """γ of the task's return."""
    gae_lambda: float = 0.95
    """λ of the generalised advantage estimates, of every stream."""
    epochs: int = 4
    """How often each rollout is learned from."""
    minibatches: int = 4
    """Into how many parts a rollout is divided; each is one gradient step of an epoch."""
    clip: float = 0.2
    """PPO's ε: how far the ratio of new to old probabilities may move before it is clipped."""
    entropy_coefficient: float = 0.01
    """Weight of the policy's entropy in the loss."""
    value_coefficient: float = 0.5
    """Weight of the task head's value loss."""
    clip_value_loss: bool = True
    """Clip the task head's value loss; heads of bonus streams are never clipped."""
    normalise_advantages: bool = True
    """Standardise the weighted sum of the streams' advantages in each minibatch."""
    max_gradient_norm: float = 0.5
    """Longer gradients are shortened to this."""
    task_coefficient: float = 1.0
    """Weight of the task's advantage; 0 switches the task reward off."""
    reward_scale: float = 1.0
    """What the task reward is multiplied by before anything else happens to it."""
    scale_reward: bool = False
    """Divide the task reward by the running deviation of its discounted sum."""
    enlarge_reward: bool = True
    """Whether `scale_reward` may also make rewards larger; off: deviations below 1 leave them alone."""
    reward_clip: float | None = None
    """Clip the (scaled) task reward to plus or minus this; None does not."""

    def __post_init__(self) -> None:
        for label, value in (
            ("learning-rate", self.learning_rate),
            ("adam-epsilon", self.adam_epsilon),
            ("rollout-steps", self.rollout_steps),
            ("epochs", self.epochs),
            ("minibatches", self.minibatches),
            ("clip", self.clip),
            ("max-gradient-norm", self.max_gradient_norm),
            ("reward-scale", self.reward_scale),
        ):
            require_positive(label, value)
        require_fraction("discount", self.discount)
        require_fraction("gae-lambda", self.gae_lambda)
        require_not_negative("entropy-coefficient", self.entropy_coefficient)
        require_not_negative("value-coefficient", self.value_coefficient)
        require_not_negative("task-coefficient", self.task_coefficient)
        if self.reward_clip is not None:
            require_positive("reward-clip", self.reward_clip)


@dataclass(frozen=True)
class RLEConfig:
    """Random Latent Exploration: F(s', z) = f(s')·z, policy and value see z."""

    coefficient: float = 0.1
    """Weight of the bonus advantage; 0 leaves plain PPO."""
    anneal: bool = False
    """Lower the coefficient linearly to zero over the run."""
    dimension: int = 4
    """d, the size of z."""
    distribution: DistributionName = "sphere"
    """Distribution of z: sphere, uniform ([-0.5, 0.5]^d), normal, or `module:function` of your own."""
    resample_every: int = 128
    """S: steps after which an environment gets a new z (an episode's end also gives one)."""
    stagger: bool = False
    """Start the environments' countdowns at random offsets, so that they do not switch in step."""
    discount: float = 0.99
    """Discount of the bonus return."""
    standardise: bool = True
    """Standardise φ's output by its running mean and deviation."""
    unit_norm: bool = True
    """Divide the feature by its norm (Atari, FourRoom); off in continuous control."""
    whitened_features: int = 0
    """φ has so many features, which are whitened (made uncorrelated over all states seen) and mixed down
    to d, so that what is seldom seen weighs more; 0: it has d, each standardised by itself."""
    rarity: float = 0.0
    """Whitened features only: F also pays so much times how far the state is from those seen."""
    centre_rarity: bool = False
    """Take off the rarity its mean over the last rollout, which says nothing of where to go."""
    episodic_rarity: bool = False
    """Let the rarity count less for what the episode has shown before, as far as the rollout tells."""
    feature_hidden: tuple[int, ...] | None = (64, 64, 64)
    """Vectors only: φ's hidden layers; None takes the value network's (its backbone's, if it has one),
    with their activation. On images φ has the value network's form."""
    feature_activation: Activation = "relu"
    """Vectors only: after each of `feature_hidden`."""
    feature_clip: float | None = None
    """Normalised vectors only: φ sees what is beyond ± so many deviations as that."""
    feature_network: str | None = None
    """`module:function` of your own that builds φ from (observation_shape, dimension)."""
    feature_raw_pixels: bool = False
    """Images only: φ sees 0 to 255 instead of 0 to 1, as the released scripts have it."""
    feature_update_rate: float = 0.0
    """τ: φ ← τ V + (1-τ) φ; 0 keeps φ frozen."""
    feature_update: Literal["minibatch", "iteration"] = "minibatch"
    """After which of the two φ follows the value network."""
    condition: bool = True
    """Let policy and value see z."""
    fade: bool = False
    """Where the task pays, show policy and value less of z and weigh the bonus less: the smaller it is
    beside the task's advantages so far, the less; not where the bonus has no value head of its own."""
    condition_on_bonus: bool = False
    """Let policy and value also see the previous step's bonus."""
    separate_streams: bool = True
    """Two value heads, each with its discount; off: one, on task reward + coefficient · bonus."""
    scale_bonus: bool = True
    """Divide the bonus by the running deviation of its discounted sum."""
    value_coefficient: float = 0.5
    """Weight of the bonus head's value loss."""
    warmup_rollouts: int = 1
    """Rollouts of random actions that initialise the feature statistics."""

    @property
    def features(self) -> int:
        """How many φ has."""
        return self.whitened_features or self.dimension

    def __post_init__(self) -> None:
        require_not_negative("rle.coefficient", self.coefficient)
        require_positive("rle.dimension", self.dimension)
        require_positive("rle.resample-every", self.resample_every)
        require_fraction("rle.discount", self.discount)
        require_fraction("rle.feature-update-rate", self.feature_update_rate)
        require_not_negative("rle.value-coefficient", self.value_coefficient)
        require_not_negative("rle.warmup-rollouts", self.warmup_rollouts)
        require_not_negative("rle.whitened-features", self.whitened_features)
        require_not_negative("rle.rarity", self.rarity)
        if self.feature_clip is not None:
            require_positive("rle.feature-clip", self.feature_clip)
        require(
            self.whitened_features == 0 or (self.standardise and not self.unit_norm),
            "rle.whitened-features are standardised, and their size tells how rare a state is: set "
            "rle.standardise to True and rle.unit-norm to False.",
        )
        require(
            self.rarity == 0 or self.whitened_features > 0,
            "rle.rarity is measured by whitened features: set rle.whitened-features, say to 128.",
        )
        require(
            not (self.rarity > 0 and self.episodic_rarity and self.condition_on_bonus),
            "rle.episodic-rarity is known only when a rollout is complete, too late for "
            "rle.condition-on-bonus: set one of the two to False.",
        )
        require_choice("rle.feature-update", self.feature_update, ("minibatch", "iteration"))
        require_choice("rle.feature-activation", self.feature_activation, ("tanh", "relu", "elu"))
        if self.feature_hidden is not None:
            require_layers("rle.feature-hidden", self.feature_hidden)
        require(
            self.feature_network is None or self.feature_update_rate == 0,
            "rle.feature-update-rate above 0 needs φ in the value network's shape: "
            "leave rle.feature-network unset.",
        )
        require(
            self.condition or not self.condition_on_bonus,
            "rle.condition-on-bonus needs rle.condition: the bonus means nothing without its z.",
        )
        for name in ("distribution", "feature_network"):
            function: Any = getattr(self, name)
            if callable(function):
                # Stored by name, so that config.json is complete and a resumed run finds it again.
                known_as = getattr(function, "__qualname__", "<unnamed>")
                require(
                    "<" not in known_as,
                    f"rle.{name} is a function without a name of its own in a module: write it with "
                    "def, outside of other functions.",
                )
                object.__setattr__(self, name, f"{function.__module__}:{known_as}")
        if ":" not in self.distribution:
            known = ("sphere", "uniform", "normal", *installed(DISTRIBUTION_GROUP))
            require_choice("rle.distribution", self.distribution, known)


@dataclass(frozen=True)
class RNDConfig:
    """Random Network Distillation: the bonus is the error of predicting a fixed random network."""

    coefficient: float = 1.0
    """Weight of the bonus advantage; 0 leaves plain PPO."""
    discount: float = 0.99
    """Discount of the bonus return, which is never cut."""
    predictor_hidden: tuple[int, ...] = (256, 256, 256, 256)
    """Hidden layers of the network that learns to predict."""
    target_hidden: tuple[int, ...] = (64,)
    """Hidden layers of the fixed random network that is predicted."""
    outputs: int = 256
    """Width of what is predicted."""
    keep_fraction: float = 0.25
    """Share of each minibatch that the predictor is trained on."""
    observation_clip: float = 5.0
    """Whitened observations are clipped to plus or minus this."""
    warmup_rollouts: int = 50
    """Rollouts of random actions that initialise the whitening."""
    scale_bonus: bool = True
    """Divide the bonus by the running deviation of its discounted sum."""
    value_coefficient: float = 0.5
    """Weight of the bonus head's value loss."""

    def __post_init__(self) -> None:
        require_not_negative("rnd.coefficient", self.coefficient)
        require_fraction("rnd.discount", self.discount)
        require_layers("rnd.predictor-hidden", self.predictor_hidden)
        require_layers("rnd.target-hidden", self.target_hidden)
        require_positive("rnd.outputs", self.outputs)
        require_positive("rnd.keep-fraction", self.keep_fraction)
        require_fraction("rnd.keep-fraction", self.keep_fraction)
        require_positive("rnd.observation-clip", self.observation_clip)
        require_not_negative("rnd.warmup-rollouts", self.warmup_rollouts)
        require_not_negative("rnd.value-coefficient", self.value_coefficient)


@dataclass(frozen=True)
class NoisyConfig:
    """NoisyNet: learned Gaussian noise on the last layers' weights."""

    initial_std: float = 0.017
    """σ₀ of every weight and bias."""

    def __post_init__(self) -> None:
        require_not_negative("noisy.initial-std", self.initial_std)


@dataclass(frozen=True)
class WhiteNoiseConfig:
    """N(0, 1) added to the reward at every step: what RLE is without states and latents."""

    coefficient: float = 0.01
    """Deviation of the noise."""

    def __post_init__(self) -> None:
        require_not_negative("white-noise.coefficient", self.coefficient)


@dataclass(frozen=True)
class RunConfig:
    """One run, complete. `task`, `explore` and `preset` say where the numbers came from."""

    task: Annotated[str, _CHOSEN_BEFORE] = "fourroom"
    explore: Annotated[str, _CHOSEN_BEFORE] = "rle"
    preset: Annotated[Preset, _CHOSEN_BEFORE] = "paper"
    seed: int = 0
    """All random numbers of the run come from it."""
    total_steps: int = 2_500_000
    """Agent steps, over all environments, a strategy's warm-up included."""
    machine: Annotated[MachineConfig, _BARE_NAMES] = field(default_factory=MachineConfig)
    environment: Annotated[EnvironmentConfig, _BARE_NAMES] = field(
        default_factory=EnvironmentConfig
    )
    network: Annotated[NetworkConfig, _BARE_NAMES] = field(default_factory=NetworkConfig)
    learner: Annotated[PPOConfig, _BARE_NAMES] = field(default_factory=PPOConfig)
    rle: RLEConfig | None = None
    rnd: RNDConfig | None = None
    noisy: NoisyConfig | None = None
    white_noise: WhiteNoiseConfig | None = None
    own: Annotated[Mapping[str, Mapping[str, Any]] | None, _CHOSEN_BEFORE] = None
    """Settings of strategies that are not part of this package, by their names, each with the
    `module:NAME` it came from as `strategy`."""

    def __post_init__(self) -> None:
        require_choice("preset", self.preset, ("paper", "released", "desktop"))
        require_positive("total-steps", self.total_steps)
        require_seed("seed", self.seed)
        batch = self.batch_size
        require(
            batch <= LARGEST_BATCH,
            f"a rollout of {self.environment.num_envs} environments x {self.learner.rollout_steps} "
            f"steps is more than {LARGEST_BATCH:,} transitions: choose fewer of either.",
        )
        require(
            batch % self.learner.minibatches == 0,
            f"a rollout of {self.environment.num_envs} environments x {self.learner.rollout_steps} "
            f"steps = {batch} transitions does not divide into {self.learner.minibatches} minibatches: "
            f"choose minibatches that divide {batch}.",
        )
        require(
            batch // self.learner.minibatches > 1,
            f"minibatches of one transition cannot be normalised: "
            f"choose fewer than {self.learner.minibatches} minibatches.",
        )

    @property
    def batch_size(self) -> int:
        """Transitions of one rollout."""
        return self.environment.num_envs * self.learner.rollout_steps

    @property
    def rollouts(self) -> int:
        """Rollouts of the whole run, a strategy's warm-up included.

        The last may overshoot `total_steps` by less than a rollout.
        """
        return -(-self.total_steps // self.batch_size)
