import FaultyNetwork
import JuiceMessages
import Kafka
import Logging
import TestSupport
import Testing

@testable import JuiceWeb
@testable import juice

/// Tests the kiosk over HTTP, like the page, on an embedded broker. `Tests/browser` drives the page itself, with the service.
@Suite(.serialized, .concurrencyLimited, .timeLimit(.minutes(10)))
struct KioskTests {
    /// Runs a broker and a kiosk during the body.
    private func withKiosk(
        logger: Logger = .quiet, warnings: @Sendable @escaping ([String]) -> Void = { _ in },
        _ body: @Sendable @escaping (Site, EmbeddedBroker, KafkaClients) throws -> Void
    ) async throws {
        try await EmbeddedBroker.run(partitions: 4) { broker, clients in
            var configuration = KioskConfiguration(
                feed: clients.reading(), orders: clients.sending(timeout: .seconds(8)), topics: clients.topics)
            configuration.takesAnyStore = true
            let kiosk = Kiosk(configuration, logger: logger)
            try await serving(kiosk.responder, besides: [kiosk]) { address in
                try await onThread { try body(Site(address: address), broker, clients) }
            }
            warnings(kiosk.warnings)
        }
    }

    @Test func thePageKnowsEveryKindAndType() {
        let table = String(decoding: PackageResources.kinds_js, as: UTF8.self)
        for kind in CommandKind.allCases {
            #expect(table.contains(#"\#(kind): { topic: "\#(kind.inputTopic.name)", id: "\#(kind.idField)","#))
        }
        // One that is neither good nor bad has no class.
        for type in AnswerType.allCases where type != .answerLost { #expect(table.contains(#"\#(type): "is-"#)) }
    }

    @Test func skipsMalformedAndUnknownRecords() async throws {
        try await withKiosk { site, _, clients in
            let page = try site.open("store=s")
            try page.expect(#""state":"live""#)
            let answer = try AnswerSample.made.record(store: "s")
            for record in ["{", #"{"type":"copy","topic":"restocks","offset":1}"#, #"{"type":"later","orderId":"o"}"#, answer] {
                try clients.write(Array(record.utf8), key: "s", to: .results)
                try clients.write(Array("{".utf8), key: "s", to: .stock)
            }
            try page.expect("event: answers", "kiwi")
        }
    }

    @Test func aRefusedRecordIsLoggedAndWarnedOf() async throws {
        let (log, order) = (LogRecorder(), #"{"orderId":"kiosk-p-1","juice":"kiwi"}"#)
        let reasons = ["Invalid timestamp (INVALID_TIMESTAMP)", "Message size too large (MSG_SIZE_TOO_LARGE)"].map {
            "commands are not confirmed: topic juice.orders: Broker: \($0); see docs/OPERATIONS.md#juicekioskunconfirmed"
        }
        try await withKiosk(
            logger: log.makeLogger(), warnings: { #expect($0 == reasons) },
            { site, broker, _ in
                try site.open("store=s").expect(#""state":"live""#)
                for code in [.invalidTimestamp, .invalidTimestamp, .messageTooLarge] as [KafkaError.Code] {
                    broker.fail(next: .produce, with: [code])
                    try site.expect(503, "/api/orders?store=s", order, holding: "unconfirmed")
                }
                try site.expect(202, "/api/orders?store=s", order)
            })
        #expect(log.all.filter { $0.hasPrefix("warning") } == reasons.map { "warning \($0)" })
    }
}
