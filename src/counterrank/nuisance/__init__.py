"""Models of clicks and conversions that estimators need and nobody asks for."""
