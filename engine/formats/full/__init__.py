"""A complete run as one JSON file: see docs/export-schema.md."""
