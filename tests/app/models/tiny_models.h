#pragma once

#include "core/model/random_model.h"

#include <QDir>
#include <QFile>
#include <QString>
#include <QTemporaryDir>

#include <filesystem>

// Models of a few kilobytes with random weights, in the formats real ones have.
namespace vitrine::test {

inline std::filesystem::path fsPath(const QString& path) {
    return path.toStdString();
}

// Writes vitrine.json, vision/, language/ and projector.safetensors into a new folder.
inline void writeTinyModel(const QString& folder, std::int64_t visionWidth = 16, std::int64_t languageWidth = 24) {
    ModelShape shape = shape_by_name("demo");
    shape.vision.hidden_size = visionWidth;
    shape.vision.intermediate_size = 32;
    shape.vision.num_hidden_layers = 1;
    shape.vision.num_attention_heads = 2;
    shape.vision.image_size = 32;
    shape.language.hidden_size = languageWidth;
    shape.language.intermediate_size = 32;
    shape.language.num_hidden_layers = 1;
    shape.language.num_attention_heads = 2;
    shape.language.num_key_value_heads = 1;
    shape.language.head_dim = 8;
    QDir().mkpath(QFileInfo(folder).path());
    write_random_model(shape, DType::float32, 7, fsPath(folder));
}

inline void writeFile(const QString& path, const QByteArray& text) {
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    if (file.open(QIODevice::WriteOnly)) file.write(text);
}

inline QByteArray readFile(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// A checkpoint as huggingface_hub keeps it: the snapshot's files are links into blobs/.
inline QString writeToHubCache(const QString& cache, const QString& hubId, const QString& checkpoint) {
    const QString repository = cache + QStringLiteral("/models--") + QString(hubId).replace(u'/', QStringLiteral("--"));
    const QString snapshot = repository + QStringLiteral("/snapshots/c0ffee");
    writeFile(repository + QStringLiteral("/refs/main"), "c0ffee");
    QDir().mkpath(snapshot);
    QDir().mkpath(repository + QStringLiteral("/blobs"));
    for (const QString& name : QDir(checkpoint).entryList(QDir::Files)) {
        QFile::copy(checkpoint + u'/' + name, repository + QStringLiteral("/blobs/blob-") + name);
        QFile::link(QStringLiteral("../../blobs/blob-") + name, snapshot + u'/' + name);
    }
    return snapshot;
}

// An environment variable, as it was before when this goes.
class Environment {
public:
    Environment(const char* name, const QString& value)
        : m_name(name), m_before(qgetenv(name)), m_was(qEnvironmentVariableIsSet(name)) {
        qputenv(name, value.toUtf8());
    }
    ~Environment() {
        if (m_was)
            qputenv(m_name, m_before);
        else
            qunsetenv(m_name);
    }

private:
    const char* m_name;
    QByteArray m_before;
    bool m_was;
};

}  // namespace vitrine::test
