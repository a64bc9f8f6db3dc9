#pragma once

#include <QObject>

class QDBusVariant;

namespace vitrine {

// Whether the desktop prefers dark colours: asked of the desktop portal (org.freedesktop.appearance, color-scheme),
// which also tells when it changes; where there is no portal, read from the palette the program was started with.
class DesktopAppearance : public QObject {
    Q_OBJECT

public:
    explicit DesktopAppearance(QObject* parent = nullptr);
    bool isDark() const { return m_dark; }

Q_SIGNALS:
    void changed();

private Q_SLOTS:
    void settingChanged(const QString& group, const QString& key, const QDBusVariant& value);

private:
    void setScheme(uint scheme);

    bool m_dark = false;
};

}  // namespace vitrine
