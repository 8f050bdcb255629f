import Foundation
import Hummingbird

/// Why a request is refused: an HTTP status and a JSON body with a code that the page translates.
struct Refusal: HTTPResponseError {
    let status: HTTPResponse.Status
    /// A stable code, one per reason.
    let code: String
    /// For developers; the page does not show it.
    let message: String
    /// When to retry, in seconds; nil if unknown.
    let retryAfter: Int?

    func response(from request: Request, context: some RequestContext) -> Response {
        var response = Response.json(JSONSerialization.bytes(["error": code, "message": message]), status: status)
        response.headers[.retryAfter] = retryAfter.map(String.init)
        return response
    }

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, retryAfter: Int? = nil) {
        (self.status, self.code, self.message, self.retryAfter) = (status, code, message, retryAfter)
    }

    static let foreignHost = Refusal(
        .misdirectedRequest, "foreignHost", "this host name is not the kiosk's; add it with --host-names")
    static let foreignOrigin = Refusal(
        .forbidden, "foreignOrigin",
        "only the kiosk's own page may send this; a proxy must pass on the host (nginx: proxy_set_header Host $http_host)")
    static let tooLarge = Refusal(.contentTooLarge, "tooLarge", "a request has at most \(PostedCommand.maximumLength) bytes")
    static let editingIsOff = Refusal(
        .forbidden, "editingIsOff", "the kiosk was started without --staff-token-file or --staff-pin-file")
    static let wrongToken = Refusal(.unauthorized, "wrongToken", "the staff token or PIN is missing or wrong")
    static let signedOut = Refusal(.unauthorized, "signedOut", "staff must sign in first")
    static let tooManyPages = Refusal(.serviceUnavailable, "tooManyPages", "too many pages are open; try again")
    static let unknownStore = Refusal(
        .notFound, "unknownStore", "orders are taken for stores that have stock, or that the kiosk's options name")
    /// The stock has not been read yet, so it is unknown whether the store has any.
    static let stockIsUnread = Refusal(.serviceUnavailable, "stockIsUnread", "the kiosk is reading the stock of the stores")
    static let busy = Refusal(.serviceUnavailable, "busy", "too many commands are in flight; try again")

    static func badRequest(_ message: String) -> Refusal { Refusal(.badRequest, "badRequest", message) }

    static func unconfirmed(_ reason: String) -> Refusal { Refusal(.serviceUnavailable, "unconfirmed", reason) }

    static func tooManyOrders(wait: Duration) -> Refusal { tooMany("tooManyOrders", "too many orders a second", wait) }

    static func tooManyTries(wait: Duration) -> Refusal { tooMany("tooManyTries", "too many wrong staff tokens or PINs", wait) }

    private static func tooMany(_ code: String, _ message: String, _ wait: Duration) -> Refusal {
        Refusal(.tooManyRequests, code, message, retryAfter: Int((wait / .seconds(1)).rounded(.up)))
    }
}
