"""How calls are answered in each mode."""
