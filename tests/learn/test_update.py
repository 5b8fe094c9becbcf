"""The update: its gradient against the loss written out, and what it reports."""

import pytest
import torch
from torch import Tensor

from rle.learn.batch import Batch
from rle.runs.trainer import Trainer
from rle.tasks.base import Continuous, State, Step, Task, TaskSpec
from tests.builders import into, small_config
from tests.learn.test_ppo import only

SETTINGS = {
    "task": "gym/CartPole-v1",
    "time_limit": 15,
    "autoreset": "next-step",
    "clip": 0.1,
    "entropy_coefficient": 0.02,
    "value_coefficient": 0.7,
}


def prepared(explore: str, **settings: object) -> tuple[Trainer, Batch]:
    """A rollout ready to be learned from, by a network that has moved on since it acted."""
    trainer = Trainer(small_config(explore, **{**SETTINGS, **settings}))
    trainer.start()
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    flat = trainer.learner.optimiser.flat
    flat += 0.05 * torch.randn(len(flat), generator=torch.Generator().manual_seed(0))
    return trainer, batch


def written_out(
    trainer: Trainer, batch: Batch, index: list[int], value_weights: tuple[float, ...]
) -> tuple[Tensor, list[Tensor]]:
    """PPO's loss over the real transitions of `index`, one at a time; and its value losses."""
    clip, entropy_weight = 0.1, 0.02
    real = [i for i in index if batch.mask is None or bool(batch.mask[i])]
    advantages = torch.stack([batch.advantage[i] for i in real])
    advantages = (advantages - advantages.mean()) / advantages.std()
    loss, value_losses = torch.zeros(()), [torch.zeros(()) for _ in value_weights]
    for i, advantage in zip(real, advantages, strict=True):
        latent = None if batch.latent is None else batch.latent[i]
        probabilities = trainer.network.policy(batch.observation[i], latent).softmax(-1)
        values = trainer.network.value(batch.observation[i], latent)
        ratio = probabilities[int(batch.action[i])] / batch.log_probability[i].exp()
        gain = min(ratio * advantage, ratio.clip(1 - clip, 1 + clip) * advantage)
        entropy = -(probabilities * probabilities.log()).sum()
        loss = loss - gain - entropy_weight * entropy
        for head, weight in enumerate(value_weights):
            error = (values[head] - batch.returns[i, head]) ** 2
            if head == 0:
                old = batch.values[i, 0]
                near = old + (values[0] - old).clip(-clip, clip)
                error = max(error, (near - batch.returns[i, 0]) ** 2)
            loss = loss + weight * 0.5 * error
            value_losses[head] = value_losses[head] + 0.5 * error / len(real)
    return loss / len(real), value_losses


@pytest.mark.parametrize("micro_batch", [None, 5])
@pytest.mark.parametrize("explore", ["none", "rle", "rnd"])
def test_gradient_is_that_of_the_loss_written_out(explore: str, micro_batch: int | None) -> None:
    trainer, batch = prepared(
        explore,
        micro_batch=micro_batch,
        **({f"{explore}__value_coefficient": 0.3} if explore != "none" else {}),
    )
    index = list(range(3, 128, 5))
    assert batch.mask is not None
    assert not bool(batch.mask[index].all())
    loss, value_losses = written_out(
        trainer, batch, index, (0.7,) if explore == "none" else (0.7, 0.3)
    )
    gradients, rows = trainer.learner._gradients, torch.tensor(index)
    if explore == "rnd":
        where = batch.observation[:11]
        gradients._rows_of_auxiliaries = lambda real, size: [torch.arange(11)]
        gradients._seen = lambda number, rows, rollout: into(where)
        strategy = trainer.strategy
        seen = ((where - strategy._mean) / (strategy._std + 1e-8)).clip(-5, 5)
        error = (strategy._predictor(seen) - strategy._target(seen)).square().mean()
        loss = loss + error
    parameters = [
        *trainer.network.parameters(),
        *(trainer.strategy._predictor.parameters() if explore == "rnd" else ()),
    ]
    expected = torch.cat([part.flatten() for part in torch.autograd.grad(loss, parameters)])
    gradient, statistics = gradients(batch, only(batch), rows, rows, trainer.rollout)
    torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5)
    heads = len(value_losses)
    torch.testing.assert_close(statistics[:heads], torch.stack(value_losses), rtol=1e-4, atol=1e-5)


