#pragma once

#include "core/insight/values.h"

#include <QProcess>
#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

// What the tests of maps share.
namespace vitrine::test {

inline const float kNan = std::numeric_limits<float>::quiet_NaN();

inline PatchGrid grid_of(int rows, int columns, std::vector<float> values) {
    return {.rows = rows, .columns = columns, .values = std::move(values)};
}

inline PatchGrid constant(int rows, int columns, float value) {
    return grid_of(rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns), value));
}

inline PatchGrid planted(int rows, int columns, int patch, float value = 1.0F) {
    PatchGrid grid = constant(rows, columns, 0.0F);
    grid.values.at(static_cast<std::size_t>(patch)) = value;
    return grid;
}

// A folder of files, read by other programs.
class CheckedFolder {
public:
    std::filesystem::path path() const { return temporary_.path().toStdString(); }

    // Without "files" when the reader fails; it has said why then.
    nlohmann::json read() const {
        QProcess process;
        process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        process.start(VITRINE_PYTHON, {VITRINE_INSIGHT_READER, temporary_.path()});
        const bool good =
            process.waitForFinished(110'000) && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
        return good ? nlohmann::json::parse(process.readAllStandardOutput().toStdString()) : nlohmann::json::object();
    }

private:
    QTemporaryDir temporary_;
};

// The message of the error that this throws, which must be an Expected; "none" otherwise.
template <class Expected, class Action>
std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Expected& error) {
        return error.what();
    }
    return "none";
}

}  // namespace vitrine::test
