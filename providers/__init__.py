"""Model providers: one file or folder per provider; each imports its SDK only when used."""
