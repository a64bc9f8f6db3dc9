#pragma once

#include "ui/captions/caption_filter.h"
#include "ui/captions/values.h"

#include <QListView>
#include <QTimer>
#include <QWidget>

class QAbstractItemModel;
class QComboBox;
class QLabel;
class QLineEdit;
class QStackedWidget;
class QToolButton;

namespace vitrine {

class PictureDelegate;

// The pictures as a list or a grid, with search, filter, sort and counts. Keeps selection and current picture by path
// over every rearrangement; when the current one is gone, its neighbour follows. Says which rows are in view, so that
// thumbnails are made for those only. Lives on the UI thread.
class PictureList : public QWidget {
    Q_OBJECT

public:
    explicit PictureList(QWidget* parent = nullptr);

    void setModel(QAbstractItemModel* model);

    void select(const QString& path);  // also one that the filter hides: then everything is shown again
    void step(int rows);               // the current row moves, as with the arrow keys
    void drive(QKeyEvent& arrow);      // an arrow key that was pressed elsewhere
    QModelIndex current() const;       // of the arrangement shown; answers the roles of roles.h
    QStringList selectedPaths() const;
    QStringList shownPaths() const;
    QStringList nextPaths() const;  // those a person will probably look at next
    int selectedCount() const;
    int shownCount() const { return m_filter->rowCount(); }
    bool hidesSome() const { return m_filter->hidesSome(); }
    const CaptionCounts& counts() const { return m_filter->counts(); }
    QListView* view() const { return m_view; }

    void focusSearch();
    void focusView() { m_view->setFocus(); }

    bool isGrid() const;
    void setGrid(bool grid);
    CaptionOrder order() const { return m_filter->order(); }
    void setOrder(CaptionOrder order);

Q_SIGNALS:
    void currentChanged(const QModelIndex& row);  // another picture, or none
    void currentTouched();                        // the same picture, something of it changed
    void countsChanged();                         // counts, selection or what is shown
    void thumbnailsWanted(const QStringList& paths, int edge);
    void editWanted();
    void captionWanted();
    void retryWanted(const QStringList& paths);
    void removeWanted(const QStringList& paths);
    void revealWanted(const QString& path);
    void openFilesWanted();
    void openFolderWanted();
    void pasteWanted();
    void exportWanted(vitrine::CaptionExport format, const QStringList& paths);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* buildActions();
    QWidget* buildSearch();
    QWidget* buildNothing();
    void connectModel();
    void remember();
    void restore();
    void announceCurrent();
    void announceVisible();
    void showCounts();
    void showAll();
    void openMenu(const QPoint& position);
    QString pathAt(int row) const;
    int rowOf(const QString& path) const;

    CaptionFilter* m_filter;
    PictureDelegate* m_delegate;
    QListView* m_view = nullptr;
    QStackedWidget* m_pages = nullptr;  // the view, or that nothing matches
    QLineEdit* m_search = nullptr;
    QComboBox* m_show = nullptr;
    QComboBox* m_order = nullptr;
    QToolButton* m_listMode = nullptr;
    QToolButton* m_gridMode = nullptr;
    QLabel* m_counts = nullptr;
    QTimer m_searchTimer;
    QTimer m_visibleTimer;
    QTimer m_countsTimer;

    QString m_announced;  // the path told last by currentChanged()
    QString m_wanted;     // the path to return to after a rearrangement
    int m_wantedRow = 0;  // where it stood, in case it is gone
    QStringList m_wantedSelection;
    bool m_driving = false;
};

}  // namespace vitrine
