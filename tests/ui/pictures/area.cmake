vitrine_test(pictures LABELS ui TIMEOUT 300)
