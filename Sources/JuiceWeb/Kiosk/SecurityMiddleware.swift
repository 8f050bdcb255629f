import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Refuses requests that were meant for another host or come from foreign pages, and adds security headers to every response.
struct SecurityMiddleware: RouterMiddleware {
    typealias Context = KioskContext

    private let hostNames: Set<String>
    private let metrics: KioskMetrics
    private let log: SpacedWarnings

    /// - Parameter hostNames: the host names of the page, besides `localhost` and IP addresses.
    init(hostNames: [String], metrics: KioskMetrics, logger: Logger) {
        self.hostNames = Set(hostNames.map(Self.canonical) + ["localhost"])
        (self.metrics, log) = (metrics, SpacedWarnings(logger))
    }

    /// Allows the kiosk's own scripts, styles and connections only, and forbids framing. The hash is that of the script in
    /// `index.html`, which loads the page again if another file does not arrive.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self' 'sha256-Yhc3lhmWEU6RoCTRZDQpmkAjmKR4vH+7zAWOKrfZj1U='", "style-src 'self'",
        "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    func handle(
        _ request: Request, context: KioskContext, next: (Request, KioskContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            let host = request.head.authority
            guard isOwn(host: host) else { throw logged(.foreignHost, request, context) }
            // Foreign pages may link to the page, but not use its API. The matched route has one spelling; the path has many.
            let isForeign = !["same-origin", "none", nil].contains(request.headers[named: "Sec-Fetch-Site"])
            let isRead = request.method == .get || request.method == .head
            let isForbidden = isForeign && context.endpointPath?.hasPrefix("/api/") == true
            guard !isForbidden, isRead || Self.isSameOrigin(host: host, origin: request.headers[.origin]) else {
                throw logged(.foreignOrigin, request, context)
            }
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            if let refusal = error as? Refusal { metrics.refusals(refusal).increment() }
            response = try error.response(from: request, context: context)
        }
        // A response without this header is a proxy's, whatever its status: the page does not take it for the kiosk's.
        response.headers[named: "Juice-Kiosk"] = "1"
        // nginx, and proxies that follow it, would hold events back until a buffer is full.
        response.headers[named: "X-Accel-Buffering"] = "no"
        response.headers[.contentSecurityPolicy] = Self.contentSecurityPolicy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[named: "Referrer-Policy"] = "no-referrer"
        return response
    }

    /// Logs a refusal, so that an operator learns which setting is missing: if the host is not the origin's, it is a proxy's own.
    private func logged(_ refusal: Refusal, _ request: Request, _ context: KioskContext) -> Refusal {
        let (host, origin) = (request.head.authority ?? "", request.headers[.origin] ?? "")
        log.warn(
            "a request was refused: \(refusal.message)",
            ["address": "\(context.peer)", "host": "\(host.prefix(128))", "origin": "\(origin.prefix(128))"])
        return refusal
    }

    /// Whether the request was meant for this kiosk. A foreign page can point a host name of its own at this machine (DNS
    /// rebinding), so that the browser sees one origin. It cannot do so with an IP address.
    func isOwn(host: String?) -> Bool {
        guard let host else { return false }
        if host.hasPrefix("[") { return host.contains("]") }
        let name = String(Self.canonical(host).prefix { $0 != ":" })
        return hostNames.contains(name) || (try? SocketAddress(ipAddress: name, port: 0)) != nil
    }

    /// Whether a page of this host sent a request that changes something. Browsers send `Origin`; a client that does not is no
    /// browser, and is refused. An origin never names its scheme's own port, a proxy's host may.
    static func isSameOrigin(host: String?, origin: String?) -> Bool {
        guard let host = host.map(canonical), let origin = origin.map(canonical) else { return false }
        return [("http://", ":80"), ("https://", ":443")].contains { [origin, origin + $1].contains($0 + host) }
    }

    /// In lower case, and without the dot in which a complete host name may end.
    private static func canonical(_ text: String) -> String { text.lowercased().replacing(/\.(?=(:[0-9]+)?$)/, with: "") }
}

extension HTTPFields {
    /// The value of a field without a predefined name; nil also for an invalid name.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
