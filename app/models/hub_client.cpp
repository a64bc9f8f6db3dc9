#include "app/models/hub_client.h"

#include <QDateTime>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QNetworkProxy>
#include <QRegularExpression>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kMostRedirects = 10;
constexpr qint64 kReadAhead = 8 << 20;  // bytes that wait for us in memory; more stays on the wire
constexpr qint64 kLongestListing = 16 << 20;

// Without what follows the "?": a signed address is a password too.
QString shown(const QUrl& url) {
    return url.toString(QUrl::RemoveQuery | QUrl::RemoveUserInfo | QUrl::RemoveFragment);
}

bool isRedirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Seconds, or a date (RFC 9110).
std::optional<std::chrono::seconds> retryAfter(const QByteArray& header) {
    bool isNumber = false;
    const qint64 seconds = header.trimmed().toLongLong(&isNumber);
    if (isNumber) return seconds < 0 ? std::nullopt : std::optional(std::chrono::seconds(seconds));
    const QString text = QString::fromLatin1(header).replace(QStringLiteral("GMT"), QStringLiteral("+0000"));
    const QDateTime date = QDateTime::fromString(text, Qt::RFC2822Date);
    if (!date.isValid()) return std::nullopt;
    return std::chrono::seconds(std::max<qint64>(0, QDateTime::currentDateTimeUtc().secsTo(date)));
}

HubFile::Purpose purposeOf(const QString& name) {
    static const QStringList configuration{QStringLiteral("config.json"), QStringLiteral("generation_config.json"),
                                           QStringLiteral("preprocessor_config.json")};
    static const QStringList tokenizer{QStringLiteral("tokenizer.json"), QStringLiteral("tokenizer_config.json"),
                                       QStringLiteral("chat_template.jinja"), QStringLiteral("chat_template.json")};
    if (configuration.contains(name)) return HubFile::Purpose::configuration;
    if (tokenizer.contains(name)) return HubFile::Purpose::tokenizer;
    const bool weights =
        name.endsWith(QLatin1String(".safetensors")) || name.endsWith(QLatin1String(".safetensors.index.json"));
    return weights ? HubFile::Purpose::weights : HubFile::Purpose::other;
}

// The index decides as it does when a checkpoint is opened: where there is one, its shards are read and a single file
// is not.
void markNeeded(QList<HubFile>& files) {
    static const QRegularExpression shard(QStringLiteral("^model-\\d+-of-\\d+\\.safetensors$"));
    const auto has = [&](const QString& name) {
        return std::any_of(files.begin(), files.end(), [&](const HubFile& file) { return file.name == name; });
    };
    const QString index = QStringLiteral("model.safetensors.index.json");
    const QString single = QStringLiteral("model.safetensors");
    const bool sharded = has(index);
    const bool plain = has(single);
    for (HubFile& file : files) {
        if (file.purpose == HubFile::Purpose::weights) {
            file.needed = sharded ? file.name == index || shard.match(file.name).hasMatch()
                          : plain ? file.name == single
                                  : true;  // a projector, perhaps
        } else {
            file.needed = file.purpose != HubFile::Purpose::other;
        }
    }
    std::stable_sort(files.begin(), files.end(), [](const HubFile& a, const HubFile& b) {
        return std::pair(!a.needed, a.purpose) < std::pair(!b.needed, b.purpose);
    });
}

}  // namespace

HubEndpoint HubEndpoint::fromEnvironment() {
    QString address = qEnvironmentVariable("HF_ENDPOINT").trimmed();
    if (address.isEmpty()) address = QStringLiteral("https://huggingface.co");
    while (address.endsWith(QLatin1Char('/'))) address.chop(1);
    return {QUrl(address, QUrl::StrictMode), qgetenv("HF_TOKEN").trimmed()};
}

bool HubEndpoint::isHome(const QUrl& other) const {
    const auto port = [](const QUrl& at) { return at.port(at.scheme() == QLatin1String("https") ? 443 : 80); };
    return other.scheme() == url.scheme() && other.host() == url.host() && port(other) == port(url);
}

