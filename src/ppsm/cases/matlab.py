"""Reader for the subset of MATLAB in which MATPOWER and matgas case files are written.

A case file is a list of assignments ``name.field = value;`` where a value is a number, a string, a matrix
``[...]`` or a cell array ``{...}``. Two conventions live in the comments: ``%column_names% a b c`` names the
columns of the table that follows (PowerModels and GasModels extensions), and in matgas a plain comment line
right above a table does the same.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ppsm.errors import FileFormatError

Cell = float | str


@dataclass(frozen=True)
class Row:
    """One row of a table, with the line of the file where it starts."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A matrix or cell array; ``columns`` are the names from a ``%column_names%`` comment, if there was one.

    ``heading`` holds the words of the plain comment right above the table (matgas names columns there).
    """

    line: int
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    heading: tuple[str, ...]


@dataclass(frozen=True)
class Scalar:
    """A number or a string, with its line."""

    line: int
    value: Cell


@dataclass(frozen=True)
class MatlabFile:
    """The assignments of one file by field name (``mpc.bus`` is found under ``bus``)."""

    path: Path
    fields: dict[str, Scalar | Table]

    def error(self, line: int, problem: str) -> FileFormatError:
        """Return the error that names this file and the line, for raising."""
        return FileFormatError(f"{self.path.name}, line {line}: {problem}")

    def table(self, name: str) -> Table | None:
        """Return the table of that name, or None where the file has none."""
        value = self.fields.get(name)
        if value is None or isinstance(value, Table):
            return value
        raise self.error(value.line, f"'{name}' is a single value; expected a table in brackets.")

    def number(self, name: str) -> float | None:
        """Return the number of that name, or None where the file has none."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, Table) or isinstance(value.value, str):
            raise self.error(value.line, f"'{name}' is not a number; expected one number after '='.")
        return value.value

    def text(self, name: str) -> str | None:
        """Return the string of that name, or None where the file has none."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, Table) or not isinstance(value.value, str):
            raise self.error(value.line, f"'{name}' is not a string; expected a value in quotes.")
        return value.value


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


_TOKEN = re.compile(
    r"""(?P<comment>%[^\n]*)
      | (?P<continuation>\.\.\.[^\n]*\n)
      | (?P<number>[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[Ii]nf|NaN|nan)(?![\w.+*/^'-]))
      | (?P<string>'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*")
      | (?P<name>[A-Za-z_]\w*(?:\.\w+)*)
      | (?P<newline>\r?\n)
      | (?P<space>[ \t\r\f\v\ufeff]+)
      | (?P<mark>[\[\]{}=;,])
    """,
    re.VERBOSE,
)


def read_matlab(path: Path) -> MatlabFile:
    """Read a case file written in the MATLAB subset."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(
            f"{path} cannot be read ({error.strerror or error}); give the path of a case file."
        ) from None
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path.name}: byte {error.start} is not UTF-8 text; expected a plain-text .m case file."
        ) from None
    return parse_matlab(text, path)


def parse_matlab(text: str, path: Path) -> MatlabFile:
    """Read the text of a case file; ``path`` is only named in errors."""
    result = MatlabFile(path, {})
    _Parser(text, result).run()
    if not result.fields:
        raise result.error(
            1, "no assignment like 'mpc.bus = [...]' was found; expected a MATPOWER or matgas file."
        )
    return result


class _Parser:
    """Recursive descent over the tokens; fills the fields of the file it is given."""

    def __init__(self, text: str, file: MatlabFile) -> None:
        self._file = file
        self._tokens = list(self._scan(text))
        self._at = 0
        self._columns: tuple[str, ...] = ()
        self._heading: tuple[str, ...] = ()

    def _scan(self, text: str) -> Iterator[_Token]:
        position, line, block_comment_from = 0, 1, 0
        while position < len(text):
            if position == 0 or text[position - 1] == "\n":
                bare = text[position : text.find("\n", position) + 1 or len(text)].strip()
                if bare == "%{":
                    block_comment_from = line
                if block_comment_from:
                    end = text.find("\n", position) + 1 or len(text)
                    block_comment_from = 0 if bare == "%}" else block_comment_from
                    position, line = end, line + 1
                    continue
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._file.error(
                    line,
                    f"cannot read {text[position : position + 12]!r}; expected numbers, quoted strings, "
                    "tables or assignments.",
                )
            kind = str(match.lastgroup)
            if kind not in {"space", "continuation"}:
                yield _Token(kind, match.group(), line)
            line += match.group().count("\n")
            position = match.end()
        if block_comment_from:
            raise self._file.error(block_comment_from, "the block comment '%{' has no closing '%}'; add it.")
        yield _Token("end", "", line)

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def run(self) -> None:
        while (token := self._next()).kind != "end":
            if token.kind == "comment":
                self._remember_comment(token.text)
            elif token.kind == "newline" or token.text in {";", ","}:
                continue
            elif token.kind == "name" and token.text in {"function", "end", "return"}:
                self._skip_line()
            elif token.kind == "name":
                self._assignment(token)
            else:
                raise self._file.error(
                    token.line, f"found {token.text!r}; expected an assignment like 'mpc.bus = [...]'."
                )

    def _remember_comment(self, text: str) -> None:
        named = re.match(r"%+\s*column_names%(.*)", text)
        if named:
            self._columns = tuple(named.group(1).split())
        else:
            self._heading = tuple(text.strip("% \t\r").split())

    def _skip_line(self) -> None:
        while self._peek().kind not in {"newline", "end"}:
            self._next()

    def _assignment(self, target: _Token) -> None:
        sign = self._next()
        if sign.text != "=":
            raise self._file.error(
                target.line,
                f"'{target.text}' is not followed by '='; only assignments of values can be read.",
            )
        field = target.text.split(".")[-1]
        if field in self._file.fields:
            raise self._file.error(target.line, f"'{target.text}' is assigned twice; remove one of the two.")
        value = self._value(target)
        self._file.fields[field] = value
        self._columns, self._heading = (), ()
        after = self._peek()
        if after.kind not in {"newline", "end", "comment"} and after.text not in {";", ","}:
            raise self._file.error(
                after.line,
                f"found {after.text!r} after the value of '{target.text}'; expected ';' or a new line.",
            )

    def _value(self, target: _Token) -> Scalar | Table:
        token = self._next()
        if token.text in {"[", "{"}:
            return self._table(target, token)
        if token.kind in {"number", "string"}:
            return Scalar(token.line, _cell(token))
        raise self._file.error(
            token.line,
            f"the value of '{target.text}' is missing or a formula; expected a number, a string or a table.",
        )

    def _table(self, target: _Token, opening: _Token) -> Table:
        closing = {"[": "]", "{": "}"}[opening.text]
        rows: list[Row] = []
        cells: list[Cell] = []
        row_line = opening.line
        while True:
            token = self._next()
            if token.kind in {"number", "string"}:
                row_line = token.line if not cells else row_line
                cells.append(_cell(token))
            elif token.kind == "newline" or token.text == ";" or token.text == closing:
                if cells:
                    rows.append(Row(row_line, tuple(cells)))
                    cells = []
                if token.text == closing:
                    return Table(opening.line, tuple(rows), self._columns, self._heading)
            elif token.kind == "end":
                raise self._file.error(
                    token.line,
                    f"the file ends inside '{target.text}', which opened with '{opening.text}' on line "
                    f"{opening.line}; the file looks truncated, get it whole.",
                )
            elif token.kind != "comment" and token.text != ",":
                raise self._file.error(
                    token.line,
                    f"found {token.text!r} inside '{target.text}'; expected numbers, quoted strings or "
                    f"'{closing}' (is the closing '{closing}' missing?).",
                )


def _cell(token: _Token) -> Cell:
    if token.kind == "string":
        quote = token.text[0]
        return token.text[1:-1].replace(quote * 2, quote)
    lowered = token.text.lower()
    if lowered.endswith("inf"):
        return -math.inf if lowered.startswith("-") else math.inf
    return float(lowered)
