"""No policy lets a window lose more than epsilon, whatever the answers are."""

from decimal import ROUND_UP, Context, Decimal, Inexact, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppsm.streams.policies import Absorption, Daily, Distribution, Policy, Regular
from ppsm.streams.promise import Promise

POLICIES: tuple[Policy, ...] = (
    Daily(),
    Regular(),
    Regular(every=3),
    Distribution(),
    Distribution(question_share=0.5),
    Absorption(),
    Absorption(question_share=0.37),
)


def _losses(policy: Policy, promise: Promise, answers: list[bool]) -> list[Decimal]:
    past: list[Decimal] = []
    losses = []
    for wanted in answers:
        plan = policy.plan(promise, past)
        takes = plan.sample if wanted or not plan.question else Decimal(0)
        past.append(takes)
        losses.append(plan.question + takes)
    return losses


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@given(
    window=st.integers(1, 12),
    epsilon=st.floats(1e-3, 10.0),
    answers=st.lists(st.booleans(), min_size=1, max_size=60),
)
def test_no_window_loses_more_than_epsilon(
    policy: Policy, window: int, epsilon: float, answers: list[bool]
) -> None:
    promise = Promise(alpha=1.0, epsilon=epsilon, window=window)
    losses = _losses(policy, promise, answers)
    for first in range(len(losses)):
        assert sum(losses[first : first + window], Decimal(0)) <= promise.budget


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize(
    "around", [Context(prec=1, rounding=ROUND_UP), Context(prec=2, traps=[Inexact]), Context(Emin=0, Emax=0)]
)
def test_a_program_that_rounds_decimals_changes_no_plan(policy: Policy, around: Context) -> None:
    promise = Promise(alpha=1.0, epsilon=0.987, window=7)
    answers = [day % 3 > 0 for day in range(40)]
    expected = _losses(policy, promise, answers)
    with localcontext(around):
        past: list[Decimal] = []
        plans = []
        for wanted in answers:
            plans.append(policy.plan(promise, past))
            past.append(plans[-1].sample if wanted or not plans[-1].question else Decimal(0))
    assert [plan.question + takes for plan, takes in zip(plans, past, strict=True)] == expected


def test_the_plain_daily_release_is_a_window_of_one_day() -> None:
    plan = Daily().plan(Promise(alpha=1.0, epsilon=0.5, window=1), [Decimal("0.5")] * 3)
    assert (plan.question, plan.sample) == (Decimal(0), Decimal("0.5"))


def test_distribution_gives_half_of_what_is_left() -> None:
    promise, policy = Promise(alpha=1.0, epsilon=1.0, window=4), Distribution(question_share=0.2)
    assert policy.plan(promise, []).sample == Decimal("0.4")
    assert policy.plan(promise, [Decimal("0.4")]).sample == Decimal("0.2")
    # The first sample has left the window of four days.
    assert policy.plan(promise, [Decimal("0.4"), Decimal(0), Decimal(0), Decimal(0)]).sample == Decimal("0.4")


def test_absorption_is_silent_after_a_large_sample_and_gathers_again() -> None:
    promise, policy = Promise(alpha=1.0, epsilon=1.0, window=4), Absorption(question_share=0.2)
    past = [policy.plan(promise, []).sample]
    assert past == [Decimal("0.8")]
    for _ in range(3):
        assert policy.plan(promise, past).sample == 0
        past.append(Decimal(0))
    assert policy.plan(promise, past).sample == Decimal("0.2")
    assert policy.plan(promise, [*past, Decimal(0)]).sample == Decimal("0.4")


def test_regular_spends_all_of_a_window_on_its_days() -> None:
    promise = Promise(alpha=1.0, epsilon=1.0, window=30)
    plans = [Regular().plan(promise, [Decimal(0)] * day).sample for day in range(61)]
    assert [day for day, sample in enumerate(plans) if sample] == [0, 30, 60]
    assert plans[0] == 1
