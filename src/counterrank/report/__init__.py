"""One self-contained page that shows what a result says, how sure it is, and what it rests on."""

from counterrank.report.charts import Figure
from counterrank.report.page import page

__all__ = ["Figure", "page"]
