vitrine_test(shell LABELS app TIMEOUT 300)
