#include "app/application.h"
#include "app/captions/captions_controller.h"
#include "app/chat/chat_controller.h"
#include "app/insight/insight_controller.h"
#include "app/insight/view_json.h"
#include "core/insight/head_scores.h"
#include "core/model/random_model.h"
#include "core/scenes/export.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/captions/captions_page.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/composer.h"
#include "ui/insight/insight_panel.h"
#include "ui/insight/token_flow.h"
#include "ui/insight/token_strip.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QPointer>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>

namespace vitrine {

// The insight dock in the whole program, on a model of random weights: it looks at noise, but the looking is real.
class InsightTest : public QObject {
    Q_OBJECT

    // Answers every wish for a file with the one named.
    class Answers : public Dialogs {
    public:
        void saveFile(QWidget*, const FileWish&, std::function<void(const QString&)> answer) override { answer(file); }
        QString file;
    };

    QTemporaryDir m_folder;
    QString m_model;
    QStringList m_pictures;
    std::unique_ptr<Application> m_application;
    Answers* m_answers = nullptr;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    InsightPanel& panel() { return *m_application->window().findChild<InsightPanel*>(); }
    QDockWidget& dock() { return *m_application->window().findChild<QDockWidget*>(QStringLiteral("insight")); }
    InsightController& insight() { return m_application->insight(); }

    // As vitrine-cli ground leaves them in the model's folder: one head points right, the others do not.
    void writeScores(int layer, int head) const {
        HeadMaps maps{.layers = 4, .heads = 6, .rows = 2, .columns = 2};
        maps.values.assign(4 * 6 * 4, 0.0F);
        for (std::size_t map = 0; map < 24; ++map) maps.values[map * 4 + 3] = 1.0F;
        const auto right = static_cast<std::size_t>(layer * 6 + head) * 4;
        maps.values[right] = 1.0F;
        maps.values[right + 3] = 0.0F;
        maps.masses.resize(24);
        maps.entropy.resize(24);
        HeadScores scores(4, 6, {.model = "random"});
        for (const Half half : {Half::calibration, Half::held_out}) scores.add(half, maps, {0.0, 0.0, 0.1, 0.1});
        scores.save((m_model + QStringLiteral("/heads.json")).toStdString());
    }

    void caption(int index) {
        auto* page = m_application->window().findChild<CaptionsPage*>();
        Q_EMIT page->captionWanted({m_pictures[index]}, CaptionPolicy::everything);
        const CaptionEntry* entry = nullptr;
        const auto done = [&] {
            entry = m_application->captions().list().find(m_pictures[index]);
            return entry != nullptr && entry->state != CaptionState::none &&
                   m_application->captions().queue().progress().run == CaptionRun::idle;
        };
        const bool came = QTest::qWaitFor(done, 30000);
        QVERIFY2(came && entry->state == CaptionState::machine, entry ? qPrintable(entry->reason) : "not listed");
    }

    // Everything the dock says, for the message of a failing test.
    QString said() {
        QStringList words;
        for (const QLabel* label : panel().findChildren<QLabel*>())
            if (label->isVisible()) words << label->text();
        return words.join(QStringLiteral(" | "));
    }

    // The map on the screen is the one of the choice, computed by asking the recording itself.
    void the_map_is_of(const std::shared_ptr<const Recording>& recording) {
        QTRY_VERIFY_WITH_TIMEOUT(panel().map() && panel().map()->request == panel().view().request, 20000);
        const AttentionMap expected = recording->map(panel().view().request);
        QCOMPARE(panel().map()->grid.values, expected.grid.values);
    }

private Q_SLOTS:
    void initTestCase() {
        m_model = path(QStringLiteral("model"));
        write_random_model(shape_by_name("demo"), DType::float32, 1, m_model.toStdString());
        writeScores(2, 3);
        scenes::export_scenes({.seed = 5,
                               .count = 3,
                               .size = 160,
                               .format = scenes::ExportFormat::sidecars,
                               .folder = path(QStringLiteral("scenes")).toStdString()});
        const QDir folder(path(QStringLiteral("scenes")));
        for (const QString& name : folder.entryList({QStringLiteral("*.txt")})) QFile::remove(folder.filePath(name));
        for (const QString& name : folder.entryList({QStringLiteral("*.png")}, QDir::Files, QDir::Name))
            m_pictures << folder.filePath(name);
    }

