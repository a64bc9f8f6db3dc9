#include "ui/models/details_view.h"

#include "ui/icons.h"
#include "ui/models/icon_label.h"
#include "ui/models/rows_model.h"
#include "ui/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

// Finds the words typed in any column, all of them.
class AnyColumn : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setWords(const QString& text) {
        m_words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
        QString all;
        for (int column = 0; column < sourceModel()->columnCount(parent); ++column)
            all += sourceModel()->index(row, column, parent).data().toString() + QLatin1Char('\n');
        return std::all_of(m_words.begin(), m_words.end(),
                           [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
    }

private:
    QStringList m_words;
};

QLabel* plainLabel(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void fill(QComboBox& box, const QList<Choice>& choices, const QString& chosen) {
    const QSignalBlocker quiet(box);
    box.clear();
    for (const Choice& choice : choices) box.addItem(choice.text, choice.id);
    box.setCurrentIndex(std::max(0, box.findData(chosen)));
}

RowsModel::Cell sized(quint64 bytes) {
    return {.text = QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat),
            .sort = bytes,
            .right = true};
}

}  // namespace

DetailsView::DetailsView(QWidget* parent)
    : QWidget(parent),
      m_title(plainLabel(this)),
      m_kind(plainLabel(this)),
      m_path(plainLabel(this)),
      m_warningIcon(new IconLabel(this)),
      m_warning(plainLabel(this)),
      m_reveal(new QToolButton(this)),
      m_forget(new QToolButton(this)),
      m_loadBar(new QWidget(this)),
      m_choices(new QWidget(m_loadBar)),
      m_device(new QComboBox(m_choices)),
      m_dtype(new QComboBox(m_choices)),
      m_estimateIcon(new IconLabel(this)),
      m_estimate(plainLabel(this)),
      m_loadButton(new QPushButton(this)),
      m_progress(new QProgressBar(this)),
      m_pair(new QPushButton(icon(QStringLiteral("pair")), tr("Pair…"), this)),
      m_tabs(new QTabWidget(this)),
      m_about(plainLabel(this)),
      m_tensorSummary(plainLabel(this)),
      m_memoryNote(plainLabel(this)),
      m_configRows(new RowsModel({tr("Part"), tr("Key"), tr("Value"), tr("Comes from")}, this)),
      m_tensorRows(new RowsModel({tr("Part"), tr("Tensor"), tr("Type"), tr("Shape"), tr("Size"), tr("Read")}, this)),
      m_memoryRows(new RowsModel({tr("Device"), tr("Weights as"), tr("Weights"), tr("KV cache"), tr("Working"),
                                  tr("Needed"), tr("Free"), tr("Verdict")},
                                 this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kSpace);
    layout->setSpacing(theme::kGroup);
    auto* header = new QWidget(this);
    buildHeader(header);
    layout->addWidget(header);
    buildLoadBar(m_loadBar);
    layout->addWidget(m_loadBar);

    auto* about = new QWidget(m_tabs);
    auto* aboutLayout = new QVBoxLayout(about);
    aboutLayout->setContentsMargins(theme::kTight, theme::kGroup, theme::kGroup, theme::kGroup);
    aboutLayout->addWidget(m_about);
    aboutLayout->addStretch();
    auto* scroll = new QScrollArea(m_tabs);
    scroll->setWidget(about);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setAccessibleName(tr("About"));
    m_tabs->addTab(scroll, tr("About"));
    m_tabs->addTab(buildTable(m_config, m_configRows, tr("Configuration"), tr("Filter keys and values")),
                   tr("Configuration"));
    QWidget* tensors = buildTable(m_tensors, m_tensorRows, tr("Tensors"), tr("Filter tensors, for example q_proj"));
    theme::setMuted(*m_tensorSummary);
    tensors->layout()->addWidget(m_tensorSummary);
    m_tabs->addTab(tensors, tr("Tensors"));
    QWidget* memory = buildTable(m_memory, m_memoryRows, tr("Memory"), {});
    theme::setMuted(*m_memoryNote);
    memory->layout()->addWidget(m_memoryNote);
    m_tabs->addTab(memory, tr("Memory"));
    layout->addWidget(m_tabs, 1);
}

