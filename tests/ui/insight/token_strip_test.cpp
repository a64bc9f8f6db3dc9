#include "ui/insight/token_strip.h"
#include "sample.h"
#include "support/test_main.h"
#include "ui/insight/token_flow.h"

#include <QHelpEvent>
#include <QLabel>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QToolButton>

#include <algorithm>
#include <memory>

namespace vitrine {

class TokenStripTest : public QObject {
    Q_OBJECT

    std::unique_ptr<TokenStrip> m_strip;

    TokenFlow& flow() const { return *m_strip->flow(); }
    QWidget& page() const { return *flow().viewport(); }
    QSlider* slider() const { return m_strip->findChild<QSlider*>(); }

    QToolButton* button(const QString& name) const {
        for (auto* candidate : m_strip->findChildren<QToolButton*>())
            if (candidate->accessibleName() == name) return candidate;
        return nullptr;
    }

    void show(bool live = false) {
        m_strip = std::make_unique<TokenStrip>();
        m_strip->resize(360, 200);
        m_strip->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_strip.get()));
        const InsightSource source = test::source(live);
        m_strip->setTokens(source.tokens, live);
    }

    void click(qint64 position) {
        QVERIFY(!flow().chipRect(position).isEmpty());
        QTest::mouseClick(&page(), Qt::LeftButton, {}, flow().chipRect(position).center());
    }

