"""The field's well-known sets, asked as a chat: one TOML file each, and Python where rules need it.

A file here is one of :mod:`evalbench.engine.benchmarks.custom` with a table ``[set]`` besides:
where the published rule stands, the licence, and the revision of the data.
"""
