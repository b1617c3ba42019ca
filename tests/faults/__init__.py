"""What may go wrong with machines: kills, full disks, cut files."""
