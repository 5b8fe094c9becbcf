"""RND, NoisyNet, white noise and mixtures."""

import pytest
import torch

from rle.errors import UsageError
from rle.explore.noisy import noisy_layers
from rle.explore.registry import check_strategy_name
from rle.explore.rnd import prediction_error
from rle.nets.noisy import NoisyLinear
from rle.runs.trainer import Trainer
from tests.builders import into, small_config


def started(explore: str, **settings: object) -> Trainer:
    trainer = Trainer(small_config(explore, **settings))
    trainer.start()
    return trainer


class TestRND:
    def test_error_by_hand(self) -> None:
        error = prediction_error(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 4.0]]))
        assert error.tolist() == [2.5]

    def test_target_is_fixed_and_predictor_learns(self) -> None:
        trainer = started("rnd")
        target = [p.clone() for p in trainer.strategy._target.parameters()]
        predictor = [p.clone() for p in trainer.strategy._predictor.parameters()]
        trainer.iterate()
        after = list(trainer.strategy._target.parameters())
        assert all(torch.equal(a, b) for a, b in zip(target, after, strict=True))
        learned = list(trainer.strategy._predictor.parameters())
        assert not any(torch.equal(a, b) for a, b in zip(predictor, learned, strict=True))

    def test_bonus_falls_where_the_agent_has_been(self) -> None:
        trainer = started("rnd", task="fourroom", learning_rate=1e-2)
        start = torch.tensor([[1.0, 1.0]])
        before = float(trainer.strategy.bonus(into(start)))
        for _ in range(20):
            trainer.iterate()
        assert float(trainer.strategy.bonus(into(start))) < 0.2 * before

    def test_whitening_is_clipped_and_warmed_up(self) -> None:
        trainer = started("rnd", rnd__warmup_rollouts=3, task="fourroom")
        strategy = trainer.strategy
        assert float(strategy._moments.count) == 3 * 128
        whitened = strategy._whiten(torch.tensor([[-1.0, -1.0], [1.0, 1.0]]))
        # The far corner lies many deviations from where random actions lead.
        assert whitened[0].tolist() == [-5.0, -5.0]
        assert float(whitened[1].abs().max()) < 5
        assert strategy._whiten(torch.tensor([[1e4, 1e4]])).tolist() == [[5.0, 5.0]]

    def test_keeps_the_asked_share_of_a_minibatch(self) -> None:
        strategy = started("rnd", rnd__keep_fraction=0.25).strategy
        index = torch.arange(100, 140)
        kept = strategy.auxiliary_rows(index, 40)
        assert len(kept) == 10
        assert len(set(kept.tolist())) == 10
        assert set(kept.tolist()) <= set(index.tolist())
        assert set(strategy.auxiliary_rows(index, 40).tolist()) != set(kept.tolist())
        # Of a minibatch with three real transitions it still takes ten, so that shapes stay.
        few = strategy.auxiliary_rows(index[:3], 40)
        assert len(few) == 10
        assert set(few.tolist()) == {100, 101, 102}

    def test_predictor_never_sees_a_reset_row(self) -> None:
        trainer = started("rnd", task="gym/CartPole-v1", autoreset="next-step")
        asked = []
        choose = trainer.strategy.auxiliary_rows
        trainer.strategy.auxiliary_rows = lambda index, size: (
            asked.append(index) or choose(index, size)
        )
        for _ in range(3):
            trainer.collect()
            batch, everyone, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
            asked.clear()
            trainer.learner.update(batch, everyone, trainer.rollout, trainer.strategy)
            assert not bool(batch.mask.all())
            assert all(bool(batch.mask[index].all()) for index in asked)

    def test_loss_is_the_mean_over_samples_and_outputs(self) -> None:
        """By hand: differences (1, -2) and (3, 0), squares 1 + 4 + 9 + 0 over 2 · 2 numbers."""
        strategy = started("rnd", rnd__outputs=2).strategy
        predicted = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        strategy._predictor = lambda seen: predicted
        strategy._target = lambda seen: torch.tensor([[0.0, 4.0], [0.0, 4.0]])
        loss = strategy.auxiliary_loss(into(torch.zeros(2, 2)))
        assert float(loss.detach()) == 3.5
        # The derivative of each square, 2 · difference, over 4 numbers.
        (gradient,) = torch.autograd.grad(loss, predicted)
        assert gradient.tolist() == [[0.5, -1.0], [1.5, 0.0]]

    def test_predictor_learns_where_actions_led_and_not_where_they_were_taken(self) -> None:
        trainer = started("rnd", task="fourroom", time_limit=5)
        step, led_to = trainer.task.step, []

        def write_down(action):
            outcome = step(action)
            led_to.append(outcome.next_observation.clone())
            return outcome

        trainer.task.step = write_down
        trainer.collect()
        batch, everyone, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
        rows, seen = [], []
        choose, loss = trainer.strategy.auxiliary_rows, trainer.strategy.auxiliary_loss
        trainer.strategy.auxiliary_rows = lambda index, size: (
            rows.append(choose(index, size)) or rows[-1]
        )
        trainer.strategy.auxiliary_loss = lambda made: (
            seen.append(made.next_observation) or loss(made)
        )
        trainer.learner.update(batch, everyone, trainer.rollout, trainer.strategy)
        expected = torch.stack(led_to).flatten(0, 1)[torch.cat(rows)]
        assert torch.equal(torch.cat(seen), expected)
        assert not torch.equal(expected, batch.observation[torch.cat(rows)])

    def test_return_is_never_cut(self) -> None:
        trainer = started("rnd", time_limit=5)
        trainer.iterate()
        assert bool(trainer.rollout.truncated.any())
        assert not bool(trainer.rollout.bonus_cut.any())


