"""Site builds: searching pages on a disk needs a script that the theme would load from elsewhere."""

import re
from typing import Any

_FROM_ELSEWHERE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Put our own script in its place."""
    del config
    up = "../" * page.url.count("/")
    return _FROM_ELSEWHERE.sub(f'<script src="{up}assets/file-worker.js"></script>', output)
