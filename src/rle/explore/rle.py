"""Random Latent Exploration (Mahankali et al., ICML 2024).

Each environment follows a latent vector z for S steps or until its episode ends. Its bonus for
reaching s' is F(s', z) = f(s')·z, with f the standardised feature φ(s'), divided by its norm on
FourRoom and Atari. Policy and value see z.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rle.config import RLEConfig, RunConfig
from rle.core.bonus import RandomReward
from rle.core.features import FeatureNetwork
from rle.core.latents import LatentState, stagger, start_latents, step_latents
from rle.core.novelty import Order
from rle.core.running_mean_std import RunningMeanStd
from rle.core.transfer import moved
from rle.core.whitening import WhitenedReward
from rle.errors import UsageError
from rle.explore.base import Strategy, Stream
from rle.explore.latents import latent_distribution, load_function
from rle.explore.transitions import Transitions
from rle.modules import FEATURE_GROUP
from rle.nets.actor_critic import ActorCritic
from rle.nets.fused import fused_mlp
from rle.nets.images import UNIT_SCALE, ImageBody
from rle.nets.layers import MLP
from rle.randomness import derive_seed, generator, generator_state, restore_generator
from rle.tasks.base import State, Step, TaskSpec

SHOWN_IN_FULL = 0.1
"""The bonus's share of its and the task's advantages from which on nothing fades, where it may.
A task that is solved now and then leaves the bonus more, most that pay at every step less."""
STEEPNESS = 4
"""The power of the share below it by which all fades. With the square, a humanoid that left the bonus a
twentieth was shown a fifth of z for most of its training, and learned to walk more slowly."""


class RandomLatentExploration(Strategy):
    """Keeps every environment's z, counts down to the next one, and computes F."""

    learned: tuple[str, ...] = ("features", "moments")
    splits = True
    per_environment = ("latent", "countdown")

    def __init__(
        self,
        config: RLEConfig,
        features: nn.Module,
        num_envs: int,
        task_discount: float,
        seed: int,
        device: torch.device,
        micro_batch: int | None = None,
    ) -> None:
        self.config = config
        self.device = device
        self.features = features.requires_grad_(False).to(device)
        self._micro_batch = micro_batch
        self.whole = config.episodic_rarity and config.rarity > 0
        seen = config.condition and config.coefficient > 0
        self._fades = config.fade and config.separate_streams and seen
        if config.standardise and config.coefficient > 0:
            self.warmup_rollouts = config.warmup_rollouts
        # z, and the bonus of the previous step under it.
        self.latent_size = config.dimension + int(config.condition_on_bonus)
        self.streams = ()
        if config.coefficient > 0:
            discount = config.discount if config.separate_streams else task_discount
            self.streams = (
                Stream(
                    "rle",
                    config.coefficient,
                    discount,
                    config.value_coefficient,
                    config.scale_bonus,
                    config.separate_streams,
                    config.anneal,
                ),
            )
            if config.condition:
                self.input_size = self.latent_size
        self._latent_distribution = latent_distribution(config.distribution, config.dimension)
        self._generator = generator(seed, "latents")
        self._num_envs = num_envs
        self.random_reward = _random_reward(config, seed, device)
        self._latent = torch.zeros(num_envs, self.latent_size, device=device)
        self._countdown = torch.zeros(num_envs, dtype=torch.int64, device=device)
        self._drawn = self._fresh = torch.zeros(0)
        self._pinned: Tensor | None = None
        self._on_the_way: list[tuple[Tensor, Tensor | None, Tensor]] = []
        """Features, which of them are real, and F of the rollout's steps, where the policy sees F."""
        self._described: tuple[Transitions, Tensor] | None = None
        """What `bonus` was asked about last, and its features: `observe` need not run φ again."""
        self._initial_features = self._feature_vector()
        self._fused = False
        """Whether φ is computed where the networks are: in C++ of our own."""
        self._time = 0
        self.shown = torch.ones((), device=device)
        """How much of z the networks see, and how much the bonus counts: all, unless they fade."""
        self._task_size = RunningMeanStd((), device)
        """How large the task's advantages have been, rollout by rollout, since the run began."""
        self._is_z = torch.arange(self.latent_size, device=device) < config.dimension
        self._directed = RunningMeanStd((), device)
        """f(s')·z of the rollout, where F is not that alone."""

    def start(self, network: ActorCritic) -> None:
        z = self._draw(1)[0].to(self.device)
        # Before the first step there is no previous bonus.
        bonus = torch.zeros(len(z), self.latent_size - self.config.dimension, device=self.device)
        period = self.config.resample_every
        offsets = None
        if self.config.stagger:
            everywhere = self.world.all_of(self._num_envs)
            offsets = self.world.part(stagger(everywhere, period, self._generator))
        self._latent, self._countdown = start_latents(torch.cat([z, bonus], -1), period, offsets)

    def serve(self, num_envs: int) -> None:
        self._num_envs = num_envs
        self._latent = torch.zeros(num_envs, self.latent_size, device=self.device)
        self._countdown = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self._pinned = None

    def pin(self, latents: Tensor) -> None:
        """Let every environment follow its one of `latents` `[N, d]` from the next `start` on."""
        self.serve(len(latents))
        self._pinned = latents

    def _draw(self, steps: int) -> Tensor:
        if self._pinned is not None:
            return self._pinned.expand(steps, -1, -1)
        everywhere = self.world.all_of(self._num_envs)
        shape = (steps, everywhere, self.config.dimension)
        return self.world.part(self._latent_distribution(shape, self._generator), 1)

    def draw(self, steps: int) -> None:
        # One z per step and environment, whether it is needed or not: how many are drawn must not
        # depend on what the agent did, and one draw is faster than many.
        self._drawn = self._fresh = moved(self._draw(steps), self.device)
        self._time = 0

    def take(self, first: int, steps: int) -> None:
        self._fresh = self._drawn[first : first + steps]
        self._time = 0

    def latent(self) -> Tensor:
        return self._latent

    def network_input(self, latent: Tensor | None) -> Tensor | None:
        if not self.input_size or latent is None:
            return None
        if not self._fades:
            return latent
        return torch.where(self._is_z, latent * self.shown, latent)

    def bonus_weights(self) -> Tensor | None:
        # Where z is hidden, F is noise to whoever cannot see it.
        return self.shown[None] if self._fades else None

    def weighed(self, sizes: Tensor) -> None:
        # Adam moves the weights that read z at its own speed, however little the bonus weighs: what they
        # can do to the policy is bounded by how much of z there is to read.
        if self._fades:
            of_task, own = sizes[0], sizes[1]
            # A rollout that did nothing but reset its environments says nothing.
            told = own > 0
            # Over the run so far: a task that is solved has small advantages again, and no need of z.
            # Beside the task's alone: another bonus is no reason to hide z.
            self._task_size.update(of_task, told)
            usual = self._task_size.mean.float()
            share = own / (usual + own)
            shown = (share / SHOWN_IN_FULL).clamp(max=1).pow(STEEPNESS)
            self.shown = torch.where(told, shown, self.shown)

    def after_step(self, step: Step) -> Tensor | None:
        # No branch depends on data: the loop around this may be compiled as a whole.
        latent, fresh = self._latent, self._fresh[self._time]
        self._time += 1
        if self.config.condition_on_bonus:
            features = self.features(step.next_observation)
            earned = self._reward_of_features(features, latent)
            if not torch.compiler.is_compiling():
                # A compiled rollout has no lists; there φ is so small that it may run twice.
                self._on_the_way.append((features, step.real, earned))
            if step.real is not None:
                earned = torch.where(step.real[:, None], earned, latent[:, -1:])
            latent = torch.cat([latent[:, :-1], earned], -1)
            # The first step under a new z has no previous bonus.
            fresh = torch.cat([fresh, torch.zeros_like(fresh[:, :1])], -1)
        state, switched = step_latents(
            LatentState(latent, self._countdown),
            step.terminated | step.truncated,
            step.real,
            fresh,
            self.config.resample_every,
        )
        self._latent, self._countdown = state
        return switched[:, None]

    def _features_of(self, transitions: Transitions) -> Tensor:
        """φ `[B, k]` of the states reached: what a rollout's images pass through on the way is large."""
        shown = transitions.next_observation
        if self._fused and isinstance(self.features, FeatureNetwork):
            body = self.features.body
            if type(body) is MLP:
                layers = [[layer] for layer in (*body.linears, self.features.projection)]
                return fused_mlp(self.features.clipped(shown), layers, body.activation)
        if self._micro_batch is None:
            return self.features(shown)
        return torch.cat([self.features(part) for part in shown.split(self._micro_batch)])

    def _reward_of_features(
        self, features: Tensor, latent: Tensor, order: Order | None = None
    ) -> Tensor:
        """F `[B, 1]`, without touching the statistics."""
        z = latent[..., : self.config.dimension]
        if isinstance(self.random_reward, WhitenedReward):
            return self.random_reward.reward(features, z, order)[..., None]
        return self.random_reward.reward(features, z)[..., None]

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        assert transitions.latent is not None
        features = self._features_of(transitions)
        self._described = transitions, features
        order = transitions.order if self.whole else None
        return self._reward_of_features(features, transitions.latent, order)

    @torch.no_grad()
    def observe(self, transitions: Transitions) -> None:
        described, features = self._described or (None, None)
        if features is None or described is not transitions:
            features = self._features_of(transitions)
        if self.config.rarity > 0 and transitions.latent is not None:
            # The rarity pays under every z: whether z is followed shows in the rest.
            z = transitions.latent[..., : self.config.dimension]
            self._directed.update((self.random_reward.standardised(features) * z).sum(-1))
        self.random_reward.observe(features)
        self._described = None
        # They are the same as those on the way.
        self._on_the_way.clear()

    def begin_rollout(self, network: ActorCritic) -> None:
        self._fused = network.fused
        self._on_the_way.clear()

    def paid(self) -> Tensor | None:
        if not (self._on_the_way and self.streams):
            return None
        return torch.stack([earned for _, _, earned in self._on_the_way])

    @torch.no_grad()
    def warm_up(self, rollout: int, transitions: Transitions) -> None:
        self.random_reward.observe(self._features_of(transitions))
        self.random_reward.commit(self.world.pool)

    def after_rollout(self) -> None:
        # Statistics change between rollouts only, as in Algorithm 2: within one, F is one function.
        if self.streams:
            for features, real, _ in self._on_the_way:
                self.random_reward.observe(features, real)
        self._on_the_way.clear()
        self.random_reward.commit(self.world.pool)

    def after_minibatch(self, network: ActorCritic) -> None:
        if self.config.feature_update == "minibatch":
            self._follow(network)

    def after_update(self, network: ActorCritic) -> None:
        if self.config.feature_update == "iteration":
            self._follow(network)

    def _follow(self, network: ActorCritic) -> None:
        if self.config.feature_update_rate > 0:
            self.features.follow(network.value_body, self.config.feature_update_rate)  # type: ignore[operator]

    def _feature_vector(self) -> Tensor:
        """φ's parameters as one vector; empty for a φ that cannot move."""
        if self.config.feature_update_rate == 0:
            return torch.zeros(0, device=self.device)
        return nn.utils.parameters_to_vector(self.features.parameters()).detach().clone()

    def metrics(self) -> dict[str, float]:
        measured = {}
        if self._fades:
            measured["rle_latent_shown"] = float(self.shown)
        if self.config.feature_update_rate > 0:
            moved = (self._feature_vector() - self._initial_features).norm()
            measured["rle_feature_movement"] = float(moved / self._initial_features.norm())
        if self.config.rarity > 0:
            directed = self.world.pool(self._directed)
            self._directed = directed.empty()
            if directed.count > 0 and directed.std > 0:
                measured["rle_following"] = float(directed.mean / directed.std)
        return measured

    def reward_map(self, observation: Tensor, latent: Tensor) -> Tensor:
        """F(s, z) `[M, B]` of B observations under M latents `[M, d]`: the reward-map figure."""
        with torch.no_grad():
            features = self.features(observation)
            return torch.cat([self._reward_of_features(features, z).T for z in latent[:, None]])

    def sample_latents(self, count: int, source: torch.Generator) -> Tensor:
        """`[count, d]` latents from the strategy's distribution, from a generator of the caller's."""
        return self._latent_distribution((count, self.config.dimension), source)

    def reseed(self, seed: int) -> None:
        self._generator = generator(seed, "latents")

    def state_dict(self) -> State:
        fading = {"fading": {"shown": self.shown, "task": self._task_size.state_dict()}}
        if not self._fades:
            fading = {}
        return fading | {
            "features": dict(self.features.state_dict()),
            "initial_features": self._initial_features,
            "moments": self.random_reward.state_dict()["moments"],
            "latent": self._latent,
            "countdown": self._countdown,
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        self.features.load_state_dict(state["features"])
        self._initial_features = state["initial_features"].to(self.device)
        # Checkpoints are written between rollouts, when nothing is pending.
        self.random_reward.load_state_dict({"moments": state["moments"]})
        if self._fades:
            self.shown = state["fading"]["shown"].to(self.device)
            self._task_size.load_state_dict(state["fading"]["task"])
        self._latent = state["latent"].to(self.device)
        self._countdown = state["countdown"].to(self.device)
        self._generator = restore_generator(state["generator"])

    def begin_with(self, state: State) -> None:
        super().begin_with(state)
        self._initial_features = self._feature_vector()
        if self._fades:
            # The networks that are inherited were shown so much of z; all of it, if it did not fade.
            fading = state.get("fading", {"shown": torch.ones(())})
            self.shown = fading["shown"].to(self.device)


def _random_reward(
    config: RLEConfig, seed: int, device: torch.device
) -> RandomReward | WhitenedReward:
    """F as the settings ask for it."""
    if config.whitened_features:
        source = generator(seed, "mixture")
        return WhitenedReward(
            config.whitened_features,
            config.dimension,
            config.rarity,
            source,
            device,
            config.centre_rarity,
        )
    return RandomReward(config.dimension, config.standardise, config.unit_norm, device)


def build_rle(
    config: RunConfig, settings: RLEConfig, spec: TaskSpec, device: torch.device
) -> RandomLatentExploration:
    """RLE as `config` asks for it."""
    features: nn.Module
    network = config.network
    source = generator(config.seed, "features")
    if settings.feature_network is not None:
        features = _own_features(settings, spec, config.seed)
    elif spec.is_image:
        scale = 1.0 if settings.feature_raw_pixels else UNIT_SCALE
        body = ImageBody(
            spec.observation_shape, network.embedding, source, scale, config.machine.precision
        )
        features = FeatureNetwork(body, body.width, settings.features, source)
    else:
        hidden, activation = settings.feature_hidden, settings.feature_activation
        backbone = network.value_hidden[: network.value_backbone or None]
        if hidden is None:
            hidden, activation = backbone, network.activation
        if settings.feature_update_rate > 0 and hidden != backbone[: len(hidden)]:
            raise UsageError(
                "rle.feature-update-rate above 0 needs φ in the value network's shape: "
                "set rle.feature-hidden to None or to the value network's first layers."
            )
        mlp = MLP(spec.observation_shape[0], hidden, activation, source)
        # In deviations, which only normalised observations have.
        clip = settings.feature_clip if config.environment.normalise_observations else None
        features = FeatureNetwork(mlp, mlp.width, settings.features, source, clip)
    return RandomLatentExploration(
        settings,
        features,
        spec.num_envs,
        config.learner.discount,
        config.seed,
        device,
        config.machine.micro_batch,
    )


def _own_features(settings: RLEConfig, spec: TaskSpec, seed: int) -> nn.Module:
    """A user's φ, built from the run's seed and checked."""
    path = settings.feature_network
    assert path is not None
    build = load_function(
        path, "rle.feature-network", ("observation_shape", "dimension"), FEATURE_GROUP
    )
    with torch.random.fork_rng(devices=[]):
        # Users initialise layers as they are used to, from PyTorch's global generator.
        torch.manual_seed(derive_seed(seed, "features"))
        features = build(spec.observation_shape, settings.features)
    if not isinstance(features, nn.Module):
        raise UsageError(f"rle.feature-network {path!r} must return a torch module.")
    with torch.no_grad():
        output = features(torch.zeros(2, *spec.observation_shape, dtype=spec.observation_dtype))
    if output.shape != (2, settings.features):
        raise UsageError(
            f"rle.feature-network {path!r} maps 2 observations to {tuple(output.shape)} "
            f"instead of (2, {settings.features})."
        )
    return features
