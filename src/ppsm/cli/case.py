"""``ppsm case``: show, check and map cases, and import published networks as cases."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.cases.demand import demand_template, read_demand
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case, load_case, save_case
from ppsm.cases.sides import follower_side, leader_side
from ppsm.cli import options
from ppsm.cli.app import examples
from ppsm.errors import InputError
from ppsm.extras import insist_on

app = typer.Typer(help="Show, check, map and import cases.", no_args_is_help=True)

CaseArgument = Annotated[str, typer.Argument(help="A built-in case or a case directory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog=examples("ppsm case show northeast", "ppsm case show northeast --json"))
def show(case: CaseArgument, as_json: JsonOption = False) -> None:
    """Show what a case is made of."""
    numbers = summary(load_case(case))
    if as_json:
        typer.echo(json.dumps(numbers, indent=2))
        return
    console = Console()
    name, title, source = (escape(numbers[key]) for key in ("name", "title", "source"))
    console.print(f"[bold]{name}[/bold]: {title}\n[dim]{source}[/dim]")
    for part in ("power", "gas"):
        console.print(_numbers_table(part, numbers[part]))
    console.print(_fuels_table(numbers["power"]["fleets_by_fuel"]))
    for part in ("power", "gas"):
        levels = ", ".join(f"+{value:.0%}" for value in numbers["stress"][part])
        console.print(f"{part} stress: {levels}")
    for remark in numbers["remarks"]:
        console.print(f"note: {escape(remark)}")


def _numbers_table(title: str, numbers: dict[str, Any]) -> Table:
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in numbers.items():
        if isinstance(value, dict):
            continue
        text = " to ".join(f"{part:,g}" for part in value) if isinstance(value, list) else f"{value:,}"
        table.add_row(name.replace("_", " "), text)
    return table


def _fuels_table(fuels: dict[str, dict[str, float]]) -> Table:
    table = Table("fuel", title="fleets")
    for heading in ("fleets", "units", "capacity MW"):
        table.add_column(heading, justify="right")
    for fuel, mine in fuels.items():
        table.add_row(fuel, f"{mine['fleets']:g}", f"{mine['units']:g}", f"{mine['capacity_mw']:,.1f}")
    return table


@app.command(short_help="Whether a case can be used.", epilog=examples("ppsm case check mycase/"))
def check(case: CaseArgument, as_json: JsonOption = False) -> None:
    """Check a case: exit code 0 when it can be used, 2 with one sentence when it cannot."""
    try:
        loaded = load_case(case)
    except InputError as error:
        if not as_json:
            raise
        typer.echo(json.dumps({"case": case, "valid": False, "error": str(error)}, indent=2))
        raise typer.Exit(error.exit_code) from None
    notes = remarks(loaded)
    if as_json:
        typer.echo(json.dumps({"case": loaded.name, "valid": True, "remarks": notes}, indent=2))
        return
    typer.echo(f"The case '{loaded.name}' is valid.")
    for note in notes:
        typer.echo(f"note: {note}")


@app.command(
    short_help="A file to fill in: demand, or published figures.",
    epilog=examples(
        "ppsm case template northeast > demand.csv",
        "ppsm case template northeast --published > published.json",
    ),
)
def template(
    case: CaseArgument,
    published: Annotated[
        bool,
        typer.Option("--published", help="The form of published figures, for ppsm release --published."),
    ] = False,
) -> None:
    """Print a table of a case's deliveries to fill in, or with --published the form of published figures.

    In the form null stands where a figure belongs: the day, where it is published, the gas market's cost and
    the leader's in $, gas prices at the junctions in $/MWh, and what costs and prices are rounded to.
    """
    loaded = load_case(case)
    if not published:
        typer.echo(demand_template(loaded), nl=False)
        return
    from ppsm.privacy.publication import publication_template

    form = publication_template([row.junction for row in loaded.junctions])
    typer.echo(json.dumps(form, indent=2))


@app.command(
    short_help="Whether a demand file can be released.",
    epilog=examples("ppsm case demand northeast demand.csv", "ppsm case demand northeast day.xlsx"),
)
def demand(
    case: CaseArgument,
    file: Annotated[Path, typer.Argument(help="a demand file")],
    unit: options.DemandUnit = None,
    sheet: options.DemandSheet = None,
    as_json: JsonOption = False,
) -> None:
    """Check whether a demand file is complete and plausible, before it is released.

    A release does not look: what it says or does must not depend on a secret's values. This does, so its
    outcome is for the owner of the file.
    """
    loaded = load_case(case)
    found = read_demand(file, loaded, unit=unit, sheet=sheet)
    said = f"{file} has all {found.size} deliveries of {loaded.name}, each within its public maximum."
    _done(said, {"file": str(file), "case": loaded.name, "deliveries": found.size}, as_json=as_json)


@app.command("map", epilog=examples("ppsm case map northeast --out northeast.svg"))
def draw_map(
    case: CaseArgument,
    out: Annotated[Path, typer.Option(help="picture: FILE.svg, .png or .pdf")],
    as_json: JsonOption = False,
) -> None:
    """Draw the gas and the power network of a case on a map."""
    insist_on("figures", "a map")
    # only maps need matplotlib
    from ppsm.figures.maps import case_map
    from ppsm.figures.style import check_picture_path, save_figure

    check_picture_path(out)
    save_figure(case_map(load_case(case)), out)
    _done(f"wrote {out}", {"picture": str(out)}, as_json=as_json)


@app.command(epilog=examples("ppsm case split northeast --leader power-side --follower gas-side"))
def split(
    case: CaseArgument,
    leader: Annotated[Path, typer.Option(help="new case directory without any demand")],
    follower: Annotated[Path, typer.Option(help="new case directory without units, bids and loads")],
    as_json: JsonOption = False,
) -> None:
    """Make of a case what each of two parties has of it."""
    whole = load_case(case)
    for directory in (leader, follower):
        if directory.exists():
            raise InputError(f"'{directory}' exists already: choose a new directory.")
    save_case(leader_side(whole), leader)
    save_case(follower_side(whole), follower)
    facts = {"leader": str(leader), "follower": str(follower)}
    _done(f"wrote {leader}\nwrote {follower}", facts, as_json=as_json)


@app.command(
    "import",
    short_help="Make a case of published networks.",
    epilog=examples("ppsm case import --power grid.m --gas gas.m --link links.json --out mycase"),
)
def import_(
    power: Annotated[Path, typer.Option(help="power network, MATPOWER .m")],
    gas: Annotated[Path, typer.Option(help="gas network, matgas .m")],
    link: Annotated[Path, typer.Option(help="which generator burns where, .json")],
    out: Annotated[Path, typer.Option(help="new case directory")],
    name: Annotated[str, typer.Option(help="name of the case")] = "imported",
    gas_share: Annotated[
        float, typer.Option(help="share of the plants' gas that this network carries")
    ] = 1.0,
    supply_factor: Annotated[float, typer.Option(help="scale of the published receipts")] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Make a case of published networks; bids and unit data are defaults to edit in the tables."""
    # the calibration needs the modelling libraries, which the other commands do without
    from ppsm.cases.calibration.assumptions import Assumptions
    from ppsm.cases.calibration.build import build_case
    from ppsm.cases.links import read_links
    from ppsm.cases.matgas import read_matgas
    from ppsm.cases.matpower import read_matpower

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not an empty directory; give another path to --out.")
    if not 0 <= gas_share <= 1:
        raise InputError(f"--gas-share is {gas_share:g}; expected a share from 0 to 1.")
    if not 0 < supply_factor < 1e6:
        raise InputError(f"--supply-factor is {supply_factor:g}; expected a positive factor.")
    assumptions = Assumptions(
        name=name,
        title=f"{power.name} with {gas.name}",
        source=f"imported from {power.name}, {gas.name} and {link.name}",
        gas_share=gas_share,
        supply_factor=supply_factor,
    )
    case = build_case(read_matpower(power), read_matgas(gas), read_links(link), assumptions)
    save_case(case, out)
    load_case(out)  # what was written must be readable, or the writer is wrong
    _done(
        f"wrote the case '{case.name}' to {out}", {"case": case.name, "directory": str(out)}, as_json=as_json
    )


