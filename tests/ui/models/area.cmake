vitrine_test(models LABELS ui)
