#pragma once

#include "core/train/dataset.h"
#include "core/weights/weights_support.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Data sets made on the spot: tiny pictures, rows and tars.
namespace vitrine::test {

inline std::filesystem::path dataset_reference(const std::string& name) {
    return std::filesystem::path(VITRINE_REFERENCE_DIR) / "datasets" / name;
}

// A picture of one pixel, whatever its file is called: the type goes by content.
inline std::string pixel(std::uint8_t red) {
    return std::string("P6 1 1 255\n") + static_cast<char>(red) + "\x02\x03";
}

inline std::string llava_row(const std::string& id, const std::string& image, const std::string& answer) {
    return R"({"id":")" + id + R"(","image":")" + image +
           R"(","conversations":[{"from":"human","value":"<image>\nWhat is it?"},{"from":"gpt","value":")" + answer +
           "\"}]}";
}

// A ustar header with its content behind it; the size may lie.
inline std::string tar_member(const std::string& name, const std::string& content, char type = '0',
                              std::size_t size = std::string::npos) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
    const auto octal = [](std::size_t value) {
        char digits[12];
        std::snprintf(digits, sizeof digits, "%011zo", value);
        return std::string(digits);
    };
    put(0, name.substr(0, 100));
    put(124, octal(size == std::string::npos ? content.size() : size));
    put(148, "        ");
    header[156] = type;
    put(257, std::string("ustar\0", 6) + "00");
    std::size_t sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, octal(sum).substr(5));
    header[154] = '\0';
    return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}
inline std::string tar_end() {
    return std::string(1024, '\0');
}

// "missing picture 2, duplicate 1": every reason with its count.
inline std::string counted(const std::map<std::string, SkipReport::Reason>& reasons) {
    std::string text;
    for (const auto& [reason, entry] : reasons) {
        text += (text.empty() ? "" : ", ") + reason + " " + std::to_string(entry.count);
    }
    return text;
}

inline std::string answers(const Dataset& dataset) {
    std::string text;
    for (std::size_t i = 0; i < dataset.size(); ++i)
        text += (i == 0 ? "" : "|") + dataset.sample(i).messages.back().text;
    return text;
}

}  // namespace vitrine::test

#define VITRINE_COMPARE(found, expected) QCOMPARE(QByteArray::fromStdString(found), QByteArray(expected))
