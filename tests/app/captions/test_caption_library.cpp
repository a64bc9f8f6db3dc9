#include "app/captions/caption_library.h"
#include "app/captions/caption_list_model.h"
#include "app/database.h"
#include "captions_support.h"
#include "support/test_main.h"

#include <QAbstractItemModelTester>
#include <QProcess>
#include <QSignalSpy>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>

using namespace vitrine;
using test::PictureFolder;

namespace {

// A library over a database in a folder; made again it finds what the last one left.
class Shelf {
public:
    explicit Shelf(const QString& folder)
        : m_database(folder + QStringLiteral("/vitrine.sqlite")), m_library(m_database) {
        failures = std::make_unique<QSignalSpy>(&m_database, &Database::failed);
    }
    CaptionLibrary* operator->() { return &m_library; }

    QList<CaptionEntry> add(const QStringList& inputs) { return answer(m_library.add(test::scanned(inputs))); }
    CaptionEntry add(const QString& path) { return add(QStringList{path}).value(0); }
    QList<CaptionEntry> list() { return answer(m_library.list()); }
    void save(const CaptionEntry& entry, SidecarKind sidecar = SidecarKind::txt, bool replace = false) {
        m_library.save(entry, sidecar, replace).waitForFinished();
        settle();
    }
    void settle() {  // a row, its file, and the row's note of the file
        for (int step = 0; step < 3; ++step) {
            answer(m_library.queue());
            QThread::msleep(20);
        }
    }

    template <typename T>
    static T answer(QFuture<T> future) {
        future.waitForFinished();
        return future.result();
    }

    std::unique_ptr<QSignalSpy> failures;

private:
    Database m_database;
    CaptionLibrary m_library;
};

// Of this thread's own time, whatever else the machine does.
double threadMs() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

CaptionEntry machine(CaptionEntry entry, const QString& text) {
    entry.caption = text;
    entry.state = CaptionState::machine;
    entry.from = {.model = "demo",
                  .prompt = "What?",
                  .seed = 18446744073709551615U,
                  .time = "2025-01-02T03:04:05Z",
                  .finish = "stop_token"};
    return entry;
}

CaptionEntry edited(CaptionEntry entry, const QString& text) {
    entry.caption = text;
    entry.state = CaptionState::edited;
    entry.from.edited = true;
    return entry;
}

}  // namespace

