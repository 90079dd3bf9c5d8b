"""Optional libraries: what ``pip install 'ppsm[EXTRA]'`` adds, and one sentence where it is missing."""

from importlib.util import find_spec

from ppsm.errors import InputError

# The modules of each extra that users install; ``pyproject.toml`` names their packages.
EXTRAS = {
    "figures": ("altair", "matplotlib", "vl_convert"),
    "scip": ("pyscipopt",),
    "cluster": ("distributed",),
    "pypsa": ("pypsa",),
    "cvxpy": ("cvxpy",),
    "pyomo": ("pyomo",),
    "excel": ("openpyxl",),
    "protocol": ("cryptography", "fastapi", "httpx", "pydantic", "uvicorn"),
}


def installed(extra: str) -> bool:
    """Whether all libraries of an extra are there; none of them is loaded."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def insist_on(extra: str, purpose: str) -> None:
    """Refuse what cannot be done without an extra; ``purpose`` begins the sentence."""
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise InputError(
            f"{purpose} needs {', '.join(missing)}, which is not installed: pip install 'ppsm[{extra}]'."
        )
