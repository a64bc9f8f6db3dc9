#include "core/image/preprocess.h"
#include "core/error.h"
#include "core/image/corpus.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <cmath>
#include <fstream>

using namespace vitrine;
using namespace vitrine::test;

class PreprocessTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void resize_equals_pillow();
    void pixel_values_follow_the_config();
    void absent_file_means_defaults();
    void settings_are_read_data();
    void settings_are_read();
    void settings_inside_the_processor_file();
    void bad_settings_are_refused_data();
    void bad_settings_are_refused();
};

namespace {

// A checkpoint folder with one file in it.
class Folder {
public:
    explicit Folder(const std::string& text, const char* name = "preprocessor_config.json") {
        std::ofstream(path() / name, std::ios::binary) << text;
    }
    std::filesystem::path path() const { return directory_.path().toStdString(); }

private:
    QTemporaryDir directory_;
};

const char* const usual = R"("image_processor_type": "SiglipImageProcessor", "do_resize": true, "do_rescale": true,
    "do_normalize": true, "do_convert_rgb": null, "resample": 3, "size": {"height": 224, "width": 224},
    "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 0.00392156862745098)";

}  // namespace

void PreprocessTest::resize_equals_pillow() {
    const auto bytes = read_values<std::uint8_t>(corpus_folder() / "resize.bin");
    std::size_t at = 0;
    const auto next_int = [&] {
        std::int32_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof(value));
        at += sizeof(value);
        return value;
    };
    const auto next_image = [&](int width, int height) {
        Image image{width, height, {}, {}, {}};
        const auto* first = bytes.data() + at;
        at += std::size_t{3} * width * height;
        image.rgb.assign(first, bytes.data() + at);
        return image;
    };
    const int count = next_int();
    QVERIFY(count >= 20);
    for (int i = 0; i < count; ++i) {
        const int width = next_int(), height = next_int(), new_width = next_int(), new_height = next_int();
        const Image before = next_image(width, height);
        const Image after = next_image(new_width, new_height);
        const Image resized = resize_bicubic(before, new_width, new_height);
        QCOMPARE(resized.width, new_width);
        QCOMPARE(resized.height, new_height);
        QVERIFY2(
            resized.rgb == after.rgb,
            qPrintable(QStringLiteral("%1 x %2 to %3 x %4").arg(width).arg(height).arg(new_width).arg(new_height)));
    }
    QCOMPARE(at, bytes.size());
}

void PreprocessTest::pixel_values_follow_the_config() {
    PreprocessConfig config;
    config.image_size = 2;
    config.rescale_factor = 0.5;
    config.mean = {1.0F, 2.0F, 3.0F};
    config.std = {1.0F, 2.0F, 4.0F};
    const Image image{2, 2, {0, 10, 20, 2, 12, 22, 4, 14, 24, 6, 16, 26}, {}, {}};
    const std::vector<float> expected{-1, 0, 1, 2, 1.5, 2, 2.5, 3, 1.75, 2, 2.25, 2.5};
    QCOMPARE(pixel_values(image, config), expected);
}

void PreprocessTest::absent_file_means_defaults() {
    const QTemporaryDir empty;
    const auto config = read_preprocess_config(empty.path().toStdString(), 384);
    QCOMPARE(config.image_size, 384);
    QCOMPARE(config.mean[2], 0.5F);
    QVERIFY(config.warnings.empty());
}

void PreprocessTest::settings_are_read_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("warnings");  // words, one for each warning in order
    QTest::addColumn<float>("mean");        // of the red channel
    QTest::addColumn<float>("scale");       // of 255
    QTest::newRow("usual") << QStringLiteral("{%1}").arg(usual) << "" << 0.5F << 1.0F;
    QTest::newRow("empty") << "{}"
                           << "" << 0.5F << 1.0F;
    QTest::newRow("one size") << R"({"size": 224})"
                              << "" << 0.5F << 1.0F;
    QTest::newRow("by name") << R"({"resample": "bicubic"})"
                             << "" << 0.5F << 1.0F;
    QTest::newRow("harmless crop") << R"({"do_center_crop": true, "crop_size": 224})"
                                   << "" << 0.5F << 1.0F;
    QTest::newRow("one mean") << R"({"image_mean": 0.5})"
                              << "" << 0.5F << 1.0F;
    QTest::newRow("CLIP") << R"({"image_processor_type": "CLIPImageProcessor", "image_mean": [0.48, 0.45, 0.4]})"
                          << "CLIPImageProcessor image_mean" << 0.48F << 1.0F;
    QTest::newRow("std") << R"({"image_std": [0.2, 0.2, 0.3]})"
                         << "image_std" << 0.5F << 1.0F;
    QTest::newRow("no scale") << R"({"do_rescale": false})"
                              << "rescale_factor" << 0.5F << 255.0F;
    QTest::newRow("no normalising") << R"({"do_normalize": false})"
                                    << "image_mean image_std" << 0.0F << 1.0F;
    QTest::newRow("no RGB") << R"({"do_convert_rgb": false})"
                            << "do_convert_rgb" << 0.5F << 1.0F;
}

