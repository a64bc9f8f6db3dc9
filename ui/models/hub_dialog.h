#pragma once

#include "ui/models/values.h"

#include <QDialog>
#include <QSet>

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace vitrine {

// Choosing what to download: the model's name on the hub, then its files with sizes, of which the needed ones are
// ticked. It asks by listWanted() and shows what comes back.
class HubDialog : public QDialog {
    Q_OBJECT

public:
    explicit HubDialog(QWidget* parent = nullptr);

    void setHost(const QString& host);
    void setListing(const HubListingView& listing);
    void setFault(const QString& hubId, const QString& reason);

Q_SIGNALS:
    void listWanted(const QString& text);
    void startWanted(const QString& hubId, const QStringList& files);

private:
    void ask();
    void showTotal();
    QStringList ticked() const;

    QLineEdit* m_id;
    QPushButton* m_list;
    QLabel* m_message;
    QTreeWidget* m_files;
    QLabel* m_total;
    QPushButton* m_start;
    HubListingView m_listing;
};

}  // namespace vitrine
