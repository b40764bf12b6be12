"""Which operator or node made the first nan or inf, for anomaly detection."""
