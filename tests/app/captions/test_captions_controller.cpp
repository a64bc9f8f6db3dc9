#include "app/activity.h"
#include "app/captions/captions_controller.h"
#include "app/database.h"
#include "app/dialogs.h"
#include "app/engine_worker.h"
#include "app/profile.h"
#include "app/settings.h"
#include "captions_support.h"
#include "core/model/random_model.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/captions/captions_page.h"
#include "ui/message_bar.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPushButton>
#include <QSignalSpy>

using namespace vitrine;
using test::PictureFolder;

namespace {

class AnsweringDialogs : public Dialogs {
public:
    QString file;
    void saveFile(QWidget*, const FileWish&, std::function<void(const QString&)> answer) override { answer(file); }
    void openFiles(QWidget*, const FileWish&, std::function<void(const QStringList&)> answer) override {
        answer({file});
    }
};

// The captions place of a program that has just started on a profile.
struct Desk {
    explicit Desk(const QString& folder)
        : profile(Profile::at(folder)),
          settings(profile.settingsFile()),
          database(profile.databaseFile()),
          controller(page, database, engine, activities, settings, dialogs, profile) {
        page.resize(1000, 700);
        page.show();
    }

    CaptionEntry entry(const QString& path) const {
        const CaptionEntry* const found = controller.list().find(path);
        return found == nullptr ? CaptionEntry{} : *found;
    }
    void choose(const std::function<void(CaptionSettings&)>& change) {
        CaptionSettings chosen = page.settings();
        change(chosen);
        page.setSettings(chosen);
        Q_EMIT page.settingsChanged(chosen);
    }
    void pressMessageButton() {
        for (QPushButton* button : page.messages()->findChildren<QPushButton*>()) {
            if (button->isVisibleTo(page.messages())) QTest::mouseClick(button, Qt::LeftButton);
        }
    }

    Profile profile;
    Settings settings;
    Database database;
    EngineWorker engine;
    ActivityList activities;
    AnsweringDialogs dialogs;
    CaptionsPage page;
    CaptionsController controller;
};

}  // namespace

class TestCaptionsController : public QObject {
    Q_OBJECT

    PictureFolder m_models;
    QString m_model = m_models.path("random");