QUrl HubEndpoint::listing(const QString& hubId) const {
    QUrl address = url;
    address.setPath(url.path() + QStringLiteral("/api/models/%1/revision/main").arg(hubId));
    address.setQuery(QStringLiteral("blobs=true"));
    return address;
}

QUrl HubEndpoint::file(const QString& hubId, const QString& name) const {
    QUrl address = url;
    address.setPath(url.path() + QStringLiteral("/%1/resolve/main/%2").arg(hubId, name));
    return address;
}

std::optional<QString> hubIdFrom(const QString& text) {
    static const QRegularExpression pattern(QStringLiteral(
        "^(?:https?://[^/]+/)?([A-Za-z0-9][\\w.-]*/[A-Za-z0-9][\\w.-]*)(?:/(?:tree|blob|resolve)/.*)?/?$"));
    const auto match = pattern.match(text.trimmed());
    if (!match.hasMatch()) return std::nullopt;
    const QString id = match.captured(1);
    if (id.contains(QLatin1String("--")) || id.contains(QLatin1String(".."))) return std::nullopt;
    return id;
}

bool HubFault::passes() const {
    return kind == Kind::offline || kind == Kind::busy || kind == Kind::server || kind == Kind::cut ||
           kind == Kind::stalled;
}

HubReply::HubReply(QNetworkAccessManager& network, HubEndpoint endpoint, Headers headers,
                   std::chrono::milliseconds stall)
    : m_network(network), m_endpoint(std::move(endpoint)), m_headers(std::move(headers)), m_stall(stall) {}

HubReply::~HubReply() {
    if (!m_reply) return;
    m_reply->disconnect(this);
    m_reply->abort();
    m_reply->deleteLater();
}

void HubReply::get(const QUrl& url) {
    QNetworkRequest request(url);
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    // Several files at once are better served by several connections, each slowed down by its own reader.
    request.setAttribute(QNetworkRequest::Http2AllowedAttribute, false);
    for (const auto attribute :
         {QNetworkRequest::CookieLoadControlAttribute, QNetworkRequest::CookieSaveControlAttribute,
          QNetworkRequest::AuthenticationReuseAttribute})
        request.setAttribute(attribute, QNetworkRequest::Manual);
    request.setTransferTimeout(static_cast<int>(m_stall.count()));
    request.setRawHeader("User-Agent", "vitrine/" VITRINE_VERSION);
    request.setRawHeader("Accept-Encoding", "identity");  // sizes and ranges are those of the file
    for (const auto& [name, value] : m_headers) request.setRawHeader(name, value);
    if (!m_endpoint.token.isEmpty() && m_endpoint.isHome(url))
        request.setRawHeader("Authorization", "Bearer " + m_endpoint.token);

    m_reply = m_network.get(request);
    m_reply->setReadBufferSize(kReadAhead);
    connect(m_reply, &QNetworkReply::metaDataChanged, this, &HubReply::onHeaders);
    connect(m_reply, &QNetworkReply::readyRead, this, [this] {
        if (m_answered) Q_EMIT readyRead();
    });
    connect(m_reply, &QNetworkReply::finished, this, &HubReply::onFinished);
}

int HubReply::status() const {
    return m_reply ? m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt() : 0;
}

QByteArray HubReply::header(const char* name) const {
    return m_reply ? m_reply->rawHeader(name) : QByteArray();
}

qint64 HubReply::bytesAvailable() const {
    return m_reply && m_answered ? m_reply->bytesAvailable() : 0;
}

QByteArray HubReply::read(qint64 most) {
    return m_reply && m_answered ? m_reply->read(most) : QByteArray();
}

void HubReply::onHeaders() {
    if (m_answered || (status() != 200 && status() != 206)) return;
    m_answered = true;
    Q_EMIT answered();
}

