"""Reports over runs: pages and plots to keep, print and send. Knows no Textual."""
