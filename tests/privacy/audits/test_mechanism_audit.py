"""The auditor: sound against honest mechanisms, sharp against planted faults, clear about bad input."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.audit_power import power
from benchmarks.faults import FAULTS, BatchMechanism, honest, scaled, textbook
from scipy.stats import binom

from ppsm.arrays import FloatArray
from ppsm.errors import AuditFailedError, InputError
from ppsm.privacy import LaplaceMechanism, audit_laplace, audit_mechanism
from ppsm.privacy.audits.events import FAMILIES, float_grid, proven_loss
from ppsm.privacy.audits.laplace_audit import Treatment, check_outputs

FIELDS = {"claimed_epsilon", "epsilon_lower_bound", "confidence", "passes"}


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_secure_mechanism_passes() -> None:
    mechanism = LaplaceMechanism(alpha=100.0, epsilon=0.5)
    report = audit_laplace(mechanism, alpha=100.0, epsilon=0.5, samples=20_000, confidence=1 - 1e-7)
    assert report.passes, report.findings
    assert 0.3 < report.epsilon_lower_bound <= 0.5
    assert to_fields(report.to_dict()) == FIELDS
    report.raise_if_failed()


def to_fields(content: dict[str, Any]) -> set[str]:
    return FIELDS & set(content)


# The sizes at which the power study finds each fault in 99 % of audits or more, with room to spare.
CAUGHT_AT = {
    "scale 10 % too small": 2_000,
    "scale halved": 500,
    "shared noise": 500,
    "clipped tails": 2_000,
    "re-used seed": 1_500,
    "textbook float noise": 3_000,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught_again_and_again(fault: str) -> None:
    caught, _ = power(fault, CAUGHT_AT[fault], repetitions=40)
    assert caught == 1.0


@pytest.mark.parametrize("fault", ["scale 10 % too small", "scale halved", "shared noise", "re-used seed"])
def test_the_bound_alone_catches_them_with_more_runs(fault: str) -> None:
    mechanism = FAULTS[fault](generator(4))
    report = audit_mechanism(
        mechanism, [0.0, 0.0], [1.0, 0.0], claimed_epsilon=1.0, samples=60_000, batched=True
    )
    assert report.epsilon_lower_bound > 1.0
    assert not report.passes
    with pytest.raises(AuditFailedError, match="epsilon is at least"):
        report.raise_if_failed()


def test_honest_mechanisms_are_wronged_no_more_than_promised() -> None:
    """At confidence 0.9, at most 10 % of audits may fail; more than 39 of 200 has probability 1e-5."""
    failures = sum(
        not audit_laplace(
            honest(generator(1000 + seed)), alpha=1.0, epsilon=1.0, samples=1000, confidence=0.9, batched=True
        ).passes
        for seed in range(200)
    )
    assert binom.sf(failures - 1, 200, 0.1) > 1e-5


def test_the_bound_is_nearly_tight() -> None:
    report = audit_laplace(honest(generator(2)), alpha=1.0, epsilon=1.0, samples=200_000, batched=True)
    assert report.passes
    assert 0.95 < report.epsilon_lower_bound <= 1.0
    assert [bound.family for bound in report.families] == list(FAMILIES)


def test_textbook_noise_is_betrayed_by_its_float_grid() -> None:
    """Noise of the right shape that is added in floating point: Mironov's attack."""
    report = audit_laplace(textbook(generator(6)), alpha=1.0, epsilon=1.0, samples=5000, batched=True)
    assert report.epsilon_lower_bound > 3.0
    assert "float grid" in report.families[0].statistic
    assert all(check.passes for check in report.noise_checks)


def test_float_grid_by_hand() -> None:
    grid = float_grid(np.array([1.0, 3.0, 0.5, 6.0, 0.1, 0.0, -(2.0**-60)]))
    assert grid.tolist() == [0.0, 0.0, -1.0, 1.0, -55.0, 0.0, -60.0]


