#pragma once

#include <QFile>
#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

// Model folders that tests change and break.
namespace vitrine::test {

inline std::filesystem::path reference_models() {
    return std::filesystem::path(VITRINE_REFERENCE_DIR) / "models";
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
    std::ifstream stream(path);
    return nlohmann::json::parse(stream);
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

inline QByteArray contents(const std::filesystem::path& path) {
    QFile file(QString::fromStdString(path.string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("<absent>");
}

// A private copy of a reference case, gone with this object.
class FolderCopy {
public:
    explicit FolderCopy(const std::string& name)
        : path_(std::filesystem::path(temporary_.path().toStdString()) / name) {
        std::filesystem::copy(reference_models() / name, path_, std::filesystem::copy_options::recursive);
    }
    const std::filesystem::path& path() const { return path_; }

    void edit_json(const std::string& file, const std::function<void(nlohmann::json&)>& edit) const {
        nlohmann::json json = read_json(path_ / file);
        edit(json);
        write_text(path_ / file, json.dump());
    }

private:
    QTemporaryDir temporary_;
    std::filesystem::path path_;
};

}  // namespace vitrine::test
