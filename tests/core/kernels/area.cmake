vitrine_test(kernels LABELS core TIMEOUT 300)
