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
    var retryAfter: Int?

    private struct Body: Encodable {
        let error: String
        let message: String
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = try JSONEncoder().encode(Body(error: code, message: message))
        var headers: HTTPFields = [.contentType: "application/json; charset=utf-8"]
        headers[.retryAfter] = retryAfter.map(String.init)
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension Refusal {
    static func badRequest(_ message: String) -> Refusal {
        Refusal(status: .badRequest, code: "badRequest", message: message)
    }

    static let foreignHost = Refusal(
        status: .misdirectedRequest, code: "foreignHost", message: "this host name is not the kiosk's; add it with --host-names")
    static let foreignOrigin = Refusal(
        status: .forbidden, code: "foreignOrigin", message: "only the kiosk's own page may send this")
    static let notJSON = Refusal(
        status: .unsupportedMediaType, code: "notJSON", message: "the content type must be application/json")
    static let tooLarge = Refusal(
        status: .contentTooLarge, code: "tooLarge", message: "a request has at most \(CommandBody.maximumLength) bytes")
    static let editingIsOff = Refusal(
        status: .forbidden, code: "editingIsOff", message: "the kiosk was started without --staff-token-file")
    static let wrongToken = Refusal(status: .unauthorized, code: "wrongToken", message: "the staff token is missing or wrong")
    static let tooManyPages = Refusal(
        status: .serviceUnavailable, code: "tooManyPages", message: "too many pages are open; try again")
    static let unknownStore = Refusal(
        status: .notFound, code: "unknownStore",
        message: "orders are taken for stores that have stock, or that the kiosk's options name")
    /// The stock has not been read yet, so it is unknown whether the store has any.
    static let stockIsUnread = Refusal(
        status: .serviceUnavailable, code: "stockIsUnread", message: "the kiosk is reading the stock of the stores")
    static let busy = Refusal(status: .serviceUnavailable, code: "busy", message: "too many commands are in flight; try again")

    static func unconfirmed(_ reason: String) -> Refusal {
        Refusal(status: .serviceUnavailable, code: "unconfirmed", message: reason)
    }

    static func tooManyOrders(wait: Duration) -> Refusal {
        tooMany("tooManyOrders", "too many orders a second, from this address or in all", wait)
    }

    static func tooManyTries(wait: Duration) -> Refusal {
        tooMany("tooManyTries", "too many wrong staff tokens from this address", wait)
    }

    private static func tooMany(_ code: String, _ message: String, _ wait: Duration) -> Refusal {
        let (seconds, rest) = wait.components
        let retryAfter = Int(seconds) + (rest > 0 ? 1 : 0)
        return Refusal(status: .tooManyRequests, code: code, message: message, retryAfter: retryAfter)
    }
}
