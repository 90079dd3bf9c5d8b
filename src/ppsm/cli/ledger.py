"""``ppsm ledger``: make, fill, read and check a privacy ledger."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.cli.app import app
from ppsm.errors import LedgerError
from ppsm.privacy import Balance, Ledger, ReleaseRecord

commands = typer.Typer(
    name="ledger",
    help="Privacy budgets. Exit codes: 0 done, 2 bad input, 4 the ledger cannot be trusted or used.",
    no_args_is_help=True,
)
app.add_typer(commands)

LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@commands.command()
def init(path: LedgerPath, as_json: AsJson = False) -> None:
    """Make a new, empty ledger; an existing file is never overwritten."""
    verification = Ledger.create(path).verify()
    if as_json:
        typer.echo(json.dumps({"ledger": str(path), "head": verification.head}))
    else:
        typer.echo(
            f"Made {path}. Give a data set a budget: ppsm ledger grant {path} DATASET --epsilon 1 "
            "--alpha 100 --unit MWh"
        )


@commands.command()
def grant(
    path: LedgerPath,
    dataset: Annotated[str, typer.Argument(help="The data set's identifier.")],
    epsilon: Annotated[float, typer.Option(help="How much privacy loss to allow in addition.")],
    alpha: Annotated[
        float | None,
        typer.Option(help="The distance at which the budget is kept; needed once."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of alpha and of the data; needed once.")] = None,
    as_json: AsJson = False,
) -> None:
    """Raise the budget of a data set."""
    _show_balances((Ledger(path).grant(dataset, epsilon=epsilon, alpha=alpha, unit=unit),), as_json)


@commands.command()
def show(
    path: LedgerPath,
    dataset: Annotated[str | None, typer.Option(help="Show the releases of this data set.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the budgets, or the releases of one data set."""
    ledger = Ledger(path)
    if dataset is None:
        _show_balances(ledger.balances(), as_json)
        return
    balance = ledger.balance(dataset)
    spends = [entry for entry in ledger.entries() if entry.kind == "spend" and entry.dataset == dataset]
    releases = [
        {"sequence": entry.sequence, "charged": float(entry.amount), "record": json.loads(entry.detail)}
        for entry in spends
    ]
    if as_json:
        typer.echo(json.dumps({**_balance_fields(balance), "releases": releases}, indent=1))
        return
    table = Table("entry", "time", "alpha", "epsilon", "charged", "purpose", title=f"Releases of {dataset}")
    for entry in spends:
        record = ReleaseRecord.from_dict(json.loads(entry.detail))
        table.add_row(
            str(entry.sequence),
            entry.time,
            f"{record.alpha:g} {escape(record.unit)}",
            f"{record.epsilon:g}",
            entry.amount,
            escape(record.purpose),
        )
    Console().print(table)


@commands.command()
def verify(
    path: LedgerPath,
    head: Annotated[
        list[str] | None,
        typer.Option(help="A hash published earlier (the head, or a release's entry_hash); may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the whole chain; a fault leaves with exit code 4."""
    verification = Ledger(path).verify(head or ())
    if as_json:
        report = {
            "ok": verification.ok,
            "entries": verification.entries,
            "head": verification.head,
            "findings": list(verification.findings),
        }
        typer.echo(json.dumps(report, indent=1))
    if not verification.ok:
        raise LedgerError(
            f"The ledger {path} cannot be trusted: {' '.join(verification.findings)} Restore a copy that "
            "agrees with a published hash."
        )
    if not as_json:
        typer.echo(f"{verification.entries} entries, unbroken. Head: {verification.head}")


def _show_balances(balances: tuple[Balance, ...], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([_balance_fields(balance) for balance in balances], indent=1))
        return
    table = Table("data set", "alpha", "granted", "spent", "left", title="Privacy budgets (epsilon at alpha)")
    for balance in balances:
        table.add_row(
            balance.dataset,
            f"{balance.alpha:g} {escape(balance.unit)}",
            str(balance.granted),
            str(balance.spent),
            str(balance.left),
        )
    Console().print(table)


def _balance_fields(balance: Balance) -> dict[str, str | float]:
    return {
        "dataset": balance.dataset,
        "alpha": balance.alpha,
        "unit": balance.unit,
        "granted": float(balance.granted),
        "spent": float(balance.spent),
        "left": float(balance.left),
    }
