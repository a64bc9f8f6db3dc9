#include "support/test_main.h"

#include <cstdio>
#include <exception>
#include <memory>

namespace vitrine::test {

std::vector<Factory>& registry() {
    static std::vector<Factory> factories;
    return factories;
}

std::unique_ptr<QCoreApplication> (*make_application)(int&, char**) = [](int& argc, char** argv) {
    return std::make_unique<QCoreApplication>(argc, argv);
};

}  // namespace vitrine::test

int main(int argc, char** argv) {
    qputenv("QTEST_DISABLE_STACK_DUMP",
            "1");  // a debugger that attaches itself can take longer than the test's time limit
    const std::unique_ptr<QCoreApplication> application = vitrine::test::make_application(argc, argv);
    int failures = 0;
    for (const auto& factory : vitrine::test::registry()) {
        const std::unique_ptr<QObject> test(factory());
        try {
            failures += QTest::qExec(test.get(), argc, argv);
        } catch (const std::exception& error) {  // Qt Test has named the function that let it through
            std::fprintf(stderr, "Unhandled exception: %s\n", error.what());
            ++failures;
        }
    }
    return failures == 0 && !vitrine::test::registry().empty() ? 0 : 1;
}