class TestCaptionLibrary : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void what_is_saved_is_there_next_time() {
        const PictureFolder folder;
        const QStringList paths{folder.picture("b.jpg"), folder.picture("a.jpg")};
        CaptionEntry saved;
        {
            Shelf shelf(folder.path());
            saved = machine(shelf.add(paths).at(0), "one\ntwo");
            shelf.save(saved, SidecarKind::none);
            QCOMPARE(folder.read("b.txt"), QByteArray("<absent>"));
        }
        Shelf shelf(folder.path());
        const auto list = shelf.list();
        QCOMPARE(list.size(), 2);
        QVERIFY(list[0] == saved);
        QCOMPARE(list[1].path, paths[1]);
        QVERIFY(list[1].state == CaptionState::none);
        QVERIFY(shelf.add(paths[0]) == saved);
        QVERIFY(shelf.failures->isEmpty());
    }

    void sidecars_that_are_there_belong_to_people() {
        const PictureFolder folder;
        const QString path = folder.picture("a.jpg");
        folder.write("a.txt", "by hand\r\n");
        Shelf shelf(folder.path());
        const CaptionEntry entry = shelf.add(path);
        QVERIFY(entry.state == CaptionState::edited && entry.isHandMade());
        QCOMPARE(entry.caption, QStringLiteral("by hand"));
        shelf.save(edited(entry, "by hand,\nagain"), SidecarKind::caption, true);  // the file that is there is used
        QCOMPARE(folder.read("a.txt"), QByteArray("by hand,\r\nagain\r\n"));
        QCOMPARE(folder.read("a.caption"), QByteArray("<absent>"));
    }

    void our_own_sidecar_is_no_edit() {
        const PictureFolder folder;
        const QString path = folder.picture("a.jpg");
        {
            Shelf shelf(folder.path());
            shelf.save(machine(shelf.add(path), "made"));
            QCOMPARE(folder.read("a.txt"), QByteArray("made\n"));
        }
        Shelf shelf(folder.path());
        QVERIFY(shelf.add(path).state == CaptionState::machine);
        // newer in the library than beside the picture, as sidecars are off: the old text is no news
        shelf.save(machine(shelf.add(path), "made anew"), SidecarKind::none);
        QCOMPARE(shelf.add(path).caption, QStringLiteral("made anew"));
        // but a change from outside is
        folder.write("a.txt", "from an editor");
        const CaptionEntry entry = shelf.add(path);
        QCOMPARE(entry.caption, QStringLiteral("from an editor"));
        QVERIFY(entry.state == CaptionState::edited);
    }

    void the_model_never_overwrites_a_change_from_outside() {
        const PictureFolder folder;
        const QString path = folder.picture("a.jpg");
        Shelf shelf(folder.path());
        const CaptionEntry entry = shelf.add(path);
        QSignalSpy found(shelf.operator->(), &CaptionLibrary::sidecarFound);
        folder.write("a.txt", "written meanwhile");
        shelf.save(machine(entry, "by the model"));
        QTRY_COMPARE(found.size(), 1);
        QCOMPARE(folder.read("a.txt"), QByteArray("written meanwhile"));
        QCOMPARE(found[0].at(0).value<CaptionEntry>().caption, QStringLiteral("written meanwhile"));
        QVERIFY(shelf.list().at(0).isHandMade());
        // told to replace everything it does, and the text is not lost
        shelf.save(machine(entry, "by the model"), SidecarKind::txt, true);
        QCOMPARE(folder.read("a.txt"), QByteArray("by the model"));
        QVERIFY(Shelf::answer(shelf->history(path)).contains("written meanwhile"));
    }

    void one_stem_one_owner() {
        const PictureFolder folder;
        const QString jpg = folder.picture("a.jpg");
        const QString png = folder.picture("a.png");
        folder.write("a.txt", "whose?");
        {
            Shelf shelf(folder.path());
            const auto both = shelf.add({jpg, png});
            QCOMPARE(both[0].caption, QStringLiteral("whose?"));
            QVERIFY(both[1].caption.isEmpty() && both[1].note.contains("a.jpg"));
            QSignalSpy refused(shelf.operator->(), &CaptionLibrary::sidecarFailed);
            shelf.save(machine(both[1], "the png"), SidecarKind::caption);
            QTRY_COMPARE(refused.size(), 1);
            QVERIFY(refused[0].at(1).toString().contains("a.png"));
        }
        Shelf shelf(folder.path());  // and it stays so
        QCOMPARE(shelf.list().at(1).caption, QStringLiteral("the png"));
        QVERIFY(shelf.add(png).note.contains("a.jpg"));
        QCOMPARE(folder.read("a.txt"), QByteArray("whose?"));
        QCOMPARE(folder.read("a.caption"), QByteArray("<absent>"));
    }

    void a_sidecar_that_cannot_be_written_costs_no_caption() {
        const PictureFolder folder;
        const QString locked = folder.picture("locked.jpg");
        const QString lost = folder.picture("gone/lost.jpg");
        folder.write("locked.txt", "");
        QFile::setPermissions(folder.path("locked.txt"), QFile::ReadOwner);
        Shelf shelf(folder.path());
        const auto entries = shelf.add({locked, lost});
        QDir(folder.path("gone")).removeRecursively();
        QSignalSpy refused(shelf.operator->(), &CaptionLibrary::sidecarFailed);
        for (const CaptionEntry& entry : entries) shelf.save(machine(entry, "kept"));
        QTRY_COMPARE(refused.size(), 2);
        QVERIFY(refused[0].at(1).toString().contains("write-protected"));
        QVERIFY(refused[1].at(1).toString().contains("gone"));
        for (const CaptionEntry& entry : shelf.list()) QCOMPARE(entry.caption, QStringLiteral("kept"));
    }

    void pictures_that_change_and_vanish() {
        const PictureFolder folder;
        const QString path = folder.picture("a.jpg");
        Shelf shelf(folder.path());
        shelf.save(machine(shelf.add(path), "of the old picture"), SidecarKind::none);
        folder.write("a.jpg", "P6 2 1 255\n123456");
        const CaptionEntry changed = shelf.add(path);
        QVERIFY(changed.outdated);
        QVERIFY(CaptionListModel::provenanceText(changed).contains("changed since"));
        QFile::remove(path);
        const CaptionEntry gone = shelf.add(path);
        QCOMPARE(gone.caption, QStringLiteral("of the old picture"));
        QVERIFY(gone.note.contains("not there"));
        QVERIFY(shelf.add(QStringList{folder.path("never.jpg")}).isEmpty());
    }

    void the_list_and_the_queue_are_kept() {
        const PictureFolder folder;
        QStringList paths;
        for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) paths << folder.picture(name);
        {
            Shelf shelf(folder.path());
            const auto entries = shelf.add(paths);
            shelf->setQueue(paths);
            shelf.save(machine(entries[1], "done"), SidecarKind::none);
            shelf->remove({paths[0]});
        }
        Shelf shelf(folder.path());
        QCOMPARE(Shelf::answer(shelf->queue()), QStringList{paths[2]});
        QCOMPARE(shelf.list().size(), 2);
        shelf->putBack({paths[0]});
        QCOMPARE(shelf.list().last().path, paths[0]);
    }

    // The process is killed, not asked to end: what was told as saved is there.
    void nothing_saved_is_lost_to_a_kill() {
        const PictureFolder folder;
        QProcess writer;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("VITRINE_TEST_WRITES_INTO", folder.path());
        writer.setProcessEnvironment(environment);
        writer.start(QCoreApplication::applicationFilePath(), {"writes_until_killed"});
        QByteArray told;
        while (told.count("saved ") < 20 && writer.waitForReadyRead(20'000)) told += writer.readAllStandardOutput();
        ::kill(static_cast<pid_t>(writer.processId()), SIGKILL);
        writer.waitForFinished();
        told += writer.readAllStandardOutput();
        const int count = static_cast<int>(told.count("saved "));
        QVERIFY(count >= 20);
        Shelf shelf(folder.path());
        const auto list = shelf.list();
        for (int i = 0; i < count; ++i) QCOMPARE(list.at(i).caption, QStringLiteral("caption %1").arg(i));
    }
    void writes_until_killed() {
        const QString folder = qEnvironmentVariable("VITRINE_TEST_WRITES_INTO");
        if (folder.isEmpty()) return;
        Shelf shelf(folder);
        for (int i = 0; i < 1000; ++i) {
            const FoundPicture found{QStringLiteral("%1/%2.jpg").arg(folder).arg(i), {1, 1}, {}, {}};
            const CaptionEntry entry = Shelf::answer(shelf->add({found})).first();
            shelf->save(machine(entry, QStringLiteral("caption %1").arg(i)), SidecarKind::none, false)
                .waitForFinished();
            std::printf("saved %d\n", i);
            std::fflush(stdout);
        }
    }

    void the_list_model_holds_its_word() {
        CaptionListModel model({});
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QList<CaptionEntry> entries;
        for (int i = 0; i < 40; ++i) entries << CaptionEntry{.path = QStringLiteral("/p/%1.jpg").arg(i)};
        model.add(entries.mid(0, 30));
        model.add(entries);  // ten are new
        QCOMPARE(model.rowCount(), 40);
        QSignalSpy changes(&model, &QAbstractItemModel::dataChanged);
        model.update(machine(entries[7], "text"));
        model.update(machine(entries[7], "text"));  // no news
        QCOMPARE(changes.size(), 1);
        QCOMPARE(model.index(7).data(CaptionRoles::caption).toString(), QStringLiteral("text"));
        QCOMPARE(model.index(7).data(CaptionRoles::folder).toString(), QStringLiteral("/p"));
        QVERIFY(model.index(7).data(CaptionRoles::state).value<CaptionState>() == CaptionState::machine);
        QCOMPARE(model.remove({"/p/3.jpg", "/p/5.jpg", "/p/none.jpg"}).size(), 2);
        QCOMPARE(model.find("/p/7.jpg")->caption, QStringLiteral("text"));
        QCOMPARE(model.index(5).data(CaptionRoles::path).toString(), QStringLiteral("/p/7.jpg"));
        QCOMPARE(model.remove(model.paths().mid(0, 30)).size(), 30);
        QCOMPARE(model.rowCount(), 8);
        QCOMPARE(model.index(0).data(CaptionRoles::fileName).toString(), QStringLiteral("32.jpg"));
        model.setWork(model.paths(), CaptionWork::queued);
        QVERIFY(model.index(3).data(CaptionRoles::work).value<CaptionWork>() == CaptionWork::queued);
    }

    void fifty_thousand_rows_are_no_burden() {
        CaptionListModel model({});
        QStringList paths;
        double longest = 0;
        const auto timed = [&](const std::function<void()>& work) {
            const double before = threadMs();
            work();
            longest = std::max(longest, threadMs() - before);
        };
        for (int block = 0; block < 50; ++block) {
            QList<CaptionEntry> entries;
            for (int i = 0; i < 1000; ++i)
                entries << CaptionEntry{.path = QStringLiteral("/p/%1.jpg").arg(block * 1000 + i)};
            for (const CaptionEntry& entry : entries) paths << entry.path;
            timed([&] { model.add(entries); });
        }
        timed([&] { model.setWork(paths, CaptionWork::queued); });
        timed([&] { model.remove({paths[1], paths[25'000]}); });
        qInfo("longest %.1f ms", longest);
        QVERIFY(longest < 50);
    }
};

VITRINE_TEST(TestCaptionLibrary)
#include "test_caption_library.moc"
