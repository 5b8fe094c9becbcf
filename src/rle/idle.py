"""When each setting applies, as one table: what was asked for and would do nothing is refused.

A setting that is quietly ignored looks as if it had been tried. The table judges by what a run is made
of: its task, strategy and networks, not by what it happens to meet (a time limit that no episode
reaches). Values of a preset are never refused, only those that differ from it or were given by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rle.config import RLEConfig, RNDConfig, RunConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.settings import changed, locate, shortest_name
from rle.tasks.registry import suite_of

if TYPE_CHECKING:
    from rle.tasks.base import TaskSpec


@dataclass(frozen=True)
class Situation:
    """A run, as far as the table looks at it."""

    config: RunConfig
    images: bool | None
    """Whether observations are images; None: not known before the task is built."""
    continuous: bool | None
    """Whether actions are continuous; None: the same."""

    @classmethod
    def of(cls, config: RunConfig, spec: TaskSpec) -> Situation:
        """The situation of a run whose task is built."""
        from rle.tasks.base import Continuous

        return cls(config, spec.is_image, isinstance(spec.action_space, Continuous))

    @classmethod
    def expected(cls, config: RunConfig) -> Situation:
        """The situation as far as it is known before the task is built."""
        suite, _ = suite_of(config.task)
        return cls(config, suite.images, suite.continuous)

    @property
    def rle(self) -> RLEConfig | None:
        """RLE's settings, if it pays a bonus."""
        settings = self.config.rle
        return settings if settings is not None and settings.coefficient > 0 else None

    @property
    def rnd(self) -> RNDConfig | None:
        """RND's settings, if it pays a bonus."""
        settings = self.config.rnd
        return settings if settings is not None and settings.coefficient > 0 else None

    def takes(self, setting: str) -> bool:
        """Whether the task takes a setting that most tasks do not."""
        suite, name = suite_of(self.config.task)
        return setting in suite.takes(name)

    @property
    def pays(self) -> bool:
        """Whether the task ever gives a reward."""
        suite, name = suite_of(self.config.task)
        return suite.pays(name)

    @property
    def latent_is_seen(self) -> bool:
        """Whether policy and value see a z."""
        # A strategy that is not ours may show one too.
        return bool(self.config.own) or (self.rle is not None and self.rle.condition)

    @property
    def summed(self) -> bool:
        """Whether a bonus is added to the task's reward instead of having a value head of its own."""
        noise = self.config.white_noise
        return (noise is not None and noise.coefficient > 0) or (
            self.rle is not None and not self.rle.separate_streams
        )

    @property
    def one_advantage(self) -> bool:
        """Whether there is nothing to weigh: a single advantage, normalised, has no scale."""
        heads = [
            self.summed or self.config.learner.task_coefficient > 0,
            self.rle is not None and self.rle.separate_streams,
            self.rnd is not None,
            bool(self.config.own),
        ]
        return self.config.learner.normalise_advantages and sum(heads) < 2


@dataclass(frozen=True)
class Condition:
    """Something a setting needs, and what to say where it is missing."""

    holds: Callable[[Situation], bool]
    otherwise: str
    """Why the setting would do nothing, and what to do."""


def _chosen(strategy: str) -> tuple[Condition, ...]:
    """What a section of settings needs."""
    return (
        Condition(
            lambda at: strategy in at.config.explore.split("+"),
            f"explore does not name {strategy}; name it, or leave these settings out.",
        ),
    )


def _rle(holds: Callable[[RLEConfig], bool], otherwise: str) -> Condition:
    """A condition on RLE's settings, for those that need its bonus anyway."""
    return Condition(lambda at: at.rle is None or holds(at.rle), otherwise)


