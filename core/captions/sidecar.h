#pragma once

#include "core/captions/text_style.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

// Captions in files of their own beside the pictures: photo.jpg and photo.txt or photo.caption. Any thread.
namespace vitrine::captions {

enum class SidecarKind : std::uint8_t { txt, caption };

std::filesystem::path sidecar_path(const std::filesystem::path& picture, SidecarKind kind);
// The one that is there; .txt before .caption, as the trainer reads them.
std::optional<std::filesystem::path> find_sidecar(const std::filesystem::path& picture);

// nullopt where there is none. Throws FileError: unreadable, or too long to be a caption.
std::optional<StyledText> read_sidecar(const std::filesystem::path& sidecar);

// Writes the text whole or not at all. Without a style it is spelled as the file that is there (encoding, line ends,
// last newline), and a file that says the same already is left alone. A link stays a link. Throws FileError:
// write-protected, folder gone.
void write_sidecar(const std::filesystem::path& sidecar, std::string_view text,
                   const std::optional<TextStyle>& style = {});

// Which picture a sidecar belongs to: a.jpg and a.png would share a.txt. The first to claim it owns it.
class SidecarClaims {
public:
    // Throws FileError, naming both pictures, when another one owns the sidecar.
    void claim(const std::filesystem::path& picture, const std::filesystem::path& sidecar);

private:
    std::map<std::filesystem::path, std::filesystem::path> owners_;  // sidecar -> picture
};

}  // namespace vitrine::captions
