#pragma once

#include "ui/insight/overlay.h"

#include <QWidget>

#include <optional>

namespace vitrine {

// The colours of a scale with their numbers. An end beyond which there are values is marked with an arrow head and "≥"
// or "≤". Lives on the UI thread.
class ColourBar : public QWidget {
    Q_OBJECT

public:
    explicit ColourBar(QWidget* parent = nullptr);

    void setScale(const ValueScale& scale, const ColourTable& colours, ScaleCut cut);
    void setValue(std::optional<double> value);  // marked on the bar

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    ValueScale m_scale;
    ScaleCut m_cut;
    ColourTable m_colours{};
    std::optional<double> m_value;
};

}  // namespace vitrine
