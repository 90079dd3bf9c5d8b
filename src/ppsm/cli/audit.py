"""``ppsm audit``: look for evidence that a mechanism leaks more than it claims."""

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ppsm.arrays import FloatArray
from ppsm.cli.app import app, examples
from ppsm.cli.progress import Steps, steps
from ppsm.errors import InputError
from ppsm.privacy.audits.laplace_audit import audit_laplace
from ppsm.privacy.audits.mechanism_audit import DEFAULT_CONFIDENCE, AuditReport, Mechanism, Progress
from ppsm.privacy.laplace import LaplaceMechanism


@app.command(
    short_help="Look for evidence that a mechanism leaks more than it claims.",
    epilog=examples(
        "ppsm audit --alpha 100 --epsilon 1",
        "ppsm audit --alpha 100 --mechanism mymodule:noisy --samples 20000 --json",
    ),
)
def audit(
    alpha: Annotated[float, typer.Option(help="The distance within which one entry is to be hidden.")],
    epsilon: Annotated[float, typer.Option(help="The privacy loss that is claimed.")] = 1.0,
    samples: Annotated[int, typer.Option(help="Runs on each of two neighbouring inputs.")] = 100_000,
    mechanism: Annotated[
        str, typer.Option(help="'laplace', or 'package.module:function' that adds noise to a vector.")
    ] = "laplace",
    dimension: Annotated[int, typer.Option(help="Entries per vector.")] = 2,
    confidence: Annotated[
        float, typer.Option(help="An honest mechanism passes with at least this probability.")
    ] = DEFAULT_CONFIDENCE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Audit additive Laplace noise of at least the claimed scale, rounded or clipped afterwards or not.

    Runs are taken to be independent. Exit codes: 0 passed, 2 bad input, 5 failed.
    """
    chosen = (
        LaplaceMechanism(alpha=alpha, epsilon=epsilon) if mechanism == "laplace" else _imported(mechanism)
    )
    with steps(2 * samples, sparse=True) as say, _enough_memory(samples, dimension):
        report = audit_laplace(
            chosen,
            alpha=alpha,
            epsilon=epsilon,
            samples=samples,
            dimension=dimension,
            confidence=confidence,
            progress=_counting(say),
        )
    if as_json:
        typer.echo(json.dumps({"mechanism": mechanism, "alpha": alpha, **report.to_dict()}, indent=1))
    else:
        _show(report)
    report.raise_if_failed()


def _imported(path: str) -> Mechanism:
    """Return the function that ``package.module:function`` names; its failures become our errors."""
    module, _, name = path.partition(":")
    try:
        function: Mechanism = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module can fail in any way while it is imported
        raise InputError(
            f"The mechanism '{path}' cannot be imported ({_in_one_line(error)}), expected 'laplace' or "
            "'package.module:function': check the spelling and PYTHONPATH."
        ) from None

    def guarded(vector: FloatArray) -> FloatArray:
        try:
            return np.asarray(function(vector), dtype=np.float64)
        except Exception as error:  # noqa: BLE001 - the code is the user's
            raise InputError(
                f"The mechanism '{path}' failed on a test vector ({_in_one_line(error)}), expected a "
                "function that takes a vector and returns one with noise: mend it."
            ) from None

    return guarded


def _in_one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def _enough_memory(samples: int, dimension: int) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{samples} runs of {dimension} entries do not fit into memory: ask for fewer samples or a "
            "smaller dimension."
        ) from None


def _counting(say: Steps) -> Progress:
    """Tell how many runs are done in all."""
    done = 0

    def count(runs: int) -> None:
        nonlocal done
        done += runs
        say("running the mechanism", done)

    return count


def _show(report: AuditReport) -> None:
    console = Console()
    bounds = Table(
        "events", "statistic", "likelier", "rarer", "epsilon is at least", title="Evidence on epsilon"
    )
    for bound in report.families:
        counts = str(bound.likelier), str(bound.rarer)
        bounds.add_row(bound.family, bound.statistic, *counts, f"{bound.epsilon_lower_bound:.4f}")
    console.print(bounds)
    checks = Table("check", "p-value", "fails below", "result", title="Is the noise what it claims to be?")
    for check in report.noise_checks:
        result = "ok" if check.passes else f"FAILED: {check.meaning}"
        checks.add_row(check.name, f"{check.p_value:.2g}", f"{check.threshold:.2g}", result)
    console.print(checks)
    console.print(
        f"{'Passed' if report.passes else 'FAILED'}: epsilon >= {report.epsilon_lower_bound:.4f} shown, "
        f"{report.claimed_epsilon:g} claimed; {report.samples} runs per input, confidence "
        f"{report.confidence:g}."
    )
