#include "core/weights/safetensors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/weights/file.h"
#include "core/weights/json_file.h"
#include "core/weights/safetensors_header.h"

// The format: https://huggingface.co/docs/safetensors. A u64 (little-endian) says how long the JSON header is, the
// header says where in the rest of the file each tensor lies. Where the reference reader is laxer than that text (equal
// names, blanks before the brace) the text decides.
namespace vitrine {

static_assert(std::endian::native == std::endian::little, "tensors are handed out as they lie in the file");

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// What people have in hand when the first eight bytes are no header length. `start` is the first few hundred bytes.
std::optional<ErrorParts> mistaken_for_weights(std::string_view start) {
    const auto parts = [](std::string found, std::string advice) {
        return ErrorParts{.name = {},
                          .where = {},
                          .expected = "a safetensors file",
                          .found = std::move(found),
                          .advice = std::move(advice)};
    };
    if (start.empty()) return parts("an empty file", "The download did not start or was cut. Download it again.");
    if (start.starts_with("version https://git-lfs")) {
        std::string found = "a Git LFS pointer";
        if (const auto at = start.find("\nsize "); at != std::string_view::npos) {
            const std::string_view digits = start.substr(at + 6);
            found += " (the weights it stands for have " +
                     shown_name(digits.substr(0, digits.find_first_not_of("0123456789"))) + " bytes)";
        }
        return parts(found, "Run `git lfs pull` in that folder, or download the file itself.");
    }
    if (start.starts_with("GGUF")) {
        return parts("a GGUF file (llama.cpp)", "Get the original checkpoint in safetensors format.");
    }
    if (start.starts_with("PK\x03\x04")) {
        return parts("a zip archive, probably a PyTorch .bin or .pt file",
                     "Only safetensors are read: convert it with transformers' save_pretrained.");
    }
    if (start.starts_with("\x80\x02\x8a\x0al\xfc\x9c")) {
        return parts("a Python pickle, probably an old PyTorch .bin file",
                     "Only safetensors are read: convert it with transformers' save_pretrained.");
    }
    if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);  // a byte order mark
    const std::string_view telling = start.substr(0, 8);
    const bool is_text = std::all_of(telling.begin(), telling.end(), [](char c) {
        return c == '\t' || c == '\n' || c == '\r' || (c >= ' ' && c <= '~');
    });
    if (!is_text) return std::nullopt;
    start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
    const std::string first_line = shown_name(start.substr(0, start.find('\n')));
    if (start.starts_with('<')) {
        return parts("a web page instead of the file: " + first_line,
                     "The download link was wrong or needs a login. Download it again.");
    }
    return parts("text: " + first_line, "The server may have answered with a message. Download it again.");
}

class Mapping {
public:
    explicit Mapping(const ReadOnlyFile& file) : size_(file.size()) {
        if (size_ == 0) return;
        void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
        if (address == MAP_FAILED) {
            throw FileError({.name = {},
                             .where = file.path().string(),
                             .expected = "to map " + counted(size_) + " into memory",
                             .found = std::generic_category().message(errno),
                             .advice = "The file system or a limit of the account (ulimit -v) does not allow it."});
        }
        data_ = static_cast<std::byte*>(address);
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (data_ != nullptr) ::munmap(data_, size_);
    }

    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }

private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

}  // namespace

struct SafetensorsFile::Impl {
    explicit Impl(const fs::path& path) : file(path), mapping(file) {}

    ReadOnlyFile file;  // stays open: bytes() asks it whether the data is still there
    Mapping mapping;
    std::uint64_t data_begin = 0;
    SafetensorsHeader header;
    std::unordered_map<std::string_view, const TensorInfo*> by_name;  // views into header
};

SafetensorsFile::SafetensorsFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

SafetensorsFile SafetensorsFile::open(const fs::path& path) {
    auto impl = std::make_unique<Impl>(path);
    const std::uint64_t size = impl->mapping.size();
    const std::string_view text(reinterpret_cast<const char*>(impl->mapping.data()), size);

    std::uint64_t header_bytes = 0;
    if (size >= kSafetensorsLengthBytes) std::memcpy(&header_bytes, text.data(), kSafetensorsLengthBytes);
    if (size < kSafetensorsLengthBytes || header_bytes > kSafetensorsLongestHeader) {
        constexpr std::size_t telling = 512;
        if (auto mistaken = mistaken_for_weights(text.substr(0, telling))) {
            mistaken->where = path.string();
            throw WeightsError(*mistaken);
        }
    }
    if (header_bytes > kSafetensorsLongestHeader) {
        throw WeightsError({.name = {},
                            .where = path.string(),
                            .expected = "a header of at most " + counted(kSafetensorsLongestHeader),
                            .found = counted(header_bytes),
                            .advice = "This is no safetensors file, or it is damaged. Download it again."});
    }
    if (size < kSafetensorsLengthBytes || header_bytes > size - kSafetensorsLengthBytes) {
        const std::uint64_t needed = kSafetensorsLengthBytes + (size < kSafetensorsLengthBytes ? 0 : header_bytes);
        throw WeightsError({.name = {},
                            .where = path.string(),
                            .expected = "at least " + counted(needed) + " for the header",
                            .found = counted(size),
                            .advice = "The download was cut: " + counted(needed - size) +
                                      " of the header alone are missing. Download it again."});
    }

    impl->data_begin = kSafetensorsLengthBytes + header_bytes;
    impl->header =
        read_safetensors_header(text.substr(kSafetensorsLengthBytes, header_bytes), path, size - impl->data_begin);
    for (const TensorInfo& tensor : impl->header.tensors) impl->by_name.emplace(tensor.name, &tensor);
    return SafetensorsFile(std::move(impl));
}

