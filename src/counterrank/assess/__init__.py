"""Can a measure or an estimator be trusted on these data? What ``assess`` asks and answers."""
