#pragma once

#include <QLabel>
#include <QPainter>

namespace vitrine {

// Text in as many lines as its width asks for, which are then its least height too: a plain label in a splitter is
// squeezed to one. Lives on the UI thread.
class WrappedLabel : public QLabel {
public:
    explicit WrappedLabel(QWidget* parent) : QLabel(parent) {
        setTextFormat(Qt::PlainText);
        setWordWrap(true);
    }

    // Costs a layout only where the text is another.
    void say(const QString& text) {
        if (text == this->text()) return;
        setText(text);
        fit();
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QLabel::resizeEvent(event);
        fit();
    }

private:
    void fit() {  // heightForWidth() would never fall below a least height that was set before
        constexpr int endless = 1 << 16;
        const QRect room(0, 0, width(), endless);
        setMinimumHeight(text().isEmpty() ? 0 : fontMetrics().boundingRect(room, Qt::TextWordWrap, text()).height());
    }
};

// One line that is cut with dots where it does not fit; all of it is in the tool tip.
class OneLine : public QLabel {
public:
    explicit OneLine(QWidget* parent) : QLabel(parent) {
        setTextFormat(Qt::PlainText);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    }

    void say(const QString& text) {
        if (text == this->text()) return;
        setText(text);
        setToolTip(text);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(palette().color(foregroundRole()));
        painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(text(), Qt::ElideRight, width()));
    }
};

}  // namespace vitrine
