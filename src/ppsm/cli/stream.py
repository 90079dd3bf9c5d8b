"""``ppsm stream``: release a gas demand every day, any so many days within one budget."""

import json
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case, read_demand
from ppsm.cases.csv_tables import fail, key, number, read_table
from ppsm.cases.demand import iso_day, read_demand_days
from ppsm.cases.stress import check_stress
from ppsm.cli import options
from ppsm.cli.app import app, examples
from ppsm.cli.output import writable_directory
from ppsm.cli.progress import steps
from ppsm.cli.secret import owner_directory
from ppsm.errors import InputError
from ppsm.files import OWNER_MODE, write_atomically
from ppsm.privacy import Ledger, Sensitive

if TYPE_CHECKING:
    from ppsm.streams.stream_run import Settings, StreamDay, StreamRun

PAGE = "page.html"
# A clearing is to say whether a day has an answer, not the cheapest: closer, a first day takes twice as long.
CLEARING_GAP = 0.01


class PolicyName(StrEnum):
    """When the budget is spent."""

    DAILY = "daily"
    REGULAR = "regular"
    DISTRIBUTION = "distribution"
    ABSORPTION = "absorption"


@dataclass(frozen=True)
class ShapeRow:
    """What public knowledge says of a day: which part of its maximum quantities is usually taken."""

    day: str = key()
    share_of_maximum: float = number(1e-6, 1.0)


