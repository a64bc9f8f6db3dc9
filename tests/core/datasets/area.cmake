vitrine_reference(datasets make_datasets.py)
vitrine_test(datasets LABELS core FIXTURES reference_datasets TIMEOUT 300)
