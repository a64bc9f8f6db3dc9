#pragma once

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QtTest/QtTest>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Files made on the spot, and tables of broken ones with what the error has to say.
namespace vitrine::test {

class Folder {
public:
    std::filesystem::path path() const { return folder_.path().toStdString(); }
    std::filesystem::path operator/(std::string_view name) const { return path() / name; }
    std::filesystem::path write(std::string_view name, std::string_view content) const {
        const auto target = path() / name;
        std::filesystem::create_directories(target.parent_path());
        std::ofstream(target, std::ios::binary) << content;
        return target;
    }

private:
    QTemporaryDir folder_;
};

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline nlohmann::json reference_json(const std::string& name) {
    return nlohmann::json::parse(content_of(std::filesystem::path(VITRINE_REFERENCE_DIR) / "weights" / name));
}
inline std::filesystem::path reference_path(const std::string& name) {
    return std::filesystem::path(VITRINE_REFERENCE_DIR) / "weights" / name;
}

// A safetensors file as bytes; `length` lies about the header where given.
inline std::string safetensors_bytes(std::string_view header, std::string_view data = {},
                                     std::optional<std::uint64_t> length = {}) {
    const std::uint64_t count = length.value_or(header.size());
    std::string bytes(reinterpret_cast<const char*>(&count), sizeof count);  // little-endian, as the host is
    return bytes.append(header).append(data);
}
// The same with F32 tensors of one element each, in the order given.
inline std::string tiny_safetensors(const std::vector<std::string>& names) {
    nlohmann::json header = nlohmann::json::object();
    for (std::size_t i = 0; i < names.size(); ++i) {
        header[names[i]] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
    }
    return safetensors_bytes(header.dump(), std::string(4 * names.size(), '\0'));
}

struct Refusal {
    std::string kind;  // "file", "weights", "config", "other", or "none" when nothing was thrown
    std::string message;
};
template <class Action>
Refusal refusal_of(Action&& action) {
    try {
        action();
    } catch (const FileError& error) {
        return {"file", error.what()};
    } catch (const WeightsError& error) {
        return {"weights", error.what()};
    } catch (const ConfigError& error) {
        return {"config", error.what()};
    } catch (const std::exception& error) {
        return {"other", error.what()};
    }
    return {"none", {}};
}

struct BrokenInput {
    const char* name;
    std::function<void(const Folder&)> open;
    const char* kind;
    std::vector<std::string> says;  // all of these have to be in the message
};

inline void add_rows(const std::vector<BrokenInput>& inputs) {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < inputs.size(); ++i) QTest::newRow(inputs[i].name) << static_cast<int>(i);
}
inline void check_row(const std::vector<BrokenInput>& inputs) {
    QFETCH(int, index);
    const BrokenInput& input = inputs[static_cast<std::size_t>(index)];
    const Folder folder;
    const Refusal refusal = refusal_of([&] { input.open(folder); });
    const QByteArray message = QByteArray::fromStdString(refusal.kind + ": " + refusal.message);
    if (qEnvironmentVariableIsSet("VITRINE_SHOW_ERRORS")) qInfo("%s", message.constData());
    QVERIFY2(refusal.kind == input.kind, message.constData());
    QVERIFY2(refusal.message.size() < 1000, message.constData());
    for (const std::string& words : input.says) {
        QVERIFY2(refusal.message.find(words) != std::string::npos,
                 (QByteArray::fromStdString(words) + " not in " + message).constData());
    }
}

}  // namespace vitrine::test
