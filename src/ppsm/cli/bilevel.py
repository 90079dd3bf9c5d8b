"""``ppsm bilevel``: solve a bilevel program from the exchange format of the instance libraries."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.cli.app import EXIT_NO_ANSWER, app, examples
from ppsm.cli.progress import steps


@app.command(
    epilog=examples(
        "ppsm bilevel model.mps model.aux --time-limit 60", "ppsm bilevel model.mps model.aux --json"
    )
)
def bilevel(
    mps: Annotated[Path, typer.Argument(help="The leader's and follower's constraints (.mps or .mps.gz).")],
    aux: Annotated[Path, typer.Argument(help="Which of them are the follower's, and its objective (.aux).")],
    method: Annotated[Method, typer.Option(help="How the follower's optimality is enforced.")] = Method.AUTO,
    time_limit: Annotated[float, typer.Option(help="Seconds; the best answer so far is kept.")] = math.inf,
    gap: Annotated[float, typer.Option(help="Relative gap that counts as optimal.")] = 1e-9,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Solve a linear bilevel program exactly and verify the answer.

    Exit code 0: a verified answer; 1: infeasible, unbounded or none found; 2: unusable input.
    """
    # Solvers take a while to load; whoever only asks for help does not wait for them.
    from ppsm.bilevel.files.exchange import read_bilevel
    from ppsm.bilevel.solve import solve_bilevel

    program = read_bilevel(mps, aux)
    with steps() as say:
        say(f"solving {mps.name}")
        solution = solve_bilevel(program, method=method, time_limit=time_limit, gap=gap)
    if as_json:
        typer.echo(json.dumps(as_record(solution), indent=2, allow_nan=False))
        if solution.explanation:
            typer.echo(f"{solution.status.value}: {solution.explanation}", err=True)
    else:
        _print(solution)
    if not solution.status.has_answer:
        raise typer.Exit(EXIT_NO_ANSWER)


def as_record(solution: BilevelSolution) -> dict[str, Any]:
    """The result as plain data for scripts; explanations go to standard error."""
    return {
        "status": solution.status.value,
        "leader_objective": solution.leader_objective,
        "leader_bound": solution.leader_bound,
        "gap": solution.gap,
        "follower_objective": solution.follower_objective,
        "variables": solution.values(),
        "verified": solution.verified,
        "second_opinion": solution.second_opinion,
        "bilevel_gap": _finite(solution.bilevel_gap),
        "method": solution.method.value,
        "solver": solution.solver,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _print(solution: BilevelSolution) -> None:
    console = Console()
    table = Table(title=f"Bilevel program: {solution.status.value}", show_header=False)
    rows = {
        "leader objective": solution.leader_objective,
        "proven bound": solution.leader_bound,
        "gap": solution.gap,
        "follower objective": solution.follower_objective,
        "follower could save": solution.bilevel_gap,
    }
    for name, value in rows.items():
        if value is not None:
            table.add_row(name, f"{value:.10g}")
    table.add_row("verified", "yes" if solution.verified else "no")
    table.add_row("second opinion", solution.second_opinion or "-")
    table.add_row("method", f"{solution.method.value}: {solution.method_reason}")
    table.add_row("solver", f"{solution.solver}, {solution.seconds:.3f} s")
    if solution.explanation:
        table.add_row("why", escape(solution.explanation))
    console.print(table)
    if solution.status.has_answer:
        values = Table("variable", "value", title="Nonzero variables")
        for name, value in solution.values().items():
            if value:
                values.add_row(escape(name), f"{value:.10g}")
        console.print(values)
