"""custom: a benchmark of one's own, made of a TOML file and a table of questions."""
