#pragma once

#include "ui/chat/chat_values.h"

#include <QAbstractButton>
#include <QHash>
#include <QImage>
#include <QPixmap>
#include <QWidget>

#include <vector>

class QToolButton;

namespace vitrine {

// One picture as a thumbnail, or as a line with its name and why it cannot be used.
class PictureTile : public QAbstractButton {
    Q_OBJECT

public:
    PictureTile(const TurnPicture& picture, bool removable, QWidget* parent);

    const TurnPicture& picture() const { return m_picture; }
    void setThumbnail(const QImage& image);
    QSize sizeHint() const override;

Q_SIGNALS:
    void removeWanted(const QString& key);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    TurnPicture m_picture;
    QImage m_thumbnail;
    QToolButton* m_remove = nullptr;
};

// Pictures side by side, in as many lines as the width asks for. Thumbnails are asked for by key and may come at any
// time. Lives on the UI thread.
class PictureStrip : public QWidget {
    Q_OBJECT

public:
    explicit PictureStrip(bool removable, QWidget* parent = nullptr);

    void setPictures(const QList<TurnPicture>& pictures);
    const QList<TurnPicture>& pictures() const { return m_pictures; }
    void setThumbnail(const QString& key, const QImage& image);
    const std::vector<PictureTile*>& tiles() const { return m_tiles; }

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return arrange(width, nullptr); }
    QSize sizeHint() const override;

Q_SIGNALS:
    void thumbnailWanted(const QString& key);
    void activated(const QString& key);
    void removeWanted(const QString& key);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    // The height the tiles need; with `place`, they are moved there.
    int arrange(int width, const std::vector<PictureTile*>* place) const;

    bool m_removable;
    QList<TurnPicture> m_pictures;
    std::vector<PictureTile*> m_tiles;
};

}  // namespace vitrine