void DetailsView::buildHeader(QWidget* header) {
    m_title->setFont(theme::titleFont(font()));
    theme::setMuted(*m_kind);
    theme::setMuted(*m_path);
    m_path->setFont(theme::smallFont(font()));
    const auto quiet = [](QToolButton& button, const QString& iconName, const QString& name) {
        button.setIcon(icon(iconName));
        button.setToolTip(name);
        button.setAccessibleName(name);
        theme::setButtonKind(button, "quiet");
    };
    quiet(*m_reveal, QStringLiteral("folder"), tr("Show in the file manager"));
    quiet(*m_forget, QStringLiteral("close"), tr("Take this folder off the list (nothing is deleted)"));
    connect(m_reveal, &QToolButton::clicked, this, &DetailsView::revealWanted);
    connect(m_forget, &QToolButton::clicked, this, &DetailsView::forgetWanted);

    auto* top = new QHBoxLayout;
    top->setSpacing(theme::kTight);
    top->addWidget(m_title, 1);
    top->addWidget(m_reveal);
    top->addWidget(m_forget);
    auto* warning = new QHBoxLayout;
    warning->setSpacing(theme::kSpace);
    warning->addWidget(m_warningIcon, 0, Qt::AlignTop);
    warning->addWidget(m_warning, 1);
    auto* layout = new QVBoxLayout(header);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addLayout(top);
    layout->addWidget(m_kind);
    layout->addWidget(m_path);
    layout->addSpacing(theme::kTight);
    layout->addLayout(warning);
}

void DetailsView::buildLoadBar(QWidget* bar) {
    auto* deviceLabel = new QLabel(tr("&Device"), m_choices);
    deviceLabel->setBuddy(m_device);
    auto* dtypeLabel = new QLabel(tr("&Weights as"), m_choices);
    dtypeLabel->setBuddy(m_dtype);
    m_device->setAccessibleName(tr("Device"));
    m_dtype->setAccessibleName(tr("Type of the weights in memory"));
    m_dtype->setToolTip(tr("fp32 is exact, bf16 and fp16 need half the memory"));
    for (QComboBox* box : {m_device, m_dtype}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        connect(box, &QComboBox::currentIndexChanged, this, &DetailsView::choiceChanged);
    }
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Loading"));
    connect(m_loadButton, &QPushButton::clicked, this, [this] {
        const bool ours = m_load.id == m_details.id;
        if (ours && m_load.loading)
            Q_EMIT cancelLoadWanted();
        else if (ours)
            Q_EMIT unloadWanted();
        else
            Q_EMIT loadWanted();
    });
    m_pair->setToolTip(tr("Join this part with others to a model"));
    connect(m_pair, &QPushButton::clicked, this, &DetailsView::pairWanted);

    auto* choices = new QHBoxLayout(m_choices);
    choices->setContentsMargins(0, 0, theme::kSpace, 0);
    choices->setSpacing(theme::kSpace);
    for (QWidget* widget : std::initializer_list<QWidget*>{deviceLabel, m_device, dtypeLabel, m_dtype})
        choices->addWidget(widget);
    auto* row = new QHBoxLayout;
    row->setSpacing(theme::kSpace);
    row->addWidget(m_choices);
    row->addWidget(m_estimateIcon);
    row->addWidget(m_estimate, 1);
    row->addWidget(m_pair);
    row->addWidget(m_loadButton);
    auto* layout = new QVBoxLayout(bar);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kSpace);
    layout->addLayout(row);
    layout->addWidget(m_progress);
}

QWidget* DetailsView::buildTable(QTableView*& table, RowsModel* rows, const QString& name, const QString& filterHint) {
    auto* page = new QWidget(m_tabs);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, theme::kSpace, 0, theme::kSpace);
    layout->setSpacing(theme::kSpace);
    auto* proxy = new AnyColumn(page);
    proxy->setSourceModel(rows);
    proxy->setSortRole(RowsModel::kSortRole);
    if (!filterHint.isEmpty()) {
        auto* filter = new QLineEdit(page);
        filter->setPlaceholderText(filterHint);
        filter->setAccessibleName(filterHint);
        filter->setClearButtonEnabled(true);
        connect(filter, &QLineEdit::textChanged, proxy, &AnyColumn::setWords);
        layout->addWidget(filter);
    }
    table = new QTableView(page);
    table->setModel(proxy);
    setUpTable(*table, name);
    table->setSortingEnabled(!filterHint.isEmpty());
    table->sortByColumn(-1, Qt::AscendingOrder);  // in the order of the files until somebody asks
    layout->addWidget(table, 1);
    return page;
}

void DetailsView::setDetails(const ModelDetails& details) {
    const ModelDetails before = std::exchange(m_details, details);
    m_title->setText(details.title);
    m_kind->setText(details.kind);
    m_path->setText(details.path);
    m_forget->setVisible(details.removable);
    m_warning->setText(details.warning);
    m_warning->setVisible(!details.warning.isEmpty());
    m_warningIcon->setIcon(details.warning.isEmpty() ? QString() : QStringLiteral("warning"));

    QStringList about;
    if (!details.about.isEmpty()) about << details.about;
    if (!details.facts.isEmpty()) about << details.facts.join(QLatin1Char('\n'));
    m_about->setText(about.join(QStringLiteral("\n\n")));
    // A table that stays the same keeps its place and selection.
    if (details.config != before.config) showConfig();
    if (details.tensors != before.tensors) showTensors();
    if (details.memory != before.memory) showMemory();
    const QString waiting = details.complete ? details.fault : tr("Reading the headers of the files…");
    m_tensorSummary->setText(details.tensorSummary.isEmpty() ? waiting : details.tensorSummary);
    m_memoryNote->setText(details.loadable ? details.memoryNote
                                           : tr("Only a whole model is loaded: pair this part with the others to see "
                                                "what they need."));
    showLoad();
}

