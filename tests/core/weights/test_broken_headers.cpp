#include "core/weights/safetensors.h"
#include "core/weights/weights_support.h"
#include "support/test_main.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace vitrine;
using namespace vitrine::test;
using namespace std::string_literals;

namespace {

// Opens a file of these bytes.
std::function<void(const Folder&)> file_of(std::string bytes) {
    return [bytes = std::move(bytes)](const Folder& folder) {
        SafetensorsFile::open(folder.write("model.safetensors", bytes));
    };
}
std::function<void(const Folder&)> header_of(const std::string& header, std::size_t data = 4) {
    return file_of(safetensors_bytes(header, std::string(data, '\0')));
}
std::function<void(const Folder&)> tensor_of(const std::string& dtype, const std::string& shape,
                                             const std::string& offsets, std::size_t data = 4) {
    return header_of(R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                     data);
}

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 1192135096\n";

const std::vector<BrokenInput>& inputs() {
    static const std::vector<BrokenInput> table{
        // What is no safetensors file at all.
        {"empty file", file_of(""), "weights", {"model.safetensors", "an empty file", "Download it again"}},
        {"Git LFS pointer", file_of(kPointer), "weights", {"Git LFS pointer", "1192135096 bytes", "git lfs pull"}},
        {"web page",
         file_of("<!DOCTYPE html>\n<html><body>404</body></html>"),
         "weights",
         {"a web page", "DOCTYPE", "needs a login"}},
        {"web page after a blank line", file_of("\n\n  <html>nothing here</html>"), "weights", {"a web page"}},
        {"server message", file_of("Entry not found"), "weights", {"text: Entry not found", "Download it again"}},
        {"JSON message",
         file_of(R"({"error":"Repository not found"})"),
         "weights",
         {"text: {", "Repository not found"}},
        {"short text", file_of("no"), "weights", {"text: no"}},
        {"GGUF", file_of("GGUF\3\0\0\0\0\0\0\0"s), "weights", {"a GGUF file", "safetensors"}},
        {"PyTorch zip",
         file_of("PK\3\4\0\0\10\10\0\0archive/data.pkl"s),
         "weights",
         {"zip archive", "save_pretrained"}},
        {"old PyTorch pickle",
         file_of("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20"),
         "weights",
         {"pickle", "save_pretrained"}},
        {"random bytes",
         file_of("\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
         "weights",
         {"a header of at most 100000000 bytes", "damaged"}},
        {"folder",
         [](const Folder& folder) { SafetensorsFile::open(folder.path()); },
         "file",
         {"a folder", "Name the file"}},
        {"nothing there",
         [](const Folder& folder) { SafetensorsFile::open(folder / "no.safetensors"); },
         "file",
         {"no.safetensors", "No such file", "spelling"}},
        {"dangling link",
         [](const Folder& folder) {
             std::filesystem::create_symlink("../blobs/abc", folder / "model.safetensors");
             SafetensorsFile::open(folder / "model.safetensors");
         },
         "file",
         {"a link to ../blobs/abc", "does not exist"}},
        {"pipe",
         [](const Folder& folder) {
             ::mkfifo((folder / "model.safetensors").c_str(), 0600);
             SafetensorsFile::open(folder / "model.safetensors");
         },
         "file",
         {"a pipe, socket or device"}},
        {"no permission",
         [](const Folder& folder) {
             const auto path = folder.write("model.safetensors", tiny_safetensors({"w"}));
             ::chmod(path.c_str(), 0);
             const bool was_root = ::geteuid() == 0 && ::seteuid(65534) == 0;  // root may read everything
             const Refusal refusal = refusal_of([&] { SafetensorsFile::open(path); });
             if (was_root) QCOMPARE(::seteuid(0), 0);
             if (refusal.kind == "file") throw FileError({{}, {}, {}, refusal.message, {}});
         },
         "file",
         {"Permission denied", "permissions"}},

        // Cut short.
        {"cut in the length", file_of("\x28\0\0"s), "weights", {"The download was cut", "5 bytes"}},
        {"cut in the header",
         file_of(safetensors_bytes(R"({"w":{"dty)", {}, 60)),
         "weights",
         {"at least 68 bytes", "found 18 bytes", "50 bytes of the header alone are missing"}},
        {"cut in the data",
         tensor_of(R"("F32")", "[10]", "[0,40]", 7),
         "weights",
         {"The download was cut: 33 bytes are missing"}},
        {"no data at all", tensor_of(R"("F32")", "[1]", "[0,4]", 0), "weights", {"4 bytes are missing"}},
        {"too long", tensor_of(R"("F32")", "[1]", "[0,4]", 5), "weights", {"goes on for 1 byte after its last tensor"}},
        {"bytes after nothing", header_of("{}", 1), "weights", {"goes on for 1 byte"}},

        // The header's text.
        {"header too long", file_of(safetensors_bytes("{}", {}, 100'000'001)), "weights", {"100000000", "100000001"}},
        {"length of all ones",
         file_of(safetensors_bytes("{}", {}, ~std::uint64_t{0})),
         "weights",
         {"18446744073709551615"}},
        {"no header", header_of("", 0), "weights", {"a header that begins with {"}},
        {"blank first",
         header_of(R"( {"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
         "weights",
         {"begins with {"}},
        {"list", header_of("[]", 0), "weights", {"begins with {"}},
        {"no JSON", header_of("{\n\"w\": oops}", 0), "weights", {"header", "line 2, column 6", "Download it again"}},
        {"ends early", header_of(R"({"w":{"dtype":"F32")", 0), "weights", {"the end of the text at line 1, column 20"}},
        {"no UTF-8", header_of("{\"\xff\":1}", 0), "weights", {"header", "line 1, column 3"}},
        {"zero bytes after it", header_of("{}\0\0"s, 0), "weights", {"header", "line 1, column 3"}},
        {"depth bomb",
         header_of(R"({"w":)" + std::string(1'000'000, '['), 0),
         "weights",
         {"nesting deeper than 64 levels"}},
        {"depth bomb of objects",
         [](const Folder& folder) {
             std::string bomb;
             for (int i = 0; i < 200'000; ++i) bomb += R"({"a":)";
             SafetensorsFile::open(folder.write("model.safetensors", safetensors_bytes(bomb)));
         },
         "weights",
         {"nesting deeper than 64 levels"}},
        {"number out of range", tensor_of(R"("F32")", "[1e999]", "[0,4]"), "weights", {"a number out of range"}},

        // Names, keys and values.
        {"one name twice",
         header_of(
             R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
             8),
         "weights",
         {": w: ", "this key twice in one object"}},
        {"metadata twice",
         header_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
         "weights",
         {"__metadata__", "twice"}},
        {"metadata key twice", header_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "weights", {"a: ", "twice"}},
        {"metadata a list",
         header_of(R"({"__metadata__":[1]})", 0),
         "weights",
         {"__metadata__", "object of strings", "[1]"}},
        {"metadata with a number",
         header_of(R"({"__metadata__":{"step":3}})", 0),
         "weights",
         {"__metadata__", "string at step", "3"}},
        {"tensor a number", header_of(R"({"w":5})", 0), "weights", {"w: ", "dtype, shape and data_offsets", "5"}},
        {"no dtype", header_of(R"({"w":{"shape":[1],"data_offsets":[0,4]}})"), "weights", {"w: ", "the key dtype"}},
        {"no shape", header_of(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})"), "weights", {"w: ", "the key shape"}},
        {"no offsets", header_of(R"({"w":{"dtype":"F32","shape":[1]}})"), "weights", {"w: ", "the key data_offsets"}},
        {"dtype twice",
         header_of(R"({"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
         "weights",
         {"dtype", "twice"}},
        {"dtype a number", tensor_of("32", "[1]", "[0,4]"), "weights", {"w: ", "a dtype as a string", "32"}},
        {"dtype unknown", tensor_of(R"("F33")", "[1]", "[0,4]"), "weights", {"w: ", "F33", "newer than this program"}},
        {"dtype with control characters", tensor_of(R"("\u001b[31m")", "[1]", "[0,4]"), "weights", {R"(\u001b[31m)"}},
        {"dtype very long", tensor_of('"' + std::string(100'000, 'x') + '"', "[1]", "[0,4]"), "weights", {"xxxx..."}},
        {"shape a number", tensor_of(R"("F32")", "1", "[0,4]"), "weights", {"w: ", "a shape as a list"}},
        {"shape negative", tensor_of(R"("F32")", "[-1]", "[0,4]"), "weights", {"w: ", "whole numbers in shape", "-1"}},
        {"shape with a fraction",
         tensor_of(R"("F32")", "[1.0]", "[0,4]"),
         "weights",
         {"whole numbers in shape", "1.0"}},
        {"shape with text",
         tensor_of(R"("F32")", R"(["1"])", "[0,4]"),
         "weights",
         {"whole numbers in shape", R"("1")"}},
        {"shape overflows",
         tensor_of(R"("F32")", "[4294967296,4294967296]", "[0,4]"),
         "weights",
         {"below 2^61", "4294967296"}},
        {"shape overflows before a zero",
         tensor_of(R"("F32")", "[4294967296,4294967296,0]", "[0,0]", 0),
         "weights",
         {"below 2^61"}},
        {"bytes overflow", tensor_of(R"("F64")", "[4611686018427387904]", "[0,4]"), "weights", {"below 2^61"}},
        {"half a byte", tensor_of(R"("F4")", "[3]", "[0,2]", 2), "weights", {"whole bytes", "F4 [3]"}},
        {"three quarters of a byte",
         tensor_of(R"("F6_E2M3")", "[1]", "[0,1]", 1),
         "weights",
         {"whole bytes", "F6_E2M3 [1]"}},
        {"one offset", tensor_of(R"("F32")", "[1]", "[0]"), "weights", {"data_offsets as two numbers"}},
        {"offsets backwards",
         tensor_of(R"("F32")", "[1]", "[4,0]"),
         "weights",
         {"w: ", "4 bytes for F32 [1]", "offsets 4 to 0"}},
        {"offset negative", tensor_of(R"("F32")", "[1]", "[-4,0]"), "weights", {"whole numbers in data_offsets", "-4"}},
        {"offset beyond 64 bits",
         tensor_of(R"("F32")", "[1]", "[0,18446744073709551616]"),
         "weights",
         {"whole numbers in data_offsets"}},
        {"offsets do not fit the shape",
         tensor_of(R"("BF16")", "[3]", "[0,4]"),
         "weights",
         {"w: ", "6 bytes for BF16 [3]", "offsets 0 to 4"}},
        {"hole at the start", tensor_of(R"("F32")", "[1]", "[4,8]", 8), "weights", {"w: ", "offset 0", "a hole"}},
        {"hole in the middle",
         header_of(
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
             12),
         "weights",
         {"b: ", "offset 4 after a", "a hole"}},
        {"overlap",
         header_of(
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
             6),
         "weights",
         {"b: ", "offset 4 after a", "overlap"}},
        {"two tensors in one place",
         header_of(
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
             4),
         "weights",
         {"b: ", "overlap"}},
        {"empty tensor inside another",
         header_of(
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}})",
             4),
         "weights",
         {"b: ", "overlap"}},
    };
    return table;
}

}  // namespace

class TestBrokenHeaders : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void are_refused_data() { add_rows(inputs()); }
    void are_refused() { check_row(inputs()); }
};

VITRINE_TEST(TestBrokenHeaders)
#include "test_broken_headers.moc"
