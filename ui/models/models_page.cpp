#include "ui/models/models_page.h"

#include "ui/empty_state.h"
#include "ui/icons.h"
#include "ui/models/details_view.h"
#include "ui/models/download_view.h"
#include "ui/models/hub_dialog.h"
#include "ui/models/model_list.h"
#include "ui/models/pair_dialog.h"
#include "ui/theme.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

namespace vitrine {
namespace {

constexpr int kLeftLetters = 46;  // width of the list at first, in letters

QStringList localPaths(const QMimeData& data) {
    QStringList paths;
    for (const QUrl& url : data.urls())
        if (url.isLocalFile()) paths.append(url.toLocalFile());
    return paths;
}

}  // namespace

ModelsPage::ModelsPage(QWidget* parent)
    : QWidget(parent),
      m_splitter(new QSplitter(this)),
      m_list(new ModelList(this)),
      m_searching(new QLabel(tr("Looking for models…"), this)),
      m_right(new QStackedWidget(this)),
      m_empty(new EmptyState(QStringLiteral("models"), {}, {}, this)),
      m_details(new DetailsView(this)),
      m_download(new DownloadView(this)),
      m_messages(new MessageBar(this)) {
    setAcceptDrops(true);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->addWidget(buildLeft());
    m_splitter->addWidget(buildRight());
    m_splitter->setStretchFactor(1, 1);
    const int left = fontMetrics().averageCharWidth() * kLeftLetters;
    m_splitter->setSizes({left, 3 * left});

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_splitter, 1);
    layout->addWidget(m_messages);

    connect(new QShortcut(QKeySequence::Refresh, this), &QShortcut::activated, this, &ModelsPage::refreshWanted);
    setFocusProxy(m_list);
    showEmpty();
}

QWidget* ModelsPage::buildLeft() {
    auto* left = new QWidget(this);
    const auto button = [&](const QString& iconName, const QString& text, const QString& hint) {
        auto* made = new QPushButton(icon(iconName), text, left);
        made->setToolTip(hint);
        made->setAccessibleDescription(hint);
        return made;
    };
    QPushButton* download = button(QStringLiteral("download"), tr("Do&wnload…"), tr("Fetch a model from a hub"));
    QPushButton* add =
        button(QStringLiteral("folder"), tr("&Add folder…"), tr("A model or checkpoint on this computer"));
    QPushButton* pair = button(QStringLiteral("pair"), tr("&Pair…"), tr("Vision, language and projector to one model"));
    auto* refresh = new QToolButton(left);
    refresh->setIcon(icon(QStringLiteral("retry")));
    refresh->setToolTip(tr("Look for models again (F5)"));
    refresh->setAccessibleName(tr("Look for models again"));
    theme::setButtonKind(*refresh, "quiet");
    connect(download, &QPushButton::clicked, this, &ModelsPage::hubWanted);
    connect(add, &QPushButton::clicked, this, &ModelsPage::addFolderWanted);
    connect(pair, &QPushButton::clicked, this, [this] { Q_EMIT pairWanted({}); });
    connect(refresh, &QToolButton::clicked, this, &ModelsPage::refreshWanted);

    connect(m_list, &ModelList::entrySelected, this, [this](const QString& id) {
        if (id.isEmpty()) showEmpty();
        Q_EMIT selected(id);
    });
    connect(m_list, &ModelList::entryActivated, this, [this](const QString& id) {
        if (m_right->currentWidget() == m_details) Q_EMIT loadWanted(id);
    });
    m_searching->setContentsMargins(theme::kGroup, 0, theme::kGroup, theme::kTight);
    theme::setMuted(*m_searching);
    m_searching->hide();

    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(0, 0, 0, 0);
    buttons->setSpacing(theme::kTight);
    for (QWidget* widget : std::initializer_list<QWidget*>{download, add, pair}) buttons->addWidget(widget);
    buttons->addStretch();
    buttons->addWidget(refresh);
    auto* layout = new QVBoxLayout(left);
    layout->setContentsMargins(theme::kSpace, theme::kSpace, 0, theme::kSpace);
    layout->setSpacing(theme::kSpace);
    layout->addLayout(buttons);
    layout->addWidget(m_list, 1);
    layout->addWidget(m_searching);
    return left;
}

QWidget* ModelsPage::buildRight() {
    m_empty->addAction(tr("Download…"), QStringLiteral("download"), QStringLiteral("download"));
    m_empty->addAction(tr("Add folder…"), QStringLiteral("folder"), QStringLiteral("add"));
    connect(m_empty, &EmptyState::triggered, this, [this](const QString& wish) {
        if (wish == QLatin1String("download"))
            Q_EMIT hubWanted();
        else
            Q_EMIT addFolderWanted();
    });
    connect(m_details, &DetailsView::loadWanted, this, [this] { Q_EMIT loadWanted(m_details->id()); });
    connect(m_details, &DetailsView::cancelLoadWanted, this, &ModelsPage::cancelLoadWanted);
    connect(m_details, &DetailsView::unloadWanted, this, &ModelsPage::unloadWanted);
    connect(m_details, &DetailsView::choiceChanged, this, &ModelsPage::choiceChanged);
    connect(m_details, &DetailsView::pairWanted, this, [this] { Q_EMIT pairWanted(m_details->id()); });
    connect(m_details, &DetailsView::revealWanted, this, [this] { Q_EMIT revealWanted(m_details->id()); });
    connect(m_details, &DetailsView::forgetWanted, this, [this] { Q_EMIT forgetWanted(m_details->id()); });
    connect(m_download, &DownloadView::pauseWanted, this, [this] { Q_EMIT pauseWanted(m_download->hubId()); });
    connect(m_download, &DownloadView::resumeWanted, this, [this] { Q_EMIT resumeWanted(m_download->hubId()); });
    connect(m_download, &DownloadView::cancelWanted, this,
            [this](bool keep) { Q_EMIT cancelWanted(m_download->hubId(), keep); });
    for (QWidget* widget : std::initializer_list<QWidget*>{m_empty, m_details, m_download}) m_right->addWidget(widget);
    return m_right;
}

