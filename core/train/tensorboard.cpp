#include "core/train/tensorboard.h"

#include "core/error.h"
#include "core/text/utf8.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <type_traits>

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

double now() {  // seconds since 1970
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A protocol buffer as it stands in a file: fields one behind the other, each with its number and wire type. Numbers of
// fields below are those of TensorFlow's event.proto, summary.proto, tensor.proto and TensorBoard's hparams plugin.
class Message {
public:
    Message& integer(int field, std::uint64_t value) {
        key(field, 0);
        varint(value);
        return *this;
    }
    Message& number(int field, double value) {
        key(field, 1);
        little_endian(std::bit_cast<std::uint64_t>(value));
        return *this;
    }
    Message& number(int field, float value) {
        key(field, 5);
        little_endian(std::bit_cast<std::uint32_t>(value));
        return *this;
    }
    Message& text(int field, std::string_view value) {
        std::string repaired;
        return bytes(field, utf8::repaired(value, repaired));
    }
    Message& message(int field, const Message& value) { return bytes(field, value.bytes_); }

    template <class Integer>
    void little_endian(Integer value) {
        for (std::size_t i = 0; i < sizeof value; ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xFF);
    }
    void append(std::string_view raw) { bytes_ += raw; }
    const std::string& bytes() const { return bytes_; }

private:
    Message& bytes(int field, std::string_view value) {
        key(field, 2);
        varint(value.size());
        append(value);
        return *this;
    }
    void key(int field, int wire_type) { varint(static_cast<std::uint64_t>(field << 3 | wire_type)); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

// ---- Records: length, its checksum, data, their checksum ------------------------------------------------------------

constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0U);  // Castagnoli, reflected
        table[byte] = crc;
    }
    return table;
}();

// Masked, because the checksum of data that contains its own checksum tells little.
std::uint32_t masked_crc32c(std::string_view data) {
    std::uint32_t crc = ~0U;
    for (const char c : data) crc = kCrc32cTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
    return std::rotr(~crc, 15) + 0xA282EAD8U;
}

std::string record(const Message& event) {
    Message framed;
    framed.little_endian(static_cast<std::uint64_t>(event.bytes().size()));
    framed.little_endian(masked_crc32c(framed.bytes()));
    framed.append(event.bytes());
    framed.little_endian(masked_crc32c(event.bytes()));
    return framed.bytes();
}

// ---- Events ---------------------------------------------------------------------------------------------------------

Message event_at(std::int64_t step) {
    return Message().number(1, now()).integer(2, static_cast<std::uint64_t>(step));
}

// For plugins that show tensors: content is the plugin's own message.
Message metadata(std::string_view plugin, const Message& content) {
    constexpr int kTensorClass = 2;
    return Message().message(1, Message().text(1, plugin).message(2, content)).integer(4, kTensorClass);
}

Message hparams_value(std::string_view tag, const Message& plugin_data) {
    // The plugin reads the metadata alone, but a value without a tensor would be dropped: an empty one of floats.
    constexpr int kFloat = 1;
    const Message empty_shape = Message().message(2, Message().integer(1, 0));
    const Message tensor = Message().integer(1, kFloat).message(2, empty_shape);
    return Message().text(1, tag).message(8, tensor).message(9, metadata("hparams", plugin_data));
}

enum HParamType : std::uint8_t { string_type = 1, bool_type = 2, number_type = 3 };

// google.protobuf.Value, and what the plugin calls its type.
std::pair<Message, HParamType> hparam(const TensorBoardWriter::HyperParameter& option) {
    return std::visit(
        [](const auto& value) -> std::pair<Message, HParamType> {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::string>)
                return {Message().text(3, value), string_type};
            else if constexpr (std::is_same_v<Value, bool>)
                return {Message().integer(4, value ? 1 : 0), bool_type};
            else
                return {Message().number(2, static_cast<double>(value)), number_type};
        },
        option);
}

// ---- The file -------------------------------------------------------------------------------------------------------

[[noreturn]] void fail(const fs::path& path, const char* doing, int error) {
    throw FileError({.name = {},
                     .where = path.string(),
                     .expected = std::string("to ") + doing,
                     .found = "\"" + std::generic_category().message(error) + "\"",
                     .advice = error == ENOSPC || error == EDQUOT ? "Free some space; the run can be resumed." : ""});
}

