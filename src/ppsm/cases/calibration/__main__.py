"""``python -m ppsm.cases.calibration PUBLISHED [--out DIR]``: regenerate the tables of the Northeast case.

Published networks in, the tables of ``cases/data/northeast`` out, byte for byte. The networks are the joint
Pennsylvania-to-Northeast gas network and 36-bus NPCC power system published with GasPowerModels.jl (Los
Alamos National Laboratory), which belong to R. Bent, S. Blumsack, P. Van Hentenryck, C. Borraz-Sanchez, M.
Shahriari, "Joint Electricity and Natural Gas Transmission Planning With Endogenous Market Feedbacks", IEEE
Trans. Power Systems 33(6), 2018.
"""

import argparse
import sys
from pathlib import Path

from ppsm.cases.calibration.assumptions import NORTHEAST
from ppsm.cases.calibration.build import build_case
from ppsm.cases.links import read_links
from ppsm.cases.matgas import read_matgas
from ppsm.cases.matpower import read_matpower
from ppsm.cases.schema import Case, builtin_directory, save_case
from ppsm.errors import PpsmError

POWER_FILE, GAS_FILE, LINK_FILE = "EP36.m", "northeast.m", "northeast-case36.json"


def northeast_case(published: Path) -> Case:
    """Build and check the case from the directory with the published files."""
    return build_case(
        read_matpower(published / POWER_FILE),
        read_matgas(published / GAS_FILE),
        read_links(published / LINK_FILE),
        NORTHEAST,
    )


def main() -> int:
    """Write the tables and say where."""
    parser = argparse.ArgumentParser(
        prog="python -m ppsm.cases.calibration", description=(__doc__ or "").splitlines()[0]
    )
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