def _done(words: str, facts: dict[str, Any], *, as_json: bool) -> None:
    """Say what was done, to people or to scripts."""
    typer.echo(json.dumps(facts, indent=2) if as_json else words)


def summary(case: Case) -> dict[str, Any]:
    """Return the main numbers of a case, ready for JSON."""
    return {
        "name": case.name,
        "title": case.title,
        "source": case.source,
        "power": _power_numbers(case),
        "gas": _gas_numbers(case),
        "stress": {"power": list(case.power_stress), "gas": list(case.gas_stress)},
        "remarks": remarks(case),
    }


def _power_numbers(case: Case) -> dict[str, Any]:
    fuels: dict[str, dict[str, float]] = defaultdict(lambda: {"fleets": 0, "units": 0, "capacity_mw": 0.0})
    for fleet in case.fleets:
        mine = fuels[fleet.fuel]
        mine["fleets"] += 1
        mine["units"] += fleet.unit_count
        mine["capacity_mw"] = round(mine["capacity_mw"] + fleet.unit_count * fleet.unit_size_mw, 2)
    return {
        "buses": len(case.buses),
        "lines": len(case.lines),
        "lines_with_rating": sum(math.isfinite(line.rating_mw) for line in case.lines),
        "hours": len(case.load_shape),
        "peak_load_mw": round(_peak_load_mw(case), 2),
        "fleets_by_fuel": dict(sorted(fuels.items())),
    }


