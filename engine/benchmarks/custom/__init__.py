"""custom: a user-defined benchmark from a TOML file and a table of questions."""
