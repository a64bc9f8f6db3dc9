#include "app/models/downloads.h"
#include "support/hub_imitation.h"
#include "support/test_main.h"

#include <QDir>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <sys/resource.h>

#include <csignal>

using namespace vitrine;
using vitrine::test::HubImitation;
using namespace std::chrono_literals;

namespace {

const QString kId = QStringLiteral("owner/model");
const QString kWeights = QStringLiteral("model.safetensors");
constexpr int kLong = 60'000;  // how long a busy machine may take
constexpr qint64 kSize = 3'000'000;

QByteArray noise(qint64 size, quint32 seed) {
    QByteArray bytes(size, '\0');
    QRandomGenerator generator(seed);
    for (char& byte : bytes) byte = static_cast<char>(generator.generate());
    return bytes;
}

DownloadOptions impatient() {
    DownloadOptions options;
    options.patience = {.tries = 3, .firstWait = 20ms, .longestWait = 100ms, .longestRetryAfter = 5s, .stall = 20s};
    return options;
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// A hub with one model, and the program's downloads into a folder of their own.
class Rig {
public:
    explicit Rig(const QByteArray& token = {}, DownloadOptions options = impatient()) : m_options(std::move(options)) {
        hub.add(kId, QStringLiteral("README.md"), "read me", false);
        hub.add(kId, QStringLiteral("config.json"), "{\"model_type\": \"qwen3\"}", false);
        hub.add(kId, QStringLiteral("pytorch_model.bin"), noise(1000, 2));
        hub.add(kId, QStringLiteral("tokenizer.json"), noise(50'000, 3));
        hub.add(kId, kWeights, weights);
        endpoint = {hub.home(), token};
        open();
    }

    void open() { downloads = std::make_unique<Downloads>(endpoint, models(), m_options); }
    QString models() const { return m_folder.path() + QStringLiteral("/models"); }
    QString complete() const { return models() + QStringLiteral("/owner--model"); }
    QString part() const { return complete() + QStringLiteral(".part"); }
    QString weightsPart() const { return part() + QStringLiteral("/model.safetensors.part"); }

    // Lists, and starts what is needed.
    void begin() {
        connection = QObject::connect(downloads.get(), &Downloads::listed, [this](HubListing listing, qint64) {
            listing.files.removeIf([](const HubFile& file) { return !file.needed; });
            downloads->start(listing);
        });
        downloads->list(kId);
    }
    DownloadState state() const {
        const auto status = downloads->find(kId);
        return status ? status->state : DownloadState::waiting;
    }
    qint64 done() const {
        const auto status = downloads->find(kId);
        return status ? status->done : 0;
    }
    QString reason() const { return downloads->find(kId).value_or(DownloadStatus{}).reason; }
    bool isComplete() const {
        return state() == DownloadState::finished && contentOf(complete() + u'/' + kWeights) == weights;
    }
    QList<HubImitation::Request> weightRequests() const { return hub.requests(kWeights); }

    const QByteArray weights = noise(kSize, 1);
    HubImitation hub;
    HubEndpoint endpoint;
    std::unique_ptr<Downloads> downloads;
    QMetaObject::Connection connection;

private:
    QTemporaryDir m_folder;
    DownloadOptions m_options;
};

#define EVENTUALLY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, kLong)

}  // namespace

class TestDownloads : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_model_arrives_whole() {
        Rig rig;
        rig.hub.setPace(20'000);
        QSignalSpy finished(rig.downloads.get(), &Downloads::finished);
        rig.begin();
        EVENTUALLY(rig.done() > 0);
        QVERIFY(!QFileInfo::exists(rig.complete()));  // not before it is complete
        QVERIFY(QFileInfo::exists(rig.part()));
        EVENTUALLY(finished.size() == 1);
        QVERIFY(rig.isComplete());
        QCOMPARE(finished.first().at(1).toString(), rig.complete());
        QCOMPARE(QDir(rig.complete()).entryList(QDir::Files | QDir::Hidden),
                 QStringList({QStringLiteral("config.json"), kWeights, QStringLiteral("tokenizer.json")}));
        QVERIFY(!QFileInfo::exists(rig.part()));
        QVERIFY(rig.hub.requests(QStringLiteral("README")).isEmpty());
        QVERIFY(rig.hub.mostConnectionsAtOnce() > 1);
        QVERIFY(rig.hub.mostConnectionsAtOnce() <= DownloadOptions{}.filesAtOnce);
    }

    void the_listing_tells_what_is_needed() {
        const auto listing = parseListing(kId, R"({"sha": "abc", "siblings": [
            {"rfilename": "model.safetensors.index.json", "size": 10, "blobId": "aa"},
            {"rfilename": "model-00001-of-00002.safetensors", "size": 1, "lfs": {"sha256": "BB", "size": 5000000000}},
            {"rfilename": "model-00002-of-00002.safetensors", "size": 1, "lfs": {"oid": "cc", "size": 7}},
            {"rfilename": "model.safetensors", "size": 3, "blobId": "dd"},
            {"rfilename": "../../.bashrc", "size": 3, "blobId": "dd"},
            {"rfilename": "onnx/model.onnx", "size": 3, "blobId": "dd"},
            {"rfilename": ".gitattributes", "size": 3, "blobId": "dd"},
            {"rfilename": "config.json", "size": 3, "blobId": "dd"}]})");
        QVERIFY(listing);
        QStringList needed;
        for (const HubFile& file : listing->files)
            if (file.needed) needed.append(file.name);
        QCOMPARE(needed,
                 QStringList({QStringLiteral("model.safetensors.index.json"),
                              QStringLiteral("model-00001-of-00002.safetensors"),
                              QStringLiteral("model-00002-of-00002.safetensors"), QStringLiteral("config.json")}));
        QCOMPARE(listing->files.size(), 5);  // and the single file, which the index makes superfluous
        QCOMPARE(listing->files[1].size, 5'000'000'000);
        QCOMPARE(listing->files[1].sha256, QByteArray("bb"));
        QCOMPARE(listing->files[2].sha256, QByteArray("cc"));
        QCOMPARE(listing->files[0].gitSha1, QByteArray("aa"));
        QVERIFY(!parseListing(kId, "<html>Sign in to this network</html>"));
        QVERIFY(!parseListing(kId, R"({"siblings": [{"rfilename": "config.json"}]})"));
    }

    void ids_are_read_from_what_people_paste() {
        QCOMPARE(hubIdFrom(QStringLiteral(" Qwen/Qwen3-0.6B ")).value_or(QString()), QStringLiteral("Qwen/Qwen3-0.6B"));
        QCOMPARE(hubIdFrom(QStringLiteral("https://hub.example/a/b.c/tree/main")).value_or(QString()),
                 QStringLiteral("a/b.c"));
        for (const char* bad : {"", "Qwen", "../etc", "a/..", "a/b/c", "a--b/c", "a b/c", "/a/b"})
            QVERIFY2(!hubIdFrom(QString::fromUtf8(bad)), bad);
    }

    void a_cut_is_gone_on_from() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.cutAfter = 1'000'000}, {.cutAfter = 500'000}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        const auto requests = rig.weightRequests();
        QCOMPARE(requests.size(), 3);
        QVERIFY(!requests[0].headers.contains("range"));
        QCOMPARE(requests[1].headers.value("range"), QByteArray("bytes=1000000-"));
        QCOMPARE(requests[2].headers.value("range"), QByteArray("bytes=1500000-"));
        QVERIFY(requests[1].headers.value("if-range").startsWith('"'));
    }

    void a_server_without_ranges_begins_again() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.cutAfter = 1'000'000}, {.ignoreRange = true}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        QCOMPARE(rig.weightRequests().size(), 2);
    }

    void another_part_than_asked_for_is_not_taken() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.cutAfter = 1'000'000}, {.wrongRange = true}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        QVERIFY(!rig.weightRequests().last().headers.contains("range"));
    }

    void a_range_that_is_refused_begins_again() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.cutAfter = 1'000'000}, {.status = 416}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
    }

    void a_file_that_changes_between_the_halves_is_not_glued_together() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.body = noise(kSize, 99), .cutAfter = 1'000'000}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        const auto requests = rig.weightRequests();
        QCOMPARE(requests.size(), 2);
        QVERIFY(requests[1].headers.contains("if-range"));
    }

    void a_file_that_is_no_longer_the_listed_one_is_refused() {
        Rig rig;
        rig.hub.replace(kId, kWeights, noise(kSize, 98));
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("checksum")), qPrintable(rig.reason()));
        QVERIFY(!QFileInfo::exists(rig.complete()));
    }

    void a_wrong_checksum_is_tried_once_more() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.body = noise(kSize, 97)}});
        rig.hub.script(kId, QStringLiteral("config.json"), {{.body = "{\"model_type\": \"qwen2\"}"}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        QCOMPARE(contentOf(rig.complete() + QStringLiteral("/config.json")), QByteArray("{\"model_type\": \"qwen3\"}"));
    }

    void the_token_stays_at_home() {
        Rig rig("hf_secret");
        rig.hub.requireToken("hf_secret");
        HubImitation::Answer away{.redirect = rig.hub.elsewhere().toString()};
        rig.hub.always(kId, kWeights, away);
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);  // elsewhere leads elsewhere, in circles
        QVERIFY2(!rig.reason().contains(QLatin1String("secret")), qPrintable(rig.reason()));
        int elsewhere = 0;
        for (const auto& request : rig.hub.requests()) {
            const bool home = request.host.startsWith("127.0.0.1");
            QCOMPARE(request.headers.value("authorization"), home ? QByteArray("Bearer hf_secret") : QByteArray());
            elsewhere += home ? 0 : 1;
        }
        QVERIFY(elsewhere > 1);
    }

    void a_redirected_file_arrives_and_goes_on_after_a_cut() {
        Rig rig("hf_secret");
        HubImitation::Answer away{.redirect = rig.hub.elsewhere().toString()};
        rig.hub.script(kId, kWeights, {away, {.cutAfter = 1'000'000}, away});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        const auto requests = rig.weightRequests();
        QCOMPARE(requests.size(), 4);
        QCOMPARE(requests[3].headers.value("range"), QByteArray("bytes=1000000-"));
        QVERIFY(!requests[3].headers.contains("authorization"));
    }

    void an_address_of_another_kind_is_not_followed() {
        Rig rig;
        rig.hub.always(kId, kWeights, {.redirect = QStringLiteral("file:///etc/passwd")});
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("leads nowhere")), qPrintable(rig.reason()));
    }

    void a_stall_ends_and_is_gone_on_from() {
        DownloadOptions options = impatient();
        options.patience.stall = 1500ms;
        Rig rig({}, options);
        rig.hub.script(kId, kWeights, {{.stallAfter = 1'000'000}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        QCOMPARE(rig.weightRequests().last().headers.value("range"), QByteArray("bytes=1000000-"));
    }

    void lies_about_the_size_are_found_out_data() {
        QTest::addColumn<qint64>("listed");
        QTest::addColumn<qint64>("claimed");
        QTest::addColumn<bool>("withoutLength");
        QTest::newRow("the listing says less") << kSize - 7 << qint64{-1} << false;
        QTest::newRow("the listing says more") << kSize + 7 << qint64{-1} << false;
        QTest::newRow("the header says less") << kSize << kSize - 7 << false;
        QTest::newRow("the header says more") << kSize << kSize + 7 << false;
        QTest::newRow("more comes than listed") << kSize - 7 << qint64{-1} << true;
    }

    void lies_about_the_size_are_found_out() {
        QFETCH(qint64, listed);
        QFETCH(qint64, claimed);
        QFETCH(bool, withoutLength);
        Rig rig;
        rig.hub.lie(kId, kWeights, listed);
        rig.hub.always(kId, kWeights, {.claimedLength = claimed, .withoutLength = withoutLength});
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("bytes")), qPrintable(rig.reason()));
        QVERIFY(!QFileInfo::exists(rig.complete()));
        QVERIFY(!QFileInfo::exists(rig.part() + u'/' + kWeights));
    }

    void less_than_listed_is_asked_for_again() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.cutAfter = 2'000'000, .withoutLength = true}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
    }

    void refusals_are_final_data() {
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("code");
        QTest::addColumn<QString>("words");
        QTest::newRow("401") << 401 << QByteArray() << QStringLiteral("HF_TOKEN");
        QTest::newRow("gated") << 403 << QByteArray("GatedRepo") << QStringLiteral("accept the terms");
        QTest::newRow("403") << 403 << QByteArray() << QStringLiteral("403");
        QTest::newRow("404") << 404 << QByteArray() << QStringLiteral("is not there");
        QTest::newRow("400") << 400 << QByteArray() << QStringLiteral("400");
    }

    void refusals_are_final() {
        QFETCH(int, status);
        QFETCH(QByteArray, code);
        QFETCH(QString, words);
        Rig rig;
        const HubImitation::Answer answer{.status = status, .headers = {{"X-Error-Code", code}}, .body = "<html>no"};
        rig.hub.always(kId, kWeights, answer);
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(words), qPrintable(rig.reason()));
        QCOMPARE(rig.weightRequests().size(), 1);
        QCOMPARE(QFileInfo(rig.weightsPart()).size(), 0);  // what a refusal says is no weights

        rig.hub.always(kId, {}, answer);  // of the listing, too
        QSignalSpy failed(rig.downloads.get(), &Downloads::listFailed);
        rig.downloads->list(kId);
        EVENTUALLY(failed.size() == 1);
        QVERIFY2(failed.first().at(1).toString().contains(words), qPrintable(failed.first().at(1).toString()));
    }

    void a_fault_of_the_server_passes() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.status = 500}, {.status = 503}});
        rig.begin();
        EVENTUALLY(rig.isComplete());
        QCOMPARE(rig.weightRequests().size(), 3);
    }

    void a_fault_that_stays_is_told_and_a_retry_helps() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.status = 500}, {.status = 500}, {.status = 500}});
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("500")), qPrintable(rig.reason()));
        rig.downloads->resume(kId);
        EVENTUALLY(rig.isComplete());
    }

    void a_server_that_asks_to_wait_is_waited_for() {
        Rig rig;
        rig.hub.script(kId, kWeights, {{.status = 429, .headers = {{"Retry-After", "1"}}}});
        QElapsedTimer clock;
        clock.start();
        rig.begin();
        EVENTUALLY(rig.reason().contains(QLatin1String("Trying again in 1 s")));
        EVENTUALLY(rig.isComplete());
        QVERIFY(clock.elapsed() >= 1000);
    }

    void a_server_that_asks_for_hours_is_not_waited_for() {
        Rig rig;
        rig.hub.always(kId, kWeights, {.status = 429, .headers = {{"Retry-After", "7200"}}});
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("120 minutes")), qPrintable(rig.reason()));
    }

    void nobody_there_is_said_plainly() {
        Rig rig;
        rig.endpoint.url = QUrl(QStringLiteral("http://127.0.0.1:1"));
        rig.open();
        QSignalSpy failed(rig.downloads.get(), &Downloads::listFailed);
        rig.downloads->list(kId);
        EVENTUALLY(failed.size() == 1);
        const QString reason = failed.first().at(1).toString();
        QVERIFY2(reason.contains(QLatin1String("does not answer")), qPrintable(reason));

        rig.endpoint.url = QUrl(QStringLiteral("ftp://hub"));
        rig.open();
        QSignalSpy refused(rig.downloads.get(), &Downloads::listFailed);
        rig.downloads->list(kId);
        EVENTUALLY(refused.size() == 1);
        QVERIFY(refused.first().at(1).toString().contains(QLatin1String("HF_ENDPOINT")));
    }

    void a_sign_in_page_is_no_listing() {
        Rig rig;
        rig.hub.always(kId, {}, {.body = "<html>Welcome to our hotel</html>"});
        QSignalSpy failed(rig.downloads.get(), &Downloads::listFailed);
        rig.downloads->list(kId);
        EVENTUALLY(failed.size() == 1);
        QVERIFY(failed.first().at(1).toString().contains(QLatin1String("sign-in")));
    }

    void no_room_is_found_out_before_anything_is_asked_for() {
        DownloadOptions options = impatient();
        options.freeBytes = [](const QString&) -> qint64 { return 1'000'000; };
        Rig rig({}, options);
        rig.begin();
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("1.00 MB are free")), qPrintable(rig.reason()));
        QVERIFY(rig.weightRequests().isEmpty());
    }

    void a_full_disk_keeps_what_has_come() {
        Rig rig;
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit before{};
        getrlimit(RLIMIT_FSIZE, &before);
        rlimit small = before;
        small.rlim_cur = 1'000'000;  // a file cannot grow beyond: the write fails as on a full disk
        setrlimit(RLIMIT_FSIZE, &small);
        rig.begin();
        QTRY_VERIFY_WITH_TIMEOUT(rig.state() == DownloadState::failed, kLong);
        setrlimit(RLIMIT_FSIZE, &before);
        QVERIFY2(rig.reason().contains(QLatin1String("cannot be written")), qPrintable(rig.reason()));
        QVERIFY(!QFileInfo::exists(rig.complete()));
        rig.downloads->resume(kId);
        EVENTUALLY(rig.isComplete());
    }

    void pause_and_resume() {
        Rig rig;
        rig.hub.setPace(20'000);
        rig.begin();
        EVENTUALLY(rig.done() > 200'000);
        rig.downloads->pause(kId);
        EVENTUALLY(rig.state() == DownloadState::paused);
        const qint64 kept = QFileInfo(rig.weightsPart()).size();
        QVERIFY(kept > 0);
        rig.open();  // the program ends and begins: paused is paused
        EVENTUALLY(rig.downloads->find(kId));
        QTest::qWait(200);
        QCOMPARE(rig.state(), DownloadState::paused);
        QCOMPARE(QFileInfo(rig.weightsPart()).size(), kept);
        rig.hub.setPace(0);
        rig.downloads->resume(kId);
        EVENTUALLY(rig.isComplete());
        QCOMPARE(rig.weightRequests().last().headers.value("range"), "bytes=" + QByteArray::number(kept) + '-');
    }

    void cancel_removes_or_keeps_as_asked() {
        Rig rig;
        rig.hub.setPace(20'000);
        rig.begin();
        EVENTUALLY(rig.done() > 200'000);
        rig.downloads->cancel(kId, true);
        EVENTUALLY(rig.state() == DownloadState::paused);
        QVERIFY(QFileInfo(rig.weightsPart()).size() > 0);
        rig.downloads->cancel(kId, false);
        EVENTUALLY(!rig.downloads->find(kId));
        QVERIFY(!QFileInfo::exists(rig.part()));
        QVERIFY(!QFileInfo::exists(rig.complete()));
    }

    void it_goes_on_by_itself_after_the_program_ended() {
        Rig rig;
        rig.hub.setPace(20'000);
        rig.begin();
        EVENTUALLY(rig.done() > 200'000);
        rig.downloads.reset();
        const qint64 kept = QFileInfo(rig.weightsPart()).size();
        QVERIFY(kept > 0);
        rig.hub.setPace(0);
        rig.open();
        EVENTUALLY(rig.isComplete());
        QCOMPARE(rig.weightRequests().last().headers.value("range"), "bytes=" + QByteArray::number(kept) + '-');
    }

    void it_goes_on_after_the_program_was_killed() {
        Rig rig;
        Rig after;  // finds on its disk what a kill at some moment leaves
        rig.hub.setPace(20'000);
        rig.begin();
        EVENTUALLY(rig.done() > 200'000);
        after.downloads.reset();
        QVERIFY(QDir().mkpath(after.part()));
        const QDir disk(rig.part());
        for (const QString& name : disk.entryList(QDir::Files))
            QVERIFY(QFile::copy(disk.filePath(name), after.part() + u'/' + name));
        const qint64 kept = QFileInfo(after.weightsPart()).size();
        QVERIFY(kept > 100'000);
        after.open();
        EVENTUALLY(after.isComplete());
        QCOMPARE(after.weightRequests().first().headers.value("range"), "bytes=" + QByteArray::number(kept) + '-');
    }

    void a_part_that_is_rubbish_is_found_out() {
        Rig rig;
        rig.hub.setPace(20'000);
        rig.begin();
        EVENTUALLY(rig.done() > 200'000);
        rig.downloads.reset();
        QFile part(rig.weightsPart());
        QVERIFY(part.open(QIODevice::ReadWrite));
        part.write(QByteArray(4096, '\0'));
        part.close();
        rig.hub.setPace(0);
        rig.open();
        EVENTUALLY(rig.isComplete());
        QVERIFY(!rig.weightRequests().last().headers.contains("range"));
    }

    void what_is_there_already_is_not_downloaded_again() {
        Rig rig;
        rig.begin();
        EVENTUALLY(rig.isComplete());
        rig.downloads->list(kId);
        EVENTUALLY(rig.state() == DownloadState::failed);
        QVERIFY2(rig.reason().contains(QLatin1String("there already")), qPrintable(rig.reason()));
    }
};

VITRINE_TEST(TestDownloads)
#include "test_downloads.moc"
