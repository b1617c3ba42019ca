"""spec-generate, spec-rank and spec-comply: do answers follow a specification?"""
