#include "app/application.h"
#include "app/captions/captions_controller.h"
#include "app/chat/chat_controller.h"
#include "core/model/random_model.h"
#include "core/scenes/export.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/captions/captions_page.h"
#include "ui/captions/roles.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/composer.h"
#include "ui/message_bar.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QImage>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProcess>
#include <QTemporaryDir>
#include <QUrl>

namespace vitrine {

// The whole program on a profile of its own, with a small model of random weights: what it says is noise, but it says
// it the way a trained one does.
class ApplicationTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString m_model;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    // A program that has just been started, its model loaded.
    std::unique_ptr<Application> started(const QString& profile) {
        const Profile place = Profile::at(path(profile));
        {
            Settings settings(place.settingsFile());
            settings.set(setting::model, m_model);
            settings.set(setting::hintSeen, true);
        }
        auto application = std::make_unique<Application>(place);
        application->start();
        if (!QTest::qWaitFor([&] { return application->engine().state() == EngineWorker::State::ready; }, 60000)) {
            return nullptr;
        }
        return application;
    }

    QStringList pictures(const QString& folder) const {
        QStringList files;
        for (const QString& name : QDir(path(folder)).entryList({QStringLiteral("*.png")}, QDir::Files, QDir::Name)) {
            files << path(folder) + QLatin1Char('/') + name;
        }
        return files;
    }