void HubReply::onFinished() {
    QNetworkReply& reply = *m_reply;
    if (reply.error() == QNetworkReply::NoError && isRedirect(status())) {
        const QUrl from = reply.url();
        const QUrl to = from.resolved(QUrl::fromEncoded(reply.rawHeader("Location")));
        const bool web = to.scheme() == QLatin1String("https") || to.scheme() == QLatin1String("http");
        const bool downgrade = from.scheme() == QLatin1String("https") && to.scheme() != QLatin1String("https");
        reply.disconnect(this);
        reply.deleteLater();
        if (web && !downgrade && !to.host().isEmpty() && ++m_redirects <= kMostRedirects) return get(to);
        m_fault = HubFault{
            HubFault::Kind::unusable,
            m_redirects > kMostRedirects ? tr("%1 leads in circles.").arg(shown(from))
            : downgrade ? tr("%1 leads to an address without encryption, which is not followed.").arg(shown(from))
                        : tr("%1 leads nowhere.").arg(shown(from)),
            {}};
    } else if (reply.error() != QNetworkReply::NoError || (status() != 200 && status() != 206)) {
        m_fault = faultOf(reply);
    }
    Q_EMIT finished();
}

HubFault HubReply::faultOf(const QNetworkReply& reply) const {
    using Kind = HubFault::Kind;
    const QString host = reply.url().host();
    const QByteArray code = reply.rawHeader("X-Error-Code");  // the hub's own name for what is wrong
    const int answer = status();
    const bool known = !m_endpoint.token.isEmpty();
    if (code == "GatedRepo") {
        return {Kind::refused,
                known ? tr("The owner of this model asks for consent: accept the terms on its page, then try again.")
                      : tr("The owner of this model asks for consent: accept the terms on its page and set HF_TOKEN."),
                {}};
    }
    switch (answer) {
        case 401:
            return {Kind::refused,
                    known
                        ? tr("%1 does not accept the token in HF_TOKEN, or there is no such model.").arg(host)
                        : tr("There is no such model at %1, or it is private: then HF_TOKEN has to be set.").arg(host),
                    {}};
        case 403: return {Kind::refused, tr("%1 refuses access to this model (403).").arg(host), {}};
        case 404:
        case 410: return {Kind::notFound, tr("%1 is not there (%2).").arg(shown(reply.url())).arg(answer), {}};
        case 416: return {Kind::range, tr("%1 has no such part of the file (416).").arg(host), {}};
        case 408:
        case 425:
        case 429:
            return {Kind::busy, tr("%1 asks to wait: too many requests (%2).").arg(host).arg(answer),
                    retryAfter(reply.rawHeader("Retry-After"))};
        default: break;
    }
    if (answer >= 500) {
        return {Kind::server, tr("%1 has a fault of its own (%2).").arg(host).arg(answer),
                retryAfter(reply.rawHeader("Retry-After"))};
    }
    switch (reply.error()) {
        case QNetworkReply::HostNotFoundError:
        case QNetworkReply::TemporaryNetworkFailureError:
        case QNetworkReply::NetworkSessionFailedError:
        case QNetworkReply::UnknownNetworkError:
            return {Kind::offline, tr("%1 cannot be reached. Is this computer offline?").arg(host), {}};
        case QNetworkReply::ConnectionRefusedError:
        case QNetworkReply::ProxyConnectionRefusedError:
        case QNetworkReply::ProxyNotFoundError: return {Kind::offline, tr("%1 does not answer.").arg(host), {}};
        case QNetworkReply::OperationCanceledError:
        case QNetworkReply::TimeoutError:
            return {Kind::stalled,
                    tr("Nothing came from %1 for %2 s.").arg(host).arg(static_cast<double>(m_stall.count()) / 1000.0),
                    {}};
        case QNetworkReply::RemoteHostClosedError: return {Kind::cut, tr("%1 closed the connection.").arg(host), {}};
        case QNetworkReply::SslHandshakeFailedError:
            return {Kind::unusable, tr("No secure connection to %1: %2.").arg(host, reply.errorString()), {}};
        default: break;
    }
    // What is left is either an answer that makes no sense here or a connection that broke in the middle.
    if (answer == 0 || answer == 200 || answer == 206)
        return {Kind::cut, tr("The connection to %1 broke: %2.").arg(host, reply.errorString()), {}};
    return {Kind::unusable, tr("%1 answers %2.").arg(host).arg(answer), {}};
}

