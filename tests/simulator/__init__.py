"""A loopback server that speaks model providers' wire protocols, for tests and benches."""