def _peak_load_mw(case: Case) -> float:
    return float(case.load_mw(0.0).sum(axis=1).max())


def _gas_numbers(case: Case) -> dict[str, Any]:
    demand = case.demand_mwh(0.0)
    prices = [bid.price_usd_per_mwh * MWH_PER_MMBTU for bid in case.supplies]
    return {
        "junctions": len(case.junctions),
        "pipes": len(case.pipes),
        "compressors": len(case.compressors),
        "regulators": len(case.regulators),
        "supply_mwh": round(sum(bid.size_mwh for bid in case.supplies), 2),
        "supply_price_usd_per_mmbtu": [round(min(prices), 3), round(max(prices), 3)],
        "deliveries": len(case.deliveries),
        "base_demand_mwh": round(float(demand.sum()), 2),
        "largest_base_demand_mwh": round(float(demand.max()), 2),
        "contracted_mwh": round(float(case.mdq_mwh().sum()), 2),
        "linked_fleets": len(case.links),
    }


def remarks(case: Case) -> list[str]:
    """Return what a reader should know of a valid case, one sentence each."""
    found = []
    linked = {link.fleet for link in case.links}
    unlinked = [fleet.fleet for fleet in case.fleets if fleet.fuel == "gas" and fleet.fleet not in linked]
    if unlinked:
        found.append(
            f"{len(unlinked)} gas fleets have no link (first: {unlinked[0]}): gas prices do not reach them."
        )
    peak_mw = _peak_load_mw(case) * (1.0 + max(case.power_stress))
    capacity_mw = sum(fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets)
    if capacity_mw < peak_mw:
        found.append(
            f"At the highest power stress the peak of {peak_mw:.0f} MW exceeds all fleets "
            f"({capacity_mw:.0f} MW)."
        )
    demand_mwh = float(case.demand_mwh(max(case.gas_stress)).sum())
    supply_mwh = sum(bid.size_mwh for bid in case.supplies)
    if supply_mwh < demand_mwh:
        found.append(
            f"At the highest gas stress the demand of {demand_mwh:.0f} MWh exceeds all supply "
            f"({supply_mwh:.0f} MWh)."
        )
    return found
