vitrine_test(captions LABELS ui TIMEOUT 300)
