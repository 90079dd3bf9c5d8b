"""Methods that turn a bilevel program into a single-level one, and the exchange-format reader."""
