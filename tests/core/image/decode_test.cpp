#include "core/image/decode.h"
#include "core/error.h"
#include "core/image/corpus.h"
#include "core/image/preprocess.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace vitrine;
using namespace vitrine::test;

class DecodeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pixel_values_equal_transformers_data();
    void pixel_values_equal_transformers();
    void bad_files_are_refused_data();
    void bad_files_are_refused();
    void limits_hold();
    void opaque_pixels_are_exact();
    void damage_never_crashes_data();
    void damage_never_crashes();
};

namespace {

// One test row per entry of the corpus that is (or is not) an error.
void add_rows(bool errors) {
    QTest::addColumn<QByteArray>("entry");
    int rows = 0;
    for (const auto& entry : corpus()) {
        if (entry.contains("error") != errors) continue;
        QTest::newRow(entry["file"].get<std::string>().c_str()) << QByteArray::fromStdString(entry.dump());
        ++rows;
    }
    QVERIFY2(rows >= 30, "the corpus is too small");
}

nlohmann::json current_entry() {
    QFETCH(QByteArray, entry);
    return nlohmann::json::parse(entry.toStdString());
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "; ";
    return text;
}

}  // namespace

void DecodeTest::pixel_values_equal_transformers_data() {
    add_rows(false);
}

void DecodeTest::pixel_values_equal_transformers() {
    const auto entry = current_entry();
    Image image;
    try {
        image = decode_image_file(path_of(entry));
    } catch (const Error& error) {
        QFAIL(error.what());
    }
    QCOMPARE(image.format, entry["format"].get<std::string>());
    QCOMPARE(image.width, entry["width"].get<int>());
    QCOMPARE(image.height, entry["height"].get<int>());
    QCOMPARE(image.rgb.size(), std::size_t{3} * image.width * image.height);
    const std::string notes = joined(image.notes);
    for (const auto& note : entry["notes"]) QVERIFY2(notes.find(note.get<std::string>()) != notes.npos, notes.c_str());
    QVERIFY2(image.notes.size() == entry["notes"].size(), notes.c_str());

    const std::vector<float> values = pixel_values(image, {});
    for (const auto& [backend, levels] : entry["levels"].items()) {
        const auto expected =
            read_values<float>(corpus_folder() / "pixels" / (entry["pixels"].get<std::string>() + "." + backend));
        QCOMPARE(values.size(), expected.size());
        float worst = 0.0F;
        for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]));
        // A grey level is 2/255 on the scale of pixel_values; the rest is the rounding of a float.
        const float allowed = levels.get<float>() * 2.0F / 255.0F + 1e-6F;
        QVERIFY2(worst <= allowed, qPrintable(QStringLiteral("%1: %2 grey levels off, %3 allowed")
                                                  .arg(QString::fromStdString(backend))
                                                  .arg(worst * 127.5F)
                                                  .arg(allowed * 127.5F)));
    }
}

void DecodeTest::bad_files_are_refused_data() {
    add_rows(true);
}

void DecodeTest::bad_files_are_refused() {
    const auto entry = current_entry();
    const auto check = [&](const Error& error, const char* kind) {
        const std::string message = error.what();
        QCOMPARE(std::string(kind), entry["error"].get<std::string>());
        QVERIFY2(message.find(entry["file"].get<std::string>()) != message.npos, message.c_str());
        QVERIFY2(!error.parts().found.empty() && !error.parts().advice.empty(), message.c_str());
        for (const auto& word : entry["words"]) {
            QVERIFY2(message.find(word.get<std::string>()) != message.npos, message.c_str());
        }
    };
    try {
        decode_image_file(path_of(entry));
        QFAIL("it was decoded");
    } catch (const PictureError& error) {
        check(error, "picture");
    } catch (const FileError& error) {
        check(error, "file");
    }
}

void DecodeTest::limits_hold() {
    const auto path = corpus_folder() / "files" / "rgb.png";  // 83 x 61
    QCOMPARE(decode_image_file(path, {83 * 61, 100'000}).width, 83);
    QVERIFY_THROWS_EXCEPTION(PictureError, decode_image_file(path, {83 * 61 - 1, 100'000}));
    QVERIFY_THROWS_EXCEPTION(PictureError, decode_image_file(path, {83 * 61, 100}));
    const auto bytes = read_values<std::byte>(path);
    QVERIFY_THROWS_EXCEPTION(PictureError, decode_image(bytes, "rgb.png", {83 * 61, 100}));
}

// Unresized, so that no filter hides a shifted row or an exchanged channel.
void DecodeTest::opaque_pixels_are_exact() {
    const Image plain = decode_image_file(corpus_folder() / "files" / "rgb.png");
    for (const char* same :
         {"interlaced.png", "gamma.png", "RGB.bmp", "top-down.bmp", "unused-fourth-byte.bmp", "binary.ppm", "plain.ppm",
          "lossless.webp", "raw.tif", "tiff_lzw.tif", "planar.tif", "tiled.tif", "tiled-planar.tif", "big.tif"}) {
        const Image image = decode_image_file(corpus_folder() / "files" / same);
        QVERIFY2(image.rgb == plain.rgb, same);
    }
}

void DecodeTest::damage_never_crashes_data() {
    add_rows(false);
}

void DecodeTest::damage_never_crashes() {
    const auto entry = current_entry();
    const auto whole = read_values<std::byte>(path_of(entry));
    if (whole.size() > 200'000) return;  // the same readers as the small ones, only slower
    std::mt19937 random(static_cast<unsigned>(whole.size()));
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    // A flipped bit in a header may ask for a large picture; the limit keeps this quick.
    const auto attempt = [&](const std::vector<std::byte>& bytes) {
        try {
            const Image image = decode_image(bytes, "damaged", {4'000'000, 1'000'000});
            QCOMPARE(image.rgb.size(), std::size_t{3} * image.width * image.height);
            QVERIFY(image.width > 0 && image.height > 0);
        } catch (const PictureError&) {
        } catch (const Error& error) {
            QFAIL(error.what());
        }
    };
    for (std::size_t i = 0; i < 20; ++i) {
        const std::size_t cut = i < 10 ? whole.size() * i / 10 : below(whole.size());
        attempt({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)});
    }
    for (int i = 0; i < 40; ++i) {
        auto bytes = whole;
        const std::size_t area =
            i % 2 == 0 ? std::min<std::size_t>(bytes.size(), 200) : bytes.size();  // headers matter most
        for (std::size_t flips = 1 + below(4); flips > 0; --flips)
            bytes[below(area)] = static_cast<std::byte>(below(256));
        attempt(bytes);
    }
}

VITRINE_TEST(DecodeTest)
#include "decode_test.moc"
