"""Answers from models: one file or folder per provider; each imports its SDK only when used."""
