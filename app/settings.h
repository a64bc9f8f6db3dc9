#pragma once

#include <QByteArray>
#include <QJsonObject>
#include <QJsonValue>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

namespace vitrine {

// One setting: its key in the file, its type, its default.
template <typename T>
struct Setting {
    const char* key;
    T fallback;
};

// Every setting of the program, in one place.
namespace setting {

inline const Setting<QString> theme{"appearance/theme", QStringLiteral("system")};  // system, light, dark
inline const Setting<QByteArray> windowGeometry{"window/geometry", {}};
inline const Setting<QByteArray> windowState{"window/state", {}};
inline const Setting<QString> place{"window/place", QStringLiteral("captions")};
inline const Setting<bool> hintSeen{"window/first_hint_seen", false};

inline const Setting<QString> model{"model/folder", {}};  // the one loaded last; empty: the demo model
inline const Setting<QString> device{"model/device", QStringLiteral("auto")};
inline const Setting<QString> dtype{"model/dtype", {}};  // empty: as the checkpoint is stored
inline const Setting<int> threads{"model/threads", 0};
inline const Setting<QStringList> modelFolders{"model/added_folders", {}};

inline const Setting<QJsonObject> captions{"captions/page", {}};  // preset, prompts, generation, sidecars, layout
inline const Setting<QJsonObject> chat{"chat/page", {}};          // system prompt, generation, layout
inline const Setting<QJsonObject> models{"models/page", {}};      // layout
inline const Setting<QJsonObject> insight{"insight/view", {}};    // method, layer, head, look

}  // namespace setting

// The settings file as a table of typed values. Lives on the UI thread; a change is written half a second later, whole
// and atomically, off the UI thread. A value of the wrong type counts as absent; keys this version does not know are
// kept; a file that is no JSON is put aside and reported by damaged().
class Settings : public QObject {
    Q_OBJECT

public:
    explicit Settings(QString file, QObject* parent = nullptr);
    ~Settings() override;

    template <typename T>
    T get(const Setting<T>& setting) const;
    template <typename T>
    void set(const Setting<T>& setting, const T& value) {
        store(setting.key, encode(value));
    }

    void flush();  // writes what is waiting, now

Q_SIGNALS:
    void changed(const QString& key);
    void damaged(const QString& keptAs);
    void failed(const QString& message);

private:
    static QJsonValue encode(const QByteArray& value) { return QString::fromLatin1(value.toBase64()); }
    static QJsonValue encode(const QStringList& value);
    template <typename T>
    static QJsonValue encode(const T& value) {
        return value;
    }

    void store(const char* key, const QJsonValue& value);
    void write();

    QString m_file;
    QJsonObject m_values;
    QTimer m_timer;
    bool m_dirty = false;
};

}  // namespace vitrine
