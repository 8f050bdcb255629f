import BrokerFaults
import Foundation
import JuiceHTTP
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import JuiceKiosk

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the kiosk over HTTP, like the page, with the service on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct KioskTests {
    private static let token = "0123456789abcdef"
    private static let authorized = ["Authorization": "Bearer \(token)"]

    private static func order(_ id: String, store: String = "main") -> String {
        #"{"orderId":"\#(id)","store":"\#(store)","juice":"kiwi"}"#
    }

    /// Runs a broker, the service and a kiosk during the body.
    private func withKiosk(
        _ change: (inout KioskConfiguration) -> Void = { $0.takesAnyStore = true }, logger: Logger = .quiet,
        _ body: @Sendable @escaping (_ kiosk: Site, _ broker: TestBroker) async throws -> Void
    ) async throws {
        let topics = TopicNames()
        let broker = try await onThread { try TestBroker(topics: topics.all) }
        let service = OrderService(
            configuration: ServiceConfiguration(
                bootstrapServers: broker.bootstrapServers, instanceID: "test", capabilities: .embedded), logger: .quiet)
        var configuration = KioskConfiguration(
            kafka: KafkaConfiguration([
                "bootstrap.servers": broker.bootstrapServers, "reconnect.backoff.max.ms": "500",
                "allow.auto.create.topics": "false",
            ]), topics: topics, group: "juice-maker", capabilities: .embedded, staffToken: StaffToken(Self.token))
        change(&configuration)
        let kiosk = Kiosk(configuration, logger: logger)
        try await serving(kiosk.responder, besides: [service, kiosk]) { address in try await body(Site(address: address), broker) }
        try await onThread { broker.stop() }
    }

    /// The kiosk as a browser sees it.
    private struct Site: Sendable {
        let address: HTTPAddress

        func post(_ path: String, _ body: String, headers: [String: String?] = [:]) async throws -> (Int, String) {
            var request = URLRequest(url: try #require(URL(string: "http://\(address)\(path)")))
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
            let all = ["Content-Type": "application/json", "Origin": "http://\(address)"].merging(headers) { $1 }
            for (name, value) in all { request.setValue(value, forHTTPHeaderField: name) }
            let (data, response) = try await URLSession(configuration: .ephemeral).data(for: request)
            let answer = try #require(response as? HTTPURLResponse)
            let retryAfter = answer.value(forHTTPHeaderField: "Retry-After").map { " retry after \($0)" } ?? ""
            return (answer.statusCode, String(decoding: data, as: UTF8.self) + retryAfter)
        }

        func expect(_ status: Int, _ path: String, _ body: String, headers: [String: String?] = [:]) async throws {
            let found = try await post(path, body, headers: headers).0
            #expect(found == status, "\(path) \(headers) \(body.prefix(100))")
        }

        /// Reads events until one has all these texts.
        func event(_ query: String, holding texts: String...) async throws -> String {
            let url = try #require(URL(string: "http://\(address)/api/events?\(query)"))
            return try await EventReader().read(url) { event in texts.allSatisfy { event.contains($0) } }
        }
    }

    @Test func anOrderIsAnsweredToItsPage() async throws {
        try await withKiosk { site, _ in
            async let own = site.event("store=s&page=p", holding: "event: own", "juiceMade", #""id":"o-1""#)
            async let stock = site.event("store=s&page=q", holding: "event: stock", #""revision":1"#)
            // The page and its order may arrive in any order: a resent order is answered again.
            _ = try await site.event("store=s&page=p", holding: #""state":"live""#)
            for _ in 0..<2 {
                try await site.expect(202, "/api/orders", Self.order("o-1", store: "s"), headers: ["X-Kiosk-Page": "p"])
            }
            _ = try await (own, stock)
        }
    }

    @Test func aBasketIsMadeAndCancelledOnce() async throws {
        try await withKiosk { site, _ in
            async let made = site.event("store=s&page=p", holding: "event: own", "juiceMade", #""items":["#)
            async let cancelled = site.event(
                "store=s&page=q", holding: "event: own", #""kind":"cancel""#, #""type":"cancelled""#, #""returned":["#,
                #""id":"o-1""#)
            async let dead = site.event("store=s&page=r", holding: "event: own", #""reason":"cancelled""#)
            for page in ["p", "q", "r"] { _ = try await site.event("store=s&page=\(page)", holding: #""state":"live""#) }
            let basket = #"{"orderId":"o-1","store":"s","items":[{"juice":"kiwi"},{"juice":"banana"}]}"#
            try await site.expect(202, "/api/orders", basket, headers: ["X-Kiosk-Page": "p"])
            _ = try await made
            let cancel = #"{"orderId":"o-1","store":"s"}"#
            for _ in 0..<2 { try await site.expect(202, "/api/cancels", cancel, headers: ["X-Kiosk-Page": "q"]) }
            _ = try await cancelled
            try await site.expect(202, "/api/orders", basket, headers: ["X-Kiosk-Page": "r"])
            _ = try await dead
            // Three changes would be one too many.
            _ = try await site.event("store=s", holding: "event: stock", #""revision":2"#)
            try await site.expect(404, "/api/cancels/o-1", cancel)
        }
    }

    @Test func aGapInTheRevisionsIsShown() async throws {
        try await withKiosk { site, broker in
            _ = try await site.event("store=s", holding: #""state":"live""#)
            async let gap = site.event("store=s", holding: "event: answer", #""first":2"#, #""last":4"#)
            // A note of the journal between them is skipped.
            let note = #"{"type":"copy","topic":"restocks","offset":1}"#
            try await onThread { try broker.write(note, key: "s", to: TopicNames().results) }
            for revision in [1, 5] {
                let answer = #"""
                    {"type":"restocked","restockId":"r-\#(revision)","store":"s","offset":1,"left":{"kiwi":1},
                     "revision":\#(revision),"message":"restocked: kiwi 1"}
                    """#
                try await onThread { try broker.write(answer, key: "s", to: TopicNames().results) }
            }
            _ = try await gap
        }
    }

    @Test func stockIsEditedWithTheTokenAlone() async throws {
        try await withKiosk { site, _ in
            let restock = #"{"restockId":"r-1","store":"s","set":{"kiwi":42}}"#
            for header in [nil, "Bearer wrong-wrong-wrong", Self.token] {
                let (status, text) = try await site.post("/api/restocks", restock, headers: ["Authorization": header])
                #expect(status == 401 && text.contains("wrongToken"))
            }
            try await site.expect(204, "/api/staff", "{}", headers: Self.authorized)
            try await site.expect(202, "/api/restocks", restock, headers: Self.authorized)
            let stock = try await site.event("store=s", holding: "event: stock", "42")
            #expect(stock.contains(#""store":"s""#))
        }
    }

    @Test func nobodyMakesStoresButStaff() async throws {
        try await withKiosk({ _ in }) { site, _ in
            _ = try await site.event("store=new", holding: #""state":"live""#)
            let (status, text) = try await site.post("/api/orders", Self.order("o-1", store: "new"))
            #expect(status == 404 && text.contains("unknownStore"))
            try await site.expect(202, "/api/orders", Self.order("o-1", store: "main"))
            _ = try await site.event("store=new", holding: #""takesOrders":false"#)
            let restock = #"{"restockId":"r-1","store":"new","add":{"kiwi":1}}"#
            try await site.expect(202, "/api/restocks", restock, headers: Self.authorized)
            _ = try await site.event("store=new", holding: #""takesOrders":true"#)
            try await site.expect(202, "/api/orders", Self.order("o-2", store: "new"))
        }
    }

    @Test func aFloodOfOrdersHasToWaitAndAnOrderSentAgainDoesNot() async throws {
        let limits = OrderLimits(inAll: 100, perAddress: 1)
        try await withKiosk({ ($0.limits, $0.trustedProxies) = (limits, [AddressRange("127.0.0.1")].compactMap(\.self)) }) {
            site, _ in
            // The proxy's own entry is trusted, but not the entries before it.
            let flooding = ["X-Forwarded-For": "198.51.100.9, 192.0.2.1"]
            var (number, status, text) = (0, 202, "")
            while status == 202, number < 100 {
                (status, text) = try await site.post("/api/orders", Self.order("o-\(number)"), headers: flooding)
                number += 1
            }
            #expect(number > 10)
            #expect(status == 429 && text.contains("tooManyOrders") && text.contains("retry after 1"))
            try await site.expect(202, "/api/orders", Self.order("o-0"), headers: flooding)
            let other = ["X-Forwarded-For": "192.0.2.1, 192.0.2.2"]
            try await site.expect(202, "/api/orders", Self.order("mine"), headers: other)
        }
    }

    @Test func wrongTokensAreToldOfAndHaveToWait() async throws {
        let recorder = LogRecorder()
        try await withKiosk({ _ in }, logger: recorder.makeLogger()) { site, _ in
            let wrong = ["Authorization": "Bearer wrong-wrong-wrong"]
            var (number, status, text) = (0, 401, "")
            while status == 401, number < 50 {
                (status, text) = try await site.post("/api/staff", "{}", headers: wrong)
                number += 1
            }
            #expect(number > StaffAuthenticator.freeTries)
            #expect(status == 429 && text.contains("tooManyTries") && text.contains("retry after "))
        }
        #expect(recorder.all.contains("warning a wrong staff token address=127.0.0.1 path=/api/staff"))
        #expect(!recorder.all.contains { $0.contains("wrong-wrong") })
    }

    @Test func strangersAreRefused() async throws {
        try await withKiosk { site, _ in
            let refused: [([String: String?], Int)] = [
                (["Origin": "http://evil.example"], 403), (["Origin": nil], 403), (["Origin": "null"], 403),
                (["Sec-Fetch-Site": "cross-site"], 403), (["Content-Type": "text/plain"], 415),
                (["Content-Type": "application/x-www-form-urlencoded"], 415),
            ]
            for (headers, status) in refused { try await site.expect(status, "/api/orders", Self.order("o"), headers: headers) }
            try await site.expect(413, "/api/orders", Self.order(String(repeating: "x", count: 9000)))
            try await site.expect(400, "/api/orders", "{}")
            try await site.expect(404, "/nowhere", "{}")
        }
    }

    @Test func everyFileComesWithThePolicy() async throws {
        try await withKiosk { site, _ in
            for file in PageFile.all {
                let url = try #require(URL(string: "http://\(site.address)\(file.path)"))
                let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
                let headers = try #require(response as? HTTPURLResponse).allHeaderFields
                #expect(headers["Content-Security-Policy"] as? String == SecurityMiddleware.contentSecurityPolicy)
                #expect(headers["Content-Type"] as? String == file.type)
                #expect(data.count == file.bytes.readableBytes && data.count > 100)
            }
        }
    }

    @Test func aLostBrokerIsToldAndHeals() async throws {
        try await withKiosk { site, broker in
            _ = try await site.event("store=s", holding: #""state":"live""#)
            broker.takeDown()
            let start = ContinuousClock.now
            _ = try await site.event("store=s", holding: #""state":"lost""#)
            #expect(ContinuousClock.now - start < .seconds(30))
            broker.bringUp()
            _ = try await site.event("store=s", holding: #""state":"live""#)
        }
    }
}
