"""What ties a certificate to values, and carries it along: fingerprints, metadata, Parquet files."""
