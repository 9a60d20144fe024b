"""The verbs as a caller sees them: signatures and what they mean."""
