#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

// Files as the weights need them: every failure is a FileError that says what happened and what to do.
namespace vitrine {

// A regular file, open for reading. Folders, pipes and devices are refused before a byte of them is touched.
class ReadOnlyFile {
public:
    explicit ReadOnlyFile(std::filesystem::path path);
    ReadOnlyFile(const ReadOnlyFile&) = delete;
    ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;
    ~ReadOnlyFile();

    const std::filesystem::path& path() const { return path_; }
    int descriptor() const { return descriptor_; }
    std::uint64_t size() const;  // asked of the system at each call: the file may change under us
    std::string read_all() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

// Written under another name beside the target and renamed by commit(), so that the target is either the old file or
// the whole new one. Without a commit the destructor removes what was written.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path target);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void commit();  // the data is on the disk before the name changes

private:
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    int descriptor_ = -1;
};

// One text as a whole file, through AtomicFile.
void write_file(const std::filesystem::path& target, std::string_view text);

// The same for a folder: filled under another name beside the target, renamed by commit(), removed by the destructor
// without one. The target must be new or an empty folder.
class AtomicFolder {
public:
    explicit AtomicFolder(const std::filesystem::path& target);
    AtomicFolder(const AtomicFolder&) = delete;
    AtomicFolder& operator=(const AtomicFolder&) = delete;
    ~AtomicFolder();

    const std::filesystem::path& path() const { return temporary_; }  // where to write
    void commit();

private:
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    bool committed_ = false;
};

}  // namespace vitrine
