import Foundation
import HTTPTypes
import Hummingbird
import JuiceMaker
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
    let desk: OrderDesk
    let gate: OrderGate
    let door: StaffDoor
    let metrics: KioskMetrics

    var router: Router<KioskContext> {
        let router = Router(context: KioskContext.self, options: .autoGenerateHeadEndpoints)
        let check = SiteCheck(hostNames: configuration.hostNames)
        router.add(middleware: SiteGuard(check: check, metrics: metrics))
        PageFiles.add(to: router)
        router.get("/api/menu") { _, _ in try json(MenuAnswer(configuration)) }
        router.get("/api/events") { request, _ in try events(request) }
        router.post("/api/orders") { request, context in
            let order = try await CommandBody.order(body(of: request), menu: configuration.menu)
            return try await admit(order, request, context)
        }
        router.post("/api/cancels") { request, context in try await admit(CommandBody.cancel(body(of: request)), request, context) }
        router.post("/api/restocks") { request, context in
            try checkStaff(request, context)
            let restock = try await CommandBody.restock(body(of: request), menu: configuration.menu)
            // Any store that is shown: a restock creates a new store.
            guard hub.rule.isShown(Name(restock.store)) else { throw Refusal.unknownStore }
            return try await send(restock, for: request)
        }
        router.post("/api/staff") { request, context in
            try checkStaff(request, context)
            return Response(status: .noContent)
        }
        return router
    }

    // MARK: - Commands

    /// The client's address, also behind trusted proxies; nil if it is unknown.
    private func client(_ request: Request, _ context: KioskContext) -> IPAddress? {
        ProxyChain(trusted: configuration.trustedProxies).client(
            peer: IPAddress(context.peer), forwardedFor: HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? []
        )
    }

    private func checkStaff(_ request: Request, _ context: KioskContext) throws(Refusal) {
        try door.enter(authorization: request.headers[.authorization], from: client(request, context), path: request.uri.path)
    }

    /// Sends an order or a cancel, within the rate limit. Either may take a place in the service's duplicate memory.
    private func admit(_ command: OutgoingCommand, _ request: Request, _ context: KioskContext) async throws -> Response {
        guard let takesOrders = hub.takesOrders(for: Name(command.store)) else { throw Refusal.stockIsUnread }
        guard takesOrders else { throw Refusal.unknownStore }
        try gate.pass(AwaitedAnswers.Command(command), from: client(request, context), path: request.uri.path)
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
            guard hub.await(AwaitedAnswers.Command(command), page: page) else { throw Refusal.busy }
        }
        do {
            let delivery = try await desk.send(command)
            metrics.sent(command.kind, .confirmed)
            return try json(Receipt(partition: delivery.partition, offset: delivery.offset), status: .accepted)
        } catch OrderDesk.Failure.busy { throw Refusal.busy } catch OrderDesk.Failure.unconfirmed(let reason) {
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
public struct KioskContext: RequestContext {
    /// Hummingbird's storage.
    public var coreContext: CoreRequestContextStorage
    /// The remote IP address of the TCP connection, without a port: the browser's, or that of a proxy in front of the kiosk. Empty
    /// if the connection has none.
    let peer: String

    /// Creates the context of one request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
