import Foundation
import HTTPTypes
import Hummingbird
import JuiceDomain
import JuiceMessages
import NIOCore

/// The routes of the page.
///
/// - `GET /` and the files it links to: the page.
/// - `GET /api/menu`: the menu, and what the page may do.
/// - `GET /api/events?store=…&scope=all|store&page=…`: the live state, as server-sent events.
/// - `POST /api/orders`, `POST /api/cancels`, `POST /api/restocks`: a command; 202 once a broker has acknowledged it, 429 with
///   `Retry-After` over the rate limit. The answer arrives as an event.
/// - `POST /api/staff`: 204 if the staff token is right.
struct KioskRoutes {
    let configuration: KioskConfiguration
    let hub: Hub
    let producer: CommandProducer
    let limiter: OrderRateLimiter
    let staff: StaffAuthenticator
    let metrics: KioskMetrics

    var responder: RouterResponder<KioskContext> {
        let router = Router(context: KioskContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SecurityMiddleware(hostNames: configuration.hostNames, metrics: metrics))
        for file in PageFile.all {
            router.get(RouterPath(file.path)) { _, _ in
                // Another version may be running after a restart, so browsers must revalidate.
                Response(
                    status: .ok, headers: [.contentType: file.type, .cacheControl: "no-cache"],
                    body: ResponseBody(byteBuffer: file.bytes))
            }
        }
        router.get("/api/menu") { _, _ in try json(MenuAnswer(configuration)) }
        router.get("/api/events") { request, _ in try events(request) }
        router.post("/api/orders") { request, context in
            try await admit(CommandBody.order(body(of: request), menu: configuration.menu), request, context)
        }
        router.post("/api/cancels") { request, context in try await admit(CommandBody.cancel(body(of: request)), request, context) }
        router.post("/api/restocks") { request, context in
            try authenticate(request, context)
            let restock = try await CommandBody.restock(body(of: request), menu: configuration.menu)
            // Any store that is shown: a restock creates a new store.
            guard hub.rule.isShown(Name(restock.store)) else { throw Refusal.unknownStore }
            return try await send(restock, for: request)
        }
        router.post("/api/staff") { request, context in
            try authenticate(request, context)
            return Response(status: .noContent)
        }
        return router.buildResponder()
    }

    // MARK: - Commands

    /// The client's address, also behind trusted proxies; nil if it is unknown.
    private func client(_ request: Request, _ context: KioskContext) -> IPAddress? {
        let forwardedFor = HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? []
        return IPAddress(context.peer)?.client(forwardedFor: forwardedFor, by: configuration.trustedProxies)
    }

    private func authenticate(_ request: Request, _ context: KioskContext) throws(Refusal) {
        let authorization = request.headers[.authorization]
        try staff.authenticate(authorization: authorization, from: client(request, context), path: request.uri.path)
    }

    /// Sends an order or a cancel, within the rate limit. Either may take a place in the service's duplicate memory.
    private func admit(_ command: OutgoingCommand, _ request: Request, _ context: KioskContext) async throws -> Response {
        guard let takesOrders = hub.takesOrders(for: Name(command.store)) else { throw Refusal.stockIsUnread }
        guard takesOrders else { throw Refusal.unknownStore }
        try limiter.admit(CommandKey(command), from: client(request, context), path: request.uri.path)
        return try await send(command, for: request)
    }

    private func body(of request: Request) async throws -> Data {
        do {
            let buffer = try await request.body.collect(upTo: CommandBody.maximumLength)
            return Data(buffer.readableBytesView)
        } catch is NIOTooManyBytesError { throw Refusal.tooLarge }
    }

    private func send(_ command: OutgoingCommand, for request: Request) async throws -> Response {
        // Before sending: the answer may arrive before the acknowledgement.
        if let page = try page(request.headers[named: "X-Kiosk-Page"]) {
            guard hub.await(CommandKey(command), page: page) else { throw Refusal.busy }
        }
        do {
            let delivery = try await producer.send(command)
            metrics.sent(command.kind, .confirmed)
            return try json(Receipt(partition: delivery.partition, offset: delivery.offset), status: .accepted)
        } catch CommandProducer.Failure.busy { throw Refusal.busy } catch CommandProducer.Failure.unconfirmed(let reason) {
            metrics.sent(command.kind, .unconfirmed)
            throw Refusal.unconfirmed(reason)
        }
    }

    private struct Receipt: Encodable {
        let partition: Int32
        let offset: Int64?
    }

