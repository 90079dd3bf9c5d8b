"""``ppsm compare``: the three mechanisms side by side over a few draws, with a report to share."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ppsm.cases import load_case
from ppsm.cases.schema import builtin_cases
from ppsm.cases.stress import check_stress
from ppsm.cli import options
from ppsm.cli.app import app, examples
from ppsm.cli.output import interrupted, summary_lines, writable_directory
from ppsm.cli.progress import Steps, steps
from ppsm.cli.secret import (
    at_the_truth,
    is_for_owner,
    owner_console,
    owner_directory,
    read_secret,
    say_to_owner,
)
from ppsm.errors import InputError, PpsmError
from ppsm.files import OWNER_MODE, write_atomically

if TYPE_CHECKING:
    from ppsm.experiments.comparison import Job
    from ppsm.experiments.conclusion import Comparison
    from ppsm.experiments.pages import ExampleRelease
    from ppsm.experiments.run import Tally

REPORT, TABLE = "report.html", "compare.csv"


@app.command(
    short_help="The mechanisms side by side, with a report to share.",
    epilog=examples(
        "ppsm compare --power-stress 0.42 --gas-stress 0.9 --draws 2 --time-limit 15 --out out",
        "ppsm compare --power-stress 0.36 --demand demand.csv --out out",
    ),
)
def compare(
    power_stress: options.PowerStress,
    out: Annotated[Path, typer.Option(help="Directory for the reports, the rows and the table.")],
    gas_stress: options.GasStress = None,
    demand: options.DemandFile = None,
    demand_unit: options.DemandUnit = None,
    demand_sheet: options.DemandSheet = None,
    case: options.CaseName = "northeast",
    alphas: options.Alphas = "10,100,1000",
    draws: options.Draws = 3,
    eta_p: options.ValueWidth = "0.1%",
    eta_d: options.PriceWidth = "0.1%",
    seed: Annotated[int, typer.Option(help="Number of the first draw; each number is a draw.")] = 0,
    time_limit: options.ReleaseSeconds = 30.0,
    ledger: options.LedgerFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what may be shared as JSON.")] = False,
) -> None:
    """Compare Laplace, PPSM_p and PPSM on one stress cell, and write a report to share and one for the owner.

    On small cases PPSM also runs, at the middle alpha, with predictions learned from an invented past.

    On a built-in case the demand is public and everything is shared. Any other demand is a secret: the
    comparison stays in DIR/owner, and DIR/report.html shows one private release of PPSM at the middle alpha,
    charged to a budget that somebody has granted. Standard output is for everybody, the terminal for the
    owner. Ctrl-C leaves complete files of what was done; the same command goes on. Exit codes: 0 done; 2
    unusable input; 4 release refused; 130 interrupted.
    """
    loaded = load_case(case)
    check_stress(loaded, power_stress, gas_stress)
    if draws < 1 or seed < 0:
        raise InputError(f"{draws} draws from number {seed} were asked for; expected at least 1 from 0 on.")
    options.insist_on_seconds(time_limit)
    distances, widths = options.numbers(alphas, "alphas"), options.widths(eta_p, eta_d)
    secret = read_secret(
        loaded, demand, gas_stress, f"gas-demand/{loaded.name}", unit=demand_unit, sheet=demand_sheet
    )
    directory = writable_directory(out)
    owner = owner_directory(directory)
    # What can be refused was refused; the markets need linopy, which takes a while to load.
    from ppsm.experiments.comparison import Job
    from ppsm.experiments.pages import Setting

    job = Job(
        setting=Setting(
            case=loaded, power_stress=power_stress, gas_stress=gas_stress, eta_p=widths[0], eta_d=widths[1]
        ),
        secret=secret,
        public=demand is None and case in builtin_cases(),
        alphas=distances,
        draws=range(seed, seed + draws),
        seconds=time_limit,
        directory=directory,
        owner=owner,
        ledger=ledger,
    )
    _run(job, as_json=as_json)


def _run(job: "Job", *, as_json: bool) -> None:
    from ppsm.experiments.comparison import kept_release, private_example, public_example
    from ppsm.experiments.pages import shareable_page

    counted = job.public or is_for_owner()
    kept = kept_release(job)  # another job's files are refused before any work
    with steps(len(job.instances)) as say:
        say("building the markets")

        try:
            if not job.public:
                example = private_example(job, kept, say)
                # All that is shared is there before anything looks at the secret again.
                write_atomically(job.directory / REPORT, shareable_page(job.setting, example, None))
            with at_the_truth(say, public=job.public) as tell:
                tell("clearing the original markets (once, the longest step)")
                comparison, trouble = _measured(job, _row_by_row(tell))
                tell("writing the reports")
                if job.public:
                    example = public_example(job, comparison)
                    page = shareable_page(job.setting, example, comparison)
                    write_atomically(job.directory / REPORT, page)
                if comparison.rows:
                    _write_for_owner(job, example, comparison)
        except KeyboardInterrupt:
            done = len(job.store.rows())
            raise interrupted(done, len(job.instances), job.store.directory, counted=counted) from None
    _print(job, example, comparison, trouble, as_json=as_json)
    if not comparison.complete:
        raise interrupted(len(comparison.rows), len(job.instances), job.store.directory, counted=counted)


def _row_by_row(tell: Steps) -> "Callable[[Tally], None]":
    def advance(tally: "Tally") -> None:
        row = tally.latest
        if row is not None:
            text = f"draw {row.repetition}, alpha {row.alpha:g}, {row.mechanism}: {row.status}"
            tell(text, tally.done)

    return advance


def _measured(job: "Job", advance: Callable[["Tally"], None]) -> "tuple[Comparison, str]":
    """All runs against the true demand, or why there are none.

    With a secret a failure is no exit code, which would tell of it, and is said where a comparison would be.
    """
    from ppsm.experiments.comparison import measure
    from ppsm.experiments.conclusion import Comparison

    if job.public:
        return measure(job, advance).reveal(), ""
    try:
        return measure(job, advance).reveal(), ""
    except PpsmError as error:
        return Comparison((), 0), f"there is no comparison, but the release is written: {error}"


def _write_for_owner(job: "Job", example: "ExampleRelease", comparison: "Comparison") -> None:
    from ppsm.experiments.pages import owner_page
    from ppsm.experiments.summaries import as_csv, summary_table

    mine = owner_page(job.setting, job.secret, example, comparison)
    write_atomically(job.owner / REPORT, mine.reveal(), mode=OWNER_MODE)
    table = as_csv(summary_table(comparison.summaries))
    write_atomically(job.store.directory / TABLE, table, mode=job.store.mode)


def _print(
    job: "Job", example: "ExampleRelease", comparison: "Comparison", trouble: str, *, as_json: bool
) -> None:
    """What is for everybody on standard output; what is measured against a secret on a terminal."""
    shared: dict[str, Any] = {
        "report": str(job.directory / REPORT),
        "owner_report": str(job.owner / REPORT),
        "owner_only": not job.public,
        "statement": example.dossier.statement,
    }
    if job.public:
        rows = [asdict(each) for each in comparison.summaries]
        shared |= {"complete": comparison.complete, "rows": rows, "conclusion": comparison.sentences}
    if as_json:
        sys.stdout.write(json.dumps(shared, indent=2, allow_nan=False) + "\n")
    if trouble:
        say_to_owner(trouble, job.owner / REPORT, job.owner / REPORT)
    elif comparison.rows and not (as_json and job.public):
        _print_comparison(job, comparison)
    if not as_json:
        paths = f"\nReport to share: {shared['report']}\nFor the owner only: {shared['owner_report']}"
        Console().print(escape(paths), highlight=False, soft_wrap=True)


def _print_comparison(job: "Job", comparison: "Comparison") -> None:
    console = Console() if job.public else owner_console(job.owner / REPORT)
    kind = "public data, seeded noise: not private" if job.public else "for the owner only: do not pass on"
    console.print(escape(f"\n{job.setting.case.title}: {job.setting.cell} ({kind})"), highlight=False)
    console.print(summary_lines(comparison.summaries, by_alpha=True))
    for sentence in comparison.sentences:
        console.print(f"- {sentence}", highlight=False)
