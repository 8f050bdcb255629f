import Foundation
import JuiceHTTP
import JuiceMessages
import Kafka
import Logging
import TestSupport
import Testing

@testable import JuiceKiosk

/// Tests the routes over TCP, without Kafka.
@Suite(.timeLimit(.minutes(10)))
struct KioskRoutesTests {
    private static let places = 3
    private static let configuration = KioskConfiguration(kafka: KafkaConfiguration([:]), topics: TopicNames(), group: "g")

    /// A kiosk that allows few pages.
    private struct Site: Sendable {
        let address: HTTPAddress
        let hub: Hub
        let clock: TestClock

        func request(_ method: String = "GET", _ path: String, _ headers: String = "") throws -> RawConnection {
            let connection = try RawConnection(address)
            connection.send("\(method) \(path) HTTP/1.1\r\nHost: \(address)\r\n\(headers)\r\n")
            return connection
        }

        /// Requests events. Any other response closes the connection, so that it can be read to its end.
        func events(_ method: String = "GET") throws -> RawConnection {
            try request(method, "/api/events", "Connection: close\r\n")
        }

        /// Opens a page, with retries: the server notices the end of another page with a delay.
        func page() throws -> RawConnection {
            while true {
                let connection = try events()
                if try connection.read(until: "\n\n").hasPrefix("HTTP/1.1 200 ") { return connection }
                // Writes to a closed page fail.
                tick()
            }
        }

        /// Advances the clock by a second and updates the pages.
        func tick() {
            clock.advance(.seconds(1))
            hub.apply([])
        }
    }

    private func withSite(_ body: @Sendable @escaping (Site) throws -> Void) async throws {
        let clock = TestClock()
        let hub = Hub(menu: .standard, rule: StoreRule(stores: nil), mostPages: Self.places) { clock.seconds }
        let configuration = Self.configuration
        let routes = KioskRoutes(
            configuration: configuration, hub: hub,
            producer: CommandProducer(configuration: configuration.orders, topics: configuration.topics, logger: .quiet),
            limiter: OrderRateLimiter(configuration.limits, logger: .quiet), staff: StaffAuthenticator(nil, logger: .quiet),
            metrics: KioskMetrics())
        try await serving(routes.responder) { address in
            try await onThread {
                defer { hub.close() }
                try body(Site(address: address, hub: hub, clock: clock))
            }
        }
    }

    @Test func askingForTheHeadTakesNoPlace() async throws {
        try await withSite { site in
            for _ in 0..<3 * Self.places { #expect(try site.events("HEAD").read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 ")) }
            #expect(site.hub.hasRoom)
            _ = try site.page()
        }
    }

    @Test func whoIsGoneGivesThePlaceBack() async throws {
        try await withSite { site in
            for isRead in [true, false] {
                for _ in 0..<3 * Self.places {
                    let connection = try site.events()
                    if isRead { _ = try connection.read(until: "\r\n") }
                    connection.resetAtEnd()
                    site.tick()
                }
            }
            _ = try site.page()
        }
    }

    @Test func onePageTooManyIsToldSo() async throws {
        try await withSite { site in
            var pages = try (0..<Self.places).map { _ in try site.page() }
            let answer = try site.events().read()
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("tooManyPages"))
            pages.removeLast()
            _ = try site.page()
        }
    }

    @Test(arguments: [
        ("/api/menu", "cross-site", 403), ("/api/menu", "same-site", 403), ("//api//menu", "cross-site", 403),
        ("/%61pi/menu", "cross-site", 403), ("/api/events", "cross-site", 403), ("/api/nowhere", "cross-site", 404),
        ("/api/menu", "same-origin", 200), ("/api/menu", "none", 200), ("/", "cross-site", 200), ("/kiosk.js", "same-site", 200),
    ])
    func foreignPagesReadNothing(_ path: String, _ origin: String, _ status: Int) async throws {
        try await withSite { site in
            for method in ["GET", "HEAD"] {
                let answer = try site.request(method, path, "Sec-Fetch-Site: \(origin)\r\n").read(until: "\r\n\r\n")
                // A path with another spelling may be unknown, but must not bypass the check.
                let isRefused = status == 403 && answer.hasPrefix("HTTP/1.1 404 ")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") || isRefused, "\(answer)")
            }
        }
    }

    /// The page's search field needs all that people call a juice.
    @Test func theMenuHasAllNamesOfAJuice() throws {
        struct Menu: Decodable {
            struct Juice: Decodable {
                let id: String
                let name: [String: String]
                let aliases: [String]
            }
            let juices: [Juice]
        }
        let menu = try JSONDecoder().decode(Menu.self, from: JSONEncoder().encode(MenuAnswer(Self.configuration)))
        let (first, last) = (try #require(menu.juices.first), try #require(menu.juices.last))
        #expect(first.aliases == [])
        #expect((last.id, last.aliases) == ("mangoKiwi", ["망키쥬스"]))
        #expect(last.name == ["en": "mango kiwi juice", "ko": "망고키위쥬스"])
    }
}
