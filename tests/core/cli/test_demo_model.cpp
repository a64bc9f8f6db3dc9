#include "core/image/decode.h"
#include "core/scenes/language.h"
#include "core/scenes/scene.h"
#include "support/folders.h"
#include "support/test_main.h"

#include <QDir>
#include <QProcess>

#include <algorithm>
#include <cmath>

using nlohmann::json;

// The model that comes with Vitrine, as people meet it first: what it says and where it looks.
class TestDemoModel : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    struct Outcome {
        int exit_code = -1;
        std::vector<json> lines;
        QByteArray err;
    };

    static Outcome run(const QStringList& arguments) {
        QProcess process;
        process.start(QStringLiteral(VITRINE_CLI), arguments);
        if (!process.waitForFinished(300'000)) return {};
        Outcome outcome{process.exitCode(), {}, process.readAllStandardError()};
        for (const QByteArray& line : process.readAllStandardOutput().split('\n'))
            if (!line.isEmpty()) outcome.lines.push_back(json::parse(line.toStdString()));
        return outcome;
    }

    QString path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void scenes_are_described() {
        const Outcome drawn =
            run({"scenes", "--count", "60", "--seed", "77", "--out", path("scenes"), "--format", "sidecars"});
        QVERIFY2(drawn.exit_code == 0, drawn.err);
        const Outcome outcome = run({"caption", path("scenes"), "--json"});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        QCOMPARE(outcome.lines.size(), std::size_t{60});
        int right = 0;
        for (std::size_t i = 0; i < outcome.lines.size(); ++i)
            right += outcome.lines[i]["caption"] == vitrine::scenes::caption(vitrine::scenes::make_scene(77, i));
        QVERIFY2(right >= 51, qPrintable(QString::number(right)));  // 85 %
    }

    void its_best_head_points_to_what_is_spoken_of() {
        const Outcome outcome = run({"ground", "--limit", "80", "--json", "--out", path("scores.json")});
        QVERIFY2(outcome.exit_code == 0, outcome.err);
        const auto of = [&](const char* begin) {
            const auto line = std::find_if(outcome.lines.begin(), outcome.lines.end(), [&](const json& other) {
                return other["method"].get<std::string>().starts_with(begin);
            });
            return line == outcome.lines.end() ? NAN : (*line)["pointing"].get<double>();
        };
        QVERIFY2(of("best head") >= 0.75, qPrintable(QString::number(of("best head"))));
        QVERIFY2(of("relevance") >= 0.75, qPrintable(QString::number(of("relevance"))));
        QVERIFY(of("chance") < 0.4 && of("centre") < 0.7);
        QCOMPARE(vitrine::test::read_json(path("scores.json").toStdString()).is_object(), true);
    }

    void attention_is_written_in_every_form() {
        const QString picture = path("scenes/000000.png");
        const vitrine::scenes::Scene scene = vitrine::scenes::make_scene(77, 0);
        const std::string shape(name_of(scene.objects.front().shape));
        for (const char* ending : {"png", "svg", "npy", "npz", "json"}) {
            const QString out = path("map.") + QString::fromLatin1(ending);
            const Outcome outcome =
                run({"attention", picture, "--answer", QString::fromStdString(vitrine::scenes::caption(scene)),
                     "--word", QString::fromStdString(shape), "--json", "--out", out});
            QVERIFY2(outcome.exit_code == 0, outcome.err);
            QCOMPARE(outcome.lines.size(), std::size_t{1});
            const json& line = outcome.lines.front();
            for (const char* key : {"method", "layer", "head", "token", "mass", "grid"})
                QVERIFY2(line.contains(key), key);
            QCOMPARE(line["grid"].size(), std::size_t{8});
            QVERIFY(line["token"].get<std::string>().find(shape) != std::string::npos);
            QVERIFY2(QFileInfo(out).size() > 100, ending);
        }
        QVERIFY(vitrine::decode_image_file(path("map.png").toStdString()).width > 100);
    }

    void wishes_that_cannot_be_met_are_named() {
        const QString picture = path("scenes/000000.png");
        const auto refused = [&](const QStringList& more, const char* word, int code) {
            const Outcome outcome = run(QStringList{"attention", picture} + more);
            return outcome.exit_code == code && outcome.err.contains(word);
        };
        QVERIFY(refused({"--word", "elephant"}, "elephant", 2));
        QVERIFY(refused({"--token", "900"}, "--token", 2));
        QVERIFY(refused({"--layer", "40"}, "layer", 1));
        QVERIFY(refused({"--method", "rollout"}, "rollout", 1));
        QVERIFY(refused({"--tower", "vision", "--method", "lens"}, "lens", 1));
        QVERIFY(refused({"--out", path("map.gif")}, "gif", 2));
        QVERIFY(refused({"--heads"}, "--heads", 2));
        QVERIFY(!QFile::exists(path("map.gif")));
    }
};

VITRINE_TEST(TestDemoModel)
#include "test_demo_model.moc"