    void init() {
        const Profile profile = Profile::at(path(QString::fromLatin1(QTest::currentTestFunction())));
        {
            Settings settings(profile.settingsFile());
            settings.set(setting::model, m_model);
            settings.set(setting::hintSeen, true);
        }
        auto answers = std::make_unique<Answers>();
        m_answers = answers.get();
        m_application = std::make_unique<Application>(profile, std::move(answers));
        m_application->start();
        QVERIFY(QTest::qWaitForWindowActive(&m_application->window()));
        QTRY_COMPARE_WITH_TIMEOUT(m_application->engine().state(), EngineWorker::State::ready, 60000);
        m_application->openPaths(m_pictures);
        QTRY_COMPARE(m_application->captions().list().rowCount(), 3);
        auto* page = m_application->window().findChild<CaptionsPage*>();
        CaptionSettings settings = page->settings();
        settings.generation.max_tokens = 200;  // long enough to be watched
        settings.generation.detect_loops = false;
        page->setSettings(settings);
        Q_EMIT page->settingsChanged(settings);
    }

    void cleanup() { m_application.reset(); }

    void the_head_that_points_best_is_shown_first() {
        QTRY_COMPARE(panel().view().request.layer, 2);
        QCOMPARE(panel().view().request.head, 3);
    }

    void nothing_is_recorded_while_the_dock_is_closed() {
        QVERIFY(!dock().isVisible());
        caption(0);
        QVERIFY(!insight().recording());
        QTest::keyClick(&m_application->window(), Qt::Key_I, Qt::ControlModifier);
        QVERIFY(dock().isVisible());
        // The caption that is there is opened on demand.
        QTRY_VERIFY2_WITH_TIMEOUT(insight().recording(), qPrintable(said()), 20000);
        the_map_is_of(insight().recording());
    }

    void a_caption_is_followed_while_it_streams() {
        dock().show();
        int maps = 0, pieces = 0;
        QPointer<InsightPanel> shown = &panel();
        test::Heartbeat heartbeat;
        QTest::qWait(200);
        heartbeat.restart();
        const QMetaObject::Connection counting =
            connect(shown, &InsightPanel::viewChanged, this, [&maps](const InsightView&) { ++maps; });
        connect(&m_application->captions().queue(), &CaptionQueue::streamed, this, [&pieces] { ++pieces; });
        caption(1);
        disconnect(counting);
        QTRY_VERIFY(insight().recording());
        const std::shared_ptr<const Recording> recording = insight().recording();
        QVERIFY(recording->layout().length > recording->layout().answer_begin);
        // It went along with the words, however many came at a time.
        QVERIFY2(pieces > 0 && maps >= pieces, qPrintable(QStringLiteral("%1 of %2").arg(maps).arg(pieces)));
        the_map_is_of(recording);
        const double gap = heartbeat.longestGapMs();
        qInfo("longest silence %.1f ms, %d maps wanted", gap, maps);
        QVERIFY2(gap < 50, qPrintable(QString::number(gap)));
    }

    void words_layers_and_heads_are_walked_with_keys() {
        dock().show();
        caption(0);
        QTRY_VERIFY(insight().recording());
        auto* strip = panel().findChild<TokenStrip*>();
        strip->flow()->setFocus();
        QTest::keyClick(strip->flow(), Qt::Key_Home);
        const std::int64_t first = panel().view().request.position;
        QTest::keyClick(strip->flow(), Qt::Key_Right);
        QCOMPARE(panel().view().request.position, first + 1);
        the_map_is_of(insight().recording());
        QTest::keyClick(&panel(), Qt::Key_Up);
        QVERIFY(panel().view().request.layer != kAll);
        QTest::keyClick(&panel(), Qt::Key_BracketRight);
        QVERIFY(panel().view().request.head != kAll);
        the_map_is_of(insight().recording());
        QVERIFY(panel().map()->masses.has_value());
    }

