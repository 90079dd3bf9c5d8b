"""Grids: sizes of the paper's, seeds shared as they should be, files with one sentence for each mistake."""

from dataclasses import replace
from pathlib import Path

import pytest

from ppsm.errors import InputError
from ppsm.experiments import named, read_experiment
from ppsm.experiments.grid import adjusted
from ppsm.experiments.instance import noise_seed
from ppsm.experiments.variants import Variant
from tests.experiments.small import SMALL, TOML


def test_the_papers_grids() -> None:
    figure3, table1, table2 = (named(name) for name in ("figure3", "table1", "table2"))
    assert len(figure3.cells) == 42
    assert len(figure3.grid.keys) == 11_340  # 42 cells x 30 repetitions x 3 alphas x 3 mechanisms
    assert len(table1.grid.keys) == 11_340 + 3 * 3_780  # and those with a measured total or a public prior
    assert len(table2.grid.keys) == 1_260 * (1 + 3 + 3)  # Laplace has no eta
    assert len(adjusted(figure3, repetitions=2).grid.keys) == 42 * 2 * 9
    # shared instances have the same key: one directory serves several grids
    assert len(set(table1.grid.keys) & set(table2.grid.keys)) == 1_260 * 3


def test_batches_hold_a_cell_and_repetition_and_leave_out_what_is_done() -> None:
    batches = SMALL.grid.batches
    assert len(batches) == 6
    for batch in batches:
        assert len({(each.cell, each.repetition) for each in batch}) == 1
    left = SMALL.grid.left({each.key_in("medium") for each in (*batches[0], batches[1][0])})
    assert [len(batch) for batch in left] == [7, 8, 8, 8, 8]


def test_another_first_repetition_gives_draws_of_their_own() -> None:
    later = replace(SMALL, first_repetition=SMALL.repetitions).grid
    assert len(later.keys) == len(SMALL.grid.keys)
    assert not set(later.keys) & set(SMALL.grid.keys)
    assert later.label != SMALL.grid.label  # a directory may hold both
    seeds = [
        {noise_seed("medium", each) for batch in grid.batches for each in batch}
        for grid in (SMALL.grid, later)
    ]
    assert not seeds[0] & seeds[1]


def test_a_file_says_the_same_as_the_class(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(TOML)
    assert read_experiment(file) == SMALL


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("colour = 3", "has 'colour', which is no setting"),
        ("alphas = 10", r"has alphas = 10; expected a list, each a number"),
        ('alphas = ["ten"]', "expected a list, each a number"),
        ("repetitions = 1.5", "expected a whole number"),
        ("repetitions = 0", "0 repetitions were asked for"),
        ("first_repetition = -1", "first_repetition is -1; they are counted from 0"),
        ("alphas = [-1]", "'alphas' holds -1.0; expected numbers above zero"),
        ("alphas = []", "expected at least one value"),
        ("alphas = [1, 1]", "and none twice"),
        ('mechanisms = ["magic"]', "the mechanism 'magic' is unknown"),
        ('mechanisms = ["ppsm+model+learned"]', "asks for two predictors"),
        ('mechanisms = ["ppsm+prior+prior5"]', "or for an option twice"),
        ('mechanisms = ["ppsm+prior0"]', "the mechanism 'ppsm\\+prior0' is unknown"),
        ('mechanisms = ["laplace+prior"]', "the mechanism 'laplace\\+prior' is unknown"),
        ("power_stress = [9.0]", "the power stress is 9"),
        ("etas = [10.0]", "one of the etas is 10.0, which is 1000 %"),
        ("alphas = [", "cannot be read as an experiment"),
    ],
)
def test_mistakes_in_a_file_are_one_sentence(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(f'case = "medium"\n{line}\n')
    with pytest.raises(InputError, match=message) as found:
        read_experiment(file)
    assert "\n" not in str(found.value).strip()


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*none.toml; expected a grid in TOML"):
        read_experiment(tmp_path / "none.toml")


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(InputError, match="there is no experiment 'table9'; expected one of table1, table2"):
        named("table9")


def test_variants_are_read_from_their_names() -> None:
    assert Variant.named("ppsm+prior") == Variant("ppsm", frozenset({"prior"}))
    assert Variant.named("ppsm+prior").prior_spread == 0.1
    assert Variant.named("ppsm-p+l1+prior5").prior_spread == 0.05
    assert Variant.named("ppsm-p+l1+prior5").kinds == {"l1", "prior"}
    assert Variant.named("ppsm+l1").prior_spread is None
    assert Variant.named("ppsm-p").has_bands
    assert not Variant.named("laplace").has_bands
