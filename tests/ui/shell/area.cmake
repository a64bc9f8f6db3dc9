vitrine_test(shell LABELS ui TIMEOUT 300)
