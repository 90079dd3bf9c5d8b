"""The fidelity phase."""