def test_reports_the_mean_over_all_minibatches() -> None:
    trainer, batch = prepared("rle", epochs=2, minibatches=4)
    learner = trainer.learner
    gradient, step = learner._gradients, learner.optimiser.step
    reported: list[Tensor] = []
    norms: list[float] = []

    def spy_on_gradient(*arguments: object) -> tuple[Tensor, Tensor]:
        result = gradient(*arguments)
        reported.append(result[1])
        return result

    def spy_on_step(direction: Tensor) -> Tensor:
        norms.append(float(direction.square().sum().sqrt()))
        return step(direction)

    learner._gradients, learner.optimiser.step = spy_on_gradient, spy_on_step
    metrics = learner.update(batch, only(batch), trainer.rollout, trainer.strategy)
    names = ["value_loss_task", "value_loss_rle", "policy_loss", "entropy", "approximate_kl"]
    names += ["clip_fraction"]
    assert len(reported) == len(norms) == 8
    for place, name in enumerate(names):
        mean = sum(float(part[place]) for part in reported) / 8
        assert metrics[name] == pytest.approx(mean, rel=1e-5, abs=1e-7)
    assert metrics["gradient_norm"] == pytest.approx(sum(norms) / 8, rel=1e-5)
    assert metrics.keys() == {*names, "gradient_norm"}


def test_learning_rate_stays_unless_it_is_to_be_annealed() -> None:
    trainer, _ = prepared("none", learning_rate=0.02, anneal_learning_rate=False)
    trainer.learner.set_progress(0.5)
    assert trainer.learner.optimiser.learning_rate == 0.02
    trainer, _ = prepared("none", learning_rate=0.02, anneal_learning_rate=True)
    trainer.learner.set_progress(0.75)
    assert trainer.learner.optimiser.learning_rate == pytest.approx(0.005)


class ThreeArms(Task):
    """Three numbers are an action, and what is seen next; nothing ever ends."""

    spec = TaskSpec(8, (3,), torch.float32, Continuous((-1.0,) * 3, (1.0,) * 3))

    def reset(self, seed: int) -> Tensor:
        return torch.zeros(8, 3)

    def step(self, action: Tensor) -> Step:
        never = torch.zeros(8, dtype=torch.bool)
        return Step(action.sum(-1), never, never, action, action)

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State) -> None:
        pass


@pytest.mark.parametrize("task", [None, ThreeArms()], ids=["one of two", "three numbers"])
def test_the_batch_holds_the_rollout_row_by_row(task: Task | None) -> None:
    trainer = Trainer(small_config("rle", **SETTINGS), task)
    trainer.start()
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    rollout, distribution = trainer.rollout, trainer.distribution
    assert batch.action.shape == (128, *distribution.action_shape)
    for i in range(0, 128, 7):
        t, n = divmod(i, 8)
        assert torch.equal(batch.observation[i], rollout.observation[t, n])
        assert torch.equal(batch.latent[i], rollout.latent[t, n])
        assert torch.equal(batch.action[i], rollout.action[t, n])
        taken = distribution.log_probability(rollout.policy_output[t, n], rollout.action[t, n])
        torch.testing.assert_close(batch.log_probability[i], taken)


def test_the_strategy_is_told_of_every_step_and_of_the_end() -> None:
    trainer, batch = prepared("rle", epochs=3, minibatches=4)
    told = []
    trainer.strategy.after_minibatch = lambda network: told.append(("minibatch", network))
    trainer.strategy.after_update = lambda network: told.append(("update", network))
    trainer.learner.update(batch, only(batch), trainer.rollout, trainer.strategy)
    assert told == [("minibatch", trainer.network)] * 12 + [("update", trainer.network)]