    void every_method_has_its_map() {
        dock().show();
        caption(0);
        QTRY_VERIFY(insight().recording());
        InsightView view = panel().view();
        QVERIFY(view.request.position > 0);
        for (const MapMethod method : {MapMethod::value_norm, MapMethod::relative, MapMethod::relevance,
                                       MapMethod::lens, MapMethod::attention}) {
            view.request.method = method;
            panel().setView(view);
            Q_EMIT panel().viewChanged(panel().view());
            the_map_is_of(insight().recording());
        }
        view.request.tower = Tower::vision;
        view.request.method = MapMethod::rollout;
        panel().setView(view);
        Q_EMIT panel().viewChanged(panel().view());
        the_map_is_of(insight().recording());
    }

    void a_turn_of_a_chat_is_opened_from_its_button() {
        MainWindow& window = m_application->window();
        QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
        auto* page = window.findChild<ChatPage*>();
        m_application->chat().addPictures({QUrl::fromLocalFile(m_pictures[0])});
        QTRY_VERIFY(page->composer()->hasPictures());
        ChatSettings settings;
        settings.generation.max_tokens = 16;
        Q_EMIT page->settingsChanged(settings);
        QTest::keyClicks(page->composer()->edit(), QStringLiteral("What is this?"));
        QTest::keyClick(page->composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(
            m_application->activities().all().isEmpty() && m_application->chat().current().info.id != 0, 60000);
        QVERIFY(!dock().isVisible());
        QToolButton* button = nullptr;
        for (QToolButton* other : page->findChildren<QToolButton*>())
            if (other->toolTip() == QStringLiteral("See where the model looked") && other->isVisible()) button = other;
        QVERIFY(button != nullptr);
        if (!button->isEnabled()) QSKIP("the random model said nothing");
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY(dock().isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(insight().recording(), 20000);
        QCOMPARE(QString::fromStdString(insight().recording()->question()), QStringLiteral("What is this?"));
        the_map_is_of(insight().recording());
    }

    void an_answer_without_a_picture_says_so() {
        MainWindow& window = m_application->window();
        dock().show();
        QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
        auto* page = window.findChild<ChatPage*>();
        QTest::keyClicks(page->composer()->edit(), QStringLiteral("Hello"));
        QTest::keyClick(page->composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(
            m_application->activities().all().isEmpty() && m_application->chat().current().info.id != 0, 60000);
        QVERIFY(!insight().recording());
        QVERIFY(!panel().map());
    }

    void views_and_numbers_are_exported() {
        dock().show();
        caption(2);
        QTRY_VERIFY(insight().recording());
        the_map_is_of(insight().recording());
        const QList<std::pair<InsightExport, QString>> kinds{{InsightExport::png, QStringLiteral("map.png")},
                                                             {InsightExport::svg, QStringLiteral("map.svg")},
                                                             {InsightExport::npz, QStringLiteral("map.npz")},
                                                             {InsightExport::json, QStringLiteral("map.json")}};
        for (const auto& [kind, name] : kinds) {
            m_answers->file = path(name);
            Q_EMIT panel().exportWanted(kind);
            QTRY_VERIFY2(QFileInfo(path(name)).size() > 100, qPrintable(name));
        }
        QVERIFY(!QImage(path(QStringLiteral("map.png"))).isNull());
        // What cannot be written is said in the dock.
        m_answers->file = path(QStringLiteral("absent/map.png"));
        Q_EMIT panel().exportWanted(InsightExport::png);
        QTRY_VERIFY2(said().contains(QStringLiteral("absent")), qPrintable(said()));
    }

    void the_recording_goes_with_the_model() {
        dock().show();
        caption(0);
        QTRY_VERIFY(insight().recording());
        const std::weak_ptr<const Recording> held = insight().recording();
        m_application->engine().unload();
        QVERIFY(!insight().recording());
        QTRY_VERIFY(held.expired());
    }

    void what_was_chosen_is_kept() {
        InsightView view;
        view.request = {.tower = Tower::vision, .method = MapMethod::rollout, .layer = 3, .head = 2};
        view.scale = ScaleKind::uniform;
        view.transform = ScaleTransform::clip99;
        view.colours = QStringLiteral("cividis");
        view.smooth = true;
        view.sinks = SinkMode::hatch;
        QCOMPARE(viewFrom(jsonOf(view)), view);
        QCOMPARE(viewFrom({{QStringLiteral("method"), QStringLiteral("magic")}, {QStringLiteral("layer"), true}}),
                 InsightView());
    }
};

VITRINE_TEST(InsightTest)

}  // namespace vitrine

#include "insight_test.moc"
