#include "core/captions/sidecar.h"

#include <string>
#include <system_error>

#include "core/error.h"
#include "core/weights/file.h"

namespace vitrine::captions {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLongestCaption = std::uint64_t{1} << 20;

[[noreturn]] void refuse(const fs::path& sidecar, const char* expected, const char* found, const char* advice) {
    throw FileError(
        {.name = "caption", .where = sidecar.string(), .expected = expected, .found = found, .advice = advice});
}

}  // namespace

fs::path sidecar_path(const fs::path& picture, SidecarKind kind) {
    return fs::path(picture).replace_extension(kind == SidecarKind::txt ? ".txt" : ".caption");
}

std::optional<fs::path> find_sidecar(const fs::path& picture) {
    for (const SidecarKind kind : {SidecarKind::txt, SidecarKind::caption}) {
        std::error_code absent;
        fs::path sidecar = sidecar_path(picture, kind);
        if (fs::is_regular_file(sidecar, absent)) return sidecar;
    }
    return {};
}

std::optional<StyledText> read_sidecar(const fs::path& sidecar) {
    std::error_code absent;
    if (!fs::exists(sidecar, absent)) return {};
    const ReadOnlyFile file(sidecar);
    if (file.size() > kLongestCaption) {
        refuse(sidecar, "a caption of at most 1 MiB", "a longer file", "Is it a caption at all?");
    }
    return decode_text(file.read_all());
}

void write_sidecar(const fs::path& sidecar, std::string_view text, const std::optional<TextStyle>& style) {
    std::error_code error;
    const fs::path target = fs::is_symlink(sidecar, error) ? fs::weakly_canonical(sidecar) : sidecar;
    if (!fs::is_directory(fs::absolute(target).parent_path(), error)) {
        refuse(sidecar, "its folder to be there", "that it is gone",
               "Plug the disk in again, or choose another folder.");
    }
    const bool there = fs::exists(target, error);
    const std::optional<StyledText> before = style ? std::nullopt : read_sidecar(target);
    if (before && before->text == text) return;

    // A rename replaces even a file that may not be written, so ask before.
    const fs::perms mode = there ? fs::status(target, error).permissions() : fs::perms::none;
    constexpr fs::perms anyone_writes = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
    if (there && (mode & anyone_writes) == fs::perms::none) {
        refuse(sidecar, "to be writable", "a write-protected file",
               "Allow writing to it, or leave its caption as it is.");
    }
    write_file(target, encode_text(text, style ? *style : before ? before->style : TextStyle{}));
    if (there) fs::permissions(target, mode, error);
}

void SidecarClaims::claim(const fs::path& picture, const fs::path& sidecar) {
    const auto [entry, first] = owners_.emplace(sidecar, picture);
    if (first || entry->second == picture) return;
    throw FileError({.name = "caption",
                     .where = sidecar.string(),
                     .expected = "a sidecar of its own for each picture",
                     .found = entry->second.filename().string() + " and " + picture.filename().string() + " share it",
                     .advice = "Rename one of them, or write a table such as JSONL or CSV."});
}

}  // namespace vitrine::captions
