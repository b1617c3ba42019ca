"""The headless engine: durable calls, journal, driver and scoring. Knows no screen and no SDK."""
