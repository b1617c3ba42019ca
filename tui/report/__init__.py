"""Reports on runs: pages and plots to keep, print and send. Independent of Textual."""