// The time that stands in the name of the next file: now, or behind the latest that is there, should a clock go back or
// two files be made within a second.
std::int64_t time_of_next_file(const fs::path& folder) {
    auto time = static_cast<std::int64_t>(now());
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
        const std::string name = file->path().filename().string();
        std::int64_t other = 0;
        if (name.starts_with(kPrefix) &&
            std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other).ec == std::errc()) {
            time = std::max(time, other + 1);
        }
    }
    if (error) fail(folder, "list the files in it", error.value());
    return time;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
    return name.data();
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const fs::path& folder, std::optional<std::int64_t> resumed_at_step) {
    for (std::int64_t time = time_of_next_file(folder);; ++time) {
        std::string digits = std::to_string(time);
        digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
        path_ = folder / (std::string(kPrefix) + digits + "." + host_name() + "." + std::to_string(::getpid()));
        do {
            descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        } while (descriptor_ < 0 && errno == EINTR);
        if (descriptor_ >= 0) break;
        if (errno != EEXIST) fail(path_, "create it", errno);
    }
    try {
        // Readers take the second start and those after it for restarts, so that the first must be there too.
        constexpr int kStart = 1;  // SessionLog.START
        const Message start = event_at(resumed_at_step.value_or(0)).message(7, Message().integer(1, kStart));
        append(record(event_at(0).text(3, "brain.Event:2")) + record(start));
    } catch (...) {
        ::close(descriptor_);
        ::unlink(path_.c_str());
        throw;
    }
}

TensorBoardWriter::~TensorBoardWriter() {
    ::close(descriptor_);
}

void TensorBoardWriter::scalars(std::int64_t step, std::span<const Scalar> values) {
    if (values.empty()) return;
    Message summary;
    for (const Scalar& scalar : values)
        summary.message(1, Message().text(1, scalar.tag).number(2, static_cast<float>(scalar.value)));
    append(record(event_at(step).message(5, summary)));
}

void TensorBoardWriter::text(std::int64_t step, std::string_view tag, std::string_view markdown) {
    constexpr int kString = 7;
    const Message one = Message().message(2, Message().integer(1, 1));  // the shape [1]
    const Message tensor = Message().integer(1, kString).message(2, one).text(8, markdown);
    const Message value = Message().text(1, tag).message(8, tensor).message(9, metadata("text", Message()));
    append(record(event_at(step).message(5, Message().message(1, value))));
}

void TensorBoardWriter::start_session(const std::map<std::string, HyperParameter>& options,
                                      const std::vector<std::string>& metrics) {
    Message experiment;
    Message session;
    experiment.number(3, now());
    for (const auto& [name, option] : options) {
        const auto [value, type] = hparam(option);
        experiment.message(4, Message().text(1, name).integer(4, type));
        session.message(1, Message().text(1, name).message(2, value));
    }
    for (const std::string& tag : metrics) experiment.message(5, Message().message(1, Message().text(2, tag)));
    session.number(5, now());
    const Message summary =
        Message()
            .message(1, hparams_value("_hparams_/experiment", Message().message(2, experiment)))
            .message(1, hparams_value("_hparams_/session_start_info", Message().message(3, session)));
    append(record(event_at(0).message(5, summary)));
}

void TensorBoardWriter::end_session(bool success) {
    constexpr int kSuccess = 1;
    constexpr int kFailure = 2;
    const Message end = Message().integer(1, success ? kSuccess : kFailure).number(2, now());
    const Message value = hparams_value("_hparams_/session_end_info", Message().message(4, end));
    append(record(event_at(0).message(5, Message().message(1, value))));
}

void TensorBoardWriter::append(std::string_view records) {
    const auto all = static_cast<std::int64_t>(records.size());
    while (!records.empty()) {
        const ssize_t count = ::write(descriptor_, records.data(), records.size());
        if (count >= 0) {
            records.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            const int error = errno;
            // Half a record would hide all that is written behind it. Should even this fail, the error is the same one.
            [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, size_);
            fail(path_, "append to it", error);
        }
    }
    size_ += all;
}

}  // namespace vitrine
