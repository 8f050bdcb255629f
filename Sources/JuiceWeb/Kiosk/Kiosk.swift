import Foundation
import HTTPTypes
import Hummingbird
import JuiceDomain
import JuiceMessages
import Kafka
import Logging
import Metrics
import NIOCore
import ServiceLifecycle

/// The web page in front of the topics: reads answers and stock for all open pages, and sends their commands.
///
/// It is an ordinary client of the contract. Run it as a service, next to an HTTP server with its ``responder``:
/// ```swift
/// let kiosk = Kiosk(configuration, logger: logger)
/// // Services stop in reverse order: the kiosk ends its streams first, so the server has nothing left to wait for.
/// let services: [any Service] = [HTTPServer(kiosk.responder, at: address, limits: .pages, logger: logger), kiosk]
/// ```
package struct Kiosk: Service {
    private let configuration: KioskConfiguration
    private let logger: Logger
    let hub: Hub
    private let producer: CommandProducer
    private let limiter: OrderRateLimiter
    private let staff: StaffAuthenticator
    private let metrics: KioskMetrics
    private let steps = ThreadWatchdog()

    /// A kiosk that does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - metrics: the backend that receives the ``KioskMetric`` values.
    ///   - clock: seconds since 1970.
    package init(
        _ configuration: KioskConfiguration, metrics: any MetricsFactory = NOOPMetricsHandler.instance, logger: Logger,
        clock: @escaping @Sendable () -> Double = { Date.now.timeIntervalSince1970 }
    ) {
        (self.configuration, self.logger, self.metrics) = (configuration, logger, KioskMetrics(factory: metrics))
        hub = Hub(
            menu: configuration.menu, rule: configuration.rule, mostPages: configuration.mostPages, metrics: self.metrics,
            clock: clock)
        producer = CommandProducer(configuration, metrics: self.metrics, logger: logger)
        limiter = OrderRateLimiter(perSecond: configuration.orderRate, logger: logger)
        staff = StaffAuthenticator(configuration.staffSecrets, logger: logger)
    }

    /// Why the kiosk is not ready: no broker answers, or the stock has not been read to its end. Empty when it is ready.
    package var readiness: [String] { hub.connection.obstacle.map { [$0] } ?? [] }

    /// Why brokers do not confirm some commands. The kiosk stays ready: without commands it would not learn that they do again.
    package var warnings: [String] { producer.warnings }

    /// Why the kiosk needs a restart: threads that are stuck. Empty while all threads make progress.
    package var liveness: [String] { steps.stuck() }

    /// Reads and sends until graceful shutdown.
    ///
    /// - Throws: `KafkaError` if librdkafka rejects the configuration.
    package func run() async throws {
        let stop = StopSignal()
        let feed = KafkaFeed(configuration: configuration, hub: hub, stop: stop, steps: steps, logger: logger)
        stop.onRequest { [hub] in hub.close() }
        let threads: [(name: String, work: @Sendable () throws -> Void)] = [
            ("kiosk-feed", feed.readTopics), ("kiosk-watch", feed.watchBrokers),
            ("kiosk-orders", { [producer, steps] in try producer.run(until: stop, steps: steps) }),
        ]
        try await withTaskCancellationOrGracefulShutdownHandler {
            // They end within seconds.
            _ = try await DedicatedThread.runAll(threads.map(\.name), until: stop, limits: [(stop, .seconds(10))]) { number in
                try threads[number].work()
            }
        } onCancelOrGracefulShutdown: {
            logger.notice("stopping: ending what is sent to pages")
            stop.request()
        }
    }

    // MARK: - Routes

    /// Answers the page's requests.
    ///
    /// - `GET /` and the files it links to: the page.
    /// - `GET /api/menu`: the menu, as a file. `GET /api/settings`: the stores, and what the page may do.
    /// - `GET /api/events?store=…&page=…`: the live state, as server-sent events.
    /// - `POST /api/orders?store=…`, `POST /api/restocks?store=…`: the value of a record for that topic; 202 once a broker has
    ///   acknowledged it, 429 with `Retry-After` over the rate limit. The answer arrives as an event.
    /// - `POST /api/staff/sign-in`: 204 if the token or PIN in `Juice-Secret` is right, with the cookie that restocks need. A proxy
    ///   may want `Authorization` for itself. `POST /api/staff/sign-out`: ends the cookie's session.
    package var responder: RouterResponder<KioskContext> {
        let router = Router(context: KioskContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SecurityMiddleware(hostNames: configuration.hostNames, metrics: metrics, logger: logger))
        for file in PageFile.all {
            // Another version may be running after a restart, so browsers must revalidate.
            let headers: HTTPFields = [.contentType: file.type, .cacheControl: "no-cache", .eTag: "\"\(file.tag)\""]
            router.get(RouterPath(file.path)) { request, _ in
                // A proxy that compresses has added to the tag.
                request.headers[.ifNoneMatch]?.contains(file.tag) == true
                    ? Response(status: .notModified, headers: headers)
                    : Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: file.bytes))
            }
        }
        var file = OutputBuffer(capacity: 4096)
        MenuFile.encode(configuration.menu, into: &file)
        let menu = file.bytes
        let settings: [String: any Sendable] = [
            // Without one, it is the browser's.
            "language": configuration.language?.rawValue ?? "", "stores": hub.rule.named, "hasFixedStores": hub.rule.isFixed,
            // What staff can sign in with; without any, stock cannot be edited.
            "secrets": configuration.staffSecrets.map { $0.isPIN ? "pin" : "token" },
            // How long an order can be cancelled, in seconds.
            "duplicateWindow": configuration.duplicateWindow / .seconds(1),
        ]
        // The hash of what a page is made of: a restart changes it only if the page changes.
        let parts = [menu, Array(JSONSerialization.bytes(settings))] + PageFile.all.map { Array($0.tag.utf8) }
        let version = parts.joined().fingerprint
        router.get("/api/menu") { _, _ in Response.json(menu) }
        router.get("/api/settings") { request, _ in
            let own: [String: Any] = [
                "isStaff": staff.isSignedIn(request.staffSession), "time": Int(hub.clock()), "version": version,
            ]
            return Response.json(JSONSerialization.bytes(own.merging(settings) { $1 }))
        }
        router.get("/api/events") { request, _ in try events(request, version: version) }
        router.post("/api/orders") { request, context in
            let command = try await command(in: request, to: .orders)
            guard let takesOrders = hub.takesOrders(for: Name(command.store)) else { throw Refusal.stockIsUnread }
            guard takesOrders else { throw Refusal.unknownStore }
            // Each command counts: it may take a place in the service's duplicate memory.
            try limiter.admit(from: context.peer)
            return try await send(command)
        }
        router.post("/api/restocks") { request, _ in
            try staff.admit(request.staffSession)
            let command = try await command(in: request, to: .restocks)
            // Any store that is shown: a restock creates a new store.
            guard hub.rule.isShown(Name(command.store)) else { throw Refusal.unknownStore }
            return try await send(command)
        }
        router.post("/api/staff/sign-in") { request, context in
            let session = try staff.signIn(
                with: request.headers[named: "Juice-Secret"], session: request.staffSession, from: context.peer)
            return Response(status: .noContent, headers: [.setCookie: request.staffCookie(session)])
        }
        router.post("/api/staff/sign-out") { request, _ in
            staff.signOut(request.staffSession)
            return Response(status: .noContent)
        }
        return router.buildResponder()
    }

    private func command(in request: Request, to topic: InputTopic) async throws -> PostedCommand {
        let store = try store(of: request)
        do {
            let body = try await request.body.collect(upTo: PostedCommand.maximumLength)
            return try PostedCommand(Array(buffer: body), to: topic, store: store, menu: configuration.menu)
        } catch is NIOTooManyBytesError { throw Refusal.tooLarge }
    }

    private func send(_ command: PostedCommand) async throws -> Response {
        // Before it is sent: the answer may be read before the broker's acknowledgement.
        hub.expectAnswer(to: command.id)
        do { try await producer.send(command) } catch {
            hub.expectNoAnswer(to: command.id)
            throw error
        }
        return Response(status: .accepted)
    }

    /// The store that the request is about, in the form of a record's key.
    private func store(of request: Request) throws(Refusal) -> String {
        let store = request.uri.queryParameters["store"].map(String.init) ?? StoreID.main
        // Invalid UTF-8 must not be taken for some other store.
        guard (1...StoreID.maximumLength).contains(store.utf8.count), !store.contains("\u{FFFD}") else {
            throw .badRequest("a store's id has from 1 to \(StoreID.maximumLength) bytes of UTF-8")
        }
        return store
    }

    private func events(_ request: Request, version: String) throws(Refusal) -> Response {
        let store = Name(try store(of: request))
        guard hub.rule.isShown(store) else { throw .unknownStore }
        let name = Name(request.uri.queryParameters["page"].map { String($0) } ?? "")
        guard name.text.utf8.count <= CommandKind.maximumIDLength else { throw .badRequest("the page's name is too long") }
        guard hub.hasRoom else { throw .tooManyPages }
        return Response(
            status: .ok,
            // Proxies that compress would hold events back. Caddy heeds only the encoding, others only `no-transform`.
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store, no-transform", .contentEncoding: "identity"],
            body: ResponseBody { [hub] writer in
                // Subscribe only here: the body of a HEAD response, or for a client that is gone, is never written. Another page
                // may have taken the last place since the check; then this stream ends at once, and the page reconnects.
                guard let page = hub.subscribe(to: store, page: name) else { return try await writer.finish(nil) }
                defer { hub.unsubscribe(page) }
                // A page that was loaded before the kiosk's restart may be outdated.
                try await writer.write(PageEvent.encode("version", ["version": version]))
                // If the page does not read, the write waits here while the mailbox keeps only the newest events.
                for await _ in page.wakes { try await writer.write(page.drain()) }
                try await writer.finish(nil)
            })
    }
}

extension Request {
    /// Cookies do not distinguish the ports of a host, and each port may have a kiosk. So the name has the digits of the address.
    private var cookieName: String { "juice-staff-" + (head.authority ?? "").filter { ("0"..."9").contains($0) } }

    /// The cookie of a browser in which staff are signed in. Scripts cannot read it, other sites' pages cannot have it sent, and a
    /// browser that uses TLS never sends it without.
    fileprivate func staffCookie(_ session: String) -> String {
        let isSecure = headers[.origin]?.lowercased().hasPrefix("https:") ?? false
        return Cookie(name: cookieName, value: session, path: "/api", secure: isSecure, httpOnly: true, sameSite: .strict)
            .description
    }

    fileprivate var staffSession: String? { cookies[cookieName]?.value }
}

/// The context of a request: Hummingbird's own, and the remote address.
package struct KioskContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The IP address at the other end of the connection, the browser's or a proxy's. Empty if it has none.
    let peer: String

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
