"""``ppsm experiment`` and ``ppsm report``: run a grid of instances; show its rows as tables and figures."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppsm.cases.schema import builtin_cases
from ppsm.cli import options
from ppsm.cli.app import EXIT_INTERRUPTED, app, examples
from ppsm.cli.output import writable_directory
from ppsm.cli.progress import steps
from ppsm.cli.secret import owner_directory, refuse_to_remember
from ppsm.errors import InputError
from ppsm.extras import insist_on
from ppsm.files import OWNER_MODE
from ppsm.interrupts import termination_interrupts

if TYPE_CHECKING:
    from ppsm.experiments.engines import Engine
    from ppsm.experiments.run import Tally


@app.command(
    short_help="Run a grid of instances, one row each.",
    epilog=examples(
        "ppsm experiment table1 --workers 2 --out results/table1",
        "ppsm experiment figure3 --reps 2 --cluster tcp://host:8786 --out results/figure3",
    ),
)
def experiment(
    grid: Annotated[str, typer.Argument(help="table1, table2, figure3, another named grid, or FILE.toml.")],
    out: Annotated[Path, typer.Option(help="Directory for the rows.")],
    case: Annotated[str | None, typer.Option(help="Case of a named grid.", show_default="northeast")] = None,
    reps: Annotated[int | None, typer.Option(help="Repetitions instead of the grid's own.")] = None,
    workers: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="A Dask scheduler, tcp://host:8786, or local.")] = None,
    cache: options.CacheDirectory = None,
    clear_seconds: Annotated[float | None, typer.Option(help="Limit for clearing one game.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed instances again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Run a grid of instances with seeded noise on a case's demand, one row each in Parquet.

    The demand of a built-in case is public; that of any other is a secret, and its rows go to DIR/owner,
    which nobody else can enter. The same command goes on where a run was stopped, by Ctrl-C, SIGTERM or
    otherwise. Exit codes: 0 all rows are there (failed instances are rows too); 2 unusable input; 3 the
    workers died on the original games; 6 a file cannot be used, say on a full disk; 130 interrupted.
    """
    # The markets need linopy, which takes a while to load.
    from ppsm.experiments.grid import adjusted, named, read_experiment
    from ppsm.experiments.run import run_experiment
    from ppsm.experiments.store import RowStore

    is_file = grid.endswith(".toml")
    if is_file and case is not None:
        raise InputError(
            f"the case '{case}' was given beside {grid}; expected it in the file: write it there."
        )
    declared = read_experiment(Path(grid)) if is_file else named(grid, case or "northeast")
    chosen = adjusted(declared, repetitions=reps, clear_seconds=clear_seconds)
    shared, public = writable_directory(out), chosen.case in builtin_cases()
    refuse_to_remember(cache, public=public)
    directory = shared if public else owner_directory(shared)
    store = RowStore(directory) if public else RowStore(directory, mode=OWNER_MODE)
    try:
        with (
            termination_interrupts(),
            steps(len(chosen.grid.keys), sparse=True) as say,
            _engine(cluster, workers) as engine,
        ):
            say(f"{chosen.name}: building the markets")
            tally = run_experiment(
                chosen,
                store,
                engine,
                lambda tally: say(f"{chosen.name}: {_describe(tally)}", tally.done),
                cache,
                retry_failed=retry_failed,
            )
    except KeyboardInterrupt:
        sys.stderr.write(
            f"interrupted; {len(store.rows())} rows are kept in {directory}: run the same command again to "
            "go on.\n"
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        # Of a secret demand only what was asked for: how its runs went is the owner's.
        summary = {"directory": str(directory), "rows": tally.done, "owner_only": not public}
        measured = {"failed": tally.failed, "feasible": tally.shares()} if public else {}
        sys.stdout.write(json.dumps({**summary, **measured}, indent=2) + "\n")
        return
    say_end = sys.stdout.write if public else sys.stderr.write
    say_end("" if public else "for the owner only: do not pass on\n")
    say_end(f"{tally.done} rows in {directory}, {tally.failed} failed; {_shares(tally)}\n")
    say_end(f"tables and figures: ppsm report {directory}\n")


@contextmanager
def _engine(cluster: str | None, workers: int) -> "Iterator[Engine]":
    from ppsm.experiments import engines

    if cluster is None:
        yield engines.LocalEngine(workers)
        return
    with engines.cluster(cluster, workers) as engine:
        yield engine


def _describe(tally: "Tally") -> str:
    if tally.done == tally.total and not tally.here:
        return "all rows are there"
    if tally.rate is None or tally.seconds_left is None:
        cleared, cells = tally.originals
        if cleared == cells:
            return "the first instances are under way"
        return f"original games, {cleared} of {cells} cleared (half a minute each, then seconds an instance)"
    minutes, seconds = divmod(round(tally.seconds_left), 60)
    failed = f", {tally.failed} failed" if tally.failed else ""
    return f"{tally.rate:.2f}/s, {minutes}:{seconds:02d} left; {_shares(tally)}{failed}"


def _shares(tally: "Tally") -> str:
    return "feasible: " + ", ".join(f"{name} {share:.1%}" for name, share in tally.shares().items())


@app.command(
    short_help="Tables, figures and a page of an experiment.",
    epilog=examples("ppsm report results/table1", "ppsm report results/table1 --out pages"),
)
def report(
    directory: Annotated[Path, typer.Argument(help="Directory of an experiment.")],
    out: Annotated[
        Path | None, typer.Option(help="Directory for the report; DIR/report if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it is as JSON.")] = False,
) -> None:
    """Make tables and figures of the rows of an experiment: Markdown, CSV, SVG, PNG and one HTML page."""
    insist_on("figures", "a report")
    from ppsm.experiments.report import write_report
    from ppsm.experiments.store import RowStore

    with steps() as say:
        say("reading the rows")
        store = RowStore(directory)
        rows, missing = store.rows(), store.missing()
    if not rows:
        raise InputError(
            f"there are no rows in '{directory}': run ppsm experiment ... --out {directory} first."
        )
    if any(row.gas_stress is None for row in rows):
        raise InputError(
            f"the rows in '{directory}' are measured against a secret demand, so no report to share is made "
            "of them: see the owner's page that ppsm compare has written beside them."
        )
    target = writable_directory(directory / "report" if out is None else out)
    with steps() as say:
        say(f"making tables and figures of {len(rows):,} rows")
        write_report(rows, target, missing)
    if as_json:
        lacks = {grid: count for grid, (count, _) in missing.items()}
        found = {"report": str(target / "report.html"), "rows": len(rows), "missing": lacks}
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    lacking = "".join(f", {count} of {grid} missing" for grid, (count, _) in missing.items())
    sys.stdout.write(f"{len(rows)} rows{lacking}; report: {target / 'report.html'}\n")
