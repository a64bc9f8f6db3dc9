vitrine_reference(insight make_insight.py)
vitrine_test(insight LABELS core FIXTURES reference_insight)