@app.command(
    epilog=examples(
        "ppsm stream --days secret --shape shape.csv --power-stress 0.3 --alpha 100 --out stream",
        "ppsm stream --days secret.csv --shape shape.csv --power-stress 0.3 --alpha 100 --out trial --seed 1",
    )
)
def stream(
    days: Annotated[
        Path,
        typer.Option(
            help="Secret: a directory of YYYY-MM-DD.csv (node,demand_mwh), or a table with a row a day."
        ),
    ],
    shape: Annotated[
        Path, typer.Option(help="Public: a CSV file day,share_of_maximum, by calendar and temperature.")
    ],
    power_stress: options.PowerStress,
    alpha: options.Alpha,
    out: Annotated[Path, typer.Option(help="Directory for the released days and the page.")],
    window: Annotated[int, typer.Option(help="How many consecutive days epsilon is for.")] = 30,
    epsilon: Annotated[float, typer.Option(help="The privacy loss allowed in any window.")] = 1.0,
    policy: Annotated[PolicyName, typer.Option(help="When it is spent.")] = PolicyName.REGULAR,
    case: options.CaseName = "northeast",
    demand_unit: options.DemandUnit = None,
    demand_sheet: options.DemandSheet = None,
    dataset: options.Dataset = None,
    recipient: Annotated[str | None, typer.Option(help="To whom it goes; charged to its budget too.")] = None,
    ledger: options.LedgerFile = None,
    seed: options.ResearchSeed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Release every day once, any so many days within a budget.

    Days that have a file are read; a run that was stopped goes on.

    Exit codes: 0 released; 2 unusable input; 4 refused (budget, ledger); 130 interrupted.
    """
    loaded = load_case(case)
    check_stress(loaded, power_stress, None)
    settings = _settings(alpha, epsilon, window, policy, recipient)
    named = dataset or f"gas-demand/{loaded.name}/daily"
    found = _days(loaded, days, shape, named, demand_unit, demand_sheet)
    book = None if seed is not None else _ledger(ledger, named, recipient, alpha, epsilon, window)
    directory = writable_directory(out)  # once nothing that was given is refused
    from ppsm.experiments.pages import stream_owner_page, stream_page

    owner = owner_directory(directory)
    with steps(len(found)) as say:
        say("building the markets")
        run = _run(loaded, power_stress, settings, directory, book, seed)
        released = []
        there = {file.stem for file in (directory / "days").glob("*.json")}
        say("at work on the first day")
        for each in run.release(found):
            released.append(each)
            name = each.day.isoformat()
            say(f"{'was there:' if name in there else 'released'} {name}", len(released))
        page = directory / PAGE
        write_atomically(page, stream_page(released, window, epsilon))
        secrets = [day.secret for day in found]
        write_atomically(owner / PAGE, stream_owner_page(released, secrets), mode=OWNER_MODE)
    counts = {
        "days": len(released),
        "sampled": sum(day.sampled for day in released),
        "cleared": sum(day.outcome.feasible for day in released),
    }
    if as_json:
        typer.echo(json.dumps({"page": str(page), "private": seed is None, **counts}, indent=2))
        return
    typer.echo("{days} days released, {sampled} of them sampled, {cleared} cleared".format(**counts))
    typer.echo(f"Page to share: {page}\nFor the owner only: {owner / PAGE}")


def _ledger(
    file: Path | None, dataset: str, recipient: str | None, alpha: float, epsilon: float, window: int
) -> Ledger:
    """The ledger, where everybody who is to be charged has a budget; charges would ask for a day's part."""
    from ppsm.mechanism import PPSM
    from ppsm.owner.private_release import open_ledger
    from ppsm.privacy.ledger.balance import no_budget
    from ppsm.privacy.ledger.place import grant_to_recipient

    book = open_ledger(file, dataset, PPSM(alpha=alpha, epsilon=epsilon), window=window)
    known = {(each.dataset, each.recipient) for each in book.balances()}
    if recipient is not None and (dataset, recipient) not in known:
        remedy = grant_to_recipient(book.path, dataset, recipient, epsilon=epsilon, window=window)
        raise no_budget(f"{dataset}' for '{recipient}", remedy)
    return book


def _days(
    case: Case, days: Path, shape: Path, dataset: str, unit: str | None, sheet: str | None
) -> "list[StreamDay]":
    """The secret days in order, each with what is publicly known of it."""
    from ppsm.streams.engine import PublicDay
    from ppsm.streams.stream_run import StreamDay

    relative = _shares(shape)
    demands = _demands(case, days, unit, sheet)
    found = []
    for day, demand in demands.items():
        name = day.isoformat()
        if name not in relative:
            raise InputError(f"{shape} has no row for {name}: say what is publicly known of that day.")
        secret = Sensitive(demand, dataset=dataset, unit="MWh", entry_names=case.delivery_ids, day=name)
        found.append(StreamDay(PublicDay(day, relative[name] * case.mdq_mwh()), secret))
    return found


def _shares(shape: Path) -> dict[str, float]:
    """What is publicly known of each day, each said once."""
    relative: dict[str, float] = {}
    for index, row in enumerate(read_table(shape, ShapeRow)):
        if row.day in relative:
            fail(shape.name, index, f"{row.day} occurs twice; keep one row for each day.")
        relative[row.day] = row.share_of_maximum
    return relative


def _demands(case: Case, days: Path, unit: str | None, sheet: str | None) -> dict[date, FloatArray]:
    """The demand of each day in order, from a table or from a directory of files."""
    if not days.is_dir():
        return read_demand_days(days, case, unit=unit, sheet=sheet)
    files = sorted(days.glob("*.csv"))
    if not files:
        raise InputError(f"there is no YYYY-MM-DD.csv in {days}: give the directory of the days, or a table.")
    return {_day_of(file): read_demand(file, case, plausible=False, unit=unit, sheet=sheet) for file in files}


def _day_of(file: Path) -> date:
    day = iso_day(file.stem)
    if day is None:
        raise InputError(f"{file} is named after no day: expected YYYY-MM-DD.csv.")
    return day


def _settings(
    alpha: float, epsilon: float, window: int, policy: PolicyName, recipient: str | None
) -> "Settings":
    from ppsm.mechanism import PPSM
    from ppsm.streams.policies import POLICIES
    from ppsm.streams.promise import Promise
    from ppsm.streams.stream_run import Settings

    return Settings(
        promise=Promise(alpha=alpha, epsilon=epsilon, window=window),
        policy=POLICIES[policy.value](),
        mechanism=PPSM(alpha=alpha),
        purpose="daily coordination of gas and power markets",
        recipient=recipient,
    )


def _run(
    case: Case,
    power_stress: float,
    settings: "Settings",
    directory: Path,
    ledger: Ledger | None,
    seed: int | None,
) -> "StreamRun":
    from ppsm.coordinations import GaucCoordination
    from ppsm.streams.stream_run import StreamRun

    # Any valid commitment says whether a day can be cleared; proving each would take most of the time.
    game = GaucCoordination(case, power_stress, gap=CLEARING_GAP, proof=False)
    return StreamRun(settings, lambda _: game, directory=directory, ledger=ledger, seed=seed)
