"""Nothing that a C library prints reaches the terminal, and everything is as before afterwards."""

import os

import pytest

from ppsm.solvers.silence import silenced


def test_what_is_written_to_the_descriptors_is_lost_meanwhile(capfd: pytest.CaptureFixture[str]) -> None:
    os.write(1, b"before ")
    with silenced():
        os.write(1, b"noise")
        os.write(2, b"noise")
    os.write(1, b"after")
    assert capfd.readouterr() == ("before after", "")


def test_an_error_inside_brings_the_terminal_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), silenced():
        raise KeyboardInterrupt
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_silences_that_overlap_end_with_the_last(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = silenced(), silenced()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    os.write(2, b"meanwhile\n")
    second.__exit__(None, None, None)
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
