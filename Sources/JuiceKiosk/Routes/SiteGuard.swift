import HTTPTypes
import Hummingbird

/// Refuses requests that were meant for another host or come from foreign pages, and adds security headers to every response.
struct SiteGuard: RouterMiddleware {
    typealias Context = KioskContext

    let check: SiteCheck
    let metrics: KioskMetrics

    /// Allows the kiosk's own scripts, styles and connections only, and forbids framing.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    func handle(
        _ request: Request,
        context: KioskContext,
        next: (Request, KioskContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            try check(request, of: context.endpointPath)
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            if let refusal = error as? Refusal { metrics.refused(refusal) }
            response = try error.response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[named: "Referrer-Policy"] = "no-referrer"
        return response
    }

    /// - Parameter route: the matched route's pattern, however the path is spelled; nil if no route matches.
    private func check(_ request: Request, of route: String?) throws(Refusal) {
        guard check.isOwn(host: request.head.authority) else { throw .foreignHost }
        let fetchSite = request.headers[named: "Sec-Fetch-Site"]
        // Foreign pages may link to the page, but not use its API.
        if route?.hasPrefix("/api/") == true, check.isForeign(fetchSite: fetchSite) { throw .foreignOrigin }
        guard request.method != .get, request.method != .head else { return }
        let isSame = check.isSameOrigin(host: request.head.authority, origin: request.headers[.origin], fetchSite: fetchSite)
        guard isSame else { throw .foreignOrigin }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type?.filter({ $0 != " " }) == "application/json" else { throw .notJSON }
    }
}

extension HTTPFields {
    /// The value of a field without a predefined name; nil also for an invalid name.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
