"""``ppsm tradeoff``: privacy against cost error and distance, with all mechanisms, to help choose alpha."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ppsm.cases import load_case
from ppsm.cases.schema import builtin_cases
from ppsm.cases.stress import check_stress
from ppsm.cli import options
from ppsm.cli.app import app, examples
from ppsm.cli.output import interrupted, summary_lines, writable_directory
from ppsm.cli.progress import steps
from ppsm.cli.secret import (
    at_the_truth,
    is_for_owner,
    owner_console,
    owner_directory,
    refuse_to_remember,
    say_to_owner,
)
from ppsm.errors import InputError, PpsmError
from ppsm.extras import insist_on
from ppsm.files import OWNER_MODE, write_atomically

if TYPE_CHECKING:
    from ppsm.experiments.run import Tally
    from ppsm.experiments.store import RowStore
    from ppsm.experiments.summaries import Summary

TABLE, FIGURE, TROUBLE = "tradeoff.csv", "tradeoff.svg", "not-measured.txt"


@app.command(
    short_help="Privacy against fidelity, to help choose alpha.",
    epilog=examples("ppsm tradeoff --power-stress 0.36 --gas-stress 0.5 --alphas 10,100,1000 --out tradeoff"),
)
def tradeoff(
    power_stress: options.PowerStress,
    gas_stress: Annotated[float, typer.Option(help="Relative increase of the case's gas demands.")],
    out: Annotated[Path, typer.Option(help="Directory for the rows, the table and the picture.")],
    case: options.CaseName = "northeast",
    alphas: options.Alphas = "10,100,1000",
    draws: options.Draws = 5,
    eta_p: options.ValueWidth = "0.1%",
    eta_d: options.PriceWidth = "0.1%",
    time_limit: options.ReleaseSeconds = 30.0,
    cache: options.CacheDirectory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Compare the mechanisms over several alphas with seeded noise on the case's own demand.

    Writes rows.parquet, tradeoff.csv and tradeoff.svg. The demand of a built-in case is public; that of any
    other is a secret, and all of it goes to DIR/owner, which nobody else can enter. Ctrl-C leaves what was
    done so far, complete; the same command goes on from there. Exit codes: 0 done; 2 unusable input; 130
    interrupted.
    """
    insist_on("figures", "the picture of a trade-off")
    loaded = load_case(case)
    check_stress(loaded, power_stress, gas_stress)
    if draws < 1:
        raise InputError(f"{draws} draws were asked for; expected at least 1.")
    options.insist_on_seconds(time_limit)
    distances, widths = options.numbers(alphas, "alphas"), options.widths(eta_p, eta_d)
    public = case in builtin_cases()
    refuse_to_remember(cache, public=public)
    shared = writable_directory(out)
    directory = shared if public else owner_directory(shared)
    # What can be refused was refused; the markets need linopy, which takes a while to load.
    from ppsm.experiments.comparison import run_on_one_cell
    from ppsm.experiments.grid import Grid, single_cell
    from ppsm.experiments.instance import Workspace
    from ppsm.experiments.store import RowStore
    from ppsm.experiments.tuning import Limits

    limits = Limits.of_single_cell(time_limit)
    instances = single_cell(
        (power_stress, gas_stress), distances, range(draws), eta_p=widths[0], eta_d=widths[1]
    )
    grid = Grid.one_by_one(f"tradeoff with {draws} draws", loaded, loaded.name, limits, instances)
    store = RowStore(directory) if public else RowStore(directory, mode=OWNER_MODE)
    counted = public or is_for_owner()
    store.rows()  # foreign files are refused before any work
    store.insist_on(grid.settings)
    with steps(len(instances)) as say, at_the_truth(say, public=public) as tell:
        tell("clearing the original markets (once, the longest step)")

        def advance(tally: "Tally") -> None:
            row = tally.latest
            if row is not None:
                tell(f"{row.mechanism}, alpha {row.alpha:g}: {row.status}", tally.done)

        try:
            found = run_on_one_cell(grid, store, Workspace(loaded, cache, limits=limits), advance)
        except KeyboardInterrupt:
            raise interrupted(0, len(instances), directory, counted=counted) from None
        except PpsmError as error:
            if public:
                raise
            say_to_owner(f"there is no trade-off: {error}", directory / TROUBLE, directory)
            return
    _finish(store, found.summaries, public=public, as_json=as_json)
    if not found.complete:
        raise interrupted(len(found.rows), len(instances), directory, counted=counted)


def _finish(store: "RowStore", summaries: "list[Summary]", *, public: bool, as_json: bool) -> None:
    from ppsm.experiments.panels import tradeoff_figure
    from ppsm.experiments.summaries import as_csv, summary_table
    from ppsm.figures.style import save_figure

    directory = store.directory
    write_atomically(directory / TABLE, as_csv(summary_table(summaries)), mode=store.mode)
    save_figure(tradeoff_figure(summaries), directory / FIGURE)
    (directory / FIGURE).chmod((directory / TABLE).stat().st_mode)
    if as_json and public:
        sys.stdout.write(json.dumps([asdict(each) for each in summaries], indent=2, allow_nan=False) + "\n")
        return
    console = Console() if public else owner_console(directory)
    kind = "seeded noise, not private" if public else "for the owner only: do not pass on"
    console.print(summary_lines(summaries, title=f"Privacy against fidelity ({kind})"))
    paths = escape(f"Table: {directory / TABLE}   picture: {directory / FIGURE}")
    console.print(paths, highlight=False)
