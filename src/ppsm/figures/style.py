"""What all drawings of matplotlib share: paper sizes and saving."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ppsm.errors import InputError

FORMATS = (".svg", ".png", ".pdf")
_DPI = 150


def new_figure(width_in: float, height_in: float) -> Figure:
    """Return an empty figure that arranges its own panels."""
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def check_picture_path(path: Path) -> None:
    """Refuse a path to which no picture can be written, before anybody waits for the picture."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"the picture '{path}' ends in '{path.suffix}'; expected {', '.join(FORMATS)}.")
    if not path.resolve().parent.is_dir():
        raise InputError(f"there is no directory for the picture '{path}'; create it or give another path.")


def save_figure(figure: Figure, path: Path) -> None:
    """Save as SVG, PNG or PDF, by the ending of the path; equal figures give equal SVG files."""
    check_picture_path(path)
    date_key = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix.lower())
    metadata = {} if date_key is None else {date_key: None}
    try:
        with rc_context({"svg.hashsalt": "ppsm"}):
            figure.savefig(path, dpi=_DPI, metadata=metadata)
    except OSError as error:
        raise InputError(
            f"the picture '{path}' cannot be written: {error.strerror}; give another path."
        ) from None
