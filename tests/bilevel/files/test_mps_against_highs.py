"""HiGHS reads the same files: both readers must agree on everything that the format leaves no doubt about."""

from pathlib import Path

import highspy
import numpy as np
import pytest

from ppsm.bilevel.files.mps import read_mps


def random_text(seed: int) -> str:
    """Write a random model in free form, with all sections and bound types that both readers know."""
    rng = np.random.default_rng([20261, seed])
    rows = [f"r{i}" for i in range(rng.integers(0, 6))]
    columns = [f"c{j}" for j in range(rng.integers(1, 7))]

    def value() -> str:
        return repr(round(float(rng.normal(0, 10)), int(rng.integers(0, 4))) or 1.0)

    sense = ["", "OBJSENSE\n    MAX\n", "OBJSENSE MAX\n", "OBJSENSE\n    MIN\n"][rng.integers(4)]
    parts = [f"NAME m{seed}\n", sense, "ROWS\n N cost\n"]
    if rng.random() < 0.3:
        rows_and_other = " N spare\n"
        parts.append(rows_and_other)
    parts += [f" {'LGE'[rng.integers(3)]} {row}\n" for row in rows]
    parts.append("COLUMNS\n")
    inside = False
    for column in columns:
        if rng.random() < 0.4:
            parts.append(f"    M 'MARKER' '{'INTEND' if inside else 'INTORG'}'\n")
            inside = not inside
        used = [row for row in ["cost", *rows] if rng.random() < 0.6] or ["cost"]
        for first, second in zip(used[::2], [*used[1::2], None], strict=False):
            more = "" if second is None else f" {second} {value()}"
            parts.append(f"    {column} {first} {value()}{more}\n")
    if inside:
        parts.append("    M 'MARKER' 'INTEND'\n")
    parts.append("RHS\n")
    parts += [f"    rhs {row} {value()}\n" for row in ["cost", *rows] if rng.random() < 0.6]
    parts.append("RANGES\n")
    parts += [f"    rng {row} {value()}\n" for row in rows if rng.random() < 0.4]
    parts.append("BOUNDS\n")
    for column in columns:
        low = round(float(rng.normal(0, 5)), 1)
        high = low + round(float(rng.exponential(5)), 1)
        choices = [
            "",
            f" LO b {column} {low}\n",
            f" UP b {column} {abs(high)}\n",
            f" LO b {column} {low}\n UP b {column} {high}\n",
            f" UP b {column} {high}\n LO b {column} {low}\n",
            f" FX b {column} {low}\n",
            f" FR b {column}\n",
            f" MI b {column}\n",
            f" MI b {column}\n UP b {column} {high}\n",
            f" PL b {column}\n",
            f" BV b {column}\n",
            f" LI b {column} {int(low)}\n",
            f" LI b {column} {int(low)}\n UI b {column} {int(low) + 3}\n",
            f" UP b {column} 1e30\n",
        ]
        parts.append(choices[rng.integers(len(choices))])
    return "".join([*parts, "ENDATA\n"])


def compare(path: Path) -> None:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError
    theirs = highs.getLp()
    ours = read_mps(path)
    assert ours.maximise == (theirs.sense_ == highspy.ObjSense.kMaximize)
    assert ours.offset == theirs.offset_
    assert ours.row_names == tuple(theirs.row_names_)
    assert ours.column_names == tuple(theirs.col_names_)
    assert ours.cost.tolist() == list(theirs.col_cost_)
    assert ours.row_lower.tolist() == pytest.approx(list(theirs.row_lower_))
    assert ours.row_upper.tolist() == pytest.approx(list(theirs.row_upper_))
    assert ours.column_lower.tolist() == list(theirs.col_lower_)
    assert ours.column_upper.tolist() == list(theirs.col_upper_)
    integer = [kind == highspy.HighsVarType.kInteger for kind in theirs.integrality_]
    assert ours.is_integer.tolist() == (integer or [False] * len(ours.column_names))
    dense = np.zeros(ours.matrix.shape)
    matrix = theirs.a_matrix_
    for column in range(theirs.num_col_):
        for entry in range(matrix.start_[column], matrix.start_[column + 1]):
            dense[matrix.index_[entry], column] = matrix.value_[entry]
    assert ours.matrix.toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("block", range(8))
def test_both_readers_agree_on_random_models(block: int, tmp_path: Path) -> None:
    for seed in range(50 * block, 50 * block + 50):
        path = tmp_path / f"m{seed}.mps"
        path.write_text(random_text(seed))
        compare(path)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "data" / "bilevel").glob("*.mps")), ids=lambda path: path.name
)
def test_both_readers_agree_on_the_samples(path: Path) -> None:
    compare(path)
