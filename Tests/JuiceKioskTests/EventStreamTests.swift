import Foundation
import JuiceHTTP
import JuiceMessages
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import JuiceKiosk

/// Tests the limit of open pages, over TCP and without Kafka.
@Suite(.timeLimit(.minutes(10)))
struct EventStreamTests {
    private static let places = 3

    /// A kiosk that allows few pages.
    private struct Kiosk: Sendable {
        let address: HTTPAddress
        let hub: Hub
        let time: @Sendable (Double) -> Void

        /// Requests events. Any other response closes the connection, so that it can be read to its end.
        func events(_ method: String = "GET") throws -> RawConnection {
            let connection = try RawConnection(address)
            connection.send("\(method) /api/events HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n")
            return connection
        }

        /// Opens a page, with retries: the server notices the end of another page with a delay.
        func page() throws -> RawConnection {
            while true {
                let connection = try events()
                let answer = try connection.read(until: "\n\n")
                if answer.hasPrefix("HTTP/1.1 200 ") { return connection }
                // Writes to a closed page fail.
                tick()
            }
        }

        /// Advances the clock by a second and updates the pages.
        func tick() {
            time(1)
            hub.apply([])
        }
    }

    private func withKiosk(_ body: @Sendable @escaping (Kiosk) throws -> Void) async throws {
        let now = Mutex(1000.0)
        let rule = StoreRule(stores: nil)
        let hub = Hub(menu: .standard, rule: rule, mostPages: Self.places) { now.withLock { $0 } }
        let configuration = KioskConfiguration(kafka: KafkaConfiguration([:]), topics: TopicNames(), group: "g")
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let desk = OrderDesk(configuration: configuration.orders, topics: configuration.topics, logger: quiet)
        let routes = KioskRoutes(
            configuration: configuration, hub: hub, desk: desk, gate: OrderGate(configuration.limits, logger: quiet),
            door: StaffDoor(nil, logger: quiet), metrics: KioskMetrics())
        try await serving(routes.router.buildResponder()) { address in
            try await onThread {
                defer { hub.close() }
                try body(Kiosk(address: address, hub: hub) { seconds in now.withLock { $0 += seconds } })
            }
        }
    }

    @Test func askingForTheHeadTakesNoPlace() async throws {
        try await withKiosk { kiosk in
            for _ in 0..<3 * Self.places { #expect(try kiosk.events("HEAD").read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 ")) }
            #expect(kiosk.hub.hasRoom)
            _ = try kiosk.page()
        }
    }

    @Test func whoIsGoneGivesThePlaceBack() async throws {
        try await withKiosk { kiosk in
            for isRead in [true, false] {
                for _ in 0..<3 * Self.places {
                    let connection = try kiosk.events()
                    if isRead { _ = try connection.read(until: "\r\n") }
                    connection.resetAtEnd()
                    kiosk.tick()
                }
            }
            _ = try kiosk.page()
        }
    }

    @Test func onePageTooManyIsToldSo() async throws {
        try await withKiosk { kiosk in
            var pages = try (0..<Self.places).map { _ in try kiosk.page() }
            let answer = try kiosk.events().read()
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("tooManyPages"))
            pages.removeLast()
            _ = try kiosk.page()
        }
    }

    @Test(arguments: [
        ("/api/menu", "cross-site", 403), ("/api/menu", "same-site", 403), ("//api//menu", "cross-site", 403),
        ("/%61pi/menu", "cross-site", 403), ("/api/events", "cross-site", 403),
        ("/api/nowhere", "cross-site", 404),
        ("/api/menu", "same-origin", 200), ("/api/menu", "none", 200), ("/", "cross-site", 200),
        ("/kiosk.js", "same-site", 200),
    ])
    func foreignPagesReadNothing(_ path: String, _ site: String, _ status: Int) async throws {
        try await withKiosk { kiosk in
            for method in ["GET", "HEAD"] {
                let connection = try RawConnection(kiosk.address)
                let headers = "Host: \(kiosk.address)\r\nSec-Fetch-Site: \(site)\r\n\r\n"
                connection.send("\(method) \(path) HTTP/1.1\r\n\(headers)")
                let answer = try connection.read(until: "\r\n\r\n")
                // A path with another spelling may be unknown, but must not bypass the check.
                let isRefused = status == 403 && answer.hasPrefix("HTTP/1.1 404 ")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") || isRefused, "\(answer)")
            }
        }
    }
}
