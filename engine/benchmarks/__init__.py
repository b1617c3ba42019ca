"""The benchmarks that ship with evalbench: one file each."""
