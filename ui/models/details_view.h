#pragma once

#include "ui/models/values.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QTabWidget;
class QTableView;
class QToolButton;

namespace vitrine {

class IconLabel;
class RowsModel;

// What one model, checkpoint or projector is: title and place, loading with device and type of weights, and tabs for
// what it can do, its configuration, its tensors and its memory.
class DetailsView : public QWidget {
    Q_OBJECT

public:
    explicit DetailsView(QWidget* parent = nullptr);

    void setDetails(const ModelDetails& details);
    void setLoad(const LoadView& load);
    void setChoices(const QList<Choice>& devices, const QString& device, const QList<Choice>& dtypes,
                    const QString& dtype);
    void setEstimate(const QString& text, Fit fit);
    QString device() const;
    QString dtype() const;
    QString id() const { return m_details.id; }

Q_SIGNALS:
    void loadWanted();
    void unloadWanted();
    void cancelLoadWanted();
    void choiceChanged();
    void pairWanted();
    void revealWanted();
    void forgetWanted();

private:
    void buildHeader(QWidget* header);
    void buildLoadBar(QWidget* bar);
    QWidget* buildTable(QTableView*& table, RowsModel* rows, const QString& name, const QString& filterHint);
    void showConfig();
    void showTensors();
    void showMemory();
    void showLoad();

    ModelDetails m_details;
    LoadView m_load;

    QLabel* m_title;
    QLabel* m_kind;
    QLabel* m_path;
    IconLabel* m_warningIcon;
    QLabel* m_warning;
    QToolButton* m_reveal;
    QToolButton* m_forget;

    QWidget* m_loadBar;
    QWidget* m_choices;
    QComboBox* m_device;
    QComboBox* m_dtype;
    IconLabel* m_estimateIcon;
    QLabel* m_estimate;
    QPushButton* m_loadButton;
    QProgressBar* m_progress;
    QPushButton* m_pair;

    QTabWidget* m_tabs;
    QLabel* m_about;
    QLabel* m_tensorSummary;
    QLabel* m_memoryNote;
    RowsModel* m_configRows;
    RowsModel* m_tensorRows;
    RowsModel* m_memoryRows;
    QTableView* m_config = nullptr;
    QTableView* m_tensors = nullptr;
    QTableView* m_memory = nullptr;
};

}  // namespace vitrine
