"""How calls get their answers in each mode."""
