"""Everything that touches the secret."""