class TestNoisyNet:
    def test_noise_sits_on_the_last_policy_layer_and_the_value_head(self) -> None:
        network = started("noisy").network
        assert isinstance(network.policy_head, NoisyLinear)
        assert isinstance(network.value_heads[0], NoisyLinear)
        assert len(noisy_layers(network)) == 2
        assert float(network.policy_head.weight_std.detach()[0, 0]) == pytest.approx(0.017)

    def test_one_sample_per_rollout_kept_during_its_update(self) -> None:
        trainer = started("noisy")
        head = trainer.network.policy_head
        trainer.collect()
        during_rollout = head.weight_noise.clone()
        batch, everyone, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
        trainer.learner.update(batch, everyone, trainer.rollout, trainer.strategy)
        assert torch.equal(head.weight_noise, during_rollout)
        trainer.collect()
        assert not torch.equal(head.weight_noise, during_rollout)

    def test_silent_in_greedy_evaluation(self) -> None:
        trainer = started("noisy")
        trainer.collect()
        trainer.strategy.evaluate(greedy=True)
        trainer.strategy.begin_rollout(trainer.network)
        assert bool((trainer.network.policy_head.weight_noise == 0).all())

    def test_deviations_are_learned(self) -> None:
        trainer = started("noisy")
        metrics, _ = trainer.iterate()
        assert metrics["noisy_std"] != pytest.approx(0.017, abs=1e-7)


class TestWhiteNoise:
    def test_is_standard_normal_and_joins_the_task_reward(self) -> None:
        strategy = started("white-noise").strategy
        noise = strategy.bonus(into(torch.zeros(50_000, 2)))
        assert float(noise.mean()) == pytest.approx(0, abs=0.025)
        assert float(noise.std()) == pytest.approx(1, abs=0.02)
        assert not strategy.streams[0].separate
        assert strategy.streams[0].coefficient == 0.01

    def test_is_added_as_it_is_even_where_rewards_are_scaled(self) -> None:
        """In a world without rewards, all that is left of r + γ V(s') is 0.01 · noise."""
        settings = {"task": "fourroom", "scale_reward": True, "gae_lambda": 0.0, "discount": 0.9}
        trainer = started("white-noise", **settings)
        draw, drawn = trainer.strategy.bonus, []
        trainer.strategy.bonus = lambda *arguments: drawn.append(draw(*arguments)) or drawn[-1]
        for _ in range(2):
            trainer.collect()
            batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
            with torch.no_grad():
                value = trainer.network.value(trainer.rollout.next_observation(), None)
            reward = batch.returns - 0.9 * value.flatten(0, 1)
            torch.testing.assert_close(reward, 0.01 * drawn[-1], atol=1e-6, rtol=1e-4)

    def test_policy_sees_nothing_of_it(self) -> None:
        trainer = started("white-noise")
        assert trainer.strategy.input_size == 0
        metrics, _ = trainer.iterate()
        assert metrics["latent_sensitivity"] == 0.0
        assert len(trainer.network.value_heads) == 1


class TestMixture:
    def test_has_both_streams_heads_and_inputs(self) -> None:
        trainer = started("rle+rnd")
        assert [stream.name for stream in trainer.strategy.streams] == ["rle", "rnd"]
        assert len(trainer.network.value_heads) == 3
        assert trainer.strategy.input_size == 4
        trainer.iterate()
        cut = trainer.rollout.bonus_cut
        assert bool(cut[..., 0].any())
        assert not bool(cut[..., 1].any())

    @pytest.mark.parametrize(
        ("silent", "single"), [("rnd", "rle"), ("rle", "rnd"), ("white_noise", "rle")]
    )
    def test_a_coefficient_of_zero_leaves_the_other_bit_for_bit(self, silent, single) -> None:
        names = [single, silent.replace("_", "-")]
        mixture = started("+".join(names), **{f"{silent}__coefficient": 0.0})
        alone = started(single)
        for _ in range(3):
            mixture.iterate()
            alone.iterate()
        pairs = zip(mixture.network.parameters(), alone.network.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)

    @pytest.mark.parametrize("name", ["rle+rle", "rle+none", "rle+", "rlee"])
    def test_bad_names(self, name: str) -> None:
        with pytest.raises(UsageError):
            check_strategy_name(name)
