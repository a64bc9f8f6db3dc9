#include "support/test_main.h"

#include <QCoreApplication>

#include <memory>

namespace vitrine::test {

std::vector<Factory>& registry() {
    static std::vector<Factory> factories;
    return factories;
}

}  // namespace vitrine::test

int main(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    int failures = 0;
    for (const auto& factory : vitrine::test::registry()) {
        const std::unique_ptr<QObject> test(factory());
        failures += QTest::qExec(test.get(), argc, argv);
    }
    return failures == 0 && !vitrine::test::registry().empty() ? 0 : 1;
}
