#include "core/error.h"
#include "core/image/decode.h"
#include "core/insight/array_file.h"
#include "core/insight/map_file.h"
#include "core/scenes/scene.h"
#include "insight_support.h"
#include "support/test_main.h"

#include <QRegularExpression>

#include <cmath>

namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kWords = "Was ist das? \xE5\x9B\xBE \"a\" <b> & c\nd";  // more than ASCII, and what XML minds

MapProvenance provenance() {
    return {.model = "demo", .prompt = kWords, .answer = "a circle", .picture = "photo.png", .seed = 42};
}

TokenMap token_map(float start, const std::string& token = "circle") {
    TokenMap map{.token = token};
    map.map.request = {.layer = 5, .head = kAll, .position = 211};
    map.map.grid = test::grid_of(2, 3, {start, start + 1, test::kNan, start + 3, start + 4, 0.1F});
    map.map.masses = Masses{.picture = 0.25, .first = 0.5, .prompt = 0.125, .answer = 0.125};
    map.map.entropy = 1.5;
    map.map.keys = 212;
    return map;
}

HeadMaps head_maps() {
    HeadMaps maps{.request = {.tower = Tower::vision, .patch = 3}, .layers = 2, .heads = 3, .rows = 2, .columns = 2};
    for (int i = 0; i < 24; ++i) maps.values.push_back(static_cast<float>(i) / 8.0F);
    return maps;
}

std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

class TestMapFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void otherProgramsReadThem() {
        const test::CheckedFolder folder;
        const Image picture = scenes::draw(scenes::make_scene(1, 1), 90, 60);
        std::vector<TokenMap> maps{token_map(0.5F), token_map(-7.25F, "red")};
        for (TokenMap& map : maps) map.panel.picture = &picture;
        const std::span one(maps.data(), 1);
        const MapStyle style{.scale = {.high = 4.0}, .longest_side = 210};
        for (const char* ending : {".png", ".svg", ".npy", ".npz", ".json"}) {
            write_map(folder.path() / (std::string("one") + ending), one, provenance(), style);
            write_map(folder.path() / (std::string("two") + ending), maps, provenance(), style);
            write_head_maps(folder.path() / (std::string("heads") + ending), head_maps(), "circle", provenance(),
                            style);
        }
        QCOMPARE(files_in(folder.path()), std::size_t{15});  // nothing beside them
        const json found_by_others = folder.read();
        QVERIFY(found_by_others.contains("files"));
        const json& files = found_by_others["files"];

        const json first{0.5, 1.5, nullptr, 3.5, 4.5, 0.10000000149011612};
        QCOMPARE(files["one.npy"]["dtype"], json("float32"));
        QCOMPARE(files["one.npy"]["shape"], json({2, 3}));
        QCOMPARE(files["one.npy"]["values"], first);
        QCOMPARE(files["two.npy"]["shape"], json({2, 2, 3}));
        QCOMPARE(files["two.npy"]["values"][6], json(-7.25));
        QCOMPARE(files["heads.npy"]["shape"], json({2, 3, 2, 2}));
        QCOMPARE(files["heads.npy"]["values"][23], json(23 / 8.0));

        const json& two = files["two.npz"]["arrays"];
        QCOMPARE(two.size(), std::size_t{3});
        QCOMPARE(two["maps"],
                 (json{{"dtype", "float32"}, {"shape", {2, 2, 3}}, {"values", files["two.npy"]["values"]}}));
        QCOMPARE(two["mass"]["shape"], json({2, 5}));
        QCOMPARE(two["mass"]["values"], json({0.25, 0.0, 0.5, 0.125, 0.125, 0.25, 0.0, 0.5, 0.125, 0.125}));
        QCOMPARE(two["entropy"]["values"], json({1.5, 1.5}));
        QCOMPARE(files["heads.npz"]["arrays"].size(), std::size_t{1});  // the tower has no masses

        const auto is_origin = [](const json& words) {
            return words["model"] == "demo" && words["prompt"] == kWords && words["seed"] == 42 &&
                   words["picture"] == "photo.png" && words["program"].get<std::string>().starts_with("vitrine ") &&
                   QRegularExpression("^20\\d\\d-[01]\\d-[0-3]\\dT[0-2]\\d:[0-5]\\d:[0-6]\\dZ$")
                       .match(QString::fromStdString(words["time"]))
                       .hasMatch();
        };
        const std::vector<json> words{files["one.npz"]["provenance"],
                                      json::parse(files["one.npy"]["behind"].get<std::string>()),
                                      json::parse(files["one.png"]["text"]["provenance"].get<std::string>()),
                                      json::parse(files["one.svg"]["entries"]["provenance"].get<std::string>())};
        for (const json& found : words) {
            QVERIFY2(is_origin(found), found.dump().c_str());
            QCOMPARE(found["maps"].size(), std::size_t{1});
            QCOMPARE(found["maps"][0]["layer"], json(5));
            QCOMPARE(found["maps"][0]["head"], json("mean"));
            QCOMPARE(found["maps"][0]["token"], json("circle"));
            QCOMPARE(found["maps"][0]["position"], json(211));
        }
        QCOMPARE(files["heads.npz"]["provenance"]["maps"][0]["tower"], json("vision"));
        QCOMPARE(files["heads.npz"]["provenance"]["maps"][0]["patch"], json(3));

