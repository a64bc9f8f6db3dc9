#pragma once

#include <QImage>
#include <QString>

#include <exception>

// What loader and thumbnails share about a picture file. Everything here touches the disk or many pixels, so it is
// called on worker threads.
namespace vitrine {

struct Image;

// Tells whether a file is still the one that was read.
struct FileStamp {
    qint64 size = -1;     // -1: no such file
    qint64 modified = 0;  // ms since the epoch
    bool operator==(const FileStamp&) const = default;
};
FileStamp stampOf(const QString& path);

// Takes the pixels over without copying them.
QImage toQImage(Image&& image);

// For open dialogs: "Pictures (*.avif *.bmp ...);;All files (*)".
QString pictureFilter();

// What is wrong with the file, for people: without its path, which is shown beside it.
QString reasonOf(const std::exception& error);

}  // namespace vitrine
