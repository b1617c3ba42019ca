"""What screens and the command line show, without either: readings, figures, words."""