        QCOMPARE(files["one.png"]["mode"], json("RGB"));
        QCOMPARE(files["one.svg"]["size"], files["one.png"]["size"]);
        QCOMPARE(files["heads.svg"]["size"], files["heads.png"]["size"]);
        QVERIFY(files["two.png"]["size"][0] > files["one.png"]["size"][0]);
        const std::string caption = "attention of the language model, token \"circle\", demo";
        QCOMPARE(files["one.png"]["text"]["Description"], json(caption));
        QCOMPARE(files["one.svg"]["entries"]["Description"], json(caption));
        const auto& texts = files["one.svg"]["texts"];
        for (const std::string text : {"circle, layer 5, heads: mean", "scale: per map, linear; 1 value lies above it"})
            QVERIFY2(std::find(texts.begin(), texts.end(), text) != texts.end(), texts.dump().c_str());

        // The patches tile the picture that is embedded: 210 x 140, of 3 x 2. The masked one is not drawn.
        QCOMPARE(files["one.svg"]["pictures"], json({{210, 140}, {256, 12}}));  // and the colour bar
        const auto& patches = files["one.svg"]["patches"];
        QCOMPARE(patches.size(), std::size_t{5});
        QCOMPARE(patches[0][2], json(70.0));
        QCOMPARE(patches[0][3], json(70.0));
        QVERIFY(std::abs(patches[1][0].get<double>() - patches[0][0].get<double>() - 70.0) < 1e-4);
        QVERIFY(std::abs(patches[2][1].get<double>() - patches[0][1].get<double>() - 70.0) < 1e-4);
        QVERIFY(std::abs(patches[0][4].get<double>() - 0.9 * 0.5 / 4.0) < 1e-6);
        QCOMPARE(files["heads.svg"]["pictures"].size(), std::size_t{7});
    }

    void theJsonForm() {
        const QTemporaryDir temporary;
        const fs::path path = temporary.filePath("map.json").toStdString();
        const std::vector<TokenMap> maps{token_map(0.5F), token_map(1.0F, "red")};
        write_map(path, std::span(maps.data(), 1), provenance());
        const json one = json::parse(contents(path));
        QCOMPARE(one["method"], json("attention"));
        QCOMPARE(one["layer"], json(5));
        QCOMPARE(one["head"], json("mean"));
        QCOMPARE(one["token"], json("circle"));
        QCOMPARE(one["mass"]["picture"], json(0.25));
        QCOMPARE(one["mass"].size(), std::size_t{5});
        QCOMPARE(one["entropy"], json(1.5));
        QCOMPARE(one["grid"], json({{0.5, 1.5, nullptr}, {3.5, 4.5, 0.1}}));
        QCOMPARE(one["provenance"]["seed"], json(42));

        write_map(path, maps, provenance());  // in place of the first
        const json two = json::parse(contents(path));
        QCOMPARE(two["maps"].size(), std::size_t{2});
        QCOMPARE(two["maps"][1]["token"], json("red"));
        QCOMPARE(two["provenance"]["model"], json("demo"));

        TokenMap relevance = token_map(0.0F);
        relevance.map.request.method = MapMethod::relevance;
        relevance.map.masses.reset();
        const json map = map_json(relevance);
        QVERIFY(map["layer"].is_null() && map["head"].is_null() && map["mass"].is_null());

        write_head_maps(path, head_maps(), "", provenance());
        const json heads = json::parse(contents(path));
        QCOMPARE(heads["maps"].size(), std::size_t{6});
        QCOMPARE(heads["maps"][4]["layer"], json(1));
        QCOMPARE(heads["maps"][4]["head"], json(1));
        QCOMPARE(heads["maps"][4]["grid"][1][0], json(18 / 8.0));
    }

    void thePictureIsWhatIsDrawn() {
        const QTemporaryDir temporary;
        const fs::path path = temporary.filePath("map.PNG").toStdString();
        const TokenMap map = token_map(0.5F);
        const MapStyle style{.scale = {.high = 4.0}, .longest_side = 60, .caption = "same"};
        write_map(path, std::span(&map, 1), provenance(), style);
        const MapPanel panel{.grid = &map.map.grid, .title = "circle, layer 5, heads: mean"};
        QCOMPARE(decode_image_file(path).rgb, map_image(std::span(&panel, 1), style).rgb);
    }

    void anUnknownEndingNamesTheKnown() {
        const TokenMap map = token_map(0.5F);
        const QTemporaryDir temporary;
        for (const char* name : {"map.jpg", "map", "map.png.txt", ".png"}) {
            const fs::path path = temporary.filePath(name).toStdString();
            const std::string message =
                test::message_of<OptionError>([&] { write_map(path, std::span(&map, 1), provenance()); });
            QVERIFY2(message.find("ends in .png, .svg, .npy, .npz or .json") != message.npos, message.c_str());
            QVERIFY2(message.starts_with(path.string()), message.c_str());
        }
        QCOMPARE(files_in(temporary.path().toStdString()), std::size_t{0});
        QCOMPARE(map_format_of("a/b.c/MAP.Npz"), MapFormat::npz);
    }

    void aFileAppearsWholeOrNotAtAll() {
        const QTemporaryDir temporary;
        const fs::path folder = temporary.path().toStdString();
        const std::vector<TokenMap> maps{token_map(0.5F)};
        write_map(folder / "map.npz", maps, provenance());
        const std::string before = contents(folder / "map.npz");
        std::vector<TokenMap> uneven{token_map(0.5F), token_map(1.0F)};
        uneven[1].map.grid = test::constant(1, 3, 0.5F);
        QVERIFY_THROWS_EXCEPTION(InputError, write_map(folder / "map.npz", uneven, provenance()));
        QVERIFY_THROWS_EXCEPTION(InputError, write_map(folder / "map.npz", {}, provenance()));
        QVERIFY_THROWS_EXCEPTION(FileError, write_map(folder / "absent" / "map.npz", maps, provenance()));
        QCOMPARE(contents(folder / "map.npz"), before);
        QCOMPARE(files_in(folder), std::size_t{1});
        write_map(folder / "uneven.json", uneven, provenance());  // which has room for both
    }

    void arraysOfAnyShape() {
        const test::CheckedFolder folder;
        const std::vector<float> values{1.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 3.0F, 4.0F, 5.0F};
        const std::span<const float> all(values);
        const auto write = [&](const char* name, const std::string& bytes) {
            std::ofstream(folder.path() / name, std::ios::binary) << bytes;
        };
        write("scalar.npy", npy_bytes({"", {}, all.first(1)}));
        write("line.npy", npy_bytes({"", {6}, all}));
        write("empty.npy", npy_bytes({"", {0, 5}, {}}));
        write("deep.npy", npy_bytes({"", std::vector<std::int64_t>(64, 1), all.first(1)}));
        const std::vector<ArrayView> arrays{{"a", {2, 3}, all}, {"\xC3\xA4 b", {1}, all.first(1)}};
        write("plain.npz", npz_bytes(arrays));
        write("none.npz", npz_bytes({}, "{}"));
        const json found_by_others = folder.read();
        QVERIFY(found_by_others.contains("files"));
        const json& files = found_by_others["files"];
        QCOMPARE(files["scalar.npy"]["shape"], json::array());
        QCOMPARE(files["scalar.npy"]["values"], json::array({1.5}));
        QCOMPARE(files["line.npy"]["shape"], json::array({6}));
        QCOMPARE(files["line.npy"]["values"].get<std::vector<float>>(), values);
        QCOMPARE(files["line.npy"]["behind"], json(""));
        QCOMPARE(files["empty.npy"]["shape"], json({0, 5}));
        QCOMPARE(files["deep.npy"]["shape"].size(), std::size_t{64});
        QCOMPARE(files["plain.npz"]["arrays"]["a"]["shape"], json({2, 3}));
        QCOMPARE(files["plain.npz"]["arrays"]["\xC3\xA4 b"]["values"], json::array({1.5}));
        QVERIFY(files["plain.npz"]["provenance"].is_null());
        QCOMPARE(files["none.npz"]["provenance"], json::object());
        QCOMPARE(npz_bytes(arrays), npz_bytes(arrays));

        QVERIFY_THROWS_EXCEPTION(InputError, npy_bytes({"", {2, 2}, all}));
        QVERIFY_THROWS_EXCEPTION(InputError, npy_bytes({"", {-2, -3}, all}));
        QVERIFY_THROWS_EXCEPTION(InputError, npy_bytes({"", {6, 1LL << 40, 1LL << 40}, all}));
        for (const char* name : {"", "../a", "a/b", ".hidden", "a"}) {
            const std::vector<ArrayView> wrong{{"a", {6}, all}, {name, {6}, all}};
            QVERIFY_THROWS_EXCEPTION(InputError, npz_bytes(wrong));
        }
    }

    void methodsHaveNames() {
        for (const MapMethod method : {MapMethod::attention, MapMethod::value_norm, MapMethod::relative,
                                       MapMethod::relevance, MapMethod::lens, MapMethod::rollout})
            QCOMPARE(map_method_from_name(name_of(method)), std::optional(method));
        QCOMPARE(name_of(MapMethod::value_norm), std::string_view("value-norm"));
        QVERIFY(!map_method_from_name("Attention"));
        QCOMPARE(name_of(Tower::vision), std::string_view("vision"));
    }
};

VITRINE_TEST(TestMapFiles)

}  // namespace vitrine

#include "test_map_files.moc"
