"""Lists meet judgments, log rows meet target cells."""
