"""What a verb returns, its document, and what is decided from it."""
