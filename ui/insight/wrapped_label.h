#pragma once

#include <QLabel>

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

}  // namespace vitrine
