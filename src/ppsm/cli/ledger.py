"""``ppsm ledger``: make, fill, read and check a privacy ledger; the user's own unless another is named."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.cli.app import app, examples
from ppsm.errors import LedgerError
from ppsm.privacy import Balance, Ledger, LedgerKeeper, ReleaseRecord
from ppsm.privacy.ledger.chain import Entry
from ppsm.privacy.ledger.composition import DELTA
from ppsm.privacy.ledger.place import default_ledger, ledger_command

commands = typer.Typer(
    name="ledger",
    help="Privacy budgets. Exit codes: 0 done, 2 bad input, 4 the ledger cannot be trusted or used.",
    short_help="Privacy budgets: make, grant, show, verify.",
    no_args_is_help=True,
)
app.add_typer(commands)

LedgerPath = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger file; by default $PPSM_LEDGER, else the user's own."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@commands.command(epilog=examples("ppsm ledger init", "ppsm ledger init --ledger ledger.db"))
def init(ledger: LedgerPath = None, as_json: AsJson = False) -> None:
    """Make a new, empty ledger; an existing file is never overwritten."""
    path = ledger
    if path is None:
        path = default_ledger()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    verification = Ledger.create(path).verify()
    if as_json:
        typer.echo(json.dumps({"ledger": str(path), "head": verification.head}))
    else:
        typer.echo(
            f"Made {path}. Give a data set a budget: {ledger_command('grant', path)} DATASET --epsilon 1 "
            "--alpha 100 --unit MWh"
        )


@commands.command(
    short_help="Raise the budget of a data set.",
    epilog=examples("ppsm ledger grant gas-demand/northeast --epsilon 1 --alpha 100 --unit MWh"),
)
def grant(
    dataset: Annotated[str, typer.Argument(help="The data set's identifier.")],
    epsilon: Annotated[float, typer.Option(help="How much privacy loss to allow in addition.")],
    alpha: Annotated[
        float | None,
        typer.Option(help="The distance at which the budget is kept; needed once."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of alpha; needed once.")] = None,
    most_per_release: Annotated[
        float | None, typer.Option(help="What one release may cost from now on; 1 unless a grant says so.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(help="For streams: any so many consecutive days may lose epsilon; said once."),
    ] = None,
    recipient: Annotated[
        str | None, typer.Option(help="Raise what this recipient may be given, within the data set's budget.")
    ] = None,
    ledger: LedgerPath = None,
    as_json: AsJson = False,
) -> None:
    """Raise the budget of a data set: the act of whoever keeps the budget, not of whoever releases."""
    keeper = LedgerKeeper(ledger or default_ledger())
    balance = keeper.grant(
        dataset,
        epsilon=epsilon,
        alpha=alpha,
        unit=unit,
        most_per_release=most_per_release,
        window=window,
        recipient=recipient,
    )
    _show_balances(keeper, (balance,), as_json)


@commands.command(
    short_help="Budgets; who granted and who spent what.",
    epilog=examples("ppsm ledger show", "ppsm ledger show --dataset gas-demand/northeast --json"),
)
def show(
    dataset: Annotated[str | None, typer.Option(help="Show grants and releases of this data set.")] = None,
    ledger: LedgerPath = None,
    as_json: AsJson = False,
) -> None:
    """Show the budgets, or who granted and who released what of one data set."""
    book = Ledger(ledger or default_ledger())
    if dataset is None:
        _show_balances(book, book.balances(), as_json)
        return
    balance = book.balance(dataset)
    entries = [entry for entry in book.entries() if entry.dataset == dataset]
    if as_json:
        content = {**_balance_fields(book, balance), "entries": [_entry_fields(entry) for entry in entries]}
        typer.echo(json.dumps(content, indent=1))
        return
    table = Table("entry", "time", "who", "kind", "epsilon", "what", title=f"Entries of {dataset}")
    for entry in entries:
        table.add_row(
            str(entry.sequence), entry.time, escape(entry.who), entry.kind, entry.amount, _what(entry)
        )
    Console().print(table)


@commands.command(
    short_help="Check that nobody changed it, and what it knows.",
    epilog=examples("ppsm ledger verify --dossier shared"),
)
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option(help="A hash published earlier (the head, or a release's entry_hash); may be repeated."),
    ] = None,
    dossier: Annotated[
        list[Path] | None,
        typer.Option(help="A dossier, or a directory with dossiers, that the ledger must know; repeatable."),
    ] = None,
    ledger: LedgerPath = None,
    as_json: AsJson = False,
) -> None:
    """Check the whole chain, and that it still holds what published releases say; a fault leaves with 4."""
    path = ledger or default_ledger()
    book = Ledger(path)
    verification = book.verify(head or ())
    findings = [*verification.findings, *_forgotten(book, dossier or ())]
    if as_json:
        report = {
            "ok": not findings,
            "entries": verification.entries,
            "head": verification.head,
            "findings": findings,
        }
        typer.echo(json.dumps(report, indent=1))
    if findings:
        raise LedgerError(
            f"The ledger {path} cannot be trusted: {' '.join(findings)} Restore a copy that agrees with a "
            "published hash."
        )
    if not as_json:
        typer.echo(f"{verification.entries} entries, unbroken. Head: {verification.head}")


def _forgotten(ledger: Ledger, paths: Sequence[Path]) -> Iterator[str]:
    """A finding for each dossier whose charge is not in the ledger as the dossier has it."""
    from ppsm.owner.release_files import noisy_of_dossiers  # it takes a second to load

    for file, released in noisy_of_dossiers(paths):
        if released.private and not ledger.confirm(released):
            yield (
                f"The release in {file} is not in the chain: entries were cut off, an old copy was put back, "
                "or another ledger charged it."
            )


def _record(entry: Entry) -> ReleaseRecord:
    try:
        return ReleaseRecord.from_dict(json.loads(entry.detail))
    except ValueError as error:
        raise LedgerError(
            f"Entry {entry.sequence} of the ledger holds no release record ({error}): run 'ppsm "
            "ledger verify'."
        ) from None


def _what(entry: Entry) -> str:
    """An entry's content in a few words."""
    to = f" to {entry.recipient}" if entry.recipient else ""
    if entry.kind == "spend":
        record = _record(entry)
        about = f" about {record.day}" if record.day is not None else ""
        text = (
            f"epsilon {record.epsilon:g}{about}{to} at alpha {record.alpha:g} {record.unit}: {record.purpose}"
        )
    elif entry.kind == "grant":
        period = f"in any {entry.days} days" if entry.days else "in all"
        distance = f"{entry.alpha:g} {entry.unit}"
        text = f"{entry.granted} {period}{to} at {distance}, {entry.most_per_release} a release"
    elif entry.kind == "draw":
        text = f"noise of {entry.day} drawn and kept"
    else:
        text = f"published: {json.loads(entry.detail).get('source', '')}"
    return escape(text)


