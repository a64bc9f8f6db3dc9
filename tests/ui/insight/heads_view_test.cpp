#include "ui/insight/heads_view.h"
#include "sample.h"
#include "support/test_main.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStandardItemModel>

#include <algorithm>
#include <memory>

namespace vitrine {

class HeadsViewTest : public QObject {
    Q_OBJECT

    std::unique_ptr<HeadsView> m_heads;

    HeadGrid& grid() const { return *m_heads->grid(); }
    QWidget& page() const { return *grid().viewport(); }
    QComboBox* sorting() const { return m_heads->findChild<QComboBox*>(); }
    QLabel* status() const { return m_heads->findChild<QLabel*>(); }

    bool offers(HeadSort sort) const {
        const int index = sorting()->findData(static_cast<int>(sort));
        return qobject_cast<QStandardItemModel*>(sorting()->model())->item(index)->isEnabled();
    }
    void choose(HeadSort sort) { sorting()->setCurrentIndex(sorting()->findData(static_cast<int>(sort))); }

    void show(int width = 380, int height = 500) {
        m_heads = std::make_unique<HeadsView>();
        m_heads->resize(width, height);
        m_heads->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_heads.get()));
        m_heads->setLook(test::tables().first(), ScaleTransform::linear);
        m_heads->setMaps(test::headsOf({}));
    }

