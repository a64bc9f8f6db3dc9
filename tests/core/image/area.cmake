vitrine_reference(image make_image.py)
vitrine_test(image LABELS core FIXTURES reference_image TIMEOUT 300)
