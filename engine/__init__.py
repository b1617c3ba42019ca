"""The headless engine: durable calls, journal, driver, scoring. Independent of screens and SDKs."""
