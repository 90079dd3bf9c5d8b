"""``ppsm gauc``: gas-aware unit commitment of a case at a stress or a demand vector."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case, read_demand
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.stress import outside_calibration
from ppsm.cli import options
from ppsm.cli.app import EXIT_INTERRUPTED, EXIT_NO_ANSWER, app, examples
from ppsm.cli.progress import Steps, steps
from ppsm.cli.secret import insist_on_a_file
from ppsm.errors import InputError
from ppsm.extras import insist_on

if TYPE_CHECKING:
    from ppsm.markets.check.certificate import Certificate
    from ppsm.markets.gauc.gauc_solution import GaucSolution
    from ppsm.markets.gauc.solver import GasAwareCommitment
    from ppsm.markets.gauc.unaware import UnawareSolution

_GAS_PRICE = "$/MMBtu"
_UNITS = {"gas_prices": _GAS_PRICE}


@app.command(
    short_help="Gas-aware unit commitment of a case.",
    epilog=examples(
        "ppsm gauc --power-stress 0.48 --gas-stress 0.7 --map day.svg",
        "ppsm gauc --demand demand.csv --time-limit 60 --json",
    ),
)
def gauc(
    case: options.CaseName = "northeast",
    power_stress: options.PowerStress = 0.0,
    gas_stress: Annotated[
        float | None, typer.Option(help="Relative increase of all gas demands.", show_default="0")
    ] = None,
    demand: Annotated[
        Path | None,
        typer.Option(help="A CSV file node,demand_mwh or an Excel workbook instead of a stress."),
    ] = None,
    demand_unit: options.DemandUnit = None,
    demand_sheet: options.DemandSheet = None,
    time_limit: Annotated[float, typer.Option(help="Seconds; the best answer so far is kept.")] = math.inf,
    gap: Annotated[float, typer.Option(help="Relative gap that counts as proven.")] = 5e-4,
    cache: options.CacheDirectory = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="Draw the answer on a map: FILE.svg, .png or .pdf.")
    ] = None,
    unaware: Annotated[
        bool, typer.Option(help="Commit by bids alone, and say what gas prices then do to them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Commit units so that gas prices cover no bid short, with a proven bound and an independent certificate.

    Ctrl-C ends the search with the best answer so far. Exit code 0: an answer; 1: the demand cannot be
    served, or none found in time; 2: unusable input; 130: interrupted before there was an answer.
    """
    # The markets need linopy and maps matplotlib: nobody waits for what is not used.
    from ppsm.interrupts import watched
    from ppsm.markets.check.certificate import certify
    from ppsm.markets.gauc.solver import GasAwareCommitment

    if not 0 < gap < 1 or math.isnan(time_limit) or time_limit <= 0:
        raise InputError(f"gap {gap} and time limit {time_limit}: expected 0 < gap < 1 and a positive limit.")
    if map_file is not None:
        insist_on("figures", "--map")
        from ppsm.figures.style import check_picture_path

        check_picture_path(map_file)
        if unaware:
            raise InputError("--map and --unaware were given: a map shows an aware answer; leave one out.")
    insist_on_a_file(demand, demand_unit, demand_sheet)
    loaded = load_case(case)
    _note(loaded, power_stress, gas_stress, demand)
    if demand is None:
        vector = loaded.demand_mwh(gas_stress or 0.0)
    else:
        vector = read_demand(demand, loaded, allow_negative=True, unit=demand_unit, sheet=demand_sheet)
    if unaware:
        _unaware(GasAwareCommitment(loaded, cache), power_stress, vector, gap, time_limit, as_json)
        return
    with steps() as say:
        say("building the markets")
        solver = GasAwareCommitment(loaded, cache)
        with watched() as watch:
            solution = solver.solve(
                power_stress, vector, gap=gap, time_limit=time_limit, progress=_progress(say)
            )
        say("checking the answer")
        certificate = certify(solution) if solution.status.has_answer else None
        why = None if solution.status.has_answer else _why_not(solver, solution)
    if as_json:
        _write_json(_as_plain_data(solution, certificate, why))
    else:
        _print(solution, certificate, why)
    if not solution.status.has_answer:
        raise typer.Exit(EXIT_INTERRUPTED if watch.pressed else EXIT_NO_ANSWER)
    if map_file is not None:
        from ppsm.figures import save_figure, solution_map

        save_figure(solution_map(solution, solver.followers.gas.market), map_file)


