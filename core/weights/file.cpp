#include "core/weights/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux writes at most 2 GiB a call

std::string advice_for(int error, const fs::path& path) {
    switch (error) {
        case EACCES:
        case EPERM: return "Check the permissions of the file and of the folders above it.";
        case ENOENT: {
            std::error_code ignored;
            if (fs::is_symlink(path, ignored)) {
                return "It is a link to " + fs::read_symlink(path, ignored).string() +
                       ", which does not exist. Download it again.";
            }
            return "Check the spelling of the path.";
        }
        case ENOSPC:
        case EDQUOT: return "Free some space or choose another folder.";
        case EFBIG: return "The file system or a limit of the account does not allow a file of this size.";
        case EROFS: return "The file system is read-only: choose another folder.";
        case EMFILE:
        case ENFILE: return "Too many files are open: close other programs or raise the limit (ulimit -n).";
        case EIO: return "The disk or the network share reports a fault.";
        default: return {};
    }
}

[[noreturn]] void fail(const fs::path& path, const std::string& doing, int error) {
    throw FileError({.name = {},
                     .where = path.string(),
                     .expected = "to " + doing,
                     .found = "\"" + std::generic_category().message(error) + "\"",
                     .advice = advice_for(error, path)});
}

int retry_open(const fs::path& path, int flags, mode_t mode = 0) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

struct stat status_of(int descriptor, const fs::path& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) fail(path, "look at it", errno);
    return status;
}

}  // namespace

ReadOnlyFile::ReadOnlyFile(fs::path path) : path_(std::move(path)) {
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    descriptor_ = retry_open(path_, O_RDONLY | O_NONBLOCK);
    if (descriptor_ < 0) fail(path_, "open it for reading", errno);
    const int descriptor = descriptor_;
    try {
        const mode_t kind = status_of(descriptor, path_).st_mode;
        if (!S_ISREG(kind)) {
            throw FileError({.name = {},
                             .where = path_.string(),
                             .expected = "a file",
                             .found = S_ISDIR(kind) ? "a folder" : "a pipe, socket or device",
                             .advice = S_ISDIR(kind) ? "Name the file inside it." : ""});
        }
    } catch (...) {
        ::close(descriptor);
        throw;
    }
}

ReadOnlyFile::~ReadOnlyFile() {
    ::close(descriptor_);
}

std::uint64_t ReadOnlyFile::size() const {
    return static_cast<std::uint64_t>(status_of(descriptor_, path_).st_size);
}

std::string ReadOnlyFile::read_all() const {
    std::string text(size(), '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
        const ssize_t count =
            ::pread(descriptor_, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path_, "read it", errno);
        if (count == 0) break;  // it shrank meanwhile; whoever parses the text will say what is missing
        filled += static_cast<std::size_t>(count);
    }
    text.resize(filled);
    return text;
}

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
    static std::atomic<unsigned> counter{0};
    do {
        temporary_ = target_;
        temporary_ += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
        descriptor_ = retry_open(temporary_, O_WRONLY | O_CREAT | O_EXCL, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail(target_, "create a file beside it", errno);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestWrite));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(target_, "write it", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

void AtomicFile::commit() {
    if (::fsync(descriptor_) != 0) fail(target_, "write it to the disk", errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(target_, "close it", errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(target_, "give the finished file its name", errno);
    temporary_.clear();

    // The new name itself survives a power cut only once the folder is on the disk too. Not every file system can do
    // that, and the file is complete either way, so a refusal is no fault.
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    if (const int descriptor = retry_open(folder, O_RDONLY | O_DIRECTORY); descriptor >= 0) {
        ::fsync(descriptor);
        ::close(descriptor);
    }
}

void write_file(const fs::path& target, std::string_view text) {
    AtomicFile file(target);
    file.write(text);
    file.commit();
}

AtomicFolder::AtomicFolder(const fs::path& target) : target_(fs::absolute(target).lexically_normal()) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "folder/"
    std::error_code error;
    if (fs::exists(target_, error) && !(fs::is_directory(target_, error) && fs::is_empty(target_, error))) {
        throw FileError({.name = "folder",
                         .where = target_.string(),
                         .expected = "a new or empty folder",
                         .found = fs::is_directory(target_, error) ? "files in it" : "a file",
                         .advice = "Name another, or remove it first."});
    }
    temporary_ = target_;
    temporary_ += ".part";
    fs::remove_all(temporary_, error);
    fs::create_directories(temporary_, error);
    if (error) fail(temporary_, "make this folder", error.value());
}

AtomicFolder::~AtomicFolder() {
    std::error_code ignored;
    if (!committed_) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
    std::error_code error;
    fs::remove(target_, error);  // empty, if it is there
    fs::rename(temporary_, target_, error);
    if (error) fail(target_, "give the finished folder its name", error.value());
    committed_ = true;
}

}  // namespace vitrine
