#pragma once

#include "ui/message_bar.h"
#include "ui/models/values.h"

#include <QWidget>

#include <functional>

class QLabel;
class QSplitter;
class QStackedWidget;

namespace vitrine {

class DetailsView;
class DownloadView;
class EmptyState;
class HubDialog;
class ModelList;
class PairDialog;

// The Models place: what there is at the left, what the selected one is at the right, and the dialogs that join parts
// and fetch new ones. Lives on the UI thread, shows what it is given and emits wishes; it opens no file and loads
// nothing. An entry is named by its id everywhere, so a late answer about another one is ignored.
class ModelsPage : public QWidget {
    Q_OBJECT

public:
    explicit ModelsPage(QWidget* parent = nullptr);

    void setEntries(const QList<ModelEntry>& entries);
    void setSearching(bool searching);  // the folders are being looked through
    void select(const QString& id);
    QString current() const;  // empty: none

    // Answers to selected().
    void setDetails(const ModelDetails& details);
    void setDownload(const DownloadProgress& progress);

    // Loading. Setting them emits nothing.
    void setChoices(const QList<Choice>& devices, const QString& device, const QList<Choice>& dtypes,
                    const QString& dtype);
    void setEstimate(const QString& id, const QString& text, Fit fit);
    void setLoad(const LoadView& load);
    QString device() const;
    QString dtype() const;

    // Dialogs. They open by the person's wish or by these.
    void openPairing(const PairChoices& choices, const QString& preferred);
    void setPairChoices(const PairChoices& choices);  // while it is open: the list has changed
    void setPairVerdict(const PairVerdict& verdict);
    void setPairFault(const QString& text);
    void closePairing();
    void openHub(const QString& host);
    void setHubListing(const HubListingView& listing);
    void setHubFault(const QString& hubId, const QString& reason);

    void showMessage(MessageBar::Kind kind, const QString& text, const QString& actionText = {},
                     std::function<void()> action = {});

    QByteArray saveState() const;
    void restoreState(const QByteArray& state);

Q_SIGNALS:
    void selected(const QString& id);
    void loadWanted(const QString& id);
    void cancelLoadWanted();
    void unloadWanted();
    void choiceChanged();  // of device or type of the weights
    void refreshWanted();  // also when the page is shown
    void addFolderWanted();
    void foldersDropped(const QStringList& folders);
    void forgetWanted(const QString& id);
    void revealWanted(const QString& id);

    void pairWanted(const QString& id);  // with this one, if not empty
    void pairChoiceChanged(const QString& vision, const QString& language, const QString& projector);
    void pairCreateWanted(const QString& name, const QString& vision, const QString& language,
                          const QString& projector);

    void hubWanted();
    void hubListWanted(const QString& text);
    void downloadWanted(const QString& hubId, const QStringList& files);
    void pauseWanted(const QString& hubId);
    void resumeWanted(const QString& hubId);
    void cancelWanted(const QString& hubId, bool keepFiles);

protected:
    void showEvent(QShowEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    QWidget* buildLeft();
    QWidget* buildRight();
    PairDialog& pairDialog();
    HubDialog& hubDialog();
    void showEmpty();

    QSplitter* m_splitter;
    ModelList* m_list;
    QLabel* m_searching;
    QStackedWidget* m_right;
    EmptyState* m_empty;
    DetailsView* m_details;
    DownloadView* m_download;
    MessageBar* m_messages;
    PairDialog* m_pairDialog = nullptr;  // made when first wanted
    HubDialog* m_hubDialog = nullptr;
    bool m_any = false;
};

}  // namespace vitrine
