#pragma once

#include <QLatin1String>
#include <QString>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

// Words for values, as settings and databases store them.
namespace vitrine {

template <typename Value, std::size_t size>
using NameTable = std::array<std::pair<Value, QLatin1String>, size>;

template <typename Value, std::size_t size>
QString nameIn(const NameTable<Value, size>& table, Value value) {
    return std::find_if(table.begin(), table.end(), [value](const auto& row) { return row.first == value; })->second;
}

template <typename Value, std::size_t size>
Value valueIn(const NameTable<Value, size>& table, const QString& name, Value fallback) {
    const auto row =
        std::find_if(table.begin(), table.end(), [&name](const auto& other) { return other.second == name; });
    return row == table.end() ? fallback : row->first;
}

// What an exception says; its text is UTF-8.
inline QString wordsOf(const std::exception& error) {
    return QString::fromUtf8(error.what());
}

}  // namespace vitrine