    void load(Desk& desk) const {
        desk.engine.load(m_model, {.device = "cpu", .threads = 1});
        QTRY_VERIFY_WITH_TIMEOUT(desk.engine.state() == EngineWorker::State::ready, 60'000);
    }

private Q_SLOTS:
    void initTestCase() { write_random_model(shape_by_name("demo"), DType::float32, 1, m_model.toStdString()); }

    void drop_caption_edit_sidecar() {
        const PictureFolder folder;
        const QString a = folder.picture("a.jpg");
        const QString b = folder.picture("b.jpg");
        const QString broken = folder.write("broken.jpg", "GIF89a");
        Desk desk(folder.path("profile"));
        load(desk);
        desk.choose([](CaptionSettings& chosen) {
            chosen.sidecar = SidecarKind::txt;
            chosen.prompt = QStringLiteral("What is {name}?");
            chosen.generation.max_tokens = 6;
        });
        desk.controller.openDropped({.files = {a, b, broken}});
        QTRY_COMPARE(desk.controller.list().rowCount(), 3);
        QCOMPARE(desk.page.currentPath(), a);

        Q_EMIT desk.page.captionWanted({a, broken, b}, CaptionPolicy::onlyMissing);
        QTRY_VERIFY_WITH_TIMEOUT(desk.controller.queue().progress().run == CaptionRun::idle, 60'000);
        QTRY_VERIFY(desk.entry(b).state == CaptionState::machine);
        const CaptionEntry made = desk.entry(a);
        QVERIFY(made.state == CaptionState::machine && !made.caption.isEmpty());
        QCOMPARE(made.from.prompt, std::string("What is a?"));
        QTRY_COMPARE(QString::fromUtf8(folder.read("a.txt")), made.caption + '\n');
        QVERIFY(desk.entry(broken).state == CaptionState::failed && !desk.entry(broken).reason.isEmpty());
        QCOMPARE(folder.read("broken.txt"), QByteArray("<absent>"));
        QVERIFY(desk.page.messages()->text().contains("1"));

        Q_EMIT desk.page.captionEdited(a, QStringLiteral("by hand"));
        QVERIFY(desk.entry(a).state == CaptionState::edited);
        QTRY_COMPARE(folder.read("a.txt"), QByteArray("by hand\n"));

        // hand-made ones stay unless everything was asked for
        const QByteArray before = folder.read("b.txt");
        Q_EMIT desk.page.captionWanted({a, b}, CaptionPolicy::allButEdited);
        QTRY_VERIFY(desk.controller.queue().progress().run == CaptionRun::idle);
        QCOMPARE(folder.read("a.txt"), QByteArray("by hand\n"));
        Q_EMIT desk.page.captionWanted({a}, CaptionPolicy::everything);
        QTRY_VERIFY(desk.entry(a).state == CaptionState::machine);
        QTRY_COMPARE(QString::fromUtf8(folder.read("a.txt")), made.caption + '\n');
    }

    void what_was_left_is_there_after_a_restart() {
        const PictureFolder folder;
        QStringList paths;
        for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) paths << folder.picture(name);
        {
            Desk desk(folder.path("profile"));
            load(desk);
            desk.choose([](CaptionSettings& chosen) { chosen.generation.max_tokens = 200; });
            desk.controller.open(paths);
            QTRY_COMPARE(desk.controller.list().rowCount(), 3);
            Q_EMIT desk.page.captionEdited(paths[2], QStringLiteral("mine"));
            QSignalSpy streamed(&desk.controller.queue(), &CaptionQueue::streamed);
            Q_EMIT desk.page.captionWanted(paths, CaptionPolicy::onlyMissing);
            QTRY_VERIFY(!streamed.isEmpty());
            desk.controller.save();
        }  // the program ends in the middle of the first caption
        Desk desk(folder.path("profile"));
        QTRY_COMPARE(desk.controller.list().rowCount(), 3);
        QCOMPARE(desk.entry(paths[2]).caption, QStringLiteral("mine"));
        QVERIFY(desk.entry(paths[0]).caption.isEmpty());
        QTRY_VERIFY(desk.controller.queue().progress().run == CaptionRun::stopped);
        QCOMPARE(desk.controller.queue().waiting(), paths.mid(0, 2));
        QCOMPARE(desk.page.settings().generation.max_tokens, 200);
        Q_EMIT desk.page.resumeWanted();  // no model yet: nothing fails
        QTRY_VERIFY(!desk.page.messages()->text().isEmpty());
        load(desk);
        desk.choose([](CaptionSettings& chosen) { chosen.generation.max_tokens = 4; });
        Q_EMIT desk.page.resumeWanted();
        QTRY_VERIFY_WITH_TIMEOUT(desk.controller.queue().progress().run == CaptionRun::idle, 60'000);
        QTRY_VERIFY(desk.entry(paths[1]).state == CaptionState::machine);
        QCOMPARE(desk.entry(paths[2]).caption, QStringLiteral("mine"));
    }

    void a_stop_is_not_for_what_is_asked_after_it() {
        const PictureFolder folder;
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg")};
        Desk desk(folder.path("profile"));
        load(desk);
        desk.choose([](CaptionSettings& chosen) { chosen.generation.max_tokens = 400; });
        desk.controller.open(paths);
        QTRY_COMPARE(desk.controller.list().rowCount(), 2);
        QSignalSpy streamed(&desk.controller.queue(), &CaptionQueue::streamed);
        Q_EMIT desk.page.captionWanted({paths[0]}, CaptionPolicy::onlyMissing);
        QTRY_VERIFY(!streamed.isEmpty());
        Q_EMIT desk.page.stopWanted();
        Q_EMIT desk.page.captionWanted({paths[1]}, CaptionPolicy::onlyMissing);
        QTRY_VERIFY(streamed.last().at(0).toString() == paths[1]);
        QCOMPARE(desk.activities.all().size(), 1);
        QVERIFY(!desk.activities.all().first()->stopping());
        Q_EMIT desk.page.stopWanted();
        QTRY_VERIFY(desk.controller.queue().progress().run == CaptionRun::stopped);
        QVERIFY(desk.entry(paths[0]).caption.isEmpty() && desk.entry(paths[1]).caption.isEmpty());
        QVERIFY(desk.activities.all().isEmpty());
    }

    void ten_thousand_pictures_never_hold_the_window_up() {
        const PictureFolder folder;
        for (int i = 0; i < 10'000; ++i) folder.picture(QStringLiteral("pictures/%1.png").arg(i));
        Desk desk(folder.path("profile"));
        QTest::qWait(300);  // the window's first painting is not what is measured
        test::Heartbeat heartbeat;
        desk.controller.open({folder.path("pictures")});
        QElapsedTimer clock;
        clock.start();
        QTRY_VERIFY(desk.controller.list().rowCount() > 0);
        const qint64 first = clock.elapsed();
        QTRY_COMPARE_WITH_TIMEOUT(desk.controller.list().rowCount(), 10'000, 60'000);
        const double gap = heartbeat.longestGapMs();
        qInfo("first rows after %lld ms, all after %lld ms, longest silence %.1f ms", first, clock.elapsed(), gap);
        QVERIFY(first < 2000);
        QVERIFY(gap < 50);
        QCOMPARE(desk.controller.list().index(2).data(CaptionRoles::fileName).toString(), QStringLiteral("2.png"));
    }

    void removing_is_undone() {
        const PictureFolder folder;
        const QString a = folder.picture("a.jpg");
        const QString b = folder.picture("b.jpg");
        Desk desk(folder.path("profile"));
        desk.controller.open({a, b});
        QTRY_COMPARE(desk.controller.list().rowCount(), 2);
        Q_EMIT desk.page.removeWanted({a});
        QCOMPARE(desk.controller.list().rowCount(), 1);
        QVERIFY(QFile::exists(a));
        desk.pressMessageButton();
        QCOMPARE(desk.controller.list().rowCount(), 2);
    }

    void export_writes_the_whole_table() {
        const PictureFolder folder;
        const QStringList paths{folder.picture("a.jpg"), folder.picture("b.jpg")};
        Desk desk(folder.path("profile"));
        desk.controller.open(paths);
        QTRY_COMPARE(desk.controller.list().rowCount(), 2);
        Q_EMIT desk.page.captionEdited(paths[0], QStringLiteral("one"));
        desk.dialogs.file = folder.path("table");  // without its ending
        Q_EMIT desk.page.exportWanted(CaptionExport::jsonl, paths);
        QTRY_VERIFY(desk.page.messages()->text().contains("table.jsonl"));
        const QByteArray text = folder.read("table.jsonl");
        QCOMPARE(text.count('\n'), 1);
        QVERIFY2(text.contains("\"a.jpg\"") && text.contains("\"edited\":true"), text);
    }

    void a_stopped_export_leaves_the_old_file() {
        const PictureFolder folder;
        const QString target = folder.write("table.csv", "old");
        QList<CaptionEntry> entries;
        for (int i = 0; i < 20'000; ++i)
            entries << CaptionEntry{.path = QStringLiteral("/p/%1.jpg").arg(i), .caption = QStringLiteral("text")};
        CaptionExporter exporter;
        QSignalSpy finished(&exporter, &CaptionExporter::finished);
        exporter.start(captions::Format::csv, target, entries);
        exporter.stop();
        QTRY_COMPARE(finished.size(), 1);
        QVERIFY(finished[0].at(0).value<ExportSummary>().stopped);
        QCOMPARE(folder.read("table.csv"), QByteArray("old"));
        exporter.start(captions::Format::csv, target, entries);  // the stop was for that one alone
        QTRY_COMPARE(finished.size(), 2);
        QCOMPARE(finished[1].at(0).value<ExportSummary>().written, 20'000);
        QSignalSpy failed(&exporter, &CaptionExporter::failed);
        exporter.start(captions::Format::csv, folder.path("no/such/folder.csv"), entries);
        QTRY_COMPARE(failed.size(), 1);
    }

    void pasted_pixels_become_a_file() {
        const PictureFolder folder;
        Desk desk(folder.path("profile"));
        QImage image(3, 2, QImage::Format_RGB32);
        image.fill(Qt::red);
        QGuiApplication::clipboard()->setImage(image);
        desk.controller.paste();
        QTRY_COMPARE(desk.controller.list().rowCount(), 1);
        const QString path = desk.controller.list().paths().first();
        QVERIFY(path.startsWith(folder.path("profile")));
        QCOMPARE(QImage(path).size(), QSize(3, 2));
        QGuiApplication::clipboard()->clear();
        desk.controller.paste();
        QVERIFY(desk.page.messages()->text().contains("no picture"));
    }

    void what_is_not_there_is_told() {
        const PictureFolder folder;
        Desk desk(folder.path("profile"));
        desk.controller.open({folder.path("nowhere.jpg")});
        QTRY_VERIFY(desk.page.messages()->text().contains("nowhere.jpg"));
    }
};

VITRINE_TEST(TestCaptionsController)
#include "test_captions_controller.moc"
