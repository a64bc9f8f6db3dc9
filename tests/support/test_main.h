#pragma once

#include <QCoreApplication>
#include <QObject>
#include <QtTest/QtTest>

#include <functional>
#include <memory>
#include <vector>

// Joins several Qt Test classes of one area into one binary. Each file ends with VITRINE_TEST(ClassName) and includes
// its .moc.
namespace vitrine::test {

using Factory = std::function<QObject*()>;
std::vector<Factory>& registry();

// A QCoreApplication, or a QApplication where support/widgets.cpp is part of the test.
extern std::unique_ptr<QCoreApplication> (*make_application)(int& argc, char** argv);

struct Registration {
    explicit Registration(Factory factory) { registry().push_back(std::move(factory)); }
};

}  // namespace vitrine::test

#define VITRINE_TEST(Class) \
    static const vitrine::test::Registration registration_of_##Class{[] { return static_cast<QObject*>(new Class); }};
