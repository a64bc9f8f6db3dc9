#include "ui/captions/caption_filter.h"
#include "rows.h"
#include "support/test_main.h"
#include "support/widgets.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <algorithm>
#include <random>

namespace vitrine {

using test::Rows;

class CaptionFilterTest : public QObject {
    Q_OBJECT

    static QStringList names(const CaptionFilter& filter) {
        QStringList found;
        for (int row = 0; row < filter.rowCount(); ++row) found.append(filter.index(row, 0).data().toString());
        return found;
    }

    static void settle(const CaptionFilter& filter) { QTRY_VERIFY(!filter.isArranging()); }

    static std::vector<test::Row> some() {
        return {
            Rows::row(QStringLiteral("cat 10.jpg"), QStringLiteral("A black cat\non a sofa"), CaptionState::machine),
            Rows::row(QStringLiteral("cat 9.jpg"), QStringLiteral("A white cat"), CaptionState::edited),
            Rows::row(QStringLiteral("dog.jpg")), Rows::row(QStringLiteral("broken.jpg"), {}, CaptionState::failed),
            Rows::row(QStringLiteral("Sofa.png"), QStringLiteral("empty"), CaptionState::failed)};
    }

private Q_SLOTS:
    void search_has_words_quotes_and_minus() {
        const QString name = QStringLiteral("cat 10.jpg");
        const QString caption = QStringLiteral("A Black cat on a sofa");
        const auto found = [&](const char* text) {
            return CaptionSearch(QString::fromUtf8(text)).matches(name, caption);
        };
        QVERIFY(found(""));
        QVERIFY(found("  "));
        QVERIFY(found("black SOFA"));
        QVERIFY(found("10"));
        QVERIFY(found("\"cat on\""));
        QVERIFY(found("\"cat on"));
        QVERIFY(!found("\"sofa cat\""));
        QVERIFY(!found("black dog"));
        QVERIFY(found("black -dog"));
        QVERIFY(!found("black -cat"));
        QVERIFY(!found("-\"on a\""));
        QVERIFY(!found("-"));  // a lone minus is a character like any other
    }

    void filters_searches_and_sorts() {
        Rows rows;
        rows.rows = some();
        CaptionFilter filter;
        const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
        filter.setSourceModel(&rows);
        settle(filter);
        QCOMPARE(filter.rowCount(), 5);
        QCOMPARE(filter.counts().of(CaptionState::failed), 2);

        filter.setOrder(CaptionOrder::name);
        settle(filter);
        QCOMPARE(names(filter).join(QLatin1Char('|')),
                 QStringLiteral("broken.jpg|cat 9.jpg|cat 10.jpg|dog.jpg|Sofa.png"));
        filter.setSearch(QStringLiteral("sofa"));
        settle(filter);
        QCOMPARE(names(filter).join(QLatin1Char('|')), QStringLiteral("cat 10.jpg|Sofa.png"));
        filter.setSearch({});
        filter.setShow(CaptionShow::missing);
        settle(filter);
        QCOMPARE(names(filter).join(QLatin1Char('|')), QStringLiteral("broken.jpg|dog.jpg"));
        filter.setShow(CaptionShow::edited);
        settle(filter);
        QCOMPARE(names(filter), QStringList(QStringLiteral("cat 9.jpg")));
        filter.setShow(CaptionShow::all);
        filter.setOrder(CaptionOrder::length);
        settle(filter);
        QCOMPARE(names(filter).last(), QStringLiteral("cat 10.jpg"));
        QCOMPARE(filter.counts().total, 5);
    }

    void an_edited_row_stays_and_a_matching_one_comes() {
        Rows rows;
        rows.rows = some();
        CaptionFilter filter;
        filter.setSourceModel(&rows);
        filter.setShow(CaptionShow::missing);
        settle(filter);
        QCOMPARE(names(filter).join(QLatin1Char('|')), QStringLiteral("dog.jpg|broken.jpg"));
        rows.edit(QStringLiteral("/pictures/dog.jpg"), QStringLiteral("A dog"));
        QCOMPARE(names(filter).join(QLatin1Char('|')), QStringLiteral("dog.jpg|broken.jpg"));
        QCOMPARE(filter.counts().of(CaptionState::none), 0);
        QCOMPARE(filter.counts().of(CaptionState::edited), 2);
        rows.edit(QStringLiteral("/pictures/cat 9.jpg"), {});
        QCOMPARE(names(filter).join(QLatin1Char('|')), QStringLiteral("cat 9.jpg|dog.jpg|broken.jpg"));
    }

