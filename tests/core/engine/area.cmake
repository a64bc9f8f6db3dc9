vitrine_test(engine LABELS core FIXTURES reference_models TIMEOUT 300)
