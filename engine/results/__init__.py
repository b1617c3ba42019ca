"""Reading runs back: open, show, score tables."""