def _antithetic(draws: np.random.Generator) -> BatchMechanism:
    """Use each draw twice, the second time with the opposite sign."""

    def mechanism(rows: FloatArray) -> FloatArray:
        noise = draws.laplace(size=(len(rows) // 2, rows.shape[1]))
        return rows + np.vstack([noise, -noise])

    return mechanism


def _gaussian(draws: np.random.Generator) -> BatchMechanism:
    return lambda rows: rows + draws.normal(scale=math.sqrt(2.0), size=rows.shape)


def _sticky(draws: np.random.Generator) -> BatchMechanism:
    """Let the size of one run's noise depend on the run before."""

    def mechanism(rows: FloatArray) -> FloatArray:
        sizes = np.repeat(draws.exponential(size=(len(rows) // 2, rows.shape[1])), 2, axis=0)
        jitter = 1.0 + 1e-6 * draws.normal(size=rows.shape)
        noisy: FloatArray = rows + sizes * jitter * draws.choice([-1.0, 1.0], size=rows.shape)
        return noisy

    return mechanism


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (_antithetic, "freshness"),
        (FAULTS["scale halved"], "scale"),
        (FAULTS["scale halved"], "distribution"),
        (_gaussian, "tails"),
        (_sticky, "independent runs"),
        (FAULTS["shared noise"], "independent entries"),
        (FAULTS["clipped tails"], "tails"),
        (FAULTS["re-used seed"], "freshness"),
    ],
)
def test_each_check_finds_its_fault(
    fault: Callable[[np.random.Generator], BatchMechanism], check: str
) -> None:
    report = audit_laplace(fault(generator(8)), alpha=1.0, epsilon=1.0, samples=4000, batched=True)
    assert check in [each.name for each in report.noise_checks if not each.passes]
    assert any(check in finding for finding in report.findings)


def then(after: Callable[[FloatArray], FloatArray], factor: float = 1.0) -> BatchMechanism:
    """Honest noise, larger by a factor, and something done to the noisy values."""
    noise = scaled(factor)(generator(11))
    return lambda rows: after(noise(rows))


SAFE: dict[str, BatchMechanism] = {
    "rounded to integers": then(np.round),
    "rounded to one decimal": then(lambda noisy: np.round(noisy, 1)),
    "rounded to six decimals": then(lambda noisy: np.round(noisy, 6)),
    "rounded down": then(np.floor),
    "rounded to quarters": then(lambda noisy: np.floor(4.0 * noisy + 0.5) / 4.0),
    "clipped at zero": then(lambda noisy: np.maximum(noisy, 0.0)),
    "clipped to a range": then(lambda noisy: np.clip(noisy, -1.0, 2.0)),
    "clipped and rounded": then(lambda noisy: np.round(np.maximum(noisy, 0.0), 2).astype(np.float64)),
    "more noise": then(lambda noisy: noisy, 1.2),
    "much more noise": then(lambda noisy: noisy, 1000.0),
    "more noise, rounded": then(lambda noisy: np.round(noisy, 1), 2.0),
    "only its sign": then(np.sign),
}


@pytest.mark.parametrize("name", SAFE)
def test_safe_mechanisms_pass(name: str) -> None:
    report = audit_laplace(
        SAFE[name], alpha=1.0, epsilon=1.0, samples=4000, confidence=1 - 1e-6, batched=True
    )
    assert report.passes, report.findings


def test_half_the_noise_is_named_right() -> None:
    report = audit_laplace(scaled(0.5)(generator(3)), alpha=1.0, epsilon=1.0, samples=4000, batched=True)
    assert "noise check 'scale': the noise is too small, about 0.50 of the claimed scale" in report.findings
    assert not any("share" in finding or "run" in finding for finding in report.findings)


@pytest.mark.parametrize("after", [np.round, lambda noisy: np.round(noisy, 3), lambda noisy: noisy])
def test_rounding_hides_no_fault(after: Callable[[FloatArray], FloatArray]) -> None:
    for name in ("scale halved", "shared noise", "re-used seed"):
        fault = FAULTS[name](generator(5))
        report = audit_laplace(
            lambda rows, fault=fault: after(fault(rows)),  # type: ignore[misc]
            alpha=1.0,
            epsilon=1.0,
            samples=8000,
            batched=True,
        )
        coarse_seed = name == "re-used seed" and after is np.round
        assert coarse_seed or not report.passes, name


def test_treatments_by_hand() -> None:
    assert Treatment.of(generator(1).laplace(size=(500, 2))).none
    assert Treatment.of(np.array([0.0, 0.25, 1.0, 2.5, 3.0])) == Treatment(step=0.25)
    clipped = np.maximum(generator(1).laplace(size=(500, 2)), 0.0)
    assert Treatment.of(clipped) == Treatment(lowest=0.0)


def test_large_epsilons_do_not_confuse_the_search_for_repeats() -> None:
    mechanism = LaplaceMechanism(alpha=1e6, epsilon=1e4)
    report = audit_laplace(mechanism, alpha=1e6, epsilon=1e4, samples=4000, confidence=1 - 1e-7)
    assert report.passes, report.findings


def test_clopper_and_pearson_by_hand() -> None:
    # With all successes the lower limit is failure**(1/n), with none the upper limit is 1 - failure**(1/n).
    failure, runs = 0.02, 50
    share = (failure / 2) ** (1 / runs)
    assert proven_loss(runs, 0, runs, failure) == pytest.approx(math.log(share / (1 - share)))
    assert proven_loss(0, 0, runs, failure) == 0.0
    assert proven_loss(25, 50, runs, failure) == 0.0


def test_p_values_of_honest_noise_are_honest() -> None:
    """Each check of honest noise falls below 5 % in no more than about 5 % of 300 trials."""
    noise = generator(9).laplace(size=(300, 2, 200, 2))
    below = np.zeros(6)
    for first, second in noise:
        checks = check_outputs([first, second], np.zeros((2, 2)), 1.0, failure=0.1)
        below += [check.p_value < 0.05 for check in checks]
    assert (binom.sf(below - 1, 300, 0.05) > 1e-5).all()


def test_any_callable_can_be_audited() -> None:
    """A mechanism with another output: the sum, rounded, as a single number."""
    draws = generator(3)

    def total(vector: FloatArray) -> float:
        return round(float(vector.sum() + draws.laplace(scale=2.0)), 6)

    report = audit_mechanism(total, [1.0, 2.0], [1.0, 4.0], claimed_epsilon=1.0, samples=3000)
    assert report.passes
    assert report.epsilon_lower_bound > 0.5
    assert report.noise_checks == ()


def test_leaks_outside_the_numbers_count_too() -> None:
    """A mechanism that fails visibly on one input only."""
    draws = generator(3)

    def fragile(vector: FloatArray) -> list[float]:
        return [math.nan if vector[0] > 0 and draws.random() < 0.1 else draws.normal()]

    report = audit_mechanism(fragile, [0.0], [1.0], claimed_epsilon=1.0, samples=2000)
    assert not report.passes


def test_a_rare_look_at_the_input_shows() -> None:
    """A mechanism that returns its input once in 200 runs repeats a value that honest noise never hits."""

    def leaky(rows: FloatArray) -> FloatArray:
        return np.where(draws.random((len(rows), 1)) < 0.005, rows, noise(rows))

    draws = generator(12)
    noise = honest(draws)
    report = audit_mechanism(
        leaky, [7.3, 2.0], [8.3, 2.0], claimed_epsilon=1.0, samples=100_000, batched=True
    )
    assert report.epsilon_lower_bound > 2.0


@pytest.mark.parametrize(
    "after",
    [
        lambda noisy: np.maximum(noisy, 0.0),
        np.round,
        np.sign,
        lambda noisy: np.where(noisy < 0, math.nan, noisy),
    ],
)
def test_post_processing_is_no_leak(after: Callable[[FloatArray], FloatArray]) -> None:
    for seed in range(10):
        mechanism = honest(generator(seed))
        report = audit_mechanism(
            lambda rows, noise=mechanism: after(noise(rows)),  # type: ignore[misc]
            [0.0, 0.0],
            [1.0, 0.0],
            claimed_epsilon=1.0,
            samples=4000,
            batched=True,
        )
        assert report.passes


@pytest.mark.filterwarnings("error")
def test_huge_outputs_are_outcomes_like_any_other() -> None:
    mechanism = LaplaceMechanism(alpha=1e300)
    assert audit_laplace(mechanism, alpha=1e300, epsilon=1.0, samples=400, confidence=1 - 1e-7).passes
    largest = audit_mechanism(
        lambda rows: np.full((len(rows), 2), 1e308),
        [0.0],
        [1.0],
        claimed_epsilon=1.0,
        samples=400,
        batched=True,
    )
    assert largest.epsilon_lower_bound == 0.0


def test_identical_outputs_prove_nothing() -> None:
    report = audit_mechanism(lambda _: [0.0], [0.0], [1.0], claimed_epsilon=0.1, samples=200)
    assert report.passes
    assert report.epsilon_lower_bound == 0.0


def test_progress_counts_all_runs() -> None:
    done: list[int] = []
    audit_mechanism(lambda x: x, [0.0], [1.0], claimed_epsilon=1.0, samples=700, progress=done.append)
    assert sum(done) == 1400


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": 10},
        {"samples": 1e6},
        {"confidence": 1.0},
        {"confidence": math.nan},
        {"epsilon": 0.0},
        {"alpha": math.inf},
        {"dimension": 0},
    ],
)
def test_bad_requests_are_refused(changes: dict[str, Any]) -> None:
    request: dict[str, Any] = {"alpha": 1.0, "epsilon": 1.0, "samples": 1000}
    with pytest.raises(InputError, match=next(iter(changes))):
        audit_laplace(LaplaceMechanism(alpha=1.0), **(request | changes))


def test_mechanisms_of_varying_shape_are_refused() -> None:
    draws = generator(1)
    with pytest.raises(InputError, match="length"):
        audit_mechanism(
            lambda _: np.zeros(draws.integers(1, 3)), [0.0], [1.0], claimed_epsilon=1.0, samples=300
        )
    with pytest.raises(InputError, match="on one input"):
        audit_mechanism(lambda x: np.zeros(1 + int(x[0])), [0.0], [1.0], claimed_epsilon=1.0, samples=300)
    with pytest.raises(InputError, match="expected one vector"):
        audit_mechanism(lambda x: x[:5], [0.0], [1.0], claimed_epsilon=1.0, samples=300, batched=True)
    with pytest.raises(InputError, match="use audit_mechanism"):
        audit_laplace(lambda x: x[:1], alpha=1.0, epsilon=1.0, samples=300)
