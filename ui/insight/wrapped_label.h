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
    void fit() { setMinimumHeight(text().isEmpty() ? 0 : heightForWidth(width())); }
};

}  // namespace vitrine
