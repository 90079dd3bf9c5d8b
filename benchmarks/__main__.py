"""Run every module of this folder that has a ``measure`` function, and print what it measured."""

import argparse
import importlib
import json
import pkgutil
import platform
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table as RichTable

import benchmarks
from benchmarks.report import Table


def modules() -> list[str]:
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in names if name not in ("__main__", "report"))


def measured(names: list[str]) -> dict[str, list[Table]]:
    tables = {}
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "measure"):
            sys.stderr.write(f"measuring {name} ...\n")
            tables[name] = module.measure()
    return tables


def show(tables: dict[str, list[Table]]) -> None:
    console = Console()
    for table in (table for group in tables.values() for table in group):
        rich = RichTable(*table.columns, title=table.title, caption=table.note, title_justify="left")
        for row in table.rows:
            rich.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
        console.print(rich)


def in_fields(table: Table) -> dict[str, object]:
    """A table for machines: its rows also as records with the columns' names."""
    records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {**asdict(table), "records": records}


def main() -> None:
    known = modules()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run (default: all of {', '.join(known)})")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"there is no benchmark '{unknown[0]}'; expected one of: {', '.join(known)}")
    tables = measured(options.names or known)
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        record = {name: [in_fields(table) for table in group] for name, group in tables.items()}
        print(json.dumps({**machine, "tables": record}, indent=2))
    else:
        show(tables)


if __name__ == "__main__":
    main()
