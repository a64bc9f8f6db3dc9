#pragma once

#include <filesystem>
#include <string>

namespace vitrine {

std::string read_text_file(const std::filesystem::path& file);  // all of it, as it is; throws FileError

}  // namespace vitrine