def _unaware(
    solver: "GasAwareCommitment",
    power_stress: float,
    demand: FloatArray,
    gap: float,
    time_limit: float,
    as_json: bool,
) -> None:
    """Print what a commitment without regard to gas prices comes to."""
    from ppsm.markets.check.shortages import explain_game

    with steps() as say:
        say("committing by bids alone")
        found = solver.solve_unaware(power_stress, demand, gap=gap, time_limit=time_limit)
        why = explain_game(solver.followers, demand, found.power) if found.game is None else None
    if as_json:
        _write_json(_unaware_as_plain_data(solver.case, power_stress, found, why))
    else:
        _print_unaware(found, why)
    if found.game is None:
        raise typer.Exit(EXIT_NO_ANSWER)


def _unaware_as_plain_data(
    case: Case, power_stress: float, found: "UnawareSolution", why: str | None
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "case": case.name,
        "power_stress": power_stress,
        "status": found.status.value,
        "leader_cost_usd": None if found.power is None else found.power.leader_cost_usd,
        "gas_value_usd": None if found.game is None else found.game.gas.cost_usd,
        "gas_prices": {}
        if found.game is None
        else _prices_by_junction(case, found.game.gas.prices_usd_per_mwh),
        "invalid_bids": [
            {
                "fleet": bid.fleet,
                "gas_price": round(bid.gas_price_usd_per_mwh * MWH_PER_MMBTU, 6),
                "covered": round(bid.covered_usd_per_mwh * MWH_PER_MMBTU, 6),
                "loss_usd": bid.loss_usd,
            }
            for bid in found.invalid
        ],
        "loss_usd": found.loss_usd,
        "units": {**_UNITS, "invalid_bids.gas_price": _GAS_PRICE, "invalid_bids.covered": _GAS_PRICE},
    }
    return result if why is None else result | {"explanation": why}


def _print_unaware(found: "UnawareSolution", why: str | None) -> None:
    console = Console()
    if found.power is None:
        console.print(
            f"No commitment by bids alone: {found.status.value}. Allow more time or a lower stress."
        )
        return
    if found.game is None:
        console.print(f"The gas market has no answer: {why}")
        return
    prices = found.game.gas.prices_usd_per_mwh * MWH_PER_MMBTU
    console.print(
        f"By bids alone the day costs {found.power.leader_cost_usd:,.0f} $; gas costs {prices.min():.2f} to "
        f"{prices.max():.2f} {_GAS_PRICE}. Bids that do not cover their fuel: {len(found.invalid)}; their "
        f"owners lose {found.loss_usd:,.0f} $."
    )
    table = Table("fleet", f"gas, {_GAS_PRICE}", f"covered, {_GAS_PRICE}", "loss, $")
    for bid in found.invalid:
        paid, covered = bid.gas_price_usd_per_mwh, bid.covered_usd_per_mwh
        table.add_row(
            escape(bid.fleet),
            f"{paid * MWH_PER_MMBTU:.2f}",
            f"{covered * MWH_PER_MMBTU:.2f}",
            f"{bid.loss_usd:,.0f}",
        )
    if found.invalid:
        console.print(table)


def _write_json(result: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(result, indent=2, allow_nan=False) + "\n")


def _prices_by_junction(case: Case, prices_usd_per_mwh: FloatArray) -> dict[str, float]:
    return {
        row.junction: round(float(price) * MWH_PER_MMBTU, 6)
        for row, price in zip(case.junctions, prices_usd_per_mwh, strict=True)
    }