void DetailsView::showConfig() {
    QList<QList<RowsModel::Cell>> rows;
    for (const QStringList& entry : std::as_const(m_details.config)) {
        const bool assumed = entry[3] == QLatin1String("class default");
        rows.append({{.text = entry[0], .muted = true}, {entry[1]}, {entry[2]}, {.text = entry[3], .muted = assumed}});
    }
    m_configRows->setRows(std::move(rows));
    fitColumns(*m_config);
}

void DetailsView::showTensors() {
    QList<QList<RowsModel::Cell>> rows;
    for (const TensorRow& tensor : std::as_const(m_details.tensors)) {
        const bool muted = !tensor.used;
        rows.append({{.text = tensor.part, .muted = true},
                     {.text = tensor.name, .muted = muted},
                     {.text = tensor.dtype, .muted = muted},
                     {.text = tensor.shape, .muted = muted},
                     sized(tensor.bytes),
                     {.text = tensor.used ? tr("used") : tr("ignored"), .muted = muted}});
    }
    m_tensorRows->setRows(std::move(rows));
    fitColumns(*m_tensors);
}

void DetailsView::showMemory() {
    QList<QList<RowsModel::Cell>> rows;
    for (const MemoryRow& row : std::as_const(m_details.memory)) {
        const auto number = [](const QString& text) { return RowsModel::Cell{.text = text, .right = true}; };
        rows.append({{row.device},
                     {row.dtype},
                     number(row.weights),
                     number(row.cache),
                     number(row.working),
                     number(row.total),
                     number(row.free),
                     {.text = row.verdict, .muted = row.fit == Fit::unknown}});
    }
    m_memoryRows->setRows(std::move(rows));
    fitColumns(*m_memory);
}

void DetailsView::setLoad(const LoadView& load) {
    m_load = load;
    showLoad();
}

void DetailsView::showLoad() {
    const bool ours = !m_load.id.isEmpty() && m_load.id == m_details.id;
    const bool loading = ours && m_load.loading;
    const bool isPart = !m_details.loadable && m_details.warning.isEmpty();
    m_choices->setVisible(m_details.loadable);
    m_loadButton->setVisible(m_details.loadable);
    if (!m_details.loadable) m_estimateIcon->setIcon({});
    m_pair->setVisible(isPart);
    m_estimate->setVisible(m_details.loadable || isPart);
    if (isPart) m_estimate->setText(tr("One part of a model. Pair it with the others to use it."));
    m_loadBar->setVisible(m_details.loadable || isPart);
    m_progress->setVisible(loading);
    m_progress->setRange(0, m_load.progress < 0.0 ? 0 : 1000);
    m_progress->setValue(static_cast<int>(m_load.progress * 1000));
    m_device->setEnabled(!loading);
    m_dtype->setEnabled(!loading);
    m_loadButton->setText(loading ? tr("&Cancel loading") : ours ? tr("&Unload") : tr("&Load"));
    m_loadButton->setAccessibleName(m_loadButton->text().remove(QLatin1Char('&')));
    m_loadButton->setToolTip(ours && !loading ? tr("Gives the memory back") : QString());
    theme::setButtonKind(*m_loadButton, ours ? "" : "primary");
    m_loadButton->style()->unpolish(m_loadButton);  // the style sheet reads the kind again
    m_loadButton->style()->polish(m_loadButton);
}

void DetailsView::setChoices(const QList<Choice>& devices, const QString& device, const QList<Choice>& dtypes,
                             const QString& dtype) {
    fill(*m_device, devices, device);
    fill(*m_dtype, dtypes, dtype);
}

void DetailsView::setEstimate(const QString& text, Fit fit) {
    if (!m_details.loadable) return;
    m_estimate->setText(text);
    m_estimateIcon->setIcon(fit == Fit::unknown ? QString()
                            : fit == Fit::fits  ? QStringLiteral("check")
                                                : QStringLiteral("warning"));
}

QString DetailsView::device() const {
    return m_device->currentData().toString();
}

QString DetailsView::dtype() const {
    return m_dtype->currentData().toString();
}

}  // namespace vitrine
