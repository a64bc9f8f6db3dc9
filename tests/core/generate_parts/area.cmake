vitrine_reference(sampling make_sampling.py)
vitrine_test(generate_parts LABELS core FIXTURES reference_sampling)
