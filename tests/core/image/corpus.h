#pragma once

#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

// The files that tests/reference/make_image.py made.
namespace vitrine::test {

inline std::filesystem::path corpus_folder() {
    return std::filesystem::path(VITRINE_REFERENCE_DIR) / "image";
}

template <class Value>
std::vector<Value> read_values(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<Value> values(bytes.size() / sizeof(Value));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
    return values;
}

inline nlohmann::json corpus() {
    return nlohmann::json::parse(read_values<char>(corpus_folder() / "list.json"));
}

inline std::filesystem::path path_of(const nlohmann::json& entry) {
    return corpus_folder() / "files" / entry["file"].get<std::string>();
}

}  // namespace vitrine::test
