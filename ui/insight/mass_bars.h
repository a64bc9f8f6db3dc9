#pragma once

#include "core/insight/values.h"

#include <QBrush>
#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

namespace vitrine {

// Where one row of attention goes, as one bar of parts with a legend in numbers, and how spread it is. Lives on the UI
// thread.
class MassBars : public QWidget {
    Q_OBJECT

public:
    explicit MassBars(QWidget* parent = nullptr);

    // Without masses (the vision tower, or another method) only the spread is told.
    void setRow(const std::optional<Masses>& masses, double entropy, std::int64_t keys);
    void clear();
    QString entropyText() const { return m_entropy; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Part {
        QString name;
        double share = 0.0;
        int kind = 0;
    };
    QBrush brush(int kind) const;

    std::vector<Part> m_parts;
    QString m_entropy;
};

}  // namespace vitrine
