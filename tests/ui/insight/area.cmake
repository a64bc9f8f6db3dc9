vitrine_test(insight LABELS ui TIMEOUT 300)
