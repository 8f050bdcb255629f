import HTTPTypes
import Hummingbird
import NIOCore

/// Refuses requests that were meant for another host or come from foreign pages, and adds security headers to every response.
struct SecurityMiddleware: RouterMiddleware {
    typealias Context = KioskContext

    private let hostNames: Set<String>
    private let metrics: KioskMetrics

    /// - Parameter hostNames: the host names of the page, besides `localhost` and IP addresses.
    init(hostNames: [String], metrics: KioskMetrics) {
        self.hostNames = Set(hostNames.map { $0.lowercased() } + ["localhost"])
        self.metrics = metrics
    }

    /// Allows the kiosk's own scripts, styles and connections only, and forbids framing.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    func handle(
        _ request: Request, context: KioskContext, next: (Request, KioskContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            try check(request, of: context.endpointPath)
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            if let refusal = error as? Refusal { metrics.refusals(refusal).increment() }
            response = try error.response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = Self.contentSecurityPolicy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[named: "Referrer-Policy"] = "no-referrer"
        return response
    }

    /// - Parameter route: the matched route's pattern, however the path is spelled; nil if no route matches.
    private func check(_ request: Request, of route: String?) throws(Refusal) {
        let host = request.head.authority
        guard isOwn(host: host) else { throw .foreignHost }
        let fetchSite = request.headers[named: "Sec-Fetch-Site"]
        // Foreign pages may link to the page, but not use its API. The site of a typed address is `none`.
        let isForeign = fetchSite.map { $0 != "same-origin" && $0 != "none" } ?? false
        if isForeign, route?.hasPrefix("/api/") == true { throw .foreignOrigin }
        guard request.method != .get, request.method != .head else { return }
        let isSame = Self.isSameOrigin(host: host, origin: request.headers[.origin], fetchSite: fetchSite)
        guard isSame else { throw .foreignOrigin }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type?.filter({ $0 != " " }) == "application/json" else { throw .notJSON }
    }

    /// Whether the request was meant for this kiosk. A foreign page can point a host name of its own at this machine (DNS
    /// rebinding), so that the browser sees one origin. It cannot do so with an IP address.
    func isOwn(host: String?) -> Bool {
        guard let host, let name = Self.name(of: host) else { return false }
        return name.hasPrefix("[") || (try? SocketAddress(ipAddress: name, port: 0)) != nil || hostNames.contains(name)
    }

    /// Whether a page of this host sent a request that changes something. Browsers send `Origin`; a client that does not is no
    /// browser, and is refused.
    static func isSameOrigin(host: String?, origin: String?, fetchSite: String?) -> Bool {
        if let fetchSite, fetchSite != "same-origin" { return false }
        guard let host, let origin, let scheme = origin.firstRange(of: "://") else { return false }
        guard ["http", "https"].contains(origin[..<scheme.lowerBound].lowercased()) else { return false }
        return origin[scheme.upperBound...].lowercased() == host.lowercased()
    }

    /// The host name without the port.
    private static func name(of host: String) -> String? {
        if host.hasPrefix("[") { return host.firstIndex(of: "]").map { String(host[...$0]) } }
        return host.split(separator: ":", omittingEmptySubsequences: false).first.map { $0.lowercased() }
    }
}

extension HTTPFields {
    /// The value of a field without a predefined name; nil also for an invalid name.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
