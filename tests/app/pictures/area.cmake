vitrine_test(pictures LABELS app TIMEOUT 300)
