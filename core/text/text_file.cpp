#include "core/text/text_file.h"

#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace vitrine {

std::string read_text_file(const std::filesystem::path& file) {
    const auto fail = [&](const std::string& reason) {
        return FileError({.name = file.filename().string(),
                          .where = file.string(),
                          .expected = "a readable file",
                          .found = reason,
                          .advice = {}});
    };
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    if (error) throw fail(error.message());

    std::ifstream stream(file, std::ios::binary);
    std::string text(size, '\0');
    if (!stream || !stream.read(text.data(), static_cast<std::streamsize>(size))) throw fail(std::strerror(errno));
    return text;
}

}  // namespace vitrine
