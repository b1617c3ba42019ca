"""Everything about a run as one JSON file: see docs/export-schema.md."""
