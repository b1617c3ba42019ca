"""Well-known data sets, asked as a chat: one TOML file each, plus Python where rules need it.

A file here is one of :mod:`evalbench.engine.benchmarks.custom` with an additional table ``[set]``:
the published rule, the licence, and the revision of the data.
"""
