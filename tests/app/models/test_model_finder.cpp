#include "app/models/model_finder.h"
#include "core/engine.h"
#include "support/test_main.h"
#include "tiny_models.h"

#include <QSignalSpy>

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Kind = FoundModel::Kind;
using Place = FoundModel::Place;

const FoundModel* named(const QList<FoundModel>& all, const QString& name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const FoundModel& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

class TestModelFinder : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString m_model;

    QString at(const QString& name) const { return m_folder.filePath(name); }
    static void copyFolder(const QString& from, const QString& to) {
        QDir().mkpath(QFileInfo(to).path());
        std::filesystem::copy(fsPath(from), fsPath(to), std::filesystem::copy_options::recursive);
    }

private Q_SLOTS:
    void initTestCase() {
        m_model = at(QStringLiteral("source/model"));
        writeTinyModel(m_model);
    }

    void a_model_is_known_with_its_parts_and_its_memory() {
        const QList<FoundModel> found = lookAt(m_model, Place::demo);
        QCOMPARE(found.size(), 1);
        const FoundModel& model = found.first();
        QCOMPARE(model.kind, Kind::model);
        QVERIFY2(model.reason.isEmpty(), qPrintable(model.reason));
        QCOMPARE(model.visionPath, m_model + QStringLiteral("/vision"));
        QCOMPARE(model.projectorPath, m_model + QStringLiteral("/projector.safetensors"));
        QCOMPARE(model.vision->hidden_size, 16);
        QCOMPARE(model.language->hidden_size, 24);
        QVERIFY(model.untrained);
        QCOMPARE(model.needs.size(), std::size_t{3});
        QVERIFY(model.needs[0].weights == 2 * model.needs[1].weights);  // fp32 and bf16
        QVERIFY(model.bytes > 10'000);
    }

    void every_place_is_looked_through() {
        const QString own = at(QStringLiteral("own"));
        copyFolder(m_model + QStringLiteral("/vision"), own + QStringLiteral("/google--siglip"));
        copyFolder(m_model + QStringLiteral("/language"), own + QStringLiteral("/Qwen--Qwen3"));
        copyFolder(m_model + QStringLiteral("/language"), own + QStringLiteral("/Qwen--Half.part"));
        const QString added = at(QStringLiteral("added"));
        copyFolder(m_model, added + QStringLiteral("/inside"));
        const QString run = at(QStringLiteral("run/step-10"));
        writeFile(run + QStringLiteral("/projector.safetensors"),
                  readFile(m_model + QStringLiteral("/projector.safetensors")));
        writeFile(run + QStringLiteral("/state.safetensors"),
                  readFile(m_model + QStringLiteral("/vision/model.safetensors")));
        const QString gone = at(QStringLiteral("gone"));
        const Environment cache("HF_HUB_CACHE", at(QStringLiteral("no-cache")));

        const QList<FoundModel> all = findModels(
            {.demo = m_model, .own = own, .added = {added, run, gone, m_folder.filePath(QStringLiteral("own"))}});
        const FoundModel* vision = named(all, QStringLiteral("google/siglip"));
        QVERIFY(vision != nullptr && vision->kind == Kind::vision && vision->place == Place::own);
        const FoundModel* language = named(all, QStringLiteral("Qwen/Qwen3"));
        QVERIFY(language != nullptr && language->kind == Kind::language);
        QVERIFY(named(all, QStringLiteral("Qwen/Half")) == nullptr);  // a download on its way
        const auto inside = std::count_if(all.begin(), all.end(), [&](const FoundModel& one) {
            return one.kind == Kind::model && one.path.endsWith(QLatin1String("added/inside"));
        });
        QCOMPARE(inside, 1);
        const FoundModel* projector = named(all, QStringLiteral("step-10/projector.safetensors"));
        QVERIFY(projector != nullptr && projector->kind == Kind::projector);
        QCOMPARE(projector->projectorInputs, 16);
        QCOMPARE(projector->projectorOutputs, 24);
        QVERIFY(named(all, QStringLiteral("step-10/state.safetensors")) == nullptr);
        const FoundModel* missing = named(all, QStringLiteral("gone"));
        QVERIFY(missing != nullptr && missing->reason.contains(QLatin1String("not there any more")));
        // The folder `own` was named twice, its models are there once.
        QCOMPARE(std::count_if(all.begin(), all.end(), [](const FoundModel& one) { return one.kind == Kind::vision; }),
                 1);
    }

    void the_hub_cache_is_read_in_place() {
        const QString cache = at(QStringLiteral("cache"));
        const Environment variable("HF_HUB_CACHE", cache);
        const QString snapshot =
            writeToHubCache(cache, QStringLiteral("google/siglip"), m_model + QStringLiteral("/vision"));
        writeToHubCache(cache, QStringLiteral("Qwen/Broken"), m_model + QStringLiteral("/language"));
        QVERIFY(QFile::remove(cache + QStringLiteral("/models--Qwen--Broken/blobs/blob-model.safetensors")));
        writeToHubCache(cache, QStringLiteral("Qwen/NoConfig"), m_model + QStringLiteral("/language"));
        QVERIFY(QFile::remove(cache + QStringLiteral("/models--Qwen--NoConfig/blobs/blob-config.json")));
        writeToHubCache(cache, QStringLiteral("Qwen/Half"), m_model + QStringLiteral("/language"));
        QVERIFY(QFile::remove(cache + QStringLiteral("/models--Qwen--Half/snapshots/c0ffee/model.safetensors")));
        writeFile(cache + QStringLiteral("/models--Qwen--Half/blobs/abc.incomplete"), "half");
        writeFile(cache + QStringLiteral("/models--Qwen--Begun/blobs/abc.incomplete"), "half");
        writeFile(cache + QStringLiteral("/models--a--elsewhere/refs/main"), "../../../../etc");

        const QList<FoundModel> all = findModels({});
        const FoundModel* whole = named(all, QStringLiteral("google/siglip"));
        QVERIFY(whole != nullptr);
        QVERIFY2(whole->kind == Kind::vision, qPrintable(whole->reason));
        QCOMPARE(whole->path, snapshot);
        QCOMPARE(whole->place, Place::hubCache);
        const auto reason = [&](const char* name) {
            const FoundModel* found = named(all, QString::fromUtf8(name));
            return found != nullptr && found->kind == Kind::unusable ? found->reason
                                                                     : QStringLiteral("missing or usable");
        };
        QVERIFY2(reason("Qwen/Broken").contains(QLatin1String("model.safetensors")), qPrintable(reason("Qwen/Broken")));
        QVERIFY2(reason("Qwen/NoConfig").contains(QLatin1String("config.json")), qPrintable(reason("Qwen/NoConfig")));
        QVERIFY2(reason("Qwen/Half").contains(QLatin1String("not complete")), qPrintable(reason("Qwen/Half")));
        QVERIFY2(reason("Qwen/Begun").contains(QLatin1String("not complete")), qPrintable(reason("Qwen/Begun")));
        QVERIFY2(reason("a/elsewhere").contains(QLatin1String("no snapshot")), qPrintable(reason("a/elsewhere")));
    }

    void the_cache_is_where_the_hub_library_puts_it() {
        const Environment home("HF_HOME", QStringLiteral("/x/hf"));
        {
            const Environment cache("HF_HUB_CACHE", QStringLiteral("~/hub"));
            QCOMPARE(QString::fromStdString(hub_cache_folder().string()), QDir::homePath() + QStringLiteral("/hub"));
        }
        const Environment cache("HF_HUB_CACHE", QString());
        const Environment older("HUGGINGFACE_HUB_CACHE", QString());
        QCOMPARE(QString::fromStdString(hub_cache_folder().string()), QStringLiteral("/x/hf/hub"));
    }

    void what_cannot_be_used_says_why_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QByteArray>("weights");
        QTest::addColumn<QString>("words");
        const QByteArray good = readFile(at(QStringLiteral("source/model/language/model.safetensors")));
        const QByteArray config = readFile(at(QStringLiteral("source/model/language/config.json")));
        QTest::newRow("other model") << QByteArray(R"({"model_type": "llama", "hidden_size": 24})") << good
                                     << QStringLiteral("model_type");
        QTest::newRow("pointer") << config
                                 << QByteArray("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n")
                                 << QStringLiteral("LFS");
        QTest::newRow("cut") << config << good.left(good.size() / 2) << QStringLiteral("cut");
        QTest::newRow("no weights") << config << QByteArray() << QStringLiteral("model.safetensors");
        QByteArray wide = config;
        wide.replace("\"hidden_size\": 24", "\"hidden_size\": 48");
        QTest::newRow("weights of another size") << wide << good << QStringLiteral("shape");
        QTest::newRow("no json") << QByteArray("<html>") << good << QStringLiteral("config.json");
    }

    void what_cannot_be_used_says_why() {
        QFETCH(QByteArray, config);
        QFETCH(QByteArray, weights);
        QFETCH(QString, words);
        QTemporaryDir folder;
        writeFile(folder.filePath(QStringLiteral("config.json")), config);
        if (!weights.isEmpty()) writeFile(folder.filePath(QStringLiteral("model.safetensors")), weights);
        const QList<FoundModel> found = lookAt(folder.path(), Place::added);
        QCOMPARE(found.size(), 1);
        QCOMPARE(found.first().kind, Kind::unusable);
        QVERIFY2(found.first().reason.contains(words), qPrintable(found.first().reason));
    }

    void a_model_whose_parts_do_not_fit_is_not_usable() {
        QTemporaryDir folder;
        const QString other = folder.filePath(QStringLiteral("other"));
        writeTinyModel(other, 20, 24);
        const QString model = folder.filePath(QStringLiteral("model"));
        copyFolder(m_model, model);
        writeFile(model + QStringLiteral("/projector.safetensors"),
                  readFile(other + QStringLiteral("/projector.safetensors")));
        const FoundModel found = lookAt(model, Place::added).first();
        QCOMPARE(found.kind, Kind::unusable);
        QVERIFY2(found.reason.contains(QLatin1String("16")) && found.reason.contains(QLatin1String("20")),
                 qPrintable(found.reason));
    }

    void the_finder_answers_later_and_the_newest_search_counts() {
        const Environment cache("HF_HUB_CACHE", at(QStringLiteral("no-cache")));
        ModelFinder finder;
        QSignalSpy changed(&finder, &ModelFinder::changed);
        finder.search({.demo = m_model});
        finder.search({.added = {at(QStringLiteral("gone"))}});
        QVERIFY(finder.searching());
        QVERIFY(finder.models().isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(!finder.searching(), 60'000);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(finder.models().size(), 1);
        QCOMPARE(finder.models().first().name, QStringLiteral("gone"));
        QCOMPARE(finder.devices().first().id, QStringLiteral("cpu"));
        QVERIFY(finder.devices().first().memory.available > 0);
    }
};

VITRINE_TEST(TestModelFinder)
#include "test_model_finder.moc"
