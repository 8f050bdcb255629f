import FaultyNetwork
import JuiceMessages
import JuiceService
import Kafka
import Logging
import TestSupport
import Testing

@testable import JuiceWeb
@testable import juice

/// Tests the kiosk over HTTP, like the page, with the service on an embedded broker.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct KioskTests {
    private static let token = "0123456789abcdef"
    private static let authorized = ["Juice-Secret": token]

    private static func order(_ id: String) -> String { #"{"orderId":"kiosk-p-\#(id)","juice":"kiwi"}"# }

    /// Runs a broker, the service and a kiosk during the body.
    private func withKiosk(
        _ change: (inout KioskConfiguration) -> Void = { $0.takesAnyStore = true }, logger: Logger = .quiet,
        warnings: @Sendable @escaping ([String]) -> Void = { _ in },
        _ body: @Sendable @escaping (_ kiosk: Site, _ broker: TestBroker) throws -> Void
    ) async throws {
        let topics = TopicNames()
        let broker = try await onThread { try TestBroker(topics: topics.all) }
        let service = OrderService(
            configuration: ServiceConfiguration(
                bootstrapServers: broker.bootstrapServers, instanceID: "test", capabilities: .embedded), logger: .quiet)
        let clients = KafkaClients(
            bootstrapServers: broker.bootstrapServers, capabilities: .embedded, properties: ["reconnect.backoff.max.ms": "500"],
            logger: .quiet)
        var configuration = KioskConfiguration(
            feed: clients.reading(), orders: clients.sending(timeout: .seconds(8)), topics: topics)
        configuration.staffSecrets = [StaffSecret(token: Self.token)].compactMap(\.self)
        change(&configuration)
        let kiosk = Kiosk(configuration, logger: logger)
        try await serving(kiosk.responder, besides: [service, kiosk]) { address in
            try await onThread { try body(Site(address: address), broker) }
        }
        warnings(kiosk.warnings)
        try await onThread { broker.stop() }
    }

    @Test func anOrderIsAnsweredToItsPage() async throws {
        try await withKiosk { site, _ in
            let page = try site.open("store=s&page=kiosk-p", holding: #""state":"live""#)
            // A resent order does not count as a second one.
            for _ in 0..<2 { try site.expect(202, "/api/orders?store=s", Self.order("1")) }
            try page.expect("event: own", "juiceMade", #""orderId":"kiosk-p-1""#)
            // One juice of 3 kiwis was made, so 7 of 10 are left.
            try site.open("store=s&page=kiosk-q", holding: "event: stock", #"{"amount":7,"fruit":"kiwi"}"#)
        }
    }

    @Test func aBasketIsMadeAndCancelledOnce() async throws {
        try await withKiosk { site, _ in
            let page = try site.open("store=s&page=kiosk-p", holding: #""state":"live""#)
            let basket = #"{"orderId":"kiosk-p-1","items":[{"juice":"kiwi"},{"juice":"banana"}]}"#
            try site.expect(202, "/api/orders?store=s", basket)
            try page.expect("event: own", "juiceMade", #""items":["#)
            let cancel = #"{"orderId":"kiosk-p-1","cancel":true}"#
            for _ in 0..<2 { try site.expect(202, "/api/orders?store=s", cancel) }
            try page.expect("event: own", #""type":"cancelled""#, #""returned":{"#, #""orderId":"kiosk-p-1""#)
            try site.expect(202, "/api/orders?store=s", basket)
            try page.expect("event: own", #""reason":"cancelled""#)
            try site.open("store=s", holding: "event: stock", #"{"amount":10,"fruit":"kiwi"}"#, #"{"amount":10,"fruit":"banana"}"#)
        }
    }

    @Test func skipsMalformedAndUnknownRecords() async throws {
        try await withKiosk { site, broker in
            let page = try site.open("store=s", holding: #""state":"live""#)
            let answer =
                #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":1},"revision":1,"message":"!"}"#
            for record in ["{", #"{"type":"copy","topic":"restocks","offset":1}"#, #"{"type":"later","orderId":"o"}"#, answer] {
                try broker.write(record, key: "s", to: TopicNames().results)
                try broker.write("{", key: "s", to: TopicNames().stock)
            }
            try page.expect("event: answers", "restocked")
        }
    }

    @Test func stockIsEditedByStaffAlone() async throws {
        try await withKiosk { site, _ in
            let restock = #"{"restockId":"kiosk-p-r-1","set":{"kiwi":42}}"#
            // A proxy may want `Authorization` for itself.
            for headers in [[:], ["Juice-Secret": "wrong-wrong-wrong"], ["Authorization": "Bearer \(Self.token)"]] {
                try site.expect(401, "/api/staff/sign-in", "{}", headers, holding: "wrongToken")
            }
            try site.expect(401, "/api/restocks?store=s", restock, holding: "signedOut")
            try site.expect(202, "/api/restocks?store=s", restock, ["Cookie": site.signIn(Self.authorized)])
            try site.open("store=s", holding: "event: stock", "42", #""store":"s""#)
        }
    }

    @Test func onlyStaffMakeStores() async throws {
        try await withKiosk({ _ in }) { site, _ in
            let page = try site.open("store=new", holding: #""state":"live""#)
            try site.expect(404, "/api/orders?store=new", Self.order("o-1"), holding: "unknownStore")
            try site.expect(202, "/api/orders", Self.order("o-1"))
            try page.expect(#""takesOrders":false"#)
            let cookie = try site.signIn(Self.authorized)
            try site.expect(202, "/api/restocks?store=new", #"{"restockId":"kiosk-p-r-1","add":{"kiwi":1}}"#, ["Cookie": cookie])
            try page.expect(#""takesOrders":true"#)
            try site.expect(202, "/api/orders?store=new", Self.order("o-2"))
        }
    }

    @Test func aFloodOfOrdersHasToWait() async throws {
        try await withKiosk({ $0.orderRate = 1 }) { site, _ in
            var (number, answer) = (0, "HTTP/1.1 202 ")
            while answer.hasPrefix("HTTP/1.1 202 "), number < 100 {
                answer = try site.post("/api/orders", Self.order("o-\(number)"))
                number += 1
            }
            #expect(number > 10)
            #expect(answer.hasPrefix("HTTP/1.1 429 ") && answer.contains("tooManyOrders") && answer.contains("Retry-After: 1\r\n"))
        }
    }

    @Test func aRefusedRecordIsLoggedAndWarnedOf() async throws {
        let log = LogRecorder()
        let reasons = ["Invalid timestamp (INVALID_TIMESTAMP)", "Message size too large (MSG_SIZE_TOO_LARGE)"].map {
            "commands are not confirmed: topic juice.orders: Broker: \($0); see docs/OPERATIONS.md#juicekioskunconfirmed"
        }
        try await withKiosk(
            logger: log.makeLogger(), warnings: { #expect($0 == reasons) },
            { site, broker in
                try site.open("store=s", holding: #""state":"live""#)
                for code in [.invalidTimestamp, .invalidTimestamp, .messageTooLarge] as [KafkaError.Code] {
                    broker.refuseRecords(code)
                    try site.expect(503, "/api/orders?store=s", Self.order("1"), holding: "unconfirmed")
                }
                try site.expect(202, "/api/orders?store=s", Self.order("1"))
            })
        #expect(log.all.filter { $0.hasPrefix("warning") } == reasons.map { "warning \($0)" })
    }

    @Test func aLostBrokerIsShownAndHeals() async throws {
        try await withKiosk { site, broker in
            let page = try site.open("store=s", holding: #""state":"live""#)
            broker.takeDown()
            let start = ContinuousClock.now
            try page.expect(#""state":"lost""#)
            #expect(ContinuousClock.now - start < .seconds(30))
            broker.bringUp()
            try page.expect(#""state":"live""#)
        }
    }
}