private Q_SLOTS:
    void cleanup() { m_strip.reset(); }

    void words_lie_side_by_side_within_the_width() {
        show();
        const auto& positions = flow().positions();
        QCOMPARE(positions.size(), test::answerTokens().size());
        QCOMPARE(positions.front(), qint64(test::kPrompt));
        QRect last;
        for (const qint64 position : positions) {
            const QRect chip = flow().chipRect(position);
            QVERIFY(chip.isValid() && chip.left() >= 0 && chip.right() < page().width());
            QVERIFY(!last.isValid() || chip.top() > last.bottom() || chip.left() >= last.right() - 1);
            last = chip;
        }
        QVERIFY(last.top() > flow().chipRect(positions.front()).bottom());  // several lines
    }

    void the_pointer_shows_and_a_click_chooses() {
        show();
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt));  // the first word of a finished answer
        QSignalSpy hovered(m_strip.get(), &TokenStrip::hovered);
        QSignalSpy chosen(m_strip.get(), &TokenStrip::chosenChanged);
        test::movePointer(page(), flow().chipRect(test::kPrompt + 2).center());
        QCOMPARE(hovered.takeFirst().first().toLongLong(), qint64(test::kPrompt + 2));
        QCOMPARE(chosen.count(), 0);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(&page(), &leave);
        QCOMPARE(hovered.takeFirst().first().toLongLong(), qint64(-1));
        click(test::kPrompt + 4);
        QCOMPARE(chosen.takeFirst().first().toLongLong(), qint64(test::kPrompt + 4));
        QCOMPARE(slider()->value(), 4);
        QVERIFY(flow().accessibleDescription().contains(QStringLiteral("hangs")));
    }

    void keys_step_along_the_words() {
        show();
        QTest::keyClick(&flow(), Qt::Key_Right);
        QTest::keyClick(&flow(), Qt::Key_Right);
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 2));
        QTest::keyClick(&flow(), Qt::Key_Left);
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 1));
        QTest::keyClick(&flow(), Qt::Key_End);
        QCOMPARE(m_strip->chosen(), flow().positions().back());
        QVERIFY(page().rect().contains(flow().chipRect(m_strip->chosen())));  // scrolled there
        QTest::keyClick(&flow(), Qt::Key_Right);
        QCOMPARE(m_strip->chosen(), flow().positions().back());
        QTest::keyClick(&flow(), Qt::Key_Home);
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt));
        QTest::keyClick(slider(), Qt::Key_Right);
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 1));
        QKeyEvent up(QEvent::KeyPress, Qt::Key_Up, Qt::NoModifier);
        QCoreApplication::sendEvent(&flow(), &up);
        QVERIFY(!up.isAccepted());  // left to whoever walks the layers
    }

    void space_plays_back_to_the_end() {
        show();
        click(flow().positions()[flow().positions().size() - 4]);
        QSignalSpy chosen(m_strip.get(), &TokenStrip::chosenChanged);
        QTest::keyClick(&flow(), Qt::Key_Space);
        QVERIFY(m_strip->isPlaying());
        QTRY_VERIFY_WITH_TIMEOUT(!m_strip->isPlaying(), 10'000);
        QCOMPARE(chosen.count(), 3);
        QCOMPARE(m_strip->chosen(), flow().positions().back());
        QTest::keyClick(&flow(), Qt::Key_Space);  // from the end: anew
        QCOMPARE(m_strip->chosen(), flow().positions().front());
        click(test::kPrompt + 3);
        QVERIFY(!m_strip->isPlaying());  // who chooses by hand wants to stay there
    }

    void a_live_answer_is_followed_until_another_word_is_chosen() {
        show(true);
        QCOMPARE(m_strip->chosen(), qint64(-1));
        const auto answer = test::answerTokens();
        QSignalSpy chosen(m_strip.get(), &TokenStrip::chosenChanged);
        for (int i = 0; i < 3; ++i) m_strip->appendTokens({answer[std::size_t(i)]});
        QCOMPARE(chosen.count(), 3);
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 2));
        click(test::kPrompt);
        m_strip->appendTokens({answer[3]});
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt));
        QTest::keyClick(&flow(), Qt::Key_End);
        m_strip->appendTokens({answer[4]});
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 4));
        m_strip->setLive(false);
        m_strip->appendTokens({answer[5]});
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 4));
    }

    void the_prompt_unfolds_with_one_chip_for_a_picture() {
        show();
        QVERIFY(flow().chipRect(3).isEmpty());
        button(QStringLiteral("Show the prompt"))->click();
        flow().verticalScrollBar()->setValue(0);
        QVERIFY(!flow().chipRect(3).isEmpty());
        QVERIFY(!flow().chipRect(12).isEmpty());  // the first patch stands for all
        QVERIFY(flow().chipRect(13).isEmpty());
        QSignalSpy chosen(m_strip.get(), &TokenStrip::chosenChanged);
        QTest::mouseClick(&page(), Qt::LeftButton, {}, flow().chipRect(12).center());
        QTest::mouseClick(&page(), Qt::LeftButton, {}, flow().chipRect(0).center());  // nothing predicted it
        QCOMPARE(chosen.count(), 0);
        click(3);
        QCOMPARE(chosen.takeFirst().first().toLongLong(), qint64(3));
    }

    void equal_words_are_told_apart_by_position() {
        show();
        click(test::kPrompt + 6);  // " a"
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 6));
        click(test::kPrompt + 10);  // " a"
        QCOMPARE(m_strip->chosen(), qint64(test::kPrompt + 10));
    }

    // Colour and length: the strongest word has the longest bar, one without weight has none.
    void weights_are_tints_and_bars() {
        show();
        std::vector<float> weights(flow().positions().size(), 0.0F);
        weights[2] = 0.2F;
        weights[4] = 0.1F;
        m_strip->setWeights(weights, QStringLiteral("%1 of it"), QStringLiteral("how much"));
        const QImage image = page().grab().toImage();
        const double ratio = image.devicePixelRatio();
        const auto bar = [&](int word) {  // pixels of the bar, along the foot of the chip
            const QRect chip = flow().chipRect(test::kPrompt + word);
            const int y = int((chip.bottom() - 2) * ratio);
            const QRgb accent = image.pixel(int((flow().chipRect(test::kPrompt + 2).left() + 4) * ratio),
                                            int((flow().chipRect(test::kPrompt + 2).bottom() - 2) * ratio));
            int length = 0;
            for (int x = int(chip.left() * ratio); x < int(chip.right() * ratio); ++x)
                length += image.pixel(x, y) == accent ? 1 : 0;
            return length / (chip.width() * ratio);
        };
        QVERIFY(bar(2) > 0.75);
        QVERIFY(bar(4) > 0.35 && bar(4) < 0.6);
        QVERIFY(bar(3) < 0.05);
        click(test::kPrompt + 2);
        QVERIFY2(flow().accessibleDescription().contains(QStringLiteral("20\u00A0% of it")),
                 qPrintable(flow().accessibleDescription()));
    }

    void a_thousand_words_are_quick() {
        m_strip = std::make_unique<TokenStrip>();
        m_strip->resize(400, 900);
        m_strip->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_strip.get()));
        std::vector<InsightToken> tokens;
        for (int i = 0; i < 1000; ++i) tokens.push_back(test::answerToken(i + 1, i % 3 ? " word" : " longer-word"));
        double begin = test::threadMs();
        m_strip->setTokens(tokens, true);
        QVERIFY(test::threadMs() - begin < 200);
        m_strip->setWeights(std::vector<float>(1000, 0.5F), QStringLiteral("%1"), {});
        std::vector<double> paints;
        std::vector<double> appends;
        for (int i = 0; i < 9; ++i) {
            begin = test::threadMs();
            page().repaint();
            paints.push_back(test::threadMs() - begin);
            begin = test::threadMs();
            m_strip->appendTokens({test::answerToken(1001 + i, " next")});
            appends.push_back(test::threadMs() - begin);
        }
        std::nth_element(paints.begin(), paints.begin() + 4, paints.end());
        std::nth_element(appends.begin(), appends.begin() + 4, appends.end());
        qInfo("painting %.1f ms, appending %.2f ms", paints[4], appends[4]);
        QVERIFY2(paints[4] < 40, qPrintable(QString::number(paints[4])));
        QVERIFY2(appends[4] < 10, qPrintable(QString::number(appends[4])));
        QCOMPARE(m_strip->chosen(), qint64(1009));
    }
};

VITRINE_TEST(TokenStripTest)

}  // namespace vitrine

#include "token_strip_test.moc"
