"""What site builds do to pages, on small pieces of them."""

import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

HOOKS = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "site_hooks.py"))
FROM_ELSEWHERE = '<script src="https://unpkg.com/iframe-worker/shim"></script>'


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("calls :meth:<code>solve</code> once", "calls <code>solve</code> once"),
        ("(:class:<code>~ppsm.fidelity.MeasuredTotals</code>)", "(<code>MeasuredTotals</code>)"),
        ("<p>::</p>\n<pre>", "\n<pre>"),
        ("<p>of the paper::</p>", "<p>of the paper:</p>"),
        ("<p><code>a::b</code></p>", "<p><code>a::b</code></p>"),
    ],
)
def test_marks_of_sphinx_are_not_shown(written: str, shown: str) -> None:
    assert HOOKS["on_page_content"](written) == shown


def test_pictures_open_in_full_size() -> None:
    picture = '<img alt="Gas" src="assets/gas.svg" />'
    content = HOOKS["on_page_content"](f"<p>{picture}</p>")
    assert content == f'<p><a href="assets/gas.svg" title="Full size">{picture}</a></p>'


def test_long_names_in_tables_may_break_where_words_end() -> None:
    row = "<td><code>{}</code></td><td><code>short_name</code></td>"
    content = HOOKS["on_page_content"](row.format("test_a_name_longer_than_a_column"))
    assert content == row.format("test_<wbr>a_<wbr>name_<wbr>longer_<wbr>than_<wbr>a_<wbr>column")


def test_what_a_figure_has_in_brackets_is_below_it() -> None:
    html = HOOKS["on_page_content"]("<td>0.06 % (0.01)</td>")
    assert html == '<td class="figure">0.06 %<br>(0.01)</td>'


def test_no_page_loads_a_script_from_elsewhere() -> None:
    page = SimpleNamespace(url="gallery/two_towns.html")
    assert 'src="../assets/file-worker.js"' in HOOKS["on_post_page"](FROM_ELSEWHERE, page=page, config=None)
    nowhere = HOOKS["on_post_template"](FROM_ELSEWHERE, template_name="404.html", config=None)
    assert 'src="/assets/file-worker.js"' in nowhere


def test_cells_of_prose_are_marked_for_phones_and_figures_stay_whole() -> None:
    cells = ["<code>x</code>", "two words", "12 of 12", "a phrase of a few <em>words</em>", "a sentence " * 9]
    marks = ["", "", ' class="figure"', ' class="phrase"', ' class="prose"']
    html = HOOKS["on_page_content"]("".join(f"<td>{cell}</td>" for cell in cells))
    assert html == "".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, cells, strict=True))


def test_kernels_of_notebooks_print_no_warnings_into_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", "elsewhere")
    HOOKS["on_startup"](command="build", dirty=False)
    config = Path(os.environ["IPYTHONDIR"], "profile_default", "ipython_kernel_config.py")
    assert "log_level = 'ERROR'" in config.read_text()


def test_sentences_of_tables_are_below_the_words_on_phones_unless_columns_need_their_headings() -> None:
    style = (Path(__file__).parents[2] / "docs" / "assets" / "site.css").read_text()
    assert ":has(td.prose:nth-child(n + 3)):not(:has(td:nth-child(5), th:empty))" in style
