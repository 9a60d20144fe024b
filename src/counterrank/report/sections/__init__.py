"""The sections of a page, in the order of a reader's questions."""