def _entry_fields(entry: Entry) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in ("sequence", "kind", "who", "time")}
    record = _record(entry).to_dict() if entry.kind == "spend" else None
    return {**fields, "epsilon": float(entry.amount), "record": record}


def _show_balances(ledger: Ledger, balances: tuple[Balance, ...], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([_balance_fields(ledger, balance) for balance in balances], indent=1))
        return
    composed = f"at delta {DELTA:g}"
    table = Table(title="Privacy budgets (epsilon at alpha)")
    for heading in ("data set", "alpha", "granted", "spent", composed, "left"):
        table.add_column(heading, overflow="fold")  # half a name of a data set is of no use to anybody
    for balance in balances:
        period = f" in any {balance.window} days" if balance.window else ""
        left = [str(balance.left)]
        if balance.window and balance.next_day:
            left.append(f"on {balance.next_day}")
        if balance.comes_back:
            left.append(f"more from {balance.comes_back}")
        table.add_row(
            balance.dataset + (f" to {balance.recipient}" if balance.recipient else ""),
            f"{balance.alpha:g} {escape(balance.unit)}",
            f"{balance.granted}{period},\nat most {balance.most_per_release} a release",
            str(balance.spent),
            f"{ledger.composed(balance.dataset, balance.recipient or None):.4g}",
            "\n".join(left),
        )
    Console().print(table)


def _balance_fields(ledger: Ledger, balance: Balance) -> dict[str, str | float | None]:
    return {
        "dataset": balance.dataset,
        "recipient": balance.recipient or None,
        "window": balance.window or None,
        "loss_at_delta": ledger.composed(balance.dataset, balance.recipient or None),
        "delta": DELTA,
        "next_day": None if balance.next_day is None else balance.next_day.isoformat(),
        "comes_back": None if balance.comes_back is None else balance.comes_back.isoformat(),
        "alpha": balance.alpha,
        "unit": balance.unit,
        "granted": float(balance.granted),
        "spent": float(balance.spent),
        "left": float(balance.left),
        "most_per_release": float(balance.most_per_release),
    }