LEARNS = Condition(
    lambda at: at.config.explore != "random",
    "random actions are not learned; choose another strategy, or leave it out.",
)
VECTORS = Condition(
    lambda at: not at.images,
    "this task shows images, whose networks have one form, with ReLU and the widths of embedding; "
    "change embedding, or leave it out.",
)
IMAGES = Condition(
    lambda at: at.images is not False,
    "it is for images, and this task shows vectors; leave it out.",
)
CONTINUOUS = Condition(
    lambda at: at.continuous is not False,
    "it is for continuous actions, and this task's are discrete; leave it out.",
)
AUTORESET = Condition(lambda at: at.takes("autoreset"), "it is for gym/ tasks; leave it out.")
CONSOLE = Condition(
    lambda at: at.takes("full_action_space"), "it is for atari/ tasks; leave it out."
)
TELEVISION = Condition(
    lambda at: at.takes("television"), "only fourroom-noisytv has a television; leave it out."
)
ENGINE = Condition(
    lambda at: at.takes("engine_threads"),
    "only atari/, control/, envpool/ and some sparse/ tasks have an engine with threads; leave it "
    "out.",
)
KEYWORDS = Condition(
    lambda at: at.takes("env_kwargs"), "this task is made without any; leave it out."
)
WRAPPED = Condition(lambda at: at.takes("wrappers"), "wrappers are for gym/ tasks; leave it out.")


def _of_images(setting: str) -> Condition:
    """What a setting needs that changes images before they are seen."""
    return Condition(
        lambda at: at.takes(setting) and at.images is not False,
        "it is for gym/ tasks that show images; leave it out.",
    )


STACKED, GREYED, RESIZED = map(_of_images, ("frame_stack", "grayscale", "resize"))
MEASURED = Condition(
    lambda at: not at.images,
    "it is for vectors, and this task shows images, scaled to [0, 1] anyway; leave it out.",
)
NORMALISED = Condition(
    lambda at: at.config.environment.normalise_observations,
    "observations are clipped where they are standardised; set normalise-observations True as well, "
    "or leave it out.",
)
PAID = Condition(lambda at: at.pays, "this task pays no reward; leave it out.")
UNSCALED = Condition(
    # Where nothing may be enlarged, small rewards keep their size.
    lambda at: not (at.config.learner.scale_reward and at.config.learner.enlarge_reward),
    "scale-reward divides the reward by its own size, whatever that is; set scale-reward False, or "
    "leave it out.",
)
SCALED = Condition(
    lambda at: at.config.learner.scale_reward,
    "nothing enlarges the reward but its scaling; set scale-reward True, or leave it out.",
)
SUM_PAID = Condition(
    lambda at: not at.summed or at.pays,
    "the bonus is added to the task's reward, and this task pays none; leave it out.",
)
TASK_WEIGHED = Condition(
    lambda at: at.config.learner.task_coefficient == 0 or at.summed or not at.one_advantage,
    "there is no bonus to weigh the task against, and a normalised advantage has no scale; choose a "
    "strategy with a bonus, or leave it out.",
)
LATENT_SEEN = Condition(
    lambda at: at.latent_is_seen,
    "the networks see no z here; train with explore rle, rle.condition True and an rle.coefficient "
    "above 0, or leave it out.",
)
BACKBONE_USED = Condition(
    lambda at: (
        at.config.network.value_backbone == 0
        or at.latent_is_seen
        or (at.rle is not None and at.rle.feature_network is None and at.rle.feature_hidden is None)
    ),
    "no z joins the value network here and no φ takes its backbone's shape; leave it out.",
)

RLE_PAYS = Condition(
    lambda at: at.rle is not None,
    "rle.coefficient 0 leaves plain PPO; give a coefficient above 0, or leave it out.",
)
RLE_WEIGHED = Condition(
    lambda at: at.rle is None or not at.rle.separate_streams or not at.one_advantage,
    "with task-coefficient 0 there is nothing to weigh the bonus against, and a normalised advantage "
    "has no scale; leave it out.",
)
SEPARATE = _rle(
    lambda rle: rle.separate_streams,
    "the summed reward has one return and one value, the task's; set rle.separate-streams True, or "
    "leave it out.",
)
STANDARDISED = _rle(
    lambda rle: rle.standardise,
    "the warm-up is for the features' statistics; set rle.standardise True, or leave it out.",
)
OUR_FEATURES = _rle(
    lambda rle: rle.feature_network is None,
    "rle.feature-network builds φ; leave one of the two out.",
)
VECTOR_FEATURES = Condition(
    lambda at: not at.images,
    "on images φ has the value network's form, with ReLU and the widths of embedding; change "
    "embedding, give an rle.feature-network of your own, or leave it out.",
)
RARITY_PAID = _rle(
    lambda rle: rle.rarity > 0,
    "F pays nothing for rarity; give an rle.rarity above 0, or leave it out.",
)
FEATURES_HIDDEN = _rle(
    lambda rle: bool(rle.feature_hidden),
    "φ has no hidden layers of its own (with rle.feature-hidden None it has the value network's, and "
    "their activation); give rle.feature-hidden, or leave it out.",
)
FEATURES_FOLLOW = _rle(
    lambda rle: rle.feature_update_rate > 0,
    "φ is frozen; give an rle.feature-update-rate above 0, or leave it out.",
)
FEATURES_CAN_FOLLOW = Condition(
    lambda at: (
        at.rle is None
        or at.images is not False
        or at.rle.feature_hidden != ()
        or at.rle.feature_update_rate == 0
    ),
    "φ has no layers that could follow the value network's; give rle.feature-hidden, or leave it out.",
)
FEATURES_BIASED = _rle(
    lambda rle: rle.feature_update_rate > 0 or not (rle.standardise or rle.unit_norm),
    "a frozen φ only grows with its input, and that is divided out again; give an "
    "rle.feature-update-rate above 0, or leave it out.",
)

