#include "core/captions/sidecar.h"
#include "core/error.h"
#include "support/folders.h"
#include "support/test_main.h"

namespace fs = std::filesystem;
using namespace vitrine::captions;
using vitrine::test::contents;
using vitrine::test::write_text;

namespace {

QByteArray refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const vitrine::FileError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

class TestSidecars : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    fs::path folder_ = temporary_.path().toStdString();

private Q_SLOTS:
    void text_goes_before_caption() {
        const fs::path picture = folder_ / "order.tar.jpg";
        QVERIFY(!find_sidecar(picture));
        write_text(folder_ / "order.tar.caption", "c");
        QCOMPARE(find_sidecar(picture)->filename().string(), std::string("order.tar.caption"));
        write_text(folder_ / "order.tar.txt", "t");
        QCOMPARE(find_sidecar(picture)->filename().string(), std::string("order.tar.txt"));
    }

    void a_new_one_is_plain_and_an_old_one_keeps_its_spelling() {
        const fs::path fresh = folder_ / "fresh.txt";
        write_sidecar(fresh, "one\ntwo");
        QCOMPARE(contents(fresh), QByteArray("one\ntwo\n"));

        const fs::path old = folder_ / "old.txt";
        write_text(old,
                   "\xEF\xBB\xBF"
                   "eins\r\nzwei\r\ndrei");
        QCOMPARE(QByteArray::fromStdString(read_sidecar(old)->text), QByteArray("eins\nzwei\ndrei"));
        write_sidecar(old, "eins\n2");
        QCOMPARE(contents(old), QByteArray("\xEF\xBB\xBF"
                                           "eins\r\n2"));
    }

    void a_file_that_says_the_same_is_left_alone() {
        const fs::path mixed = folder_ / "mixed.txt";
        const QByteArray bytes = "a\r\nb\nc \n";  // no style spells this
        write_text(mixed, bytes.toStdString());
        write_sidecar(mixed, read_sidecar(mixed)->text);
        QCOMPARE(contents(mixed), bytes);
    }

    void protected_files_and_lost_folders_are_named() {
        const fs::path locked = folder_ / "locked.txt";
        write_text(locked, "mine");
        fs::permissions(locked, fs::perms::owner_read);
        const QByteArray refused = refusal([&] { write_sidecar(locked, "yours"); });
        QVERIFY2(refused.contains("locked.txt") && refused.contains("write-protected"), refused);
        QCOMPARE(contents(locked), QByteArray("mine"));

        const QByteArray lost = refusal([&] { write_sidecar(folder_ / "gone" / "a.txt", "x"); });
        QVERIFY2(lost.contains("gone") && lost.contains("folder"), lost);

        write_text(folder_ / "long.txt", std::string(2 << 20, 'x'));
        QVERIFY(refusal([&] { read_sidecar(folder_ / "long.txt"); }).contains("1 MiB"));
    }

    void links_and_permissions_survive() {
        fs::create_directories(folder_ / "elsewhere");
        const fs::path real = folder_ / "elsewhere" / "real.txt";
        write_text(real, "before");
        fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
        fs::create_symlink(real, folder_ / "link.txt");
        write_sidecar(folder_ / "link.txt", "after");
        QVERIFY(fs::is_symlink(folder_ / "link.txt"));
        QCOMPARE(contents(real), QByteArray("after"));
        QVERIFY(fs::status(real).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    }

    void nothing_half_written_is_left() {
        for (const auto& entry : fs::directory_iterator(folder_))
            QVERIFY2(entry.path().string().find(".part") == std::string::npos, entry.path().c_str());
    }

    void two_pictures_never_share_one() {
        SidecarClaims claims;
        claims.claim("/p/a.jpg", "/p/a.txt");
        claims.claim("/p/a.jpg", "/p/a.txt");
        const QByteArray refused = refusal([&] { claims.claim("/p/a.png", "/p/a.txt"); });
        QVERIFY2(refused.contains("a.jpg") && refused.contains("a.png"), refused);
        claims.claim("/p/a.png", "/p/a.caption");
    }
};

VITRINE_TEST(TestSidecars)
#include "test_sidecars.moc"