private Q_SLOTS:
    void cleanup() { m_heads.reset(); }

    void a_click_opens_the_head_under_it() {
        show();
        QSignalSpy opened(m_heads.get(), &HeadsView::opened);
        QTest::mouseClick(&page(), Qt::LeftButton, {}, grid().cellRect(3, 5).center());
        QCOMPARE(opened.count(), 1);
        QCOMPARE(opened.first(), (QList<QVariant>{3, 5}));
        QCOMPARE(grid().current(), QPoint(3, 5));
        QVERIFY(status()->text().startsWith(QStringLiteral("L3 H5, ")));
    }

    void cells_lie_in_the_table_without_overlap() {
        for (const int width : {360, 620, 900}) {
            show(width);
            const QRect first = grid().cellRect(0, 0);
            const QRect right = grid().cellRect(0, 15);
            QVERIFY(first.left() > 0);
            QVERIFY2(right.right() <= page().width(), qPrintable(QString::number(width)));
            QVERIFY(grid().cellRect(0, 1).left() > first.right());
            QVERIFY(grid().cellRect(1, 0).top() > first.bottom());
        }
    }

    void arrows_move_the_current_head() {
        show();
        QSignalSpy opened(m_heads.get(), &HeadsView::opened);
        m_heads->setCurrent(3, 5);
        QTest::keyClick(&grid(), Qt::Key_Right);
        QCOMPARE(opened.takeFirst(), (QList<QVariant>{3, 6}));
        QTest::keyClick(&grid(), Qt::Key_Down);
        QCOMPARE(opened.takeFirst(), (QList<QVariant>{4, 6}));
        QTest::keyClick(&grid(), Qt::Key_Up);
        QTest::keyClick(&grid(), Qt::Key_Left);
        QCOMPARE(opened.takeLast(), (QList<QVariant>{3, 5}));
        QTest::keyClick(&grid(), Qt::Key_End);
        QCOMPARE(opened.takeLast(), (QList<QVariant>{27, 15}));
        QVERIFY(page().rect().intersects(grid().cellRect(27, 15)));  // scrolled there
        opened.clear();
        QTest::keyClick(&grid(), Qt::Key_Down);
        QCOMPARE(opened.count(), 0);
    }

    void a_large_model_scrolls_both_ways() {
        show(360);
        m_heads->setMaps(test::headsOf({}, 36, 32));
        QTest::keyClick(&grid(), Qt::Key_End);
        QVERIFY(page().rect().contains(grid().cellRect(35, 31)));
        QTest::keyClick(&grid(), Qt::Key_Home);
        QVERIFY(page().rect().contains(grid().cellRect(0, 0)));
    }

    void they_are_sorted_by_what_is_chosen() {
        show();
        std::vector<int> plain = grid().order();
        QVERIFY(std::is_sorted(plain.begin(), plain.end()));
        const HeadMaps& maps = grid().maps();
        choose(HeadSort::mass);
        const auto mass = [&](int cell) { return maps.masses[std::size_t(cell)].picture; };
        std::vector<int> order = grid().order();
        for (std::size_t i = 1; i < order.size(); ++i) QVERIFY(mass(order[i - 1]) >= mass(order[i]));
        choose(HeadSort::entropy);
        order = grid().order();
        QCOMPARE(order.front(), int(std::min_element(maps.entropy.begin(), maps.entropy.end()) - maps.entropy.begin()));
        QVERIFY(!offers(HeadSort::score));
        std::vector<float> scores(28 * 16, 0.0F);
        scores[100] = 0.9F;
        m_heads->setScores(QStringLiteral("pointing score"), scores);
        QVERIFY(offers(HeadSort::score));
        choose(HeadSort::score);
        QCOMPARE(grid().order().front(), 100);
        QVERIFY(sorting()->currentText().contains(QStringLiteral("pointing score")));
        m_heads->setScores({}, {});
        QCOMPARE(sorting()->currentIndex(), 0);  // an order that nothing is known for is left
        // Sorted cells can be clicked as well.
        choose(HeadSort::mass);
        QSignalSpy opened(m_heads.get(), &HeadsView::opened);
        const int best = grid().order().front();
        QTest::mouseClick(&page(), Qt::LeftButton, {}, grid().cellRect(best / 16, best % 16).center());
        QCOMPARE(opened.takeFirst(), (QList<QVariant>{best / 16, best % 16}));
    }

    void the_vision_tower_has_no_masses_to_sort_by() {
        show();
        HeadMaps maps = test::headsOf({}, 12, 12);
        maps.masses.clear();
        choose(HeadSort::mass);
        m_heads->setMaps(maps);
        QCOMPARE(sorting()->currentIndex(), 0);
        QVERIFY(!offers(HeadSort::mass));
        QVERIFY(offers(HeadSort::entropy));
    }

    void one_scale_or_one_each_is_seen_and_said() {
        show();
        HeadMaps maps = test::headsOf({}, 2, 2);
        for (int i = 0; i < 4; ++i) {
            for (int patch = 0; patch < 196; ++patch)
                maps.values[std::size_t(i * 196 + patch)] = patch == 0 ? 0.001F * float(i + 1) : 0.0F;
        }
        m_heads->setMaps(maps);
        const auto corner = [&](int layer, int head) {
            const QImage image = page().grab().toImage();
            return image.pixel(
                (QPointF(grid().cellRect(layer, head).topLeft() + QPoint(2, 2)) * image.devicePixelRatio()).toPoint());
        };
        QVERIFY(corner(0, 0) != corner(1, 1));
        QVERIFY(status()->text().startsWith(QStringLiteral("One scale: 0 to 0.004")));
        m_heads->findChild<QCheckBox*>()->click();
        QCOMPARE(corner(0, 0), corner(1, 1));
        QVERIFY(status()->text().contains(QStringLiteral("of its own")));
    }

    void the_pointer_tells_mass_and_entropy() {
        show();
        test::movePointer(page(), grid().cellRect(2, 7).center());
        QVERIFY2(status()->text().contains(QStringLiteral("on the picture, entropy")), qPrintable(status()->text()));
        QVERIFY(status()->text().startsWith(QStringLiteral("L2 H7")));
    }

    void all_heads_are_painted_quickly() {
        show(900, 1000);
        std::vector<double> times;
        for (int i = 0; i < 9; ++i) {
            const double begin = test::threadMs();
            page().repaint();
            times.push_back(test::threadMs() - begin);
        }
        std::nth_element(times.begin(), times.begin() + 4, times.end());
        const double begin = test::threadMs();
        m_heads->setMaps(test::headsOf({}));
        const double set = test::threadMs() - begin;
        qInfo("448 maps: painting %.1f ms, new values %.1f ms", times[4], set);
        QVERIFY2(times[4] < 50, qPrintable(QString::number(times[4])));
        QVERIFY2(set < 150, qPrintable(QString::number(set)));
    }
};

VITRINE_TEST(HeadsViewTest)

}  // namespace vitrine

#include "heads_view_test.moc"
