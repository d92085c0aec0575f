"""A sweep as one HTML page with its figures: `gemsim report`."""

PAGE = "report.html"
