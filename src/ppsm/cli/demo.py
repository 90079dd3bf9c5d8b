"""``ppsm demo``: a small game solved and explained."""

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ppsm.cli.app import app, examples
from ppsm.cli.bilevel import as_record

if TYPE_CHECKING:  # linopy takes long to import, and the other commands do without it
    import xarray as xr

    from ppsm.games import GameSolution

_CEILING = 100.0


@app.command(epilog=examples("ppsm demo", "ppsm demo --json"))
def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as 'ppsm bilevel' does.")] = False,
) -> None:
    """Solve a small built-in game end to end and explain it."""
    from ppsm.examples.trades import water_game, water_market

    if as_json:
        typer.echo(json.dumps(as_record(water_game(_CEILING).solve().bilevel), indent=2, allow_nan=False))
        return
    console = Console()
    console.print(
        "\n[bold]A game of two operators[/bold]\n"
        "A river authority (the leader) decides which reservoirs to open. The water market (the follower) "
        "then serves four districts at least cost, and its prices feed back: the authority has promised "
        f"that no district pays more than {_CEILING:g} $/ML.\n"
    )
    before = water_market().solve()
    game = water_game(_CEILING)
    solution = game.solve()
    _compare(console, before.price("demand"), solution)
    _explain(console, before.price("demand"), solution)


def _compare(console: Console, price_before: "xr.DataArray", solution: "GameSolution") -> None:
    table = Table("district", "price before, $/ML", "reservoir", "price after, $/ML", title="Water prices")
    opened, after = solution.variable("open"), solution.price("demand")
    for district in price_before.indexes["district"]:
        old, new = float(price_before.sel(district=district)), float(after.sel(district=district))
        state = "open" if float(opened.sel(district=district)) > 0.5 else "-"
        style = "red" if old > _CEILING else ""
        table.add_row(district, f"[{style}]{old:.1f}[/]" if style else f"{old:.1f}", state, f"{new:.1f}")
    console.print(table)


def _explain(console: Console, price_before: "xr.DataArray", solution: "GameSolution") -> None:
    found = solution.bilevel
    dear = int((price_before > _CEILING).sum())
    is_open = solution.variable("open") > 0.5
    opened = [str(district) for district in is_open.indexes["district"] if is_open.sel(district=district)]
    verdict = "nothing wrong" if found.verified else "errors"
    console.print(
        f"\nWithout the leader {dear} of {price_before.size} districts pay more than the ceiling. "
        f"The cheapest remedy opens the reservoir of {' and '.join(opened)} for "
        f"${found.leader_objective:,.0f} a day; no cheaper one exists "
        f"(proven bound ${found.leader_bound:,.0f}, gap {found.gap:.1e}).\n\n"
        f"Method: {found.method.value}, because {found.method_reason}.\n"
        f"Solver: {found.solver}, {1000 * found.seconds:.0f} ms.\n\n"
        f"An independent check re-solved the market at that decision with SciPy and found {verdict}: the "
        f"market's answer is optimal to {abs(found.bilevel_gap or 0.0):.1e} $, and every price, sign and "
        "constraint holds.\n",
        highlight=False,
    )
