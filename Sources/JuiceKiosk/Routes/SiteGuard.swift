import HTTPTypes
import Hummingbird

/// Refuses what was not meant for this kiosk or comes from foreign pages, and gives every answer the headers that keep a
/// browser from doing more than the page needs.
struct SiteGuard: RouterMiddleware {
    typealias Context = KioskContext

    let check: SiteCheck

    /// Scripts and styles are the kiosk's own files, nothing is fetched from elsewhere, and nobody shows the page in a frame.
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
            try check(request)
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[named: "Referrer-Policy"] = "no-referrer"
        return response
    }

    private func check(_ request: Request) throws(Refusal) {
        guard check.isOwn(host: request.head.authority) else { throw .foreignHost }
        guard request.method != .get, request.method != .head else { return }
        let isSame = check.isSameOrigin(
            host: request.head.authority,
            origin: request.headers[.origin],
            fetchSite: request.headers[named: "Sec-Fetch-Site"]
        )
        guard isSame else { throw .foreignOrigin }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type?.filter({ $0 != " " }) == "application/json" else { throw .notJSON }
    }
}

extension HTTPFields {
    /// The value of a field that has no constant; nil also for a name that no field can have.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
