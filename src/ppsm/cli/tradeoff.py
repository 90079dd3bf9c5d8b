"""``ppsm tradeoff``: privacy against cost error and distance, with all mechanisms, to help choose alpha."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ppsm.cases import load_case
from ppsm.cases.stress import check_stress
from ppsm.cli.app import EXIT_INTERRUPTED, app
from ppsm.cli.output import writable_directory
from ppsm.cli.units import fraction, numbers
from ppsm.errors import InputError

if TYPE_CHECKING:
    from ppsm.mechanism.instance import Record
    from ppsm.mechanism.tradeoff import TradeoffRow

# All errors are relative to the original game, so it is given more time.
_ORIGINAL_SECONDS = 300.0


@app.command()
def tradeoff(
    power_stress: Annotated[float, typer.Option(help="Relative increase of all loads; 0.48 is +48 %.")],
    gas_stress: Annotated[float, typer.Option(help="Relative increase of the case's gas demands.")],
    out: Annotated[Path, typer.Option(help="Directory for the records, the table and the picture.")],
    case: Annotated[str, typer.Option(help="A built-in case or a case directory.")] = "northeast",
    alphas: Annotated[str, typer.Option(help="Distances to compare, in MWh.")] = "10,100,1000",
    draws: Annotated[int, typer.Option(help="Draws of the noise.")] = 5,
    eta_p: Annotated[str, typer.Option(help="Half-width of the value band.")] = "0.1%",
    eta_d: Annotated[str, typer.Option(help="Half-width of the price bands.")] = "0.1%",
    time_limit: Annotated[
        float,
        typer.Option(
            help="Seconds for clearing the markets with a new release; the original has 300. Runs kept "
            "in --out are not repeated with another limit."
        ),
    ] = 30.0,
    cache: Annotated[Path | None, typer.Option(help="Directory for remembered commitments.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Compare the mechanisms over several alphas with seeded noise on the case's public demand.

    Writes records.jsonl, tradeoff.csv and tradeoff.svg. Ctrl-C leaves what was done so far, complete; the
    same command goes on from there. Exit codes: 0 done; 2 unusable input; 130 interrupted.
    """
    loaded = load_case(case)
    check_stress(loaded, power_stress, gas_stress)
    if draws < 1:
        raise InputError(f"{draws} draws were asked for; expected at least 1.")
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit:g} s; expected a number above zero.")
    distances, widths = numbers(alphas, "alphas"), (fraction(eta_p, "eta-p"), fraction(eta_d, "eta-d"))
    directory = writable_directory(out)
    # What can be refused was refused; the markets need linopy, which takes a while to load.
    from ppsm.mechanism.instance import Workspace
    from ppsm.mechanism.tradeoff import RECORDS, grid, read_records, run_grid

    instances = grid(
        power_stress=power_stress,
        gas_stress=gas_stress,
        alphas=distances,
        repetitions=draws,
        eta_p=widths[0],
        eta_d=widths[1],
    )
    file = directory / RECORDS
    read_records(file)  # a foreign file is refused before any work
    workspace = Workspace(
        loaded, cache, clear_seconds=time_limit, original_seconds=max(_ORIGINAL_SECONDS, time_limit)
    )
    seen: list[Record] = []
    interrupted = False
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("building the markets", total=len(instances))

        def advance(record: "Record") -> None:
            seen.append(record)
            text = f"{record['mechanism']}, alpha {record['alpha']:g}: {record['status']}"
            bar.update(task, advance=1, description=text)

        try:
            run_grid(workspace, instances, file, advance)
        except KeyboardInterrupt:
            interrupted = True
    _finish(directory, seen, as_json=as_json)
    if interrupted:
        sys.stderr.write(
            f"interrupted after {len(seen)} of {len(instances)} runs, which are kept in {file}: run the same "
            "command again to go on.\n"
        )
        raise typer.Exit(EXIT_INTERRUPTED)


def _finish(directory: Path, records: "list[Record]", *, as_json: bool) -> None:
    from ppsm.figures.curves import tradeoff_figure
    from ppsm.figures.style import save_figure
    from ppsm.mechanism.tradeoff import FIGURE, TABLE, summarise, write_table

    rows = summarise(records)
    write_table(rows, directory / TABLE)
    save_figure(tradeoff_figure(rows), directory / FIGURE)
    if as_json:
        sys.stdout.write(json.dumps([asdict(row) for row in rows], indent=2, allow_nan=False) + "\n")
        return
    _print(rows)
    Console().print(f"Table: {directory / TABLE}   picture: {directory / FIGURE}", highlight=False)


def _print(rows: "list[TradeoffRow]") -> None:
    from ppsm.comparison.pages import HEADINGS, table_cells

    title = "Privacy against fidelity (seeded noise, not private)"
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(HEADINGS.values()):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*table_cells(row))
    Console().print(table)
