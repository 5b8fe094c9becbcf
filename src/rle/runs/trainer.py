"""The training loop: one for every task and every strategy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from rle.agents.agent import Agent, fitting_checkpoint
from rle.checks import require
from rle.config import RunConfig
from rle.core.transfer import moved
from rle.explore.transitions import Transitions, joined
from rle.learn.build import make_learner
from rle.learn.compilation import compiled, how_to_compile
from rle.learn.rollout import Rollout, Rows
from rle.machine import keep_memory
from rle.nets.precision import resolved
from rle.randomness import derive_seed, generator, generator_state, restore_generator
from rle.runs.diagnostics import latent_sensitivity
from rle.runs.episodes import Episode, EpisodeTracker
from rle.runs.finiteness import check_iteration, check_step
from rle.runs.ranks.share import device_of, engine_threads, environments_here, require_splittable
from rle.runs.ranks.split import Branches, merged, part_of, require_same_parameters
from rle.runs.state import state_bytes
from rle.settings import replace
from rle.tasks.asked import Asked
from rle.tasks.base import State, Step, Task, random_actions
from rle.tasks.form import require_form
from rle.tasks.normalise import NormalisedTask
from rle.tasks.registry import make_task
from rle.world import ALONE, World

WARM_UP_NUMBERS = 2**23
"""How many numbers a strategy is shown at a time while it warms up."""
BLOCK = 16
"""Steps that are compiled as one, and stored at once."""

IF_IT_FAILS = "mend it; `rle resume RUN` then goes on from the last checkpoint."


class Trainer:
    """An agent in training: task, strategy, networks and learner, one iteration at a time."""

    def __init__(self, config: RunConfig, task: Task | None = None, world: World = ALONE) -> None:
        """Build everything; `task` takes the place of the one that `config.task` names.

        Of a run on several devices, `world` says which part this is: a part has all of the networks, and
        its share of the environments. The first rank leads: what it is asked to do, it tells the others.
        """
        machine = config.machine
        self.world = world
        keep_memory()
        if machine.threads:
            torch.set_num_threads(machine.threads)
        self.device = device_of(machine.device, world)
        self.task = task or make_task(
            config.task,
            environments_here(config.environment, world),
            self.device,
            engine_threads=engine_threads(machine.engine_threads, world),
        )
        self.task.join(world)
        self.asked = Asked(config.task, self.task, IF_IT_FAILS)
        spec = self.task.spec
        if spec.is_image:
            # Recorded in config.json, so that a resumed run computes with the same numbers.
            precision = resolved(machine.precision, self.device)
            config = replace(config, {"precision": precision})
        self.config = config
        require(
            world.all_of(spec.num_envs) == config.environment.num_envs,
            f"the task has {spec.num_envs} environments and the configuration "
            f"{config.environment.num_envs}: set num-envs to the task's.",
        )
        normaliser = self.task.normaliser if isinstance(self.task, NormalisedTask) else None
        self.agent = Agent(config, spec, self.device, normaliser)
        self.strategy, self.network = self.agent.strategy, self.agent.network
        self.strategy.join(world)
        require_splittable(config, self.task, self.strategy, world)
        self.distribution = self.agent.distribution
        self.iterations = config.rollouts - self.strategy.warmup_rollouts
        """Iterations of the whole run: what the warm-up leaves of its rollouts."""
        require(
            self.iterations > 0,
            f"total-steps is {config.total_steps}, and the warm-up of {config.explore} alone takes "
            f"{self.strategy.warmup_rollouts * config.batch_size}: give more steps, or a smaller "
            "warmup-rollouts.",
        )
        how = how_to_compile(config)
        compile = how == "on"
        self.learner = make_learner(self.agent, compile, world, fused=how != "off")
        self.rollout = Rollout(
            config.learner.rollout_steps,
            spec,
            self.distribution,
            self.strategy.latent_size,
            len(self.strategy.streams),
            self.device,
            in_pieces=config.machine.micro_batch is not None,
        )
        # Images are written one row at a time: stacking some first would copy them once more.
        self._block = 1 if spec.is_image else BLOCK
        self._advance: Callable[[Tensor, Tensor], tuple[Tensor, Rows]] = self._act
        self._step: Callable[[Tensor], Step] = self.asked.step
        self._choose: Callable[..., tuple[Tensor, Tensor | None, Tensor]] = self._choose_action
        if compile and self.task.traceable:
            self._step = self.task.step
            self._advance = compiled(self._act, self.device)
        elif compile and not spec.is_image:
            self._choose = compiled(self._choose_action, self.device)
            self.task.compile(partial(compiled, device=self.device))
        self.episodes = EpisodeTracker(config.environment.num_envs)
        self.iteration = 0
        self.stop_reason: str | None = None
        """Why the run is to end before it has made all its steps."""
        self._policy_generator = generator(config.seed, "policy")
        self._observation = torch.zeros(())

    @property
    def step(self) -> int:
        """Agent steps made, those of the warm-up included: every step in the task counts."""
        return (self.strategy.warmup_rollouts + self.iteration) * self.config.batch_size

    @property
    def done(self) -> bool:
        """Whether the run has made all its steps, or was stopped."""
        return self.iteration >= self.iterations or self.stop_reason is not None

    def stop(self, reason: str) -> None:
        """End the run after this iteration; `finished.json` gives the reason."""
        self.stop_reason = reason

    def start(self) -> None:
        """Begin a new run: let the strategy warm up, then start every environment afresh."""
        self.world.tell("start", b"" if self.world.alone else state_bytes(self.agent.state_dict()))
        self.strategy.start(self.network)
        seed = derive_seed(self.config.seed, "task")
        if self.strategy.warmup_rollouts:
            self._warm_up(seed)
        self._observation = self.asked.reset(seed)

    def _warm_up(self, seed: int) -> None:
        source = generator(self.config.seed, "warm-up")
        observation = self.asked.reset(seed)
        spec = self.task.spec
        everywhere = self.config.environment.num_envs
        steps = self.config.learner.rollout_steps
        for rollout in range(self.strategy.warmup_rollouts):
            seen: list[Transitions] = []
            self.task.draw(steps)
            for index in range(steps):
                actions = random_actions(spec.action_space, everywhere, source)
                action = self.world.part(actions).to(self.device)
                step = self.asked.step(action)
                made = (rollout * steps + index + 1) * everywhere
                taken = {"observation": observation, "action": action}
                check_step(self.config.task, step, made, "the warm-up", taken)
                seen.append(_real_transitions(observation, action, step))
                observation = step.observation
                # A whole rollout of images would not fit the memory as numbers.
                numbers = sum(part.next_observation.numel() for part in seen)
                numbers = self.world.total(numbers)
                if index == steps - 1 or numbers > WARM_UP_NUMBERS:
                    self.strategy.warm_up(rollout, joined(seen))
                    seen = []

    def iterate(self) -> tuple[dict[str, Any], list[Episode]]:
        """One rollout and one update; returns the iteration's metrics and finished episodes."""
        self.world.tell("iterate")
        self.learner.set_progress(self.iteration / self.iterations)
        self.collect()
        metrics = self._learn() if self.strategy.learns else {}
        check_iteration(
            self.config.task, self.rollout, self.learner, metrics, self.step, self.world
        )
        self.iteration += 1
        finished = self._finished_episodes()
        recent = self.episodes.recent
        summary: dict[str, Any] = {"iteration": self.iteration, "step": self.step}
        summary["episodes"] = len(finished)
        if recent:
            summary["score"] = sum(recent) / len(recent)
        return summary | metrics | self.task.measures(), finished

    def _finished_episodes(self) -> list[Episode]:
        """Those of all ranks, in order of time."""
        rollout = self.rollout
        _, real = rollout.real_among(self.world)
        score = self.world.gather(rollout.score, 1)
        return self.episodes.take(score, self.world.gather(rollout.episode_over, 1), real)

    def _learn(self) -> dict[str, float]:
        """One update on the rollout; returns what it and the strategy measured."""
        metrics = self.learner.improve(self.rollout) | self.strategy.metrics()
        metrics["latent_sensitivity"] = latent_sensitivity(
            self.network,
            self.distribution,
            self.strategy,
            self._observation,
            self.strategy.latent(),
            self.world,
        )
        return metrics

    @torch.no_grad()
    def collect(self) -> None:
        """Fill the rollout with T steps of every environment."""
        task, strategy, rollout = self.task, self.strategy, self.rollout
        steps = self.config.learner.rollout_steps
        self.asked.made = self.step
        everywhere = self.config.environment.num_envs
        noise = self.distribution.draw_noise((steps, everywhere), self._policy_generator)
        noise = self.world.part(noise, 1)
        strategy.begin_rollout(self.network)
        # All at once: asking for few numbers takes as long as drawing them.
        strategy.draw(steps)
        rollout.begin()
        first = 0
        for block_noise in moved(noise, self.device).split(self._block):
            task.draw(len(block_noise))
            strategy.take(first, len(block_noise))
            self._observation, rows = self._advance(self._observation, block_noise)
            rollout.write(first, rows)
            first += len(block_noise)
        latent = strategy.latent()
        _, values = self.network.act(self._observation, strategy.network_input(latent))
        rollout.write_last(self._observation, latent, values)

    def _act(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Rows]:
        """Some consecutive steps: act, let the environments answer, let the strategy go on.

        Args:
            observation: `[N, ...]`, what to act on.
            noise: `[rows, N, ...]`, the policy's randomness of each step.

        Returns:
            The observation to act on next, and what happened.
        """
        rows = []
        for row_noise in noise.unbind(0):
            latent = self.strategy.latent()
            output, values, chosen = self._choose(observation, latent, row_noise)
            action = self.strategy.action(chosen)
            step = self._step(action)
            cut = self.strategy.after_step(step)
            rows.append(
                Rows(
                    observation,
                    latent,
                    output,
                    action,
                    step.reward,
                    step.terminated,
                    step.truncated,
                    step.next_observation,
                    step.real,
                    step.score,
                    step.episode_over,
                    cut,
                    values,
                )
            )
            observation = step.observation
        return observation, Rows.stack(rows)

    def _choose_action(
        self, observation: Tensor, latent: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """The policy's output, the values if they come with it, and the action; each `[N, ...]`."""
        output, values = self.network.act(observation, self.strategy.network_input(latent))
        return output, values, self.distribution.sample(output, noise)

    def state_dict(self) -> State:
        """Everything needed to go on bit for bit, on this number of devices or on another."""
        self.world.tell("state_dict")
        require_same_parameters(self.learner.parameters, self.world)
        return merged(self._own_state(), self.split_branches(), self.world)

    def split_branches(self) -> Branches:
        """Where a state has an entry for each environment, and where a count over all of them."""
        per_environment = ["observation", "learner/scaler/carry"]
        per_environment += [f"strategy/{name}" for name in self.strategy.per_environment]
        per_environment += [f"task/{name}" for name in self.task.per_environment]
        return Branches(per_environment, [f"task/{name}" for name in self.task.summed])

    def measures(self) -> dict[str, float]:
        """The suite's own numbers about everything visited so far."""
        self.world.tell("measures")
        return self.task.measures()

    def artefacts(self) -> dict[str, Tensor]:
        """The suite's own tensors that belong in the run directory."""
        self.world.tell("artefacts")
        return self.task.artefacts()

    def _own_state(self) -> State:
        return {
            "iteration": self.iteration,
            "observation": self._observation,
            "policy_generator": generator_state(self._policy_generator),
            "learner": {"network": dict(self.network.state_dict()), **self.learner.state_dict()},
            "strategy": self.strategy.state_dict(),
            "task": self.task.state_dict(),
            "episodes": self.episodes.state_dict(),
        }

    def _form(self) -> State:
        """What a state must look like, as far as that is known before it is there."""
        spec = self.task.spec
        seen = torch.empty(0, dtype=spec.observation_dtype)
        return {
            "iteration": self.iteration,
            "observation": seen.new_empty((spec.num_envs, *spec.observation_shape)),
            "learner": self.learner.state_dict(),
            "episodes": self.episodes.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        """Go on from a state of `state_dict`."""
        self.world.tell("load_state_dict", b"" if self.world.alone else state_bytes(state))
        with fitting_checkpoint():
            state = part_of(state, self.split_branches(), self.world)
        self.agent.load_state_dict(state)
        with fitting_checkpoint():
            require_form(self._form(), state)
            self.iteration = state["iteration"]
            self.learner.load_state_dict(state["learner"])
            self._observation = state["observation"].to(self.device)
            self._policy_generator = restore_generator(state["policy_generator"])
            self.asked.made = self.step
            self.asked.load_state_dict(state["task"])
            self.episodes.load_state_dict(state["episodes"])
            if self.task.restarted:
                self.episodes.abandon()


def _real_transitions(observation: Tensor, action: Tensor, step: Step) -> Transitions:
    """What one step of random actions was, where it was one."""
    real = step.real
    if real is None:
        return Transitions(observation, action, step.next_observation)
    return Transitions(
        lambda: observation[real], lambda: action[real], lambda: step.next_observation[real]
    )
