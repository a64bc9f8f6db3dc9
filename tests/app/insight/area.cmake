vitrine_test(insight LABELS app TIMEOUT 600)
