vitrine_test(captions LABELS core)
