"""MT-bench: two-turn questions whose answers judges rate or compare."""