void ModelsPage::showEmpty() {
    if (m_any)
        m_empty->setText(tr("Choose a model"),
                         tr("Select one at the left to see what it can do, what it is made of and whether it fits into "
                            "memory."));
    else
        m_empty->setText(tr("No models yet"),
                         tr("A SigLIP vision tower, a Qwen3 language model and a projector make one. Download the "
                            "parts, or add or drop a folder that holds them."));
    m_right->setCurrentWidget(m_empty);
}

void ModelsPage::setEntries(const QList<ModelEntry>& entries) {
    m_any = !entries.isEmpty();
    m_list->setEntries(entries);
    if (m_right->currentWidget() == m_empty) showEmpty();
}

void ModelsPage::setSearching(bool searching) {
    m_searching->setVisible(searching);
}

void ModelsPage::select(const QString& id) {
    m_list->select(id);
}

QString ModelsPage::current() const {
    return m_list->current();
}

void ModelsPage::setDetails(const ModelDetails& details) {
    if (details.id != current()) return;
    m_details->setDetails(details);
    m_right->setCurrentWidget(m_details);
}

void ModelsPage::setDownload(const DownloadProgress& progress) {
    if (progress.hubId != current()) return;
    m_download->setProgress(progress);
    m_right->setCurrentWidget(m_download);
}

void ModelsPage::setChoices(const QList<Choice>& devices, const QString& device, const QList<Choice>& dtypes,
                            const QString& dtype) {
    m_details->setChoices(devices, device, dtypes, dtype);
}

void ModelsPage::setEstimate(const QString& id, const QString& text, Fit fit) {
    if (id == m_details->id()) m_details->setEstimate(text, fit);
}

void ModelsPage::setLoad(const LoadView& load) {
    m_details->setLoad(load);
}

QString ModelsPage::device() const {
    return m_details->device();
}

QString ModelsPage::dtype() const {
    return m_details->dtype();
}

PairDialog& ModelsPage::pairDialog() {
    if (m_pairDialog == nullptr) {
        m_pairDialog = new PairDialog(this);
        connect(m_pairDialog, &PairDialog::choiceChanged, this, [this] {
            Q_EMIT pairChoiceChanged(m_pairDialog->vision(), m_pairDialog->language(), m_pairDialog->projector());
        });
        connect(m_pairDialog, &PairDialog::createWanted, this, [this](const QString& name) {
            Q_EMIT pairCreateWanted(name, m_pairDialog->vision(), m_pairDialog->language(), m_pairDialog->projector());
        });
    }
    return *m_pairDialog;
}

HubDialog& ModelsPage::hubDialog() {
    if (m_hubDialog == nullptr) {
        m_hubDialog = new HubDialog(this);
        connect(m_hubDialog, &HubDialog::listWanted, this, &ModelsPage::hubListWanted);
        connect(m_hubDialog, &HubDialog::startWanted, this, &ModelsPage::downloadWanted);
    }
    return *m_hubDialog;
}

void ModelsPage::openPairing(const PairChoices& choices, const QString& preferred) {
    pairDialog().setChoices(choices, preferred);
    pairDialog().open();
}

void ModelsPage::setPairChoices(const PairChoices& choices) {
    if (m_pairDialog != nullptr && m_pairDialog->isVisible()) m_pairDialog->setChoices(choices);
}

void ModelsPage::setPairVerdict(const PairVerdict& verdict) {
    if (m_pairDialog != nullptr) m_pairDialog->setVerdict(verdict);
}

void ModelsPage::setPairFault(const QString& text) {
    if (m_pairDialog != nullptr) m_pairDialog->setFault(text);
}

void ModelsPage::closePairing() {
    if (m_pairDialog != nullptr) m_pairDialog->accept();
}

void ModelsPage::openHub(const QString& host) {
    hubDialog().setHost(host);
    hubDialog().open();
}

void ModelsPage::setHubListing(const HubListingView& listing) {
    if (m_hubDialog != nullptr) m_hubDialog->setListing(listing);
}

void ModelsPage::setHubFault(const QString& hubId, const QString& reason) {
    if (m_hubDialog != nullptr) m_hubDialog->setFault(hubId, reason);
}

void ModelsPage::showMessage(MessageBar::Kind kind, const QString& text, const QString& actionText,
                             std::function<void()> action) {
    m_messages->show(kind, text, actionText, std::move(action));
}

QByteArray ModelsPage::saveState() const {
    return m_splitter->saveState();
}

void ModelsPage::restoreState(const QByteArray& state) {
    if (!state.isEmpty()) m_splitter->restoreState(state);
}

void ModelsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (!event->spontaneous()) Q_EMIT refreshWanted();
}

void ModelsPage::dragEnterEvent(QDragEnterEvent* event) {
    if (!localPaths(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void ModelsPage::dropEvent(QDropEvent* event) {
    const QStringList paths = localPaths(*event->mimeData());
    if (paths.isEmpty()) return;
    event->acceptProposedAction();
    Q_EMIT foldersDropped(paths);
}

}  // namespace vitrine