RND_PAYS = Condition(
    lambda at: at.rnd is not None,
    "rnd.coefficient 0 leaves plain PPO; give a coefficient above 0, or leave it out.",
)
RND_WEIGHED = Condition(lambda at: at.rnd is None or not at.one_advantage, RLE_WEIGHED.otherwise)

ALWAYS: tuple[Condition, ...] = ()
OF_LEARNER = (LEARNS,)
OF_RLE = (RLE_PAYS,)
OF_FEATURES = (RLE_PAYS, OUR_FEATURES)
OF_RND = (RND_PAYS,)

APPLIES_WHEN: Mapping[str, tuple[Condition, ...]] = {
    "task": ALWAYS,
    "explore": ALWAYS,
    "preset": ALWAYS,
    "seed": ALWAYS,
    "total_steps": ALWAYS,
    "machine.device": ALWAYS,
    "machine.devices": ALWAYS,
    "machine.threads": ALWAYS,
    "machine.engine_threads": (ENGINE,),
    "machine.compile": ALWAYS,
    "machine.precision": (IMAGES,),
    "machine.micro_batch": OF_LEARNER,
    "machine.checkpoint_every": ALWAYS,
    "machine.checkpoint_minutes": ALWAYS,
    "machine.keep_checkpoints": ALWAYS,
    "machine.sinks": ALWAYS,
    "environment.num_envs": ALWAYS,
    "environment.time_limit": ALWAYS,  # Engines that keep none refuse it as they play.
    "environment.autoreset": (AUTORESET,),
    "environment.normalise_observations": (MEASURED,),
    "environment.observation_clip": (MEASURED, NORMALISED),
    "environment.full_action_space": (CONSOLE,),
    "environment.television": (TELEVISION,),
    "environment.env_kwargs": (KEYWORDS,),
    "environment.wrappers": (WRAPPED,),
    "environment.frame_stack": (STACKED,),
    "environment.grayscale": (GREYED,),  # The task refuses it where there are no colours.
    "environment.resize": (RESIZED,),
    "network.policy_hidden": (VECTORS,),
    "network.value_hidden": (VECTORS,),
    "network.activation": (VECTORS,),
    "network.latent_encoder": (VECTORS, LATENT_SEEN),
    "network.value_backbone": (VECTORS, BACKBONE_USED),
    "network.value_gain": ALWAYS,
    "network.initial_action_std": (CONTINUOUS,),
    "network.embedding": (IMAGES,),
    "learner.learning_rate": OF_LEARNER,
    "learner.anneal_learning_rate": OF_LEARNER,
    "learner.adam_epsilon": OF_LEARNER,
    "learner.rollout_steps": ALWAYS,
    "learner.discount": OF_LEARNER,
    "learner.gae_lambda": OF_LEARNER,
    "learner.epochs": OF_LEARNER,
    "learner.minibatches": ALWAYS,  # A rollout must divide into them.
    "learner.clip": OF_LEARNER,
    "learner.entropy_coefficient": OF_LEARNER,
    "learner.value_coefficient": OF_LEARNER,
    "learner.clip_value_loss": OF_LEARNER,
    "learner.normalise_advantages": OF_LEARNER,
    "learner.max_gradient_norm": OF_LEARNER,
    "learner.task_coefficient": (LEARNS, SUM_PAID, TASK_WEIGHED),
    "learner.reward_scale": (LEARNS, PAID, UNSCALED),
    "learner.scale_reward": (LEARNS, PAID),
    "learner.enlarge_reward": (LEARNS, PAID, SCALED),
    "learner.reward_clip": (LEARNS, PAID),
    "rle": _chosen("rle"),
    "rle.coefficient": (RLE_WEIGHED,),
    "rle.anneal": (RLE_PAYS, RLE_WEIGHED),
    "rle.dimension": OF_RLE,
    "rle.distribution": OF_RLE,
    "rle.resample_every": OF_RLE,
    "rle.stagger": OF_RLE,
    "rle.discount": (RLE_PAYS, SEPARATE),
    "rle.standardise": OF_RLE,
    "rle.unit_norm": OF_RLE,
    "rle.whitened_features": OF_RLE,
    "rle.rarity": OF_RLE,
    "rle.centre_rarity": (RLE_PAYS, RARITY_PAID),
    "rle.episodic_rarity": (RLE_PAYS, RARITY_PAID),
    "rle.feature_hidden": (*OF_FEATURES, VECTOR_FEATURES),
    "rle.feature_activation": (*OF_FEATURES, VECTOR_FEATURES, FEATURES_HIDDEN),
    "rle.feature_clip": (*OF_FEATURES, VECTOR_FEATURES, NORMALISED),
    "rle.feature_network": OF_RLE,
    "rle.feature_raw_pixels": (*OF_FEATURES, IMAGES, FEATURES_BIASED),
    "rle.feature_update_rate": (RLE_PAYS, FEATURES_CAN_FOLLOW),
    "rle.feature_update": (RLE_PAYS, FEATURES_FOLLOW),
    "rle.condition": OF_RLE,
    "rle.fade": (RLE_PAYS, LATENT_SEEN, SEPARATE),
    "rle.condition_on_bonus": OF_RLE,
    "rle.separate_streams": OF_RLE,
    "rle.scale_bonus": OF_RLE,
    "rle.value_coefficient": (RLE_PAYS, SEPARATE),
    "rle.warmup_rollouts": (RLE_PAYS, STANDARDISED),
    "rnd": _chosen("rnd"),
    "rnd.coefficient": (RND_WEIGHED,),
    "rnd.discount": OF_RND,
    "rnd.predictor_hidden": OF_RND,
    "rnd.target_hidden": OF_RND,
    "rnd.outputs": OF_RND,
    "rnd.keep_fraction": OF_RND,
    "rnd.observation_clip": OF_RND,
    "rnd.warmup_rollouts": OF_RND,
    "rnd.scale_bonus": OF_RND,
    "rnd.value_coefficient": OF_RND,
    "noisy": _chosen("noisy"),
    "noisy.initial_std": ALWAYS,
    "white_noise": _chosen("white-noise"),
    "white_noise.coefficient": ALWAYS,
}
"""By dotted name, what a setting needs to do anything; the first that is missing is what is said."""


def refuse_idle_settings(config: RunConfig, spec: TaskSpec, given: Iterable[str] = ()) -> None:
    """Raise `UsageError` if a setting that was asked for would do nothing in this run.

    Asked for are those that differ from the preset, and those `given` by name.
    """
    preset = preset_config(config.task, config.explore, config.preset, config.seed)
    asked = [".".join(locate(config, name)) for name in given]
    at = Situation.of(config, spec)
    for name in dict.fromkeys([*asked, *changed(preset, config)]):
        # A section given whole is judged by what changed in it.
        for condition in APPLIES_WHEN.get(name, ALWAYS):
            if not condition.holds(at):
                raise UsageError(
                    f"{shortest_name(name.split('.'))} would do nothing: {condition.otherwise}"
                )


def idle_settings(config: RunConfig) -> set[str]:
    """The dotted names of settings that do nothing beside the others of `config`.

    What only the built task would tell counts as doing something.
    """
    at = Situation.expected(config)
    return {
        name
        for name, conditions in APPLIES_WHEN.items()
        if not all(condition.holds(at) for condition in conditions)
    }
