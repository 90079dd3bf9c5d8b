"""Markets built from cases: readable linopy models whose matrices are taken once."""