    private func json(_ answer: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encoder.encode(answer))))
    }

    // MARK: - Events

    /// The page's name for itself. It is no secret: it only routes answers.
    private func page(_ text: (some StringProtocol)?) throws(Refusal) -> Name? {
        guard let text, !text.isEmpty else { return nil }
        guard text.utf8.count <= 64 else { throw .badRequest("a page's name has at most 64 bytes") }
        return Name(String(text))
    }

    private func events(_ request: Request) throws -> Response {
        let parameters = request.uri.queryParameters
        let store = parameters["store"].map(String.init) ?? StoreID.main
        guard CommandBody.isStore(store), hub.rule.isShown(Name(store)) else { throw Refusal.unknownStore }
        let view = PageView(store: Name(store), showsAll: parameters["scope"] != "store")
        let page = try page(parameters["page"]) ?? Name("")
        guard hub.hasRoom else { throw Refusal.tooManyPages }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { [hub] writer in
                // Subscribe only here: the body of a HEAD response, or for a client that is gone, is never written. Another page
                // may have taken the last place since the check; then this stream ends at once, and the page reconnects.
                guard let subscriber = hub.subscribe(view, page: page) else { return try await writer.finish(nil) }
                defer { hub.unsubscribe(subscriber) }
                // If the page does not read, the write waits here while the mailbox keeps only the newest frames.
                for await _ in subscriber.wakes { try await writer.write(subscriber.drain()) }
                try await writer.finish(nil)
            })
    }
}

/// The context of a request: Hummingbird's own, and the remote address.
package struct KioskContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The remote IP address of the TCP connection, without a port: the browser's, or that of a proxy in front of the kiosk. Empty
    /// if the connection has none.
    let peer: String

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}

/// A file of the page, embedded in the executable.
struct PageFile: Sendable {
    let path: String
    let type: String
    let bytes: ByteBuffer

    private init(_ path: String, _ type: String, _ bytes: [UInt8]) {
        (self.path, self.type, self.bytes) = (path, type, ByteBuffer(bytes: bytes))
    }

    private static func script(_ name: String, _ bytes: [UInt8]) -> PageFile {
        PageFile("/\(name).js", "text/javascript; charset=utf-8", bytes)
    }

    static let all = [
        PageFile("/", "text/html; charset=utf-8", PackageResources.index_html),
        PageFile("/kiosk.css", "text/css; charset=utf-8", PackageResources.kiosk_css),
        script("kiosk", PackageResources.kiosk_js),
        script("state", PackageResources.state_js),
        script("stream", PackageResources.stream_js),
        script("commands", PackageResources.commands_js),
        script("find", PackageResources.find_js),
        script("basket", PackageResources.basket_js),
        script("orders", PackageResources.orders_js),
        script("cards", PackageResources.cards_js),
        script("stock", PackageResources.stock_js),
        script("board", PackageResources.board_js),
        script("view", PackageResources.view_js),
        script("words", PackageResources.words_js),
        PageFile("/icon.svg", "image/svg+xml", PackageResources.icon_svg),
    ]
}

/// The answer of `GET /api/menu`: the menu, the stores to choose from, and what the page may do.
struct MenuAnswer: Encodable {
    private struct Text: Encodable {
        let en: String
        let ko: String

        init(_ name: LocalizedName) { (en, ko) = (name.english, name.korean) }
    }

    private struct Fruit: Encodable {
        let id: String
        let name: Text
    }

    private struct Juice: Encodable {
        let id: String
        let name: Text
        let aliases: [String]
        let recipe: [FruitAmount]
    }

    private let fruits: [Fruit]
    private let juices: [Juice]
    private let language: String
    /// The stores to list first.
    private let stores: [String]
    /// Whether no other stores are shown.
    private let hasFixedStores: Bool
    private let canEditStock: Bool
    /// How long an order can be cancelled, in seconds.
    private let duplicateWindow: Int64

    init(_ configuration: KioskConfiguration) {
        let menu = configuration.menu
        fruits = menu.fruits.map { Fruit(id: $0.id, name: Text($0.name)) }
        juices = menu.juices.map { juice in
            Juice(
                id: juice.id, name: Text(juice.name), aliases: juice.aliases,
                recipe: juice.recipe.map { FruitAmount(fruit: menu.fruits[$0.fruit].id, amount: $0.amount) })
        }
        language = configuration.language.rawValue
        stores = configuration.rule.named
        hasFixedStores = configuration.rule.isFixed
        canEditStock = configuration.staffToken != nil
        duplicateWindow = configuration.duplicateWindow.components.seconds
    }
}

/// Why a request is refused: an HTTP status and a JSON body with a code that the page translates.
struct Refusal: HTTPResponseError {
    let status: HTTPResponse.Status
    /// A stable code, one per reason.
    let code: String
    /// For developers; the page does not show it.
    let message: String
    /// When to retry, in seconds; nil if unknown.
    var retryAfter: Int?

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = try JSONEncoder().encode(["error": code, "message": message])
        var headers: HTTPFields = [.contentType: "application/json; charset=utf-8"]
        headers[.retryAfter] = retryAfter.map(String.init)
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    static func badRequest(_ message: String) -> Refusal { Refusal(status: .badRequest, code: "badRequest", message: message) }

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
