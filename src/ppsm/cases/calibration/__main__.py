"""``python -m ppsm.cases.calibration PUBLISHED [--out DIR]``: regenerate the tables of the Northeast case."""

import argparse
import sys
from pathlib import Path

from ppsm.cases.calibration.northeast import northeast_case
from ppsm.cases.schema import builtin_directory, save_case
from ppsm.errors import PpsmError


def main() -> int:
    """Write the tables and say where."""
    parser = argparse.ArgumentParser(prog="python -m ppsm.cases.calibration", description=__doc__)
    parser.add_argument("published", type=Path, help="directory with the published .m and .json files")
    parser.add_argument("--out", type=Path, default=builtin_directory("northeast"), help="case directory")
    arguments = parser.parse_args()
    try:
        case = northeast_case(arguments.published)
    except PpsmError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    save_case(case, arguments.out)
    sys.stdout.write(f"wrote the case '{case.name}' to {arguments.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