HubClient::HubClient(HubEndpoint endpoint, std::chrono::milliseconds stall, QObject* parent)
    : QObject(parent), m_endpoint(std::move(endpoint)), m_stall(stall) {
    struct SystemProxies : QNetworkProxyFactory {
        QList<QNetworkProxy> queryProxy(const QNetworkProxyQuery& query) override { return systemProxyForQuery(query); }
    };
    m_network.setProxyFactory(new SystemProxies);
}

HubReply* HubClient::request(const QUrl& url, const HubReply::Headers& headers, QObject* parent) {
    auto* reply = new HubReply(m_network, m_endpoint, headers, m_stall);
    reply->setParent(parent);
    reply->get(url);
    return reply;
}

void HubClient::list(const QString& hubId, std::function<void(const HubListing&)> done,
                     std::function<void(const HubFault&)> failed) {
    const QString scheme = m_endpoint.url.scheme();
    if (!m_endpoint.url.isValid() || m_endpoint.url.host().isEmpty() ||
        (scheme != QLatin1String("https") && scheme != QLatin1String("http"))) {
        const HubFault fault{HubFault::Kind::unusable, tr("HF_ENDPOINT is no web address."), {}};
        QMetaObject::invokeMethod(
            this, [fault, failed] { failed(fault); }, Qt::QueuedConnection);
        return;
    }
    HubReply* reply = request(m_endpoint.listing(hubId), {{"Accept", "application/json"}}, this);
    auto text = std::make_shared<QByteArray>();
    const auto gather = [reply, text] {
        if (text->size() <= kLongestListing) text->append(reply->read(kLongestListing));
    };
    connect(reply, &HubReply::readyRead, this, gather);
    connect(reply, &HubReply::finished, this, [this, hubId, reply, text, gather, done, failed] {
        gather();
        reply->deleteLater();
        if (reply->fault()) return failed(*reply->fault());
        if (const auto listing = parseListing(hubId, *text)) return done(*listing);
        failed({HubFault::Kind::unusable,
                tr("What %1 answers is no list of files. Is a sign-in page of this network in between?")
                    .arg(m_endpoint.url.host()),
                {}});
    });
}

std::optional<HubListing> parseListing(const QString& hubId, const QByteArray& json) {
    const QJsonObject object = QJsonDocument::fromJson(json).object();
    const QJsonValue siblings = object.value(QLatin1String("siblings"));
    if (!siblings.isArray()) return std::nullopt;
    HubListing listing{hubId, object.value(QLatin1String("sha")).toString(), {}};
    for (const QJsonValue& sibling : siblings.toArray()) {
        HubFile file;
        file.name = sibling[QLatin1String("rfilename")].toString();
        static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"));
        if (!plain.match(file.name).hasMatch()) continue;  // in a folder, hidden, or not meant well
        const QJsonValue lfs = sibling[QLatin1String("lfs")];
        const QJsonValue size = lfs.isObject() ? lfs[QLatin1String("size")] : sibling[QLatin1String("size")];
        if (!size.isDouble() || size.toDouble() < 0) return std::nullopt;  // without sizes nothing can be checked
        file.size = size.toInteger();
        if (lfs.isObject())
            file.sha256 =
                lfs[QLatin1String("sha256")].toString(lfs[QLatin1String("oid")].toString()).toLatin1().toLower();
        else
            file.gitSha1 = sibling[QLatin1String("blobId")].toString().toLatin1().toLower();
        file.purpose = purposeOf(file.name);
        listing.files.append(file);
    }
    markNeeded(listing.files);
    return listing;
}

}  // namespace vitrine