    // Whatever happens to the source, in the end the filter shows what a plain pass over it would.
    void keeps_up_with_any_change() {
        std::mt19937 random(7);
        const auto below = [&](int bound) { return int(random() % unsigned(std::max(1, bound))); };
        int serial = 0;
        const auto fresh = [&](int count) {
            std::vector<test::Row> made;
            for (int i = 0; i < count; ++i) {
                made.push_back(Rows::row(QStringLiteral("n%1.jpg").arg(below(1000) * 100000 + ++serial),
                                         below(2) ? QStringLiteral("red") : QString(), CaptionState(below(4))));
            }
            return made;
        };
        Rows rows;
        rows.rows = fresh(300);
        CaptionFilter filter;
        const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
        filter.setSourceModel(&rows);
        for (int round = 0; round < 300; ++round) {
            const int count = int(rows.rows.size());
            switch (below(8)) {
                case 0: rows.insert(below(count + 1), fresh(1 + below(5))); break;
                case 1: rows.insert(count, fresh(1 + below(50))); break;
                case 2:
                    if (count > 0) {
                        const int first = below(count);
                        rows.remove(first, 1 + below(std::min(60, count - first)));
                    }
                    break;
                case 3: filter.setOrder(CaptionOrder(below(5))); break;
                case 4: filter.setShow(CaptionShow(below(5))); break;
                case 5: filter.setSearch(below(2) ? QStringLiteral("red") : QString()); break;
                case 6:
                    if (round % 40 == 0) rows.reset(fresh(below(400)));
                    break;
                default: QCoreApplication::processEvents(QEventLoop::AllEvents, 2);
            }
            for (int row = 0; row < filter.rowCount(); ++row) {  // what is shown is always there
                const QModelIndex source = filter.mapToSource(filter.index(row, 0));
                QVERIFY(source.isValid());
                QCOMPARE(filter.mapFromSource(source).row(), row);
            }
        }
        for (const auto order : {CaptionOrder::name, CaptionOrder::added}) {
            filter.setOrder(order);
            filter.setShow(CaptionShow::failed);
            filter.setSearch(QStringLiteral("red"));
            settle(filter);
            int expected = 0;
            CaptionCounts counts{int(rows.rows.size()), {}};
            for (const test::Row& row : rows.rows) {
                ++counts.byState[std::size_t(row.state)];
                if (row.state == CaptionState::failed && row.caption == QStringLiteral("red")) ++expected;
            }
            QVERIFY(counts == filter.counts());
            QCOMPARE(filter.rowCount(), expected);
            QVERIFY(expected > 3);
            for (int row = 1; row < filter.rowCount(); ++row) {
                const auto key = [&](int at) {
                    return order == CaptionOrder::added
                               ? filter.mapToSource(filter.index(at, 0)).row()
                               : filter.index(at, 0).data().toString().mid(1).section(QLatin1Char('.'), 0, 0).toInt();
                };
                QVERIFY(key(row - 1) < key(row));
            }
        }
    }

    // Changes that come while the rows are still gone through.
    void keeps_up_in_the_middle_of_a_pass() {
        for (const CaptionOrder order : {CaptionOrder::name, CaptionOrder::added}) {
            Rows rows;
            rows.rows = Rows::many(60000);
            CaptionFilter filter;
            filter.setSourceModel(&rows);
            filter.setOrder(order);
            filter.setSearch(QStringLiteral("red"));
            const auto begin = [&] {
                for (int i = 0; i < 3; ++i) QCoreApplication::processEvents();
                QVERIFY(filter.isArranging());
            };
            begin();
            rows.insert(0, {Rows::row(QStringLiteral("a first.jpg"), QStringLiteral("red"))});
            begin();
            rows.remove(1, 100);
            begin();
            rows.change(0, [](test::Row& row) { row.caption = QStringLiteral("blue"); });
            rows.change(2, [](test::Row& row) { row.caption = QStringLiteral("red again"); });
            QTRY_VERIFY_WITH_TIMEOUT(!filter.isArranging(), 20000);
            std::vector<int> shown(rows.rows.size(), 0);
            for (int row = 0; row < filter.rowCount(); ++row)
                ++shown[std::size_t(filter.mapToSource(filter.index(row, 0)).row())];
            for (std::size_t row = 1; row < rows.rows.size(); ++row) {
                QCOMPARE(shown[row], int(rows.rows[row].caption.contains(QStringLiteral("red"))));
            }
        }
    }

    void a_source_that_goes_takes_its_rows_along() {
        auto rows = std::make_unique<Rows>();
        rows->rows = some();
        CaptionFilter filter;
        filter.setSourceModel(rows.get());
        settle(filter);
        rows.reset();
        settle(filter);
        QCOMPARE(filter.rowCount(), 0);
        QCOMPARE(filter.counts().total, 0);
    }

    void fifty_thousand_rows_hold_nobody_up() {
        Rows rows;
        rows.rows = Rows::many(50000);
        CaptionFilter filter;
        filter.setSourceModel(&rows);
        settle(filter);
        test::Heartbeat heartbeat;
        for (const CaptionOrder order :
             {CaptionOrder::name, CaptionOrder::length, CaptionOrder::folder, CaptionOrder::added}) {
            filter.setOrder(order);
            QTRY_VERIFY_WITH_TIMEOUT(!filter.isArranging(), 30000);
        }
        filter.setSearch(QStringLiteral("red -number"));
        QTRY_VERIFY_WITH_TIMEOUT(!filter.isArranging(), 30000);
        QCOMPARE(filter.rowCount(), 0);
        filter.setSearch(QStringLiteral("red"));
        QTRY_VERIFY_WITH_TIMEOUT(!filter.isArranging(), 30000);
        QVERIFY(filter.rowCount() > 10000);
        QVERIFY2(heartbeat.longestGapMs() < 50, qPrintable(QString::number(heartbeat.longestGapMs())));
    }
};

VITRINE_TEST(CaptionFilterTest)

}  // namespace vitrine

#include "caption_filter_test.moc"
