"""The results of ``assess``: what each question about measures or estimators found."""
