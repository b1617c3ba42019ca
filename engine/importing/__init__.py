"""Results of other systems as runs: opened, scored anew and compared like any other.

``recorded`` writes such a run; the other modules read one system's files each.
"""