const fs::path& SafetensorsFile::path() const {
    return impl_->file.path();
}
const std::vector<TensorInfo>& SafetensorsFile::tensors() const {
    return impl_->header.tensors;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
    return impl_->header.metadata;
}
std::uint64_t SafetensorsFile::file_bytes() const {
    return impl_->mapping.size();
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
    const auto found = impl_->by_name.find(name);
    return found == impl_->by_name.end() ? nullptr : found->second;
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorInfo& tensor) const {
    // Touching a page behind the end of a file that shrank is a SIGBUS. This check leaves a gap of the time between
    // here and the use, which only a copy of the data could close.
    if (const std::uint64_t now = impl_->file.size(); now < impl_->mapping.size()) {
        throw WeightsError({.name = shown_name(tensor.name),
                            .where = path().string(),
                            .expected = counted(impl_->mapping.size()) + ", as when it was opened",
                            .found = counted(now),
                            .advice = "The file was changed while in use. Load the model again when it is complete."});
    }
    return {impl_->mapping.data() + impl_->data_begin + tensor.begin, tensor.end - tensor.begin};
}

void SafetensorsFile::release(std::uint64_t begin, std::uint64_t end) const {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t data_bytes = impl_->mapping.size() - impl_->data_begin;
    // Only whole pages: the ends may hold a neighbour's bytes that somebody is reading. A refusal costs memory, no
    // more.
    const std::uint64_t first = (impl_->data_begin + std::min(begin, data_bytes) + page - 1) / page * page;
    const std::uint64_t last = (impl_->data_begin + std::min(end, data_bytes)) / page * page;
    if (first < last) ::madvise(impl_->mapping.data() + first, last - first, MADV_DONTNEED);
}

void write_safetensors(const fs::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
    const auto refuse = [&](const TensorView& tensor, std::string expected, std::string found) {
        throw WeightsError({.name = shown_name(tensor.name),
                            .where = path.string(),
                            .expected = std::move(expected),
                            .found = std::move(found),
                            .advice = {}});
    };
    // A name that is no UTF-8 is written with replacement characters rather than not at all.
    const auto as_json = [](const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); };

    // Widest elements first, as the reference writer does: then each tensor is aligned to its own element.
    std::vector<const TensorView*> order;
    for (const TensorView& tensor : tensors) order.push_back(&tensor);
    std::stable_sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
        const auto rank_a = safetensors_rank(a->dtype);
        const auto rank_b = safetensors_rank(b->dtype);
        return rank_a != rank_b ? rank_a > rank_b : a->name < b->name;
    });

    std::string text = "{";
    if (!metadata.empty()) text += as_json(std::string(kSafetensorsMetadataKey)) + ":" + as_json(metadata) + ",";
    std::unordered_set<std::string_view> names{kSafetensorsMetadataKey};
    std::uint64_t offset = 0;
    for (const TensorView* tensor : order) {
        const int bits = safetensors_bits(tensor->dtype);
        const auto bytes = tensor_bytes(tensor->shape, bits);
        if (bits == 0) refuse(*tensor, "a dtype of the safetensors format", shown_name(tensor->dtype));
        if (!names.insert(tensor->name).second) refuse(*tensor, "a name of its own", "a name that is taken");
        if (!bytes || *bytes != tensor->bytes.size()) {
            refuse(*tensor, "the bytes of " + tensor->dtype + " " + shape_text(tensor->shape),
                   counted(tensor->bytes.size()));
        }
        text += as_json(tensor->name) + ":{\"dtype\":" + as_json(tensor->dtype) +
                ",\"shape\":" + as_json(tensor->shape) +
                ",\"data_offsets\":" + as_json(std::array{offset, offset + *bytes}) + "},";
        offset += *bytes;
    }
    if (text.back() == ',') text.pop_back();
    text += '}';
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t header_bytes = text.size();

    AtomicFile file(path);
    file.write(std::as_bytes(std::span(&header_bytes, 1)));
    file.write(text);
    for (const TensorView* tensor : order) file.write(tensor->bytes);
    file.commit();
}

}  // namespace vitrine
