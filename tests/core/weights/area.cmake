vitrine_reference(weights make_weights.py)
vitrine_test(weights LABELS core FIXTURES reference_weights TIMEOUT 300)