def _note(case: Case, power_stress: float, gas_stress: float | None, file: Path | None) -> None:
    """Say on standard error what a user may not expect of the demand."""
    notes = outside_calibration(case, power_stress, None if file is not None else gas_stress or 0.0)
    if file is not None and gas_stress is not None:
        notes.append(f"the demand is that of '{file}', so that --gas-stress is not used.")
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _progress(say: Steps) -> Any:
    said = ""

    def tell(what: str, objective: float | None, bound: float | None) -> None:
        nonlocal said
        known = [f"{name} {value:,.0f} $" for name, value in (("best", objective), ("bound", bound)) if value]
        text = ", ".join([what, *known])
        if text != said:  # the solver tells more often than there is news
            said = text
            say(text)

    return tell


def _why_not(solver: "GasAwareCommitment", solution: "GaucSolution") -> str | None:
    """What the markets lack where there is no answer."""
    from ppsm.markets.check.shortages import explain_game

    unaware = solver.unaware_answer(solution.power_stress)
    return explain_game(solver.followers, solution.demand_mwh, unaware)


def _as_plain_data(
    solution: "GaucSolution", certificate: "Certificate | None", why: str | None
) -> dict[str, Any]:
    """The result for JSON, with its units; gas prices are by junction."""
    case = solution.case
    prices = solution.gas_prices_usd_per_mwh
    result: dict[str, Any] = {
        "case": case.name,
        "power_stress": solution.power_stress,
        "status": solution.status.value,
        "leader_cost_usd": solution.leader_cost_usd,
        "electricity_value_usd": solution.electricity_value_usd,
        "gas_value_usd": solution.gas_value_usd,
        "bound_usd": solution.bound_usd,
        "bound_if_free_usd": solution.bound_if_free_usd,
        "gap": solution.gap,
        "bound_from": solution.bound_from,
        "gas_prices": {} if prices is None else _prices_by_junction(case, prices),
        "commitment": {}
        if solution.on is None
        else {
            fleet.fleet: [int(units) for units in hours]
            for fleet, hours in zip(case.fleets, solution.on, strict=True)
        },
        "invalid_bids": [] if certificate is None else list(certificate.invalid_bids),
        "certificate": None
        if certificate is None
        else {"clean": certificate.clean, "findings": [str(fault) for fault in certificate.findings]},
        "unit_commitments_solved": solution.solved,
        "seconds": round(solution.seconds, 3),
        "units": _UNITS,
    }
    return result if why is None else result | {"explanation": why}


def _print(solution: "GaucSolution", certificate: "Certificate | None", why: str | None) -> None:
    table = Table(title=f"Gas-aware unit commitment: {solution.status.value}", show_header=False)
    for name, amount in (
        ("leader's cost, $", solution.leader_cost_usd),
        ("proven bound, $", solution.bound_usd),
        ("bound if no pressure binds, $", solution.bound_if_free_usd),
        ("electricity market, $", solution.electricity_value_usd),
        ("gas market, $", solution.gas_value_usd),
    ):
        if amount is not None:
            table.add_row(name, f"{amount:,.0f}")
    if solution.gap is not None:
        table.add_row("gap", f"{solution.gap:.3%}")
    if solution.bound_from:
        table.add_row("bound from", solution.bound_from)
    if solution.gas_prices_usd_per_mwh is not None:
        prices = solution.gas_prices_usd_per_mwh * MWH_PER_MMBTU
        table.add_row(f"gas, {_GAS_PRICE}", f"{prices.min():.2f} to {prices.max():.2f}")
    if certificate is not None:
        table.add_row("certificate", "clean" if certificate.clean else "NOT clean")
    table.add_row("seconds", f"{solution.seconds:.1f}")
    if why:
        table.add_row("why", escape(why))
    Console().print(table)
