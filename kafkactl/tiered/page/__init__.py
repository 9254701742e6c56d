"""The report of tiered storage: from an answer of `kafkactl tiered report` to pictures and tables of each topic."""
