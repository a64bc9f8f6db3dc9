vitrine_test(captions LABELS app)
