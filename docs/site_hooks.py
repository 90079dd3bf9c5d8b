"""Site builds: nothing from elsewhere, pictures that open in full size, docstrings as prose."""

import atexit
import os
import re
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

# Letters above which a cell is a phrase, and a sentence.
_PHRASE, _SENTENCE = 20, 80
_FROM_ELSEWHERE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
_PICTURE = re.compile(r'(?<=<p>)<img [^>]*src="([^"]+\.svg)"[^>]*>')
_ROLE = re.compile(r":(?:class|func|meth|mod|math):<code>(?:~[\w.]*\.)?([^<]*</code>)")
_LONG_NAME = re.compile(r"(?<=<td><code>)\w{25,}(?=</code>)")
_CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_CODE_FOLLOWS = re.compile(r"(<p>)?::</p>")
# Kernels warn that whoever listens on this machine reads along; there is nothing to hide in a gallery.
_KERNELS = "c.IPKernelApp.log_level = 'ERROR'\n"


def on_startup(**_: Any) -> None:
    """Let notebooks run in kernels that say what fails, and nothing else."""
    home = Path(mkdtemp(prefix="ppsm-docs-"))
    atexit.register(rmtree, home, ignore_errors=True)
    (home / "profile_default").mkdir()
    (home / "profile_default" / "ipython_kernel_config.py").write_text(_KERNELS, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(home)


def on_page_content(html: str, **_: Any) -> str:
    """Link pictures to themselves, let long names in tables break, show Sphinx's marks as what they mean."""
    html = _PICTURE.sub(r'<a href="\1" title="Full size">\g<0></a>', html)
    html = _LONG_NAME.sub(lambda found: found[0].replace("_", "_<wbr>"), html)
    html = _CELL.sub(_with_room, html)
    html = _ROLE.sub(r"<code>\1", html)
    return _CODE_FOLLOWS.sub(lambda found: "" if found[1] else ":</p>", html)


def _with_room(cell: re.Match[str]) -> str:
    """Mark cells of prose: beside code that does not break, phones would show a word a line.

    A figure stays beside its unit.
    """
    words = _TAG.sub("", cell[1])
    if " " not in words or (len(words) <= _PHRASE and not words[0].isdigit()):
        return cell[0]
    if len(words) <= _PHRASE:
        return f'<td class="figure">{cell[1].replace(" (", "<br>(")}</td>'
    return f'<td class="{"phrase" if len(words) <= _SENTENCE else "prose"}">{cell[1]}</td>'


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Searching pages on a disk needs a script that the theme loads from elsewhere: ours in its place."""
    return _with_own_script(output, "../" * page.url.count("/"))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same on the page for addresses that lead nowhere, which starts at the root."""
    return _with_own_script(output_content, "/")


def _with_own_script(output: str, root: str) -> str:
    return _FROM_ELSEWHERE.sub(f'<script src="{root}assets/file-worker.js"></script>', output)
