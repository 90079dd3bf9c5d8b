"""The lines of an MPS file cut into words, by blanks (free form) or by columns (fixed form)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ppsm.bilevel.files.text_file import TextFile

_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
# What other sections would add to a linear program; leaving it out silently would change the problem.
_REFUSED = {
    **dict.fromkeys(("QUADOBJ", "QMATRIX", "QSECTION"), "a quadratic objective"),
    **dict.fromkeys(("QCMATRIX", "CSECTION"), "quadratic or conic constraints"),
    **dict.fromkeys(("SOS", "SOS1", "SOS2", "SETS"), "special ordered sets"),
    **dict.fromkeys(("INDICATORS", "GENCONS"), "indicator or general constraints"),
    **dict.fromkeys(("PWLOBJ", "PWLNAM", "PWLCON"), "piecewise-linear functions"),
    **dict.fromkeys(("LAZYCONS", "USERCUTS"), "lazy constraints or cuts"),
    **dict.fromkeys(("MULTIOBJ", "OBJNAME", "OBJECT", "REFROW"), "another choice of objective"),
    **dict.fromkeys(("SCENARIOS", "PERIODS", "TIME", "STOCH"), "a stochastic program"),
}
# First and last column of the six fields, counted from zero, the end excluded.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


@dataclass(frozen=True)
class MpsLine:
    """A line with its number, the section it stands in and its words; a header opens the section."""

    number: int
    section: str
    words: tuple[str, ...]
    is_header: bool = False

    @property
    def is_marker(self) -> bool:
        """Whether the line opens or closes a block of integer columns."""
        return (
            len(self.words) == 3
            and self.words[1].strip("'\"").upper() == "MARKER"
            and self.words[1][0] in "'\""
            and self.words[2].strip("'\"").upper() in ("INTORG", "INTEND")
        )


def free_lines(source: TextFile) -> Iterator[MpsLine]:
    """Cut the lines at blanks and tabs."""
    return _lines(source, lambda _number, _section, text: tuple(text.split()))


def fixed_lines(source: TextFile) -> Iterator[MpsLine]:
    """Cut the lines at the columns of the fixed form, so that names may hold blanks."""

    def cut(number: int, section: str, text: str) -> tuple[str, ...]:
        gaps = [text[end:start] for (_, end), (start, _) in pairwise(_FIELDS)]
        if "\t" in text or text[0] != " " or text[61:].strip() or any(gap.strip() for gap in gaps):
            raise source.problem(
                number, "text stands between the fields of the fixed form; expected blanks there."
            )
        fields = [text[start:end].strip() for start, end in _FIELDS]
        if section == "COLUMNS" and fields[2].strip("'").upper() == "MARKER":
            return tuple(field for field in fields if field)
        while fields and not fields[-1]:
            fields.pop()
        return tuple(fields if section in ("ROWS", "BOUNDS") else fields[1:])

    return _lines(source, cut)


def _lines(source: TextFile, cut: Callable[[int, str, str], tuple[str, ...]]) -> Iterator[MpsLine]:
    section = ""
    for number, text in enumerate(source.lines, start=1):
        if not text.strip() or text.startswith("*"):
            continue
        if text[0] in " \t":
            yield MpsLine(number, section, cut(number, section, text))
            continue
        words = text.split()
        section = words[0].upper()
        if section in _REFUSED:
            raise source.problem(
                number, f"section {section} stands for {_REFUSED[section]}; expected a linear program."
            )
        if section not in _SECTIONS:
            raise source.problem(
                number,
                f"found '{words[0][:40]}' in the first column; "
                f"expected a section such as {' '.join(_SECTIONS[2:])}: start data lines with a blank.",
            )
        yield MpsLine(number, section, tuple(words[1:]), is_header=True)
