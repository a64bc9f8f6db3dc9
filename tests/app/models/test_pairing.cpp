#include "core/engine.h"
#include "core/error.h"
#include "core/model/pairing.h"
#include "support/test_main.h"
#include "tiny_models.h"

#include <nlohmann/json.hpp>

using namespace vitrine;
using namespace vitrine::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> misfits(const PairingVerdict& verdict) {
    std::vector<std::string> names;
    for (const PairingCheck& check : verdict.checks)
        if (!check.ok()) names.push_back(check.left.name + " / " + check.right.name);
    return names;
}

}  // namespace

class TestPairing : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    fs::path m_small, m_wideVision, m_wideLanguage;

    fs::path at(const char* name) const { return fsPath(m_folder.filePath(QString::fromUtf8(name))); }
    static Pairing of(const fs::path& vision, const fs::path& language, const fs::path& projector) {
        return {vision / "vision", language / "language",
                projector.empty() ? projector : projector / "projector.safetensors"};
    }

private Q_SLOTS:
    void initTestCase() {
        m_small = at("small");
        m_wideVision = at("wide-vision");
        m_wideLanguage = at("wide-language");
        writeTinyModel(m_folder.filePath(QStringLiteral("small")), 16, 24);
        writeTinyModel(m_folder.filePath(QStringLiteral("wide-vision")), 32, 24);
        writeTinyModel(m_folder.filePath(QStringLiteral("wide-language")), 16, 40);
    }

    void fitting_parts_fit() {
        const PairingVerdict verdict = check_pairing(of(m_small, m_small, m_small));
        QVERIFY(verdict.fits());
        QVERIFY(!verdict.untrained);
        QCOMPARE(verdict.checks.size(), std::size_t{5});
    }

    void the_number_that_disagrees_is_named() {
        using Names = std::vector<std::string>;
        const PairingVerdict vision = check_pairing(of(m_wideVision, m_small, m_small));
        QCOMPARE(misfits(vision), Names{"hidden_size / fc1.weight inputs"});
        QCOMPARE(vision.checks[0].left.value, 32);
        QCOMPARE(vision.checks[0].right.value, 16);
        QCOMPARE(vision.checks[0].left.file, m_wideVision / "vision" / "config.json");
        const PairingVerdict language = check_pairing(of(m_small, m_wideLanguage, m_small));
        QCOMPARE(misfits(language), Names{"fc2.weight outputs / hidden_size"});
        const PairingVerdict both = check_pairing(of(m_wideVision, m_wideLanguage, m_small));
        QCOMPARE(both.fits(), false);
        QCOMPARE(misfits(both).size(), std::size_t{2});
    }

    void a_new_projector_fits_whatever_it_stands_between() {
        const PairingVerdict verdict = check_pairing(of(m_wideVision, m_wideLanguage, {}));
        QVERIFY(verdict.fits());
        QVERIFY(verdict.untrained);
    }

    void what_is_no_such_part_is_refused() {
        const auto refused = [](const Pairing& pairing, const char* words) {
            try {
                check_pairing(pairing);
            } catch (const Error& error) {
                return std::string(error.what()).find(words) != std::string::npos;
            }
            return false;
        };
        QVERIFY(refused({m_small / "language", m_small / "language", {}}, "model_type"));
        QVERIFY(refused({m_small / "vision", m_small / "vision", {}}, "model_type"));
        QVERIFY(refused({m_small / "vision", m_small / "language", m_small / "vision" / "model.safetensors"},
                        "fc1.weight"));
        QVERIFY(refused({m_small / "vision", m_small / "nowhere", {}}, "config.json"));
        // A language checkpoint without its tokenizer cannot speak.
        const fs::path mute = at("mute");
        fs::copy(m_small / "language", mute);
        fs::remove(mute / "tokenizer.json");
        QVERIFY(refused({m_small / "vision", mute, {}}, "tokenizer.json"));
    }

    void a_written_model_loads_and_says_that_it_is_untrained() {
        const fs::path folder = at("models/new");
        write_paired_model(of(m_wideVision, m_wideLanguage, {}), "A new one", 3, folder);
        const ModelFolder model = ModelFolder::open(folder);
        QCOMPARE(model.name, std::string("A new one"));
        QCOMPARE(model.vision, m_wideVision / "vision");
        QCOMPARE(model.projector, folder / "projector.safetensors");
        QVERIFY(is_untrained(model));
        QVERIFY(model.about.find("untrained") != std::string::npos);

        Engine engine;
        EngineObserver observer;
        const auto summary = engine.load(folder, {.device = "cpu"}, observer);
        QVERIFY(summary);
        QCOMPARE(summary->projector_parameters, 32 * 40 + 40 + 40 * 40 + 40);
    }

    void a_trained_projector_is_taken_over() {
        const fs::path folder = at("models/taken");
        write_paired_model(of(m_small, m_small, m_small), "Taken", 3, folder);
        const ModelFolder model = ModelFolder::open(folder);
        QVERIFY(!is_untrained(model));
        QCOMPARE(readFile(QString::fromStdString(model.projector.string())),
                 readFile(QString::fromStdString((m_small / "projector.safetensors").string())));
    }

    void parts_are_named_so_that_they_stay_found() {
        const auto language = [](const fs::path& folder) {
            const QByteArray text = readFile(QString::fromStdString((folder / "vitrine.json").string()));
            return nlohmann::json::parse(text.toStdString())["language"].get<std::string>();
        };
        // Beside the new folder: relative, so that both can be moved together.
        fs::create_directories(at("library"));
        fs::copy(m_small / "language", at("library/Qwen--Qwen3"));
        write_paired_model({m_small / "vision", at("library/Qwen--Qwen3"), {}}, "x", 1, at("library/x"));
        QCOMPARE(language(at("library/x")), std::string("../Qwen--Qwen3"));
        QCOMPARE(ModelFolder::open(at("library/x")).language, at("library/Qwen--Qwen3"));
        // In the cache of the hub: by its id, which survives an update.
        const QString cache = m_folder.filePath(QStringLiteral("cache"));
        const Environment variable("HF_HUB_CACHE", cache);
        const QString snapshot = writeToHubCache(cache, QStringLiteral("Qwen/Qwen3"),
                                                 QString::fromStdString((m_small / "language").string()));
        write_paired_model({m_small / "vision", fsPath(snapshot), {}}, "y", 1, at("library/y"));
        QCOMPARE(language(at("library/y")), std::string("Qwen/Qwen3"));
        QCOMPARE(ModelFolder::open(at("library/y")).language, fsPath(snapshot));
        // Elsewhere: by the absolute path.
        write_paired_model(of(m_small, m_small, {}), "z", 1, at("library/z"));
        QCOMPARE(language(at("library/z")), (m_small / "language").string());
    }

    void a_misfit_leaves_nothing_behind() {
        QVERIFY_THROWS_EXCEPTION(ConfigError,
                                 write_paired_model(of(m_wideVision, m_small, m_small), "no", 1, at("models/no")));
        QVERIFY(!fs::exists(at("models/no")));
        QVERIFY(!fs::exists(at("models/no.part")));
        QVERIFY_THROWS_EXCEPTION(FileError, write_paired_model(of(m_small, m_small, {}), "in the way", 1, m_small));
        QVERIFY(fs::exists(m_small / "vision" / "config.json"));
    }
};

VITRINE_TEST(TestPairing)
#include "test_pairing.moc"
