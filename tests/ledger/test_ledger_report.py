"""The text of a ledger, its data, and what it notes about its own limits (L-4)."""

from fractions import Fraction

import ledger_steps as steps
import numpy as np
import pytest
from ledger_steps import ctx, distributed, right, total

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.ledger.problems import numbers_in_words
from simstrategy.ledger.rationals import largest_term, small_rational

TEXT = """\
ledger of step (ledger_steps.py:{line}): 10 samples, on sim
weight: what a sample counts with several replicas ÷ what it counts with one; 1 is right
2 replicas: right
  samples  replica  weight
  0–4      0        1       ████████
  5–9      1        1       ████████
3 replicas: WRONG
  samples  replica  weight
  0–3      0        5/6     ███████
  4–7      1        5/6     ███████
  8, 9     2        5/3     █████████████
  A mean of means: each replica divides by the number of its own samples, so samples of small parts
  count more. Divide by the number of samples of the global batch, and add up.
Note: No replica was without samples. Use fewer samples than replicas to try that.
WRONG with 3 replicas; right with 2."""


def test_a_ledger_is_a_table_with_bars():
    step = distributed(steps.mean_of_means)
    found = ss.ledger(step, steps.batch(), replicas=[1, 2, 3])
    assert str(found) == TEXT.format(line=step.__code__.co_firstlineno)


def test_equal_inputs_give_equal_ledgers():
    one, other = (ss.ledger(distributed(steps.mean_of_means), steps.batch()) for _ in range(2))
    assert one == other
    assert str(one) == str(other)


def test_a_ledger_of_several_replicas_results_shows_each():
    text = str(ss.ledger(distributed(steps.without_reduction), steps.batch(), replicas=[2]))
    assert "  samples  replica  weight on replica 0, 1, …\n  0–4      0        1, 0\n  5–9      1        0, 1\n" in text
    assert text.endswith("WRONG with 2 replicas.")


def test_a_lost_sample_and_an_interleaved_part_have_rows_of_their_own():
    def step(strategy, _batch, probe):
        def replica():
            rank, count = ctx().replica_id_in_sync_group, ctx().num_replicas_in_sync
            mine = probe[rank : len(probe) - (count > 1) : count]
            return ctx().all_reduce("SUM", total(ctx().xp.asarray(mine)) / len(probe))

        return strategy.run(replica)

    found = ss.ledger(step, steps.batch(), replicas=[2])
    assert [line.split("  ")[1] for line in found.entry(2).lines() if "█" in line] == ["0, 2, … 8", "1, 3, … 7"]
    assert "  9          none     0" in str(found)


def test_nothing_is_stated_of_parts_that_no_reduction_had():
    def step(strategy, batch, probe):
        each = distributed(steps.without_reduction)(strategy, batch, probe)
        return sum(each.values) if isinstance(each, ss.PerReplica) else each

    found = ss.ledger(step, steps.batch(), replicas=[2])
    assert found.right
    assert found.entry(2).parts == ()
    (remark,) = found.remarks
    assert remark.startswith("No probe row entered a reduction of the strategy")
    assert "mean nothing if the step does not run on the replicas" in remark


def test_equal_parts_are_noted_since_a_mean_of_means_is_right_there():
    found = ss.ledger(distributed(steps.mean_of_means), steps.batch(12))
    assert found.right
    assert any(
        "All replicas had equally many of the 12 samples" in one and "such as 13." in one for one in found.remarks
    )
    assert not ss.ledger(distributed(steps.mean_of_means), steps.batch(13)).right


def test_no_note_is_made_where_a_part_was_empty():
    assert ss.ledger(distributed(steps.divided_twice), steps.batch(3)).remarks == ()


def test_factors_that_are_sums_over_the_samples_round_and_weigh_one():
    """Batch normalization with statistics of the whole batch, far from zero."""

    def replica(x, _y, rows):
        xp, size = ctx().xp, 60

        def over_all(value):
            return ctx().all_reduce("SUM", xp.sum(value, axis=0)) / size

        x = x + 30.0
        mean = over_all(x)
        variance = over_all(x * x) - mean * mean
        scale = xp.sum(xp.abs(x - mean) / xp.sqrt(variance), axis=1)
        return ctx().all_reduce("SUM", total(rows * xp.reshape(scale, (-1, 1)))) / size

    found = ss.ledger(distributed(replica), steps.batch(60), replicas=[3])
    assert found.weights(3) == (Fraction(1),) * 60


def test_bars_are_cut_and_signed_and_many_rows_are_left_out():
    def replica(_x, _y, rows):
        count = ctx().num_replicas_in_sync
        return right(_x, _y, rows) * (1.0 if count == 1 else -20.0 if count == 2 else 1 / 50)

    found = ss.ledger(distributed(replica), steps.batch(), replicas=[2, 3])
    assert list(found.entry(2).lines())[1] == f"  0–4      0        -20     -{'█' * 32}…"
    assert list(found.entry(3).lines())[1] == "  0–3      0        1/50    ▏"

    def growing(strategy, batch, probe):
        factors = np.arange(1.0, 51.0) if strategy.num_replicas_in_sync > 1 else np.ones(50)
        return distributed(right)(strategy, batch, probe * factors[:, None])

    lines = list(ss.ledger(growing, steps.batch(50), replicas=[2]).entry(2).lines())
    assert lines[41] == "  … and 10 rows more"
    assert "39" in lines[40]


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_statistics_of_a_part_are_named_as_no_fraction():
    def replica(x, _y, rows):
        scale = x[:, :1] - ctx().xp.mean(x[:, :1], axis=0)
        return ctx().all_reduce("SUM", total(rows * scale))

    with pytest.raises(InvalidArgument, match="such as a statistic of a replica's part"):
        ss.ledger(distributed(replica), steps.batch())


def test_a_factor_far_smaller_than_a_fraction_is_no_rounding():
    def replica(_x, _y, rows):
        return ctx().all_reduce("SUM", total(rows)) / (10 + 1e-9 * ctx().num_replicas_in_sync)

    with pytest.raises(InvalidArgument, match=r"Sample 0 has 0\.9999999999 times"):
        ss.ledger(distributed(replica), steps.batch(), replicas=[2])


def test_entries_are_chosen_by_replicas_and_result():
    found = ss.ledger(steps.two_results, steps.batch(), replicas=[2, 3])
    with pytest.raises(InvalidArgument, match="2 entries of 3 replicas and the result None"):
        found.weights(3)
    with pytest.raises(InvalidArgument, match="0 entries of 4 replicas"):
        found.entry(4, "result['loss']")
    assert found.entry(3, "result['loss']").problems == ()


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([4], "4"),
        ([4, 5], "4, 5"),
        ([4, 5, 6, 9], "4–6, 9"),
        ([1, 3, 5], "1, 3, 5"),
        ([1, 3, 5, 7], "1, 3, … 7"),
        (
            [one for one in range(40) if one % 4 in (0, 1)],
            "0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, … 36, 37 (20 in all)",
        ),
    ],
)
def test_numbers_of_samples_are_written_in_short(numbers, text):
    assert numbers_in_words(numbers) == text


def test_every_fraction_of_small_terms_is_found_again_from_its_float_and_no_other():
    error = Fraction(1, 2**49)
    for numerator in range(1, 24):
        for denominator in range(1, 24):
            exact = Fraction(numerator, denominator)
            assert small_rational(Fraction(numerator / denominator), error, 40) == exact
            assert small_rational(-Fraction(numerator / denominator), error, 40) == -exact
    assert small_rational(Fraction(41 / 40), error, 40) is None
    assert largest_term(error) > 10**6