void PreprocessTest::settings_are_read() {
    QFETCH(QString, text);
    QFETCH(QString, warnings);
    QFETCH(float, mean);
    QFETCH(float, scale);
    const Folder folder(text.toStdString());
    const auto config = read_preprocess_config(folder.path(), 224);
    QCOMPARE(config.image_size, 224);
    QCOMPARE(config.mean[0], mean);
    QVERIFY(std::abs(config.rescale_factor * 255.0 - static_cast<double>(scale)) < 1e-9);
    const auto words = warnings.split(u' ', Qt::SkipEmptyParts);
    QCOMPARE(config.warnings.size(), static_cast<std::size_t>(words.size()));
    for (qsizetype i = 0; i < words.size(); ++i) {
        QVERIFY(QString::fromStdString(config.warnings[static_cast<std::size_t>(i)]).contains(words[i]));
    }
}

void PreprocessTest::settings_inside_the_processor_file() {
    const Folder folder(R"({"image_processor": {"image_mean": 0.25}, "processor_class": "SiglipProcessor"})",
                        "processor_config.json");
    QCOMPARE(read_preprocess_config(folder.path(), 224).mean[1], 0.25F);
}

void PreprocessTest::bad_settings_are_refused_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("word");
    QTest::newRow("no JSON") << "{\"size\": "
                             << "JSON";
    QTest::newRow("empty file") << ""
                                << "JSON";
    QTest::newRow("not an object") << "[1]"
                                   << "object";
    QTest::newRow("other size") << R"({"size": {"height": 384, "width": 384}})"
                                << "384 x 384";
    QTest::newRow("not square") << R"({"size": {"height": 224, "width": 336}})"
                                << "336";
    QTest::newRow("shortest edge") << R"({"size": {"shortest_edge": 224}})"
                                   << "shortest_edge";
    QTest::newRow("size of words") << R"({"size": "big"})"
                                   << "big";
    QTest::newRow("negative size") << R"({"size": -224})"
                                   << "-224";
    QTest::newRow("fractional size") << R"({"size": 224.5})"
                                     << "224.5";
    QTest::newRow("bilinear") << R"({"resample": 2})"
                              << "resample";
    QTest::newRow("no resize") << R"({"do_resize": false})"
                               << "do_resize";
    QTest::newRow("crop") << R"({"do_center_crop": true, "crop_size": {"height": 200, "width": 200}})"
                          << "crop_size";
    QTest::newRow("pad") << R"({"do_pad": true})"
                         << "do_pad";
    QTest::newRow("two means") << R"({"image_mean": [0.5, 0.5]})"
                               << "image_mean";
    QTest::newRow("mean of words") << R"({"image_mean": ["a", 0, 0]})"
                                   << "image_mean";
    QTest::newRow("zero std") << R"({"image_std": [0.5, 0, 0.5]})"
                              << "image_std";
    QTest::newRow("negative factor") << R"({"rescale_factor": -1})"
                                     << "rescale_factor";
    QTest::newRow("flag of words") << R"({"do_rescale": "yes"})"
                                   << "do_rescale";
}

void PreprocessTest::bad_settings_are_refused() {
    QFETCH(QString, text);
    QFETCH(QString, word);
    const Folder folder(text.toStdString());
    try {
        read_preprocess_config(folder.path(), 224);
        QFAIL("it was accepted");
    } catch (const ConfigError& error) {
        const auto message = QString::fromUtf8(error.what());
        QVERIFY2(message.contains(word), error.what());
        QVERIFY2(message.contains(QStringLiteral("preprocessor_config.json")), error.what());
    }
}

VITRINE_TEST(PreprocessTest)
#include "preprocess_test.moc"
