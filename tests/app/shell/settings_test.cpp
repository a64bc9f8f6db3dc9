#include "app/settings.h"
#include "app/activity.h"
#include "app/single_instance.h"
#include "support/test_main.h"

#include <QFile>
#include <QJsonDocument>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace vitrine {

class SettingsTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_count = 0;

    QString freshFile() { return m_folder.filePath(QStringLiteral("config%1/settings.json").arg(++m_count)); }

    static QByteArray read(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    static void write(const QString& path, const QByteArray& content) {
        QDir().mkpath(QFileInfo(path).path());
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
    }

private Q_SLOTS:
    void values_come_back() {
        const QString path = freshFile();
        {
            Settings settings(path);
            QCOMPARE(settings.get(setting::theme), QStringLiteral("system"));
            settings.set(setting::theme, QStringLiteral("dark"));
            settings.set(setting::threads, 3);
            settings.set(setting::hintSeen, true);
            settings.set(setting::windowGeometry, QByteArray("\0\1\xff", 3));
            settings.set(setting::modelFolders, QStringList{QStringLiteral("/a b"), QStringLiteral("/ä")});
            settings.set(setting::chat, QJsonObject{{QStringLiteral("max_tokens"), 12}});
        }
        const Settings settings(path);
        QCOMPARE(settings.get(setting::theme), QStringLiteral("dark"));
        QCOMPARE(settings.get(setting::threads), 3);
        QCOMPARE(settings.get(setting::hintSeen), true);
        QCOMPARE(settings.get(setting::windowGeometry), QByteArray("\0\1\xff", 3));
        QCOMPARE(settings.get(setting::modelFolders), (QStringList{QStringLiteral("/a b"), QStringLiteral("/ä")}));
        QCOMPARE(settings.get(setting::chat).value(QStringLiteral("max_tokens")).toInt(), 12);
    }

    void they_are_saved_late_and_once() {
        const QString path = freshFile();
        Settings settings(path);
        for (int i = 0; i < 20; ++i) settings.set(setting::threads, i);
        QVERIFY(!QFile::exists(path));
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(path), 3000);
        QCOMPARE(QJsonDocument::fromJson(read(path)).object().value(QStringLiteral("model/threads")).toInt(), 19);
    }

    void unknown_keys_are_kept_and_wrong_types_count_as_absent() {
        const QString path = freshFile();
        write(path, R"({"future/key": [1, 2], "model/threads": "many"})");
        {
            Settings settings(path);
            QCOMPARE(settings.get(setting::threads), 0);
            settings.set(setting::theme, QStringLiteral("light"));
        }
        QVERIFY(read(path).contains("future/key"));
    }

    void a_damaged_file_is_put_aside() {
        const QString path = freshFile();
        write(path, "{ not json");
        Settings settings(path);
        QSignalSpy damaged(&settings, &Settings::damaged);
        QTRY_COMPARE(damaged.count(), 1);
        QCOMPARE(read(damaged.first().first().toString()), QByteArray("{ not json"));
    }

    void a_folder_without_permission_is_told() {
        write(m_folder.filePath(QStringLiteral("plain")), "x");
        Settings settings(m_folder.filePath(QStringLiteral("plain/settings.json")));
        QSignalSpy failed(&settings, &Settings::failed);
        settings.set(setting::threads, 2);
        settings.flush();
        QTRY_COMPARE(failed.count(), 1);
    }

    void activities_leave_when_dropped_and_tell_the_pace() {
        ActivityList list;
        const QSignalSpy changed(&list, &ActivityList::changed);
        auto activity = list.begin(QStringLiteral("Work"));
        QCOMPARE(list.all().size(), 1);
        activity->setProgress(100, 300);  // resumed: what was done before does not count
        QVERIFY(!activity->secondsLeft());
        QTest::qWait(1100);
        activity->setProgress(200, 300);
        QVERIFY(activity->secondsLeft());
        QVERIFY2(std::abs(*activity->secondsLeft() - 1.1) < 0.4, qPrintable(QString::number(*activity->secondsLeft())));
        const QSignalSpy stopped(activity.get(), &Activity::stopRequested);
        activity->stop();
        activity->stop();
        QCOMPARE(stopped.count(), 1);
        QVERIFY(activity->stopping());
        activity.reset();
        QVERIFY(list.all().isEmpty());
        QVERIFY(changed.count() >= 4);
    }

    void durations_read_well() {
        QCOMPARE(durationText(12.4), QStringLiteral("12 s"));
        QCOMPARE(durationText(89), QStringLiteral("89 s"));
        QCOMPARE(durationText(125), QStringLiteral("2 min"));
        QCOMPARE(durationText(3600 + 1500), QStringLiteral("85 min"));
        QCOMPARE(durationText(7260), QStringLiteral("2 h 1 min"));
    }

    void a_second_start_hands_its_files_over() {
        const QString identity = QStringLiteral("vitrine-test-%1").arg(QCoreApplication::applicationPid());
        QVERIFY(!SingleInstance(identity).handOver({}));
        SingleInstance first(identity);
        first.listen();
        QSignalSpy arrived(&first, &SingleInstance::filesArrived);
        const QStringList files{QStringLiteral("/ä b.png"), QStringLiteral("/c\nd.jpg")};
        auto* thread = QThread::create([&] { QVERIFY(SingleInstance(identity).handOver(files)); });
        thread->start();
        QTRY_COMPARE(arrived.count(), 1);
        QTRY_VERIFY(thread->isFinished());
        delete thread;
        QCOMPARE(arrived.first().first().toStringList(), files);
    }
};

VITRINE_TEST(SettingsTest)

}  // namespace vitrine

#include "settings_test.moc"