    static void drop(QWidget& target, const QStringList& files) {
        QMimeData mime;
        QList<QUrl> urls;
        for (const QString& file : files) urls << QUrl::fromLocalFile(file);
        mime.setUrls(urls);
        const QPoint place = target.rect().center();
        QDragEnterEvent enter(place, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&target, &enter);
        QVERIFY(enter.isAccepted());
        // The overlay is under the cursor from now on.
        QWidget* const under = target.childAt(place) != nullptr ? target.childAt(place) : &target;
        QDropEvent event(under->mapFrom(&target, place), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(under, &event);
        QVERIFY(event.isAccepted());
    }

    static CaptionState stateOf(Application& application, const QString& file) {
        const CaptionEntry* const entry = application.captions().list().find(file);
        return entry == nullptr ? CaptionState::none : entry->state;
    }

    static QByteArray read(const QString& file) {
        QFile content(file);
        return content.open(QIODevice::ReadOnly) ? content.readAll() : QByteArray("<absent>");
    }

    // Runs the program as its users do.
    static QByteArray run(const QStringList& arguments, double scale, int* exitCode = nullptr) {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_SCALE_FACTOR"), QString::number(scale));
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        process.setProcessEnvironment(environment);
        process.setProcessChannelMode(QProcess::MergedChannels);
        process.start(QStringLiteral(VITRINE_PROGRAM), arguments);
        process.waitForFinished(120000);
        if (exitCode != nullptr) *exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
        return process.readAll();
    }

private Q_SLOTS:
    void initTestCase() {
        m_model = path(QStringLiteral("model"));
        write_random_model(shape_by_name("demo"), DType::float32, 1, m_model.toStdString());
        scenes::export_scenes({.seed = 5,
                               .count = 4,
                               .size = 160,
                               .format = scenes::ExportFormat::sidecars,
                               .folder = path(QStringLiteral("scenes")).toStdString()});
        QCOMPARE(pictures(QStringLiteral("scenes")).size(), 4);
        for (const QString& name : QDir(path(QStringLiteral("scenes"))).entryList({QStringLiteral("*.txt")})) {
            QFile::remove(path(QStringLiteral("scenes/")) + name);
        }
    }

    void drop_caption_edit_sidecar_and_restart() {
        const QStringList files = pictures(QStringLiteral("scenes"));
        const QString text = QStringLiteral("A picture described by hand.");
        {
            auto application = started(QStringLiteral("first"));
            QVERIFY(application);
            MainWindow& window = application->window();
            QVERIFY(QTest::qWaitForWindowActive(&window));
            auto* page = window.findChild<CaptionsPage*>();
            CaptionSettings settings = page->settings();
            settings.sidecar = SidecarKind::txt;
            settings.generation.max_tokens = 12;
            page->setSettings(settings);
            Q_EMIT page->settingsChanged(settings);

            drop(window, files);
            QTRY_COMPARE(application->captions().list().rowCount(), 4);
            QTRY_COMPARE(page->currentPath(), files[0]);
            QTRY_VERIFY(qobject_cast<QAbstractItemView*>(QApplication::focusWidget()) != nullptr);
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
            QTRY_COMPARE_WITH_TIMEOUT(stateOf(*application, files[0]), CaptionState::machine, 60000);
            const QString sidecar = files[0].chopped(4) + QStringLiteral(".txt");
            QTRY_VERIFY(read(sidecar) != "<absent>");

            QTest::keyClick(QApplication::focusWidget(), Qt::Key_F2);
            auto* editor = qobject_cast<QPlainTextEdit*>(QApplication::focusWidget());
            QVERIFY(editor != nullptr);
            QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
            QTest::keyClicks(editor, text);
            QTRY_COMPARE(stateOf(*application, files[0]), CaptionState::edited);
            QTRY_COMPARE(read(sidecar), text.toUtf8() + '\n');
            window.close();
        }
        auto application = started(QStringLiteral("first"));
        QVERIFY(application);
        QTRY_COMPARE(application->captions().list().rowCount(), 4);
        QCOMPARE(application->captions().list().find(files[0])->caption, text);
        QCOMPARE(stateOf(*application, files[0]), CaptionState::edited);
        QCOMPARE(stateOf(*application, files[1]), CaptionState::none);
    }

    void the_first_word_of_a_caption_comes_within_a_second() {
        auto application = started(QStringLiteral("quick"));
        QVERIFY(application);
        auto* page = application->window().findChild<CaptionsPage*>();
        const QStringList files = pictures(QStringLiteral("scenes"));
        bool streamed = false;
        connect(&application->captions().queue(), &CaptionQueue::streamed, this, [&] { streamed = true; });
        drop(application->window(), {files[1]});
        QTRY_COMPARE(page->currentPath(), files[1]);
        QElapsedTimer clock;
        clock.start();
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(streamed, 10000);
        qInfo("first word after %lld ms", clock.elapsed());
        application->window().close();
    }

    void a_chat_about_a_dropped_picture() {
        auto application = started(QStringLiteral("chat"));
        QVERIFY(application);
        MainWindow& window = application->window();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
        QCOMPARE(window.place(), QStringLiteral("chat"));
        auto* page = window.findChild<ChatPage*>();
        drop(window, {pictures(QStringLiteral("scenes")).at(2)});
        QTRY_VERIFY(page->composer()->hasPictures());
        QTest::keyClicks(page->composer()->edit(), QStringLiteral("What is this?"));
        QTest::keyClick(page->composer()->edit(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(
            application->activities().all().isEmpty() && application->chat().current().info.id != 0, 60000);
        window.close();
    }

    void the_window_stays_awake_while_everything_happens() {
        for (int i = 0; i < 10000; ++i) {
            QDir().mkpath(path(QStringLiteral("many")));
            QFile::copy(pictures(QStringLiteral("scenes")).at(i % 4), path(QStringLiteral("many/%1.png").arg(i)));
        }
        auto application = started(QStringLiteral("awake"));
        QVERIFY(application);
        QTest::qWait(300);  // the first painting is not what is measured
        test::Heartbeat heartbeat;
        application->engine().load(m_model, {.context = 512});
        application->openPaths({path(QStringLiteral("many"))});
        QTRY_COMPARE_WITH_TIMEOUT(application->captions().list().rowCount(), 10000, 120000);
        QTRY_COMPARE_WITH_TIMEOUT(application->engine().state(), EngineWorker::State::ready, 60000);
        auto* page = application->window().findChild<CaptionsPage*>();
        Q_EMIT page->captionWanted(application->captions().list().paths().mid(0, 3), CaptionPolicy::onlyMissing);
        QTRY_VERIFY_WITH_TIMEOUT(application->captions().queue().progress().run == CaptionRun::idle, 120000);
        const double gap = heartbeat.longestGapMs();
        qInfo("longest silence %.1f ms", gap);
        QVERIFY2(gap < 50, qPrintable(QString::number(gap)));
        application->window().close();
    }

    void the_program_answers_from_a_terminal() {
        int code = -1;
        QVERIFY(run({QStringLiteral("--version")}, 1.0, &code).contains("vitrine 0"));
        QCOMPARE(code, 0);
        QVERIFY(run({QStringLiteral("--help")}, 1.0, &code).contains("--profile"));
        QVERIFY(run({QStringLiteral("--nonsense")}, 1.0, &code).contains("nonsense"));
        QVERIFY(code != 0);
    }

    void every_place_is_rendered_for_people_to_look_at() {
        const QString shots = QStringLiteral(VITRINE_SCREENSHOTS);
        QDir().mkpath(shots);
        for (const QString& place : {QStringLiteral("captions"), QStringLiteral("chat"), QStringLiteral("models")}) {
            const QString profile = place == QStringLiteral("chat") ? QStringLiteral("chat") : QStringLiteral("first");
            for (const QString& theme : {QStringLiteral("light"), QStringLiteral("dark")}) {
                for (const double scale : {1.0, 1.25}) {
                    const QString file =
                        QStringLiteral("%1/%2-%3-%4.png").arg(shots, place, theme, QString::number(scale));
                    QFile::remove(file);
                    int code = -1;
                    const QByteArray said =
                        run({QStringLiteral("--profile"), path(profile), QStringLiteral("--place"), place,
                             QStringLiteral("--theme"), theme, QStringLiteral("--screenshot"), file},
                            scale, &code);
                    QVERIFY2(code == 0, said);
                    QCOMPARE(QImage(file).size(), QSize(1280, 800) * scale);
                }
            }
        }
    }
};

VITRINE_TEST(ApplicationTest)

}  // namespace vitrine

#include "application_test.moc"
